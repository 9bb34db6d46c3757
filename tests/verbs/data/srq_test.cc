// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Messages from several connections into a shared receive queue.
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "rdma/endpoint.h"

using namespace rdma;

namespace {

constexpr Milliseconds moment{200};
constexpr size_t size = 256; // of a receive

// A server with one receive queue for all its connections.
struct Server {
	Listener listener{lab::b()};
	Pd pd;
	Srq srq;
	std::unique_ptr<Region> memory;
	std::vector<std::unique_ptr<Endpoint>> clients, servers;

	explicit Server(int connections, uint32_t depth = 16)
	{
		while (connections--)
			connect(depth);
	}
	~Server()
	{
		clients.clear();
		servers.clear();
	}
	void connect(uint32_t depth, bool own_domain = false)
	{
		auto client = std::make_unique<Endpoint>(lab::a());
		client->resolve(listener);
		client->connect();
		Event request = listener.request();
		if (!srq) {
			pd = alloc_pd(request.id->verbs);
			srq = create_srq(pd.get(), depth, 2);
			memory = std::make_unique<Region>(pd.get(), depth * size);
		}
		Config config;
		config.srq = srq.get();
		config.pd = own_domain ? nullptr : pd.get();
		auto server = std::make_unique<Endpoint>(request, config);
		server->accept();
		client->established();
		server->established();
		clients.push_back(std::move(client));
		servers.push_back(std::move(server));
	}
	void receive(int slot) { post_srq_recv(srq.get(), slot, {memory->sge(slot * size, size)}); }
	void send(int who, unsigned int seed, size_t length = size)
	{
		fill(clients[who]->memory().span(0, length), seed);
		post(clients[who]->qp(), rdma::send(seed, {clients[who]->memory().sge(0, length)}));
		wait_ok(clients[who]->scq());
	}
};

struct srq_data : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

} // namespace

TEST_F(srq_data, receive__of_two_connections)
{
	Server s(2);
	for (int i = 0; i < 8; i++)
		s.receive(i);
	for (int i = 0; i < 8; i++) {
		s.send(i % 2, i + 1, 100 + i);
		ibv_wc wc = wait_ok(s.servers[i % 2]->rcq());
		EXPECT_EQ(wc.wr_id, uint64_t(i)) << "first in, first out";
		EXPECT_EQ(wc.qp_num, s.servers[i % 2]->qp()->qp_num);
		EXPECT_EQ(wc.byte_len, 100u + i);
		EXPECT_TRUE(filled(s.memory->span(i * size, 100 + i), i + 1));
	}
}

TEST_F(srq_data, receive__many_at_once)
{
	// each receive is used once, by any connection; there are enough for all
	constexpr int rounds = 20;
	Server s(3, 64);
	for (int i = 0; i < 3 * rounds; i++)
		s.receive(i);
	std::string errors[3];
	std::vector<std::thread> threads;
	for (int who = 0; who < 3; who++)
		threads.emplace_back([&s, &errors, who] {
			try {
				for (int i = 0; i < rounds; i++)
					s.send(who, who + 1, 64);
			} catch (const std::exception &e) {
				errors[who] = e.what();
			}
		});
	for (std::thread &thread : threads)
		thread.join();
	std::set<uint64_t> used;
	for (int who = 0; who < 3; who++) {
		EXPECT_EQ(errors[who], "");
		for (const ibv_wc &wc : wait_ok(s.servers[who]->rcq(), rounds)) {
			EXPECT_TRUE(used.insert(wc.wr_id).second) << wc.wr_id;
			EXPECT_TRUE(filled(s.memory->span(wc.wr_id * size, 64), who + 1));
		}
	}
	EXPECT_EQ(used.size(), 3u * rounds);
	EXPECT_LT(*used.rbegin(), 3u * rounds);
}

TEST_F(srq_data, receive__taken_by_immediate_data)
{
	Server s(2);
	for (int i = 0; i < 3; i++)
		s.receive(i);
	Send last = write(1, {}, s.servers[1]->remote());
	last.wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	last.wr.imm_data = 0x55;
	s.send(0, 1);
	EXPECT_EQ(wait_ok(s.servers[0]->rcq()).wr_id, 0u);
	post(s.clients[1]->qp(), last);
	ibv_wc wc = wait_ok(s.servers[1]->rcq());
	EXPECT_EQ(wc.wr_id, 1u);
	EXPECT_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(wc.imm_data, 0x55u);
	s.send(0, 2);
	EXPECT_EQ(wait_ok(s.servers[0]->rcq()).wr_id, 2u);
}

