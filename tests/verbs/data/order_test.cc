// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Completions, fences, outstanding reads: the ordering rules of verbs.
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

TEST(order, complete__mixed_operations)
{
	Pair pair;
	constexpr int rounds = 10;
	for (int i = 0; i < rounds; i++)
		post_recv(pair.server.qp(), i, {pair.server.memory().sge(60000, 100)});
	for (int i = 0; i < rounds; i++) {
		post(pair.client.qp(),
		     write(4 * i, {pair.client.memory().sge(0, 3000)}, pair.server.remote()));
		post(pair.client.qp(), read(4 * i + 1, {pair.client.memory().sge(30000, 5000)},
					    pair.server.remote()));
		post(pair.client.qp(), send(4 * i + 2, {pair.client.memory().sge(0, 100)}));
		post(pair.client.qp(),
		     write(4 * i + 3, {pair.client.memory().sge(0, 1)}, pair.server.remote()));
	}
	std::vector<ibv_wc> all = wait_ok(pair.client.scq(), 4 * rounds);
	for (int i = 0; i < 4 * rounds; i++)
		EXPECT_EQ(all[i].wr_id, uint64_t(i));
	std::vector<ibv_wc> received = wait_ok(pair.server.rcq(), rounds);
	for (int i = 0; i < rounds; i++)
		EXPECT_EQ(received[i].wr_id, uint64_t(i));
}

TEST(order, complete__unsignaled_give_none)
{
	Pair pair;
	for (int i = 0; i < 15; i++)
		post(pair.client.qp(),
		     write(i, {pair.client.memory().sge(0, 100)}, pair.server.remote())
			     .unsignaled());
	post(pair.client.qp(), write(15, {pair.client.memory().sge(0, 100)}, pair.server.remote()));
	EXPECT_EQ(wait_ok(pair.client.scq()).wr_id, 15u);
	EXPECT_TRUE(drain(pair.client.scq()).empty());
}

TEST(order, complete__unsignaled_free_their_slots)
{
	Config config;
	config.send_wr = 8;
	Pair pair(both(config));
	for (int round = 0; round < 30; round++) {
		for (uint32_t i = 1; i < 8; i++)
			post(pair.client.qp(),
			     write(i, {pair.client.memory().sge(0, 100)}, pair.server.remote())
				     .unsignaled());
		post(pair.client.qp(),
		     write(0, {pair.client.memory().sge(0, 100)}, pair.server.remote()));
		wait_ok(pair.client.scq());
	}
}

TEST(order, complete__signal_all)
{
	// sq_sig_all of the QP overrides the flag of the work request
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	ibv_qp_init_attr attr = qp_attr(client.scq());
	attr.sq_sig_all = 1;
	client.destroy_qp();
	check(rdma_create_qp(client.id(), client.pd(), &attr), "rdma_create_qp");
	client.connect();
	Endpoint server(listener.request());
	server.accept();
	client.established();
	server.established();
	for (int i = 0; i < 5; i++)
		post(client.qp(),
		     write(i, {client.memory().sge(0, 8)}, server.remote()).unsignaled());
	EXPECT_EQ(wait_ok(client.scq(), 5).back().wr_id, 4u);
}

// During a burst of posts without polling, doorbells may be coalesced; the requests must be sent
// even if no thread ever polls.
TEST(order, burst__goes_out_although_nobody_polls)
{
	Pair pair;
	constexpr int burst = 40;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < burst; i++)
			post_recv(pair.server.qp(), i, {pair.server.memory().sge(100 * i, 100)});
		for (int i = 0; i < burst; i++)
			post(pair.client.qp(), send(i, {pair.client.memory().sge(0, 64)}));
		std::vector<ibv_wc> received = wait_ok(pair.server.rcq(), burst);
		for (int i = 0; i < burst; i++)
			EXPECT_EQ(received[i].wr_id, uint64_t(i));
		wait_ok(pair.client.scq(), burst);
	}
}

