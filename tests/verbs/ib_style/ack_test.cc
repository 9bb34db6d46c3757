// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Completions as with InfiniBand: a request completes when it has arrived at the partner, and a
// request that the partner refuses completes with the reason.
#include "loss/network.h"
#include "player.h"

using namespace rdma;
using namespace ib_style;

namespace {

constexpr size_t half = 32 * 1024;

struct ack : Rendezvous {};

struct Met {
	Player a{lab::a()}, b{lab::b()};

	Met() { introduce(a, b); }
};

// Runs a command on a host, and another one at the end of the scope.
class Setting {
public:
	Setting(const lab::Host &host, const std::string &set, std::string undo)
		: host_(host), undo_(std::move(undo))
	{
		lab::shell(host_, set);
	}
	~Setting() { lab::shell(host_, undo_); }
	Setting(const Setting &) = delete;
	Setting &operator=(const Setting &) = delete;

private:
	const lab::Host &host_;
	std::string undo_;
};

// Drops all packets from one host to the other.
Setting no_way(const Player &from, const Player &to)
{
	const std::string neighbour = to.host().ip4 + " dev " + from.host().netdev;
	return {from.host(),
		"ip neigh replace " + neighbour + " lladdr 02:00:00:00:00:77 nud permanent",
		"ip neigh del " + neighbour};
}

// Lets a host send many segments of new connections without an acknowledgment, also after an idle
// time.
Setting wide_window(const lab::Host &from, const lab::Host &to)
{
	const std::string route = to.ip4 + " dev " + from.netdev;
	return {from, "ip route add " + route + " initcwnd 4000", "ip route del " + route};
}

void refused(Player &player, ibv_wc_status status)
{
	std::vector<ibv_wc> all = wait(player.scq(), 2);
	EXPECT_EQ(all[0].status, status) << to_string(all[0]);
	EXPECT_EQ(all[1].status, IBV_WC_WR_FLUSH_ERR) << to_string(all[1]);
	EXPECT_TRUE(player.reaches(IBV_QPS_ERR));
}

// Requests 1 and 2 of a connection that ends.
void ended(Player &player, ibv_wc_status first, ibv_wc_status second)
{
	std::vector<ibv_wc> all = wait(player.scq(), 2);
	EXPECT_EQ(all[0].wr_id, 1U);
	EXPECT_EQ(all[0].status, first) << to_string(all[0]);
	EXPECT_EQ(all[1].wr_id, 2U);
	EXPECT_EQ(all[1].status, second) << to_string(all[1]);
	EXPECT_TRUE(player.reaches(IBV_QPS_ERR));
}

} // namespace

TEST_F(ack, write__is_there_when_it_completes)
{
	Met met;
	for (unsigned int round = 1; round <= 200; round++) {
		size_t length = round * 97 % 20000 + 1;
		fill(met.a.memory().span(0, length), round);
		post(met.a.qp(), write(round, {met.a.memory().sge(0, length)}, met.b.remote(half)));
		EXPECT_EQ(wait_ok(met.a.scq()).wr_id, round);
		ASSERT_TRUE(filled(met.b.memory().span(half, length), round)) << round;
	}
}

TEST_F(ack, batch__in_order)
{
	Met met;
	for (uint64_t id = 0; id < 30; id++) {
		Send wr = write(id, {met.a.memory().sge(0, 2000)}, met.b.remote(half));
		if (id % 3)
			wr.unsignaled();
		post(met.a.qp(), wr);
	}
	for (uint64_t id = 0; id < 30; id += 3)
		EXPECT_EQ(wait_ok(met.a.scq()).wr_id, id);
}

// Slots of the queue are freed although no completion is requested.
TEST_F(ack, unsignaled__then_one)
{
	Met met;
	for (uint64_t round = 0; round < 20; round++) {
		for (int i = 0; i < 31; i++)
			post(met.a.qp(), write(1, {met.a.memory().sge(0, 64)}, met.b.remote(half))
						 .unsignaled());
		post(met.a.qp(), write(round, {met.a.memory().sge(0, 64)}, met.b.remote(half)));
		EXPECT_EQ(wait_ok(met.a.scq()).wr_id, round);
	}
}

