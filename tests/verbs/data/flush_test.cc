// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The end of a connection: each work request completes once, in order, with the right status.
#include <gtest/gtest.h>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

void post_receives(Endpoint &e, int count)
{
	for (int i = 0; i < count; i++)
		post_recv(e.qp(), i, {e.memory().sge(0, 64)});
}

void expect_flushed(ibv_cq *cq, int count)
{
	std::vector<ibv_wc> all = wait(cq, count);
	for (int i = 0; i < count; i++) {
		EXPECT_EQ(all[i].status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_EQ(all[i].wr_id, uint64_t(i));
	}
	ibv_wc wc;
	EXPECT_EQ(ibv_poll_cq(cq, 1, &wc), 0);
}

void expect_posts_flushed(Endpoint &e)
{
	ASSERT_EQ(e.state(), IBV_QPS_ERR);
	for (int i = 0; i < 5; i++) {
		post(e.qp(), send(i, {e.memory().sge(0, 8)}));
		post_recv(e.qp(), i, {e.memory().sge(0, 8)});
	}
	expect_flushed(e.scq(), 5);
	expect_flushed(e.rcq(), 5);
}

} // namespace

TEST(flush, receives__peer_disconnects)
{
	Pair pair;
	post_receives(pair.server, 10);
	pair.client.disconnect();
	expect_flushed(pair.server.rcq(), 10);
}

TEST(flush, receives__we_disconnect)
{
	Pair pair;
	post_receives(pair.client, 10);
	pair.client.disconnect();
	expect_flushed(pair.client.rcq(), 10);
}

TEST(flush, receives__modify_to_error)
{
	Pair pair;
	post_receives(pair.client, 10);
	post_receives(pair.server, 10);
	ASSERT_EQ(modify_state(pair.client.qp(), IBV_QPS_ERR), 0);
	expect_flushed(pair.client.rcq(), 10);
	expect_flushed(pair.server.rcq(), 10);
}

TEST(flush, receives__peer_vanishes)
{
	Pair pair;
	post_receives(pair.server, 10);
	pair.client.destroy_qp();
	expect_flushed(pair.server.rcq(), 10);
}

TEST(flush, posts__in_error_after_modify)
{
	Pair pair;
	ASSERT_EQ(modify_state(pair.client.qp(), IBV_QPS_ERR), 0);
	expect_posts_flushed(pair.client);
}

TEST(flush, posts__in_error_after_disconnect)
{
	Pair pair;
	pair.client.disconnect();
	ASSERT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	expect_posts_flushed(pair.server);
	ASSERT_TRUE(pair.client.reaches(IBV_QPS_ERR));
	expect_posts_flushed(pair.client);
}

TEST(flush, posts__unsignaled_are_reported_too)
{
	Pair pair;
	ASSERT_EQ(modify_state(pair.client.qp(), IBV_QPS_ERR), 0);
	post(pair.client.qp(), send(0, {pair.client.memory().sge(0, 8)}).unsignaled());
	expect_flushed(pair.client.scq(), 1);
}

TEST(flush, posts__more_than_the_queue_holds)
{
	Config config;
	config.send_wr = 4;
	Pair pair(both(config));
	ASSERT_EQ(modify_state(pair.client.qp(), IBV_QPS_ERR), 0);
	for (int i = 0; i < 40; i++) {
		post(pair.client.qp(), send(i, {pair.client.memory().sge(0, 8)}));
		EXPECT_EQ(wait(pair.client.scq()).wr_id, uint64_t(i));
	}
}

TEST(flush, sends__each_completes_once)
{
	// Reads are in flight, and more are queued: some succeed, the rest is flushed
	PairConfig config;
	config.connect.initiator_depth = 2;
	Pair pair(config);
	for (int i = 0; i < 30; i++)
		post(pair.client.qp(),
		     read(i, {pair.client.memory().sge(0, 60000)}, pair.server.remote()));
	ASSERT_EQ(modify_state(pair.client.qp(), IBV_QPS_ERR), 0);
	std::vector<ibv_wc> all = wait(pair.client.scq(), 30);
	bool flushed = false;
	for (int i = 0; i < 30; i++) {
		EXPECT_EQ(all[i].wr_id, uint64_t(i));
		flushed |= all[i].status == IBV_WC_WR_FLUSH_ERR;
		EXPECT_EQ(all[i].status, flushed ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
	}
	EXPECT_TRUE(drain(pair.client.scq()).empty());
}

TEST(flush, sends__peer_vanishes_with_reads_in_flight)
{
	Pair pair;
	for (int i = 0; i < 30; i++)
		post(pair.client.qp(),
		     read(i, {pair.client.memory().sge(0, 60000)}, pair.server.remote()));
	pair.server.destroy_qp();
	std::vector<ibv_wc> all = wait(pair.client.scq(), 30);
	for (int i = 0; i < 30; i++)
		EXPECT_EQ(all[i].wr_id, uint64_t(i));
	EXPECT_TRUE(drain(pair.client.scq()).empty());
}

TEST(flush, memory__is_ours_after_the_last_completion)
{
	Pair pair;
	for (int i = 0; i < 10; i++)
		post_recv(pair.server.qp(), i, {pair.server.memory().sge(0, 60000)});
	fill(pair.client.memory().span(0, 60000), 1);
	for (int i = 0; i < 10; i++)
		post(pair.client.qp(), send(i, {pair.client.memory().sge(0, 60000)}));
	ASSERT_EQ(modify_state(pair.server.qp(), IBV_QPS_ERR), 0);
	wait(pair.server.rcq(), 10);
	memset(pair.server.memory().data(), 0x55, 60000);
	drain(pair.client.scq());
	EXPECT_TRUE(all_equal(pair.server.memory().span(0, 60000), 0x55));
}

TEST(flush, disconnect__what_was_sent_before_arrives)
{
	// graceful end: Sends that have completed, and those still queued, are delivered
	Pair pair;
	for (int i = 0; i < 20; i++)
		post_recv(pair.server.qp(), i, {pair.server.memory().sge(i * 3000, 3000)});
	for (int i = 0; i < 20; i++) {
		fill(pair.client.memory().span(i * 3000, 3000), i);
		post(pair.client.qp(), send(i, {pair.client.memory().sge(i * 3000, 3000)}));
	}
	pair.client.disconnect();
	wait_ok(pair.client.scq(), 20);
	wait_ok(pair.server.rcq(), 20);
	for (int i = 0; i < 20; i++)
		EXPECT_TRUE(filled(pair.server.memory().span(i * 3000, 3000), i));
}
