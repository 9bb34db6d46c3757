// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <gtest/gtest.h>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct cq : testing::Test {
	Context context = open_device(lab::a().device);

	int try_create(int entries, int vector = 0)
	{
		Cq queue(ibv_create_cq(context.get(), entries, nullptr, nullptr, vector));
		return queue ? 0 : errno;
	}
};

// The next event of the channel, acknowledged.
ibv_cq *next_event(ibv_comp_channel *channel, Milliseconds limit = patience)
{
	ibv_cq *queue = nullptr;
	void *cookie;
	if (!readable(channel->fd, limit))
		return nullptr;
	check(ibv_get_cq_event(channel, &queue, &cookie), "ibv_get_cq_event");
	ibv_ack_cq_events(queue, 1);
	return queue;
}

constexpr Milliseconds moment{200};

// The client sends; on return the server has received.
void send_one(Pair &pair, unsigned int flags = 0)
{
	post_recv(pair.server.qp(), 0, {pair.server.memory().sge(0, 64)});
	post(pair.client.qp(), send(0, {pair.client.memory().sge(0, 64)}).flags(flags));
	wait_ok(pair.client.scq());
}

} // namespace

TEST_F(cq, create__sizes)
{
	for (int entries : {1, 2, 3, 7, 100, 1000, 4097}) {
		Cq queue = create_cq(context.get(), entries);
		EXPECT_GE(queue->cqe, entries);
	}
}

TEST_F(cq, create__too_large)
{
	int most = query_device(context.get()).max_cqe;
	EXPECT_NE(try_create(most + 1), 0);
	EXPECT_NE(try_create(INT32_MAX), 0);
}

TEST_F(cq, create__no_entries)
{
	EXPECT_EQ(try_create(0), EINVAL);
	EXPECT_NE(try_create(-1), 0);
}

TEST_F(cq, create__no_such_vector)
{
	EXPECT_EQ(try_create(16, context->num_comp_vectors), EINVAL);
	EXPECT_EQ(try_create(16, -1), EINVAL);
}

TEST_F(cq, create__many)
{
	std::vector<Cq> queues;
	for (int i = 0; i < 64; i++)
		queues.push_back(create_cq(context.get(), 16));
}

TEST_F(cq, poll__empty)
{
	Cq queue = create_cq(context.get(), 16);
	ibv_wc wc[4];
	EXPECT_EQ(ibv_poll_cq(queue.get(), 4, wc), 0);
	EXPECT_EQ(ibv_poll_cq(queue.get(), 0, wc), 0);
}

TEST_F(cq, destroy__refused_while_qp_uses_it)
{
	Pd pd = alloc_pd(context.get());
	Cq queue = create_cq(context.get(), 16);
	ibv_qp_init_attr attr = qp_attr(queue.get());
	Qp qp = create_qp(pd.get(), attr);
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	EXPECT_EQ(ibv_destroy_cq(queue.get()), EBUSY);
	ibv_wc wc;
	EXPECT_EQ(ibv_poll_cq(queue.get(), 1, &wc), 0);
}

TEST(cq_data, poll__several_at_once_in_order)
{
	Pair pair;
	for (int i = 0; i < 20; i++)
		post(pair.client.qp(),
		     write(i, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	std::vector<ibv_wc> all = wait_ok(pair.client.scq(), 20);
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(all[i].wr_id, uint64_t(i));
		EXPECT_EQ(all[i].opcode, IBV_WC_RDMA_WRITE);
		EXPECT_EQ(all[i].qp_num, pair.client.qp()->qp_num);
	}
}

TEST(cq_data, poll__wraps_around)
{
	Config config;
	config.cq_entries = 4;
	config.send_wr = 4;
	Pair pair(both(config));
	for (int i = 0; i < 50; i++) {
		post(pair.client.qp(),
		     write(i, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
		ASSERT_EQ(wait_ok(pair.client.scq()).wr_id, uint64_t(i));
	}
}

TEST(cq_data, notify__any)
{
	Pair pair;
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 0), 0);
	send_one(pair);
	EXPECT_EQ(next_event(pair.server.comp_channel()), pair.server.rcq());
	wait_ok(pair.server.rcq());
}

TEST(cq_data, notify__once_per_arming)
{
	Pair pair;
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 0), 0);
	send_one(pair);
	EXPECT_NE(next_event(pair.server.comp_channel()), nullptr);
	send_one(pair);
	wait_ok(pair.server.rcq(), 2);
	EXPECT_EQ(next_event(pair.server.comp_channel(), moment), nullptr);
}

