// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// ibv_modify_cq(): an event is raised after a number of completions, or after a time.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

constexpr Milliseconds moment{200};

int moderate(ibv_cq *cq, uint16_t count, uint16_t period)
{
	ibv_modify_cq_attr attr{};
	attr.attr_mask = IBV_CQ_ATTR_MODERATE;
	attr.moderate = {count, period};
	return ibv_modify_cq(cq, &attr);
}

struct moderation : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
		pair = std::make_unique<Pair>();
	}

	ibv_cq *cq() const { return pair->server.rcq(); }
	void arm(int solicited = 0) const { ASSERT_EQ(ibv_req_notify_cq(cq(), solicited), 0); }

	// The client sends this many messages; on return their completions are in the server's CQ.
	void send_some(int count, unsigned int flags = 0)
	{
		for (int i = 0; i < count; i++)
			post_recv(pair->server.qp(), 0, {pair->server.memory().sge(0, 64)});
		for (int i = 0; i < count; i++)
			post(pair->client.qp(),
			     send(0, {pair->client.memory().sge(0, 64)}).flags(flags));
		wait_ok(pair->client.scq(), count);
		// the reply to a later Read shows that they have arrived
		post(pair->client.qp(),
		     read(1, {pair->client.memory().sge(64, 8)}, pair->server.remote()));
		wait_ok(pair->client.scq());
	}

	bool event(Milliseconds limit = patience)
	{
		if (!readable(pair->server.comp_channel()->fd, limit))
			return false;
		ibv_cq *queue = nullptr;
		void *cookie;
		check(ibv_get_cq_event(pair->server.comp_channel(), &queue, &cookie),
		      "ibv_get_cq_event");
		ibv_ack_cq_events(queue, 1);
		return queue == cq();
	}

	std::unique_ptr<Pair> pair;
};

} // namespace

TEST_F(moderation, limits_are_reported)
{
	ibv_device_attr_ex attr{};
	ASSERT_EQ(ibv_query_device_ex(pair->server.context(), nullptr, &attr), 0);
	EXPECT_EQ(attr.cq_mod_caps.max_cq_count, UINT16_MAX);
	EXPECT_EQ(attr.cq_mod_caps.max_cq_period, UINT16_MAX);
	EXPECT_EQ(moderate(cq(), attr.cq_mod_caps.max_cq_count, attr.cq_mod_caps.max_cq_period), 0);
}

TEST_F(moderation, wrong_attributes)
{
	ibv_modify_cq_attr attr{};
	EXPECT_EQ(ibv_modify_cq(cq(), &attr), EINVAL);
	attr.attr_mask = IBV_CQ_ATTR_MODERATE << 1;
	EXPECT_EQ(ibv_modify_cq(cq(), &attr), EINVAL);
}

TEST_F(moderation, count_alone)
{
	ASSERT_EQ(moderate(cq(), 4, 0), 0);
	arm();
	send_some(3);
	EXPECT_FALSE(event(moment));
	send_some(1);
	EXPECT_TRUE(event());
	// one event for all four
	arm();
	EXPECT_FALSE(event(moment));
	wait_ok(cq(), 4);
	// then counting begins again
	send_some(3);
	EXPECT_FALSE(event(moment));
	send_some(2);
	EXPECT_TRUE(event());
	wait_ok(cq(), 5);
}

TEST_F(moderation, count_of_one_is_none)
{
	ASSERT_EQ(moderate(cq(), 1, UINT16_MAX), 0);
	arm();
	send_some(1);
	EXPECT_TRUE(event());
	wait_ok(cq());
}

TEST_F(moderation, time_alone)
{
	ASSERT_EQ(moderate(cq(), 0, UINT16_MAX), 0);
	// On a slow machine the time may be over before we look: then try again.
	bool early = true;
	const auto end = std::chrono::steady_clock::now() + patience;
	while (early && std::chrono::steady_clock::now() < end) {
		arm();
		send_some(1);
		early = event(Milliseconds(0));
		EXPECT_TRUE(early || event()) << "the timer expires eventually";
		wait_ok(cq());
	}
	EXPECT_FALSE(early) << "an event before the time is over";
	arm();
	send_some(10);
	EXPECT_TRUE(event());
	EXPECT_FALSE(event(moment)) << "one event for all";
	wait_ok(cq(), 10);
}

TEST_F(moderation, time_ends_the_wait_for_the_count)
{
	ASSERT_EQ(moderate(cq(), 1000, 1000), 0);
	arm();
	send_some(2);
	EXPECT_TRUE(event());
	wait_ok(cq(), 2);
}

