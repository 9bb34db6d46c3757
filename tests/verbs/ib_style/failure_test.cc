// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Partners that never connect, are not the expected ones, or disconnect.
#include "player.h"

#include <optional>
#include <thread>

#include "rdma/failure.h"

using namespace rdma;
using namespace ib_style;

namespace {

// Bring-up fails after three times this timeout.
struct failure : Rendezvous {
	std::optional<lab::Policy> soon_a{std::in_place, lab::a(), "startup_timeout_ms", 500};
	std::optional<lab::Policy> soon_b{std::in_place, lab::b(), "startup_timeout_ms", 500};
};

struct departure : Rendezvous {};

void post_some(Player &player)
{
	player.post_recv(1, 0, 64);
	player.post_send(2, 0, 64);
	player.post_send(3, 0, 64);
}

// Whether the queue pair reached RTS, and did not fail on its way there.
bool reached_rts(Player &player, const Name &partner)
{
	try {
		player.bring_up(partner);
		return true;
	} catch (const std::exception &) {
		if (player.state() != IBV_QPS_ERR)
			throw;
		return false;
	}
}

// Brings the queue pair up and posts requests; tries again if the queue pair fails before the
// requests are posted. Returns the number of failures before.
unsigned int bring_up(Player &player, const Name &partner)
{
	for (unsigned int failures = 0;; failures++) {
		const bool posted = reached_rts(player, partner);
		if (posted)
			post_some(player);
		if (player.state() == IBV_QPS_RTS)
			return failures;
		player.events().of(player.qp());
		if (posted) {
			wait(player.scq(), 2);
			wait(player.rcq());
		}
		check(player.modify(IBV_QPS_RESET), "RESET");
	}
}

// Expects that the requests posted before fail.
void fails(Player &player)
{
	EXPECT_EQ(player.events().of(player.qp()).event_type, IBV_EVENT_QP_FATAL);
	EXPECT_EQ(player.state(), IBV_QPS_ERR);
	std::vector<ibv_wc> all = wait(player.scq(), 2);
	EXPECT_EQ(all[0].wr_id, 2u);
	EXPECT_EQ(all[0].status, IBV_WC_RETRY_EXC_ERR);
	EXPECT_EQ(all[1].wr_id, 3u);
	EXPECT_EQ(all[1].status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(wait(player.rcq()).status, IBV_WC_WR_FLUSH_ERR);
}

// The partner is gone; the next Send detects this.
void send_fails(Player &player)
{
	EXPECT_EQ(player.state(), IBV_QPS_RTS);
	player.post_recv(1, 0, 64);
	player.post_send(2, 0, 64);
	player.post_send(3, 0, 64);
	std::vector<ibv_wc> all = wait(player.scq(), 2);
	EXPECT_EQ(all[0].status, IBV_WC_RETRY_EXC_ERR);
	EXPECT_EQ(all[1].status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(wait(player.rcq()).status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(player.state(), IBV_QPS_ERR);
}

} // namespace

TEST_F(failure, partner__never_connects)
{
	for (bool initiator : {true, false}) {
		Player a(lab::a()), b(lab::b());
		Player &alone = initiator ? a : b, &never = initiator ? b : a;
		uint64_t before = alone.host().counter("rendezvous_timeouts");
		before += bring_up(alone, never.name());
		fails(alone);
		EXPECT_EQ(alone.host().counter("rendezvous_timeouts"), before + 1);
	}
}

TEST_F(failure, partner__no_such_host)
{
	Player a(lab::a());
	Name nobody{77, gid_of("10.0.0.99"), 1};
	bring_up(a, nobody);
	fails(a);
}

TEST_F(failure, partner__no_listener)
{
	lab::Policy off(lab::b(), "rendezvous_port", 0);
	Player a(lab::a()), b(lab::b());
	bring_up(a, b.name());
	fails(a);
}

TEST_F(failure, partner__expects_another)
{
	struct Case {
		const char *what;
		void (*change)(Name &);
	};
	const Case cases[] = {
		{"number", [](Name &n) { n.qpn ^= 0x100; }},
		{"psn", [](Name &n) { n.psn ^= 1; }},
		{"gid", [](Name &n) { n.gid = gid_of("10.0.0.98"); }},
	};
	for (const Case &c : cases)
		for (bool a_is_wrong : {true, false}) {
			SCOPED_TRACE(std::string(c.what) + (a_is_wrong ? ", at A" : ", at B"));
			Player a(lab::a()), b(lab::b());
			Name name_a = a.name(), name_b = b.name();
			c.change(a_is_wrong ? name_b : name_a);
			bring_up(a, name_b);
			bring_up(b, name_a);
			fails(a);
			fails(b);
		}
}

// A queue pair that failed can be used again.
TEST_F(failure, again__after_reset)
{
	Player a(lab::a()), b(lab::b());
	bring_up(a, b.name());
	fails(a);
	ASSERT_EQ(a.modify(IBV_QPS_RESET), 0);
	soon_a.reset();
	soon_b.reset();
	introduce(a, b);
	transfers(a, b);
}

TEST_F(departure, destroyed__next_send_fails)
{
	for (bool a_leaves : {true, false}) {
		Player a(lab::a()), b(lab::b());
		introduce(a, b);
		transfers(a, b);
		Player &leaves = a_leaves ? a : b, &stays = a_leaves ? b : a;
		stays.post_recv(9, 0, 64);
		leaves.destroy_qp();
		// no request was posted, so none is flushed
		EXPECT_TRUE(drain(stays.rcq(), Milliseconds(300)).empty());
		EXPECT_EQ(stays.state(), IBV_QPS_RTS);
		ASSERT_EQ(stays.modify(IBV_QPS_RTS), 0);
		stays.post_send(2, 0, 64);
		EXPECT_EQ(wait(stays.scq()).status, IBV_WC_RETRY_EXC_ERR);
		EXPECT_EQ(wait(stays.rcq()).status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_EQ(stays.state(), IBV_QPS_ERR);
	}
}

// A requester of InfiniBand retries for a while, and many programs rely on this when they end.
TEST_F(departure, destroyed__is_noticed_after_all_tries)
{
	Player a(lab::a()), b(lab::b());
	a.to_init();
	b.to_init();
	for (auto [one, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
		one->to_rtr(other->name());
		ibv_qp_attr attr = one->rts();
		attr.timeout = 16; // 268 ms
		attr.retry_cnt = 7;
		ASSERT_EQ(one->try_rts(attr), 0);
	}
	transfers(a, b);
	b.destroy_qp();
	const auto begin = std::chrono::steady_clock::now();
	a.post_send(2, 0, 64);
	EXPECT_EQ(wait(a.scq()).status, IBV_WC_RETRY_EXC_ERR);
	// 2.1 s; we ask for less, because the kernel's ticks may be late when the wait begins
	EXPECT_GT(std::chrono::steady_clock::now() - begin, Milliseconds(300));
	EXPECT_EQ(a.state(), IBV_QPS_ERR);

	// Destroying a queue pair does not wait for this time.
	Player c(lab::a()), d(lab::b());
	introduce(c, d);
	transfers(c, d);
	d.destroy_qp();
	c.post_send(2, 0, 64);
	c.destroy_qp();
}

TEST_F(departure, error__next_send_fails)
{
	Player a(lab::a()), b(lab::b());
	introduce(a, b);
	transfers(a, b);
	ASSERT_EQ(a.modify(IBV_QPS_ERR), 0);
	std::this_thread::sleep_for(Milliseconds(200));
	send_fails(b);
}

TEST_F(departure, policy__connections_stay)
{
	Player a(lab::a()), b(lab::b());
	introduce(a, b);
	transfers(a, b);
	{
		SCOPED_TRACE("closed");
		lab::Policy a_off(lab::a(), "rendezvous_port", 0),
			b_off(lab::b(), "rendezvous_port", 0);
		transfers(a, b);
	}
	lab::Policy other_a(lab::a(), "rendezvous_port", port + 1),
		other_b(lab::b(), "rendezvous_port", port + 1);
	Player c(lab::a()), d(lab::b());
	introduce(c, d);
	transfers(c, d);
	transfers(a, b);
}