// Queue pairs with a single CQ on the client's side, and Sends on them in bursts, without a poll.
class Bursts {
public:
	explicit Bursts(unsigned number)
	{
		for (unsigned i = 0; i < number; i++) {
			PairConfig c = both(Config{});
			c.client.cq = i ? pairs_[0]->client.scq() : nullptr;
			pairs_.push_back(std::make_unique<Pair>(c));
		}
	}

	// The first pair has the CQ.
	~Bursts()
	{
		while (!pairs_.empty())
			pairs_.pop_back();
	}

	void post_on_each(int number)
	{
		for (auto &pair : pairs_) {
			for (int i = 0; i < number; i++)
				post_recv(pair->server.qp(), i,
					  {pair->server.memory().sge(100 * i, 100)});
			for (int i = 0; i < number; i++)
				post(pair->client.qp(),
				     send(i, {pair->client.memory().sge(0, 64)}));
		}
	}

	void expect_arrival(int number)
	{
		for (auto &pair : pairs_) {
			std::vector<ibv_wc> received = wait_ok(pair->server.rcq(), number);
			for (int i = 0; i < number; i++)
				EXPECT_EQ(received[i].wr_id, uint64_t(i));
		}
	}

	// Polls what there is.
	void drop()
	{
		ibv_wc wc[16];
		while (ibv_poll_cq(pairs_[0]->client.scq(), 16, wc) > 0)
			continue;
	}

	void poll(int number) { wait_ok(pairs_[0]->client.scq(), number * pairs_.size()); }

	// The client's queue pair first: while its peer exists, the connection does not end before.
	void destroy_last()
	{
		pairs_.back()->client.destroy_qp();
		pairs_.pop_back();
	}

private:
	std::vector<std::unique_ptr<Pair>> pairs_;
};

// The engines may be paused in the intervals, which the program does not see; after the longest one
// they are not.
TEST(order, burst__on_many_queue_pairs_goes_out_although_nobody_polls)
{
	using std::chrono::milliseconds;
	constexpr int burst = 8;
	Bursts bursts(20);
	for (milliseconds interval : {milliseconds(0), milliseconds(1), milliseconds(20)}) {
		bursts.post_on_each(burst);
		bursts.expect_arrival(burst);
		std::this_thread::sleep_for(interval);
		bursts.post_on_each(1);
		bursts.expect_arrival(1);
		bursts.poll(burst + 1);
	}
}

// The end of a queue pair meets the timer that looks at those of the burst.
TEST(order, burst__queue_pairs_are_destroyed_in_it)
{
	constexpr int burst = 8, number = 30;
	Bursts bursts(number);
	for (int round = 1; round < number; round++) {
		bursts.post_on_each(burst);
		bursts.expect_arrival(burst);
		bursts.poll(burst);
		bursts.post_on_each(burst);
		bursts.expect_arrival(burst);
		std::this_thread::sleep_for(std::chrono::microseconds(10 * round));
		bursts.destroy_last();
		bursts.drop();
	}
}

TEST(order, list__posted_by_one_call)
{
	Pair pair;
	std::vector<Send> list;
	for (int i = 0; i < 20; i++) {
		fill(pair.client.memory().span(i * 1000, 1000), i);
		list.push_back(write(i, {pair.client.memory().sge(i * 1000, 1000)},
				     pair.server.remote(i * 1000)));
	}
	post_list(pair.client.qp(), std::move(list));
	post(pair.client.qp(),
	     read(20, {pair.client.memory().sge(30000, 8)}, pair.server.remote()));
	EXPECT_EQ(wait_ok(pair.client.scq(), 21).back().wr_id, 20u);
	for (int i = 0; i < 20; i++)
		EXPECT_TRUE(filled(pair.server.memory().span(i * 1000, 1000), i));
}

TEST(order, fence__send_carries_what_was_read)
{
	Pair pair;
	constexpr size_t n = 20000;
	fill(pair.server.memory().span(0, n), 3);
	post_recv(pair.server.qp(), 1, {pair.server.memory().sge(n, n)});
	post(pair.client.qp(), read(1, {pair.client.memory().sge(0, n)}, pair.server.remote()));
	post(pair.client.qp(), send(2, {pair.client.memory().sge(0, n)}).flags(IBV_SEND_FENCE));
	wait_ok(pair.client.scq(), 2);
	wait_ok(pair.server.rcq());
	EXPECT_TRUE(filled(pair.server.memory().span(n, n), 3));
}