TEST_F(moderation, nobody_armed)
{
	ASSERT_EQ(moderate(cq(), 2, 1000), 0);
	send_some(4);
	EXPECT_FALSE(event(moment));
	wait_ok(cq(), 4);
}

TEST_F(moderation, late_arm)
{
	ASSERT_EQ(moderate(cq(), 100, 1000), 0);
	send_some(1);
	arm();
	EXPECT_TRUE(event()) << "a completion from before the arm counts when time is up";
	wait_ok(cq());
}

TEST_F(moderation, polled_meanwhile_is_not_reported)
{
	ASSERT_EQ(moderate(cq(), 1000, 60000), 0);
	// A slow machine may not poll in time: then try again.
	bool silent = false;
	const auto end = std::chrono::steady_clock::now() + patience;
	while (!silent && std::chrono::steady_clock::now() < end) {
		arm();
		send_some(1);
		wait_ok(cq());
		silent = !event(moment);
	}
	ASSERT_TRUE(silent) << "no completion waits when time is up";
	// the CQ stays armed for later completions
	send_some(1);
	EXPECT_TRUE(event());
	wait_ok(cq());
}

TEST_F(moderation, errors_are_reported_at_once)
{
	ASSERT_EQ(moderate(cq(), 1000, 0), 0);
	post_recv(pair->server.qp(), 1, {pair->server.memory().sge(0, 64)});
	arm(1);
	pair->client.disconnect();
	EXPECT_TRUE(event());
	EXPECT_EQ(wait(cq()).status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(moderation, solicited)
{
	ASSERT_EQ(moderate(cq(), 3, 0), 0);
	arm(1);
	send_some(5);
	EXPECT_FALSE(event(moment)) << "none of them is solicited";
	send_some(1, IBV_SEND_SOLICITED);
	EXPECT_TRUE(event());
	wait_ok(cq(), 6);
}

TEST_F(moderation, switched_off_reports_what_is_held_back)
{
	ASSERT_EQ(moderate(cq(), 1000, 0), 0);
	arm();
	send_some(2);
	EXPECT_FALSE(event(moment));
	ASSERT_EQ(moderate(cq(), 0, 0), 0);
	EXPECT_TRUE(event());
	wait_ok(cq(), 2);
}

TEST_F(moderation, other_count_reports_what_is_held_back)
{
	ASSERT_EQ(moderate(cq(), 1000, 0), 0);
	arm();
	send_some(3);
	ASSERT_EQ(moderate(cq(), 4, 0), 0);
	EXPECT_FALSE(event(moment));
	ASSERT_EQ(moderate(cq(), 3, 0), 0);
	EXPECT_TRUE(event());
	wait_ok(cq(), 3);
}

TEST_F(moderation, resize_keeps_what_is_held_back)
{
	ASSERT_EQ(moderate(cq(), 4, 0), 0);
	arm();
	send_some(3);
	ASSERT_EQ(ibv_resize_cq(cq(), 500), 0);
	EXPECT_FALSE(event(moment));
	send_some(1);
	EXPECT_TRUE(event());
	wait_ok(cq(), 4);
}

// Destroyed while its timer runs, again and again.
TEST_F(moderation, destroy_while_held_back)
{
	for (int round = 0; round < 20; round++) {
		Pair other;
		ASSERT_EQ(moderate(other.server.rcq(), 1000, 500 * (round + 1)), 0);
		post_recv(other.server.qp(), 0, {other.server.memory().sge(0, 64)});
		ASSERT_EQ(ibv_req_notify_cq(other.server.rcq(), 0), 0);
		post(other.client.qp(), send(0, {other.client.memory().sge(0, 64)}));
		wait_ok(other.client.scq());
	}
}

// Another thread changes the moderation all the time: every completion is still reported.
TEST_F(moderation, changed_under_traffic)
{
	std::atomic<bool> stop = false;
	std::thread changer([&] {
		for (uint16_t n = 0; !stop; n++)
			moderate(cq(), n % 7, n % 5 * 100 + 100);
	});
	int got = 0;
	arm();
	for (int batch = 0; batch < 50; batch++) {
		send_some(4);
		while (got < 4 * (batch + 1)) {
			ibv_wc wc;
			while (ibv_poll_cq(cq(), 1, &wc) > 0)
				got += wc.status == IBV_WC_SUCCESS;
			if (got == 4 * (batch + 1))
				break;
			if (!event()) {
				ADD_FAILURE() << got << " received, no event";
				break;
			}
			arm();
		}
	}
	stop = true;
	changer.join();
	EXPECT_EQ(got, 200);
}