TEST_F(ack, partner__may_leave_with_the_last_receive)
{
	for (size_t length : {1, 1370, 1400, 1428, 2800, 20000}) {
		for (int round = 0; round < 5; round++) {
			Met met;
			met.b.post_recv(1, half, length);
			met.a.post_send(2, 0, length);
			wait_ok(met.b.rcq());
			met.b.destroy_qp();
			EXPECT_EQ(wait(met.a.scq()).status, IBV_WC_SUCCESS) << length;
		}
	}
}

// The acknowledging read is in the segment with the end of its message, also if this end is at the
// end of a batch of 64 KiB: 45 segments with 1428 bytes of payload each, and one with the rest.
TEST_F(ack, read__in_the_last_segment)
{
	constexpr size_t rest = 100;
	Setting window = wide_window(lab::a(), lab::b());
	Met met;
	auto segments = [&] {
		return std::stoi(lab::output(lab::a(),
					     "ss -tinH state established | "
					     "grep -o 'data_segs_out:[0-9]*' | "
					     "awk -F: '{ n += $2 } END { print n + 0 }'"));
	};
	for (size_t full : {1, 44, 45}) {
		const int before = segments();
		post(met.a.qp(),
		     write(1, {met.a.memory().sge(0, full * 1428 + rest)}, met.b.remote(0)));
		wait_ok(met.a.scq());
		EXPECT_EQ(segments() - before, int(full) + 1) << full;
	}
}