TEST(order, fence__write_carries_what_was_read)
{
	Pair pair;
	constexpr size_t n = 20000;
	fill(pair.server.memory().span(0, n), 4);
	post_recv(pair.server.qp(), 1, {});
	for (int i = 0; i < 3; i++)
		post(pair.client.qp(),
		     read(i, {pair.client.memory().sge(0, n)}, pair.server.remote()));
	post(pair.client.qp(), write(3, {pair.client.memory().sge(0, n)}, pair.server.remote(n))
				       .flags(IBV_SEND_FENCE));
	post(pair.client.qp(), send(4, {}));
	wait_ok(pair.client.scq(), 5);
	wait_ok(pair.server.rcq());
	EXPECT_TRUE(filled(pair.server.memory().span(n, n), 4));
}

TEST(order, fence__nothing_to_wait_for)
{
	Pair pair;
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, 8)}, pair.server.remote())
				       .flags(IBV_SEND_FENCE));
	EXPECT_EQ(wait_ok(pair.client.scq()).wr_id, 1u);
}

TEST(order, read__sees_the_write_before_it)
{
	Pair pair;
	for (int i = 0; i < 10; i++) {
		fill(pair.client.memory().span(0, 10000), i);
		post(pair.client.qp(),
		     write(0, {pair.client.memory().sge(0, 10000)}, pair.server.remote()));
		post(pair.client.qp(),
		     read(1, {pair.client.memory().sge(20000, 10000)}, pair.server.remote()));
		wait_ok(pair.client.scq(), 2);
		ASSERT_TRUE(filled(pair.client.memory().span(20000, 10000), i));
	}
}

TEST(order, read__more_than_ord_wait_their_turn)
{
	for (uint8_t depth : {1, 2, 5}) {
		PairConfig config;
		config.connect.initiator_depth = depth;
		config.accept.responder_resources = depth;
		Pair pair(config);
		for (int i = 0; i < 30; i++)
			fill(pair.server.memory().span(i * 2000, 2000), i);
		for (int i = 0; i < 30; i++)
			post(pair.client.qp(), read(i, {pair.client.memory().sge(i * 2000, 2000)},
						    pair.server.remote(i * 2000)));
		std::vector<ibv_wc> all = wait_ok(pair.client.scq(), 30);
		for (int i = 0; i < 30; i++) {
			EXPECT_EQ(all[i].wr_id, uint64_t(i));
			EXPECT_TRUE(filled(pair.client.memory().span(i * 2000, 2000), i));
		}
	}
}

TEST(order, read__both_directions_beyond_ord)
{
	PairConfig config;
	config.connect = {{}, 2, 2};
	config.accept = {{}, 2, 2};
	Pair pair(config);
	fill(pair.client.memory().span(0, 8000), 1);
	fill(pair.server.memory().span(0, 8000), 2);
	for (int i = 0; i < 20; i++) {
		post(pair.client.qp(),
		     read(i, {pair.client.memory().sge(10000, 8000)}, pair.server.remote()));
		post(pair.server.qp(),
		     read(i, {pair.server.memory().sge(10000, 8000)}, pair.client.remote()));
	}
	wait_ok(pair.client.scq(), 20);
	wait_ok(pair.server.scq(), 20);
	EXPECT_TRUE(filled(pair.client.memory().span(10000, 8000), 2));
	EXPECT_TRUE(filled(pair.server.memory().span(10000, 8000), 1));
}

TEST(order, read__without_depth_is_an_error)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	PairConfig config;
	config.connect.initiator_depth = 0;
	config.accept.responder_resources = 0;
	Pair pair(config);
	post(pair.client.qp(), read(1, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_LOC_QP_OP_ERR);
	EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
}