TEST(cq_data, notify__not_armed)
{
	Pair pair;
	send_one(pair);
	wait_ok(pair.server.rcq());
	EXPECT_EQ(next_event(pair.server.comp_channel(), moment), nullptr);
}

TEST(cq_data, notify__solicited_only)
{
	Pair pair;
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 1), 0);
	send_one(pair);
	wait_ok(pair.server.rcq());
	EXPECT_EQ(next_event(pair.server.comp_channel(), moment), nullptr);
	send_one(pair, IBV_SEND_SOLICITED);
	wait_ok(pair.server.rcq());
	EXPECT_EQ(next_event(pair.server.comp_channel()), pair.server.rcq());
}

TEST(cq_data, notify__error_counts_as_solicited)
{
	Pair pair;
	post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 64)});
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 1), 0);
	pair.client.disconnect();
	EXPECT_EQ(next_event(pair.server.comp_channel()), pair.server.rcq());
	EXPECT_EQ(wait(pair.server.rcq()).status, IBV_WC_WR_FLUSH_ERR);
}

TEST(cq_data, notify__any_is_not_weakened_by_solicited)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 0), 0);
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 1), 0);
	send_one(pair);
	EXPECT_EQ(next_event(pair.server.comp_channel()), pair.server.rcq());
	wait_ok(pair.server.rcq());
}

TEST(cq_data, notify__poll_after_arming_misses_nothing)
{
	// the canonical loop: arm, poll until empty, wait
	Pair pair;
	int got = 0;
	for (int i = 0; i < 40; i++)
		post_recv(pair.server.qp(), i, {pair.server.memory().sge(0, 64)});
	for (int i = 0; i < 40; i++)
		post(pair.client.qp(), send(i, {pair.client.memory().sge(0, 64)}));
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 0), 0);
	for (;;) {
		ibv_wc wc;
		while (ibv_poll_cq(pair.server.rcq(), 1, &wc) > 0)
			got += wc.status == IBV_WC_SUCCESS;
		if (got == 40)
			break;
		ASSERT_NE(next_event(pair.server.comp_channel()), nullptr) << got << " received";
		ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 0), 0);
	}
	wait_ok(pair.client.scq(), 40);
}

TEST(cq_data, notify__late_arm_reports_earlier_completions)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	send_one(pair);
	EXPECT_EQ(next_event(pair.server.comp_channel(), moment), nullptr);
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 1), 0);
	EXPECT_EQ(next_event(pair.server.comp_channel(), moment), nullptr)
		<< "the completion is not solicited";
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 0), 0);
	EXPECT_EQ(next_event(pair.server.comp_channel()), pair.server.rcq());
	// a completion is reported only once
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 0), 0);
	EXPECT_EQ(next_event(pair.server.comp_channel(), moment), nullptr);
	wait_ok(pair.server.rcq());
}

TEST(cq_data, notify__late_arm_for_solicited)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	send_one(pair, IBV_SEND_SOLICITED);
	send_one(pair);
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 1), 0);
	EXPECT_EQ(next_event(pair.server.comp_channel()), pair.server.rcq());
	wait_ok(pair.server.rcq(), 2);
}

TEST(cq_data, notify__late_arm_after_polling)
{
	Pair pair;
	send_one(pair);
	wait_ok(pair.server.rcq());
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 0), 0);
	EXPECT_EQ(next_event(pair.server.comp_channel(), moment), nullptr);
}

TEST(cq_data, notify__send_completions)
{
	Pair pair;
	ASSERT_EQ(ibv_req_notify_cq(pair.client.scq(), 0), 0);
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	EXPECT_EQ(next_event(pair.client.comp_channel()), pair.client.scq());
	wait_ok(pair.client.scq());
}