TEST_F(ack, write__wrong_key)
{
	Met met;
	Remote to = met.b.remote();
	to.rkey ^= 0x100;
	post(met.a.qp(), write(1, {met.a.memory().sge(0, 64)}, to));
	post(met.a.qp(), write(2, {met.a.memory().sge(0, 64)}, met.b.remote()));
	refused(met.a, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(ack, write__behind_good_ones)
{
	Met met;
	Remote to = met.b.remote();
	to.rkey ^= 0x100;
	met.b.post_recv(9, half, 64);
	met.a.post_send(1, 0, 64);
	post(met.a.qp(), write(2, {met.a.memory().sge(0, 64)}, to));
	post(met.a.qp(), write(3, {met.a.memory().sge(0, 64)}, to));
	EXPECT_EQ(wait(met.a.scq()).status, IBV_WC_SUCCESS);
	refused(met.a, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(ack, read__wrong_key)
{
	Met met;
	Remote from = met.b.remote();
	from.rkey ^= 0x100;
	post(met.a.qp(), write(1, {met.a.memory().sge(0, 64)}, met.b.remote()));
	post(met.a.qp(), read(2, {met.a.memory().sge(0, 64)}, from));
	post(met.a.qp(), read(3, {met.a.memory().sge(0, 64)}, from));
	EXPECT_EQ(wait(met.a.scq()).status, IBV_WC_SUCCESS);
	refused(met.a, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(ack, send__too_long)
{
	Met met;
	met.b.post_recv(1, half, 16);
	met.a.post_send(1, 0, 64);
	met.a.post_send(2, 0, 64);
	refused(met.a, IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(ack, send__receiver_cannot_place_it)
{
	Met met;
	Region gone(met.b.pd(), 4096);
	ibv_sge sge = gone.sge(0, 64);
	gone.deregister();
	post_recv(met.b.qp(), 1, {sge});
	met.a.post_send(1, 0, 64);
	met.a.post_send(2, 0, 64);
	refused(met.a, IBV_WC_REM_OP_ERR);
}

TEST_F(ack, send__no_receive)
{
	Met met;
	met.a.post_send(1, 0, 64);
	met.a.post_send(2, 0, 64);
	refused(met.a, IBV_WC_RNR_RETRY_EXC_ERR);
}

// More requests precede the refused one than are completed at once.
TEST_F(ack, send__no_receive_behind_many)
{
	constexpr uint64_t writes = 1000, sends = 500;
	const Setting window = wide_window(lab::a(), lab::b());
	Player a(lab::a(), {.depth = 2048}), b(lab::b());
	introduce(a, b);
	// enlarges the receive window
	for (uint64_t i = 0; i < 100; i++)
		post(a.qp(), write(i, {a.memory().sge(0, half)}, b.remote(half)));
	wait(a.scq(), 100);
	{
		const Setting nothing_comes_back = no_way(b, a);
		for (uint64_t i = 0; i < writes; i++)
			post(a.qp(), write(i, {a.memory().sge(0, 16)}, b.remote(half)));
		for (uint64_t i = 0; i < sends; i++)
			a.post_send(writes + i, 0, 16);
		EXPECT_TRUE(b.reaches(IBV_QPS_ERR));
	}
	uint64_t id = 0;
	for (const ibv_wc &wc : wait(a.scq(), writes + sends)) {
		ASSERT_EQ(wc.wr_id, id);
		ASSERT_EQ(wc.status, id < writes  ? IBV_WC_SUCCESS :
				     id == writes ? IBV_WC_RNR_RETRY_EXC_ERR :
						    IBV_WC_WR_FLUSH_ERR)
			<< id;
		id++;
	}
}

// Acknowledging Reads do not reduce the ORD that the consumer may use.
TEST_F(ack, reads__beside_writes)
{
	Met met;
	for (uint64_t id = 0; id < 24; id += 2) {
		post(met.a.qp(), write(id, {met.a.memory().sge(0, 5000)}, met.b.remote(half)));
		post(met.a.qp(), read(id + 1, {met.a.memory().sge(half, 5000)}, met.b.remote()));
	}
	for (uint64_t id = 0; id < 24; id++)
		EXPECT_EQ(wait_ok(met.a.scq()).wr_id, id);
}

// An invalid request ends the connection; earlier requests without acknowledgment do not succeed.
TEST_F(ack, local_error__behind_what_is_not_acknowledged)
{
	for (bool together : {true, false}) {
		Met met;
		transfers(met.a, met.b);
		const Setting nothing_comes_back = no_way(met.b, met.a);
		ibv_sge wrong = met.a.memory().sge(0, 64);
		wrong.lkey ^= 0x100;
		Send good = write(1, {met.a.memory().sge(0, 64)}, met.b.remote(half)),
		     bad = write(2, {wrong}, met.b.remote(half));
		if (together) {
			post_list(met.a.qp(), {good, bad});
		} else {
			post(met.a.qp(), good);
			post(met.a.qp(), bad);
		}
		ended(met.a, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_PROT_ERR);
	}
}

// The memory that the partner reads is deregistered meanwhile: the connection ends in the middle of
// the response, before the second of two acknowledgments.
TEST_F(ack, withdrawn_source__behind_what_is_not_acknowledged)
{
	const size_t large = 8 << 20;
	const lab::Sysctl buffers("tcp_wmem", "4096 16384 65536");
	Met met;
	transfers(met.a, met.b);
	Region source(met.a.pd(), large), sink(met.b.pd(), large);
	{
		const Setting nothing_arrives = no_way(met.a, met.b);
		for (uint64_t id : {1, 2})
			post(met.a.qp(),
			     write(id, {met.a.memory().sge(0, 64)}, met.b.remote(half)));
		const uint64_t before = lab::a().counter("tx_octets");
		post(met.b.qp(), read(3, {sink.sge(0, large)}, {source.address(), source.rkey()}));
		auto end = std::chrono::steady_clock::now() + patience;
		while (lab::a().counter("tx_octets") < before + 10000)
			ASSERT_LT(std::chrono::steady_clock::now(), end) << "no answer";
		source.deregister();
	}
	ended(met.a, IBV_WC_SUCCESS, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(ack, policy__off)
{
	lab::Policy off(lab::a(), "rendezvous_ack", 0);
	Met met;
	transfers(met.a, met.b);
	uint64_t before = lab::a().counter("tx_fpdus");
	post(met.a.qp(), write(1, {met.a.memory().sge(0, 64)}, met.b.remote(half)));
	wait_ok(met.a.scq());
	EXPECT_EQ(lab::a().counter("tx_fpdus"), before + 1);
}