TEST_F(srq_data, limit__once_when_fewer_are_left)
{
	Server s(1);
	for (int i = 0; i < 6; i++)
		s.receive(i);
	AsyncEvents events(s.servers[0]->context());
	ASSERT_EQ(modify_srq(s.srq.get(), IBV_SRQ_LIMIT, 0, 4), 0);
	s.send(0, 1);
	s.send(0, 1);
	wait_ok(s.servers[0]->rcq(), 2);
	EXPECT_FALSE(events.next(moment)) << "four are left, which is not below the limit";
	EXPECT_EQ(query_srq(s.srq.get()).srq_limit, 4u);
	s.send(0, 1);
	EXPECT_EQ(events.of(s.srq.get()).event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	EXPECT_EQ(query_srq(s.srq.get()).srq_limit, 0u);
	s.send(0, 1);
	wait_ok(s.servers[0]->rcq(), 2);
	EXPECT_FALSE(events.next(moment));
	// and again after it was armed again
	ASSERT_EQ(modify_srq(s.srq.get(), IBV_SRQ_LIMIT, 0, 2), 0);
	s.send(0, 1);
	EXPECT_EQ(events.of(s.srq.get()).event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
}

TEST_F(srq_data, empty__ends_only_the_connection_that_needed_one)
{
	// RFC 5041 7.1: no buffer available is an error of the stream
	Server s(2);
	s.receive(0);
	s.send(0, 1);
	wait_ok(s.servers[0]->rcq());
	post(s.clients[0]->qp(), rdma::send(1, {s.clients[0]->memory().sge(0, 8)}));
	EXPECT_TRUE(s.servers[0]->reaches(IBV_QPS_ERR));
	EXPECT_TRUE(s.clients[0]->reaches(IBV_QPS_ERR));
	s.receive(1);
	s.send(1, 7);
	EXPECT_EQ(wait_ok(s.servers[1]->rcq()).wr_id, 1u);
	EXPECT_TRUE(filled(s.memory->span(size, size), 7));
}

TEST_F(srq_data, error__flushes_nothing_and_raises_last_wqe_reached)
{
	Server s(2);
	for (int i = 0; i < 4; i++)
		s.receive(i);
	AsyncEvents events(s.servers[0]->context());
	s.clients[0]->disconnect();
	EXPECT_EQ(events.of(s.servers[0]->qp()).event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	EXPECT_TRUE(s.servers[0]->reaches(IBV_QPS_ERR));
	EXPECT_TRUE(drain(s.servers[0]->rcq()).empty());
	for (int i = 0; i < 4; i++) {
		s.send(1, i + 1);
		EXPECT_EQ(wait_ok(s.servers[1]->rcq()).wr_id, uint64_t(i));
	}
}

TEST_F(srq_data, error__no_right_to_the_buffer)
{
	Server s(2);
	post_srq_recv(s.srq.get(), 50, {{s.memory->address(), size, s.memory->lkey() ^ 0x100}});
	s.receive(1);
	post(s.clients[0]->qp(), rdma::send(1, {s.clients[0]->memory().sge(0, 8)}));
	ibv_wc wc = wait(s.servers[0]->rcq());
	EXPECT_EQ(wc.wr_id, 50u);
	EXPECT_EQ(wc.status, IBV_WC_LOC_PROT_ERR);
	s.send(1, 3);
	EXPECT_EQ(wait_ok(s.servers[1]->rcq()).wr_id, 1u);
}

TEST_F(srq_data, pd__receives_name_memory_of_the_queues_domain)
{
	// the protection domain of the QP is not used
	Server s(1);
	s.connect(16, true);
	s.receive(3);
	s.send(1, 5);
	EXPECT_EQ(wait_ok(s.servers[1]->rcq()).wr_id, 3u);
	EXPECT_TRUE(filled(s.memory->span(3 * size, size), 5));
	Region &foreign = s.servers[1]->memory();
	post_srq_recv(s.srq.get(), 1, {foreign.sge(0, size)});
	post(s.clients[1]->qp(), rdma::send(1, {s.clients[1]->memory().sge(0, 8)}));
	EXPECT_EQ(wait(s.servers[1]->rcq()).status, IBV_WC_LOC_PROT_ERR);
	EXPECT_TRUE(all_equal(foreign.span(0, size), 0));
}

TEST_F(srq_data, resize__keeps_what_is_posted)
{
	Server s(1, 16);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 11; i++)
			s.receive(i);
		ASSERT_EQ(modify_srq(s.srq.get(), IBV_SRQ_MAX_WR, round % 2 ? 16 : 64, 0), 0);
		for (int i = 0; i < 11; i++) {
			s.send(0, i + 1);
			EXPECT_EQ(wait_ok(s.servers[0]->rcq()).wr_id, uint64_t(i));
			EXPECT_TRUE(filled(s.memory->span(i * size, size), i + 1));
		}
	}
}

TEST_F(srq_data, resize__under_traffic)
{
	Server s(1, 16);
	std::atomic<bool> stop = false;
	int failed = 0;
	for (int i = 0; i < 8; i++)
		s.receive(i);
	std::thread resizer([&] {
		for (int i = 0; !stop; i++) {
			failed += modify_srq(s.srq.get(), IBV_SRQ_MAX_WR, i % 2 ? 16 : 256, 0) != 0;
			usleep(500); // the lock of the queue is not fair
		}
	});
	std::string error;
	try {
		for (int i = 0; i < 200; i++) {
			s.send(0, i + 1);
			ibv_wc wc = wait_ok(s.servers[0]->rcq());
			if (wc.wr_id != uint64_t(i % 8))
				throw Failure("message " + std::to_string(i) + " in " +
					      std::to_string(wc.wr_id));
			EXPECT_TRUE(filled(s.memory->span(i % 8 * size, size), i + 1)) << i;
			s.receive(i % 8);
		}
	} catch (const std::exception &e) {
		error = e.what();
	}
	stop = true;
	resizer.join();
	EXPECT_EQ(error, "");
	EXPECT_EQ(failed, 0);
}