TEST(cq_data, overflow__hurts_only_this_queue)
{
	Config small;
	small.cq_entries = 2;
	PairConfig config;
	config.client = small;
	Pair victim(config), other;
	AsyncEvents events(victim.client.context()), at_peer(victim.server.context());

	int room = victim.client.scq()->cqe;
	for (int i = 0; i <= room; i++)
		post(victim.client.qp(),
		     write(i, {victim.client.memory().sge(0, 8)}, victim.server.remote()));
	EXPECT_EQ(events.of(victim.client.scq()).event_type, IBV_EVENT_CQ_ERR);
	if (lab::both_kwarp()) {
		// because the CQ cannot report its completions
		EXPECT_EQ(events.of(victim.client.qp()).event_type, IBV_EVENT_QP_FATAL);
		EXPECT_TRUE(victim.client.reaches(IBV_QPS_ERR));
		// RFC 5040 7.1 rule 1: the peer gets a Terminate
		EXPECT_EQ(at_peer.of(victim.server.qp()).event_type, IBV_EVENT_QP_FATAL);
		EXPECT_TRUE(victim.server.reaches(IBV_QPS_ERR));
	}
	// another queue pair on the same device is not affected
	fill(other.client.memory().span(0, 100), 5);
	post(other.client.qp(),
	     write(1, {other.client.memory().sge(0, 100)}, other.server.remote()));
	post(other.client.qp(),
	     read(2, {other.client.memory().sge(100, 100)}, other.server.remote()));
	wait_ok(other.client.scq(), 2);
	EXPECT_TRUE(filled(other.client.memory().span(100, 100), 5));
}

TEST(cq_data, overflow__what_fitted_is_polled)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	PairConfig config;
	config.client.cq_entries = 4;
	Pair pair(config);
	AsyncEvents events(pair.client.context());
	int room = pair.client.scq()->cqe;
	for (int i = 0; i < room + 3; i++)
		post(pair.client.qp(),
		     write(i, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	events.of(pair.client.scq());
	ibv_wc wc[16];
	ASSERT_EQ(ibv_poll_cq(pair.client.scq(), 16, wc), room);
	for (int i = 0; i < room; i++)
		EXPECT_EQ(wc[i].wr_id, uint64_t(i));
	EXPECT_LT(ibv_poll_cq(pair.client.scq(), 16, wc), 0) << "the overflow is reported";
}

// A program cannot poll the completions of a queue pair that it destroys.
TEST(cq_data, share__destroyed_qp_takes_no_room)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	constexpr uint32_t requests = 200;
	constexpr size_t size = 64 * 1024;
	PairConfig config;
	config.client.cq_entries = 16;
	Pair pair(config);
	ibv_cq *shared = pair.client.rcq();
	ASSERT_LT(shared->cqe, int(requests));
	ibv_qp_init_attr attr = qp_attr(shared, requests);
	Qp idle = create_qp(pair.client.pd(), attr);
	for (uint32_t i = 0; i < requests; i++)
		post_recv(idle.get(), i, {});
	idle.reset();
	PairConfig sharing;
	sharing.client.cq = shared;
	sharing.client.send_wr = requests;
	Pair busy(sharing);
	{
		// TCP cannot send, so most of these do not complete.
		const lab::Netem silent(lab::a(), "loss 100%");
		for (uint32_t i = 0; i < requests; i++)
			post(busy.client.qp(),
			     write(i, {busy.client.memory().sge(0, size)}, busy.server.remote())
				     .unsignaled());
		busy.client.destroy_qp();
	}
	post_recv(pair.client.qp(), 1, {pair.client.memory().sge(0, 8)});
	post(pair.server.qp(), send(1, {pair.server.memory().sge(0, 8)}));
	EXPECT_EQ(wait_ok(shared).wr_id, 1u);
}

TEST(cq_data, share__one_queue_for_two_qps)
{
	// completions name their QP; destroying a QP removes only its own completions
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Cq queue = create_cq(context.get(), 64);
	ibv_qp_init_attr attr = qp_attr(queue.get());
	Qp one = create_qp(pd.get(), attr), two = create_qp(pd.get(), attr);
	Region region(pd.get(), 4096);
	for (int i = 0; i < 3; i++) {
		post_recv(one.get(), 100 + i, {region.sge(0, 64)});
		post_recv(two.get(), 200 + i, {region.sge(0, 64)});
	}
	ASSERT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
	ASSERT_EQ(modify_state(two.get(), IBV_QPS_ERR), 0);
	uint32_t left = two->qp_num;
	one.reset();
	std::vector<ibv_wc> all = wait(queue.get(), 3);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(all[i].qp_num, left);
		EXPECT_EQ(all[i].wr_id, 200u + i);
		EXPECT_EQ(all[i].status, IBV_WC_WR_FLUSH_ERR);
	}
	ibv_wc wc;
	EXPECT_EQ(ibv_poll_cq(queue.get(), 1, &wc), 0);
}
