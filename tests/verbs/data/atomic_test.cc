// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Atomic Operations, RFC 7306 5.
#include <atomic>
#include <cstring>
#include <thread>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct atomic : KwarpOnly {};

constexpr int atomic_access = all_access | IBV_ACCESS_REMOTE_ATOMIC;

// Two ends whose memory accepts atomics.
struct AtomicPair : Pair {
	AtomicPair() : Pair(config()) {}

	static PairConfig config()
	{
		Config c;
		c.access = atomic_access;
		return both(c);
	}
};

Send operation(ibv_wr_opcode opcode, uint64_t id, ibv_sge result, Remote target,
	       uint64_t compare_add, uint64_t swap = 0)
{
	Send s(opcode, id, {result});
	s.wr.wr.atomic.remote_addr = target.address;
	s.wr.wr.atomic.rkey = target.rkey;
	s.wr.wr.atomic.compare_add = compare_add;
	s.wr.wr.atomic.swap = swap;
	return s;
}

Send fetch_add(uint64_t id, ibv_sge result, Remote target, uint64_t add)
{
	return operation(IBV_WR_ATOMIC_FETCH_AND_ADD, id, result, target, add);
}

Send cmp_swap(uint64_t id, ibv_sge result, Remote target, uint64_t compare, uint64_t swap)
{
	return operation(IBV_WR_ATOMIC_CMP_AND_SWP, id, result, target, compare, swap);
}

uint64_t &number(Endpoint &e, size_t offset = 0)
{
	return *reinterpret_cast<uint64_t *>(e.memory().span(offset, 8).data());
}

} // namespace

TEST_F(atomic, fetch_add)
{
	AtomicPair pair;
	number(pair.server) = 40;
	post(pair.client.qp(),
	     fetch_add(1, pair.client.memory().sge(64, 8), pair.server.remote(), 2));
	ibv_wc wc = wait_ok(pair.client.scq());
	EXPECT_EQ(wc.opcode, IBV_WC_FETCH_ADD);
	EXPECT_EQ(wc.byte_len, 8u);
	EXPECT_EQ(number(pair.client, 64), 40u);
	EXPECT_EQ(number(pair.server), 42u);
}

TEST_F(atomic, cmp_swap)
{
	AtomicPair pair;
	number(pair.server, 8) = 7;
	post(pair.client.qp(),
	     cmp_swap(1, pair.client.memory().sge(0, 8), pair.server.remote(8), 7, 9));
	EXPECT_EQ(wait_ok(pair.client.scq()).opcode, IBV_WC_COMP_SWAP);
	EXPECT_EQ(number(pair.client), 7u);
	EXPECT_EQ(number(pair.server, 8), 9u);
	// a mismatch returns the value found and leaves it unchanged
	post(pair.client.qp(),
	     cmp_swap(2, pair.client.memory().sge(0, 8), pair.server.remote(8), 7, 11));
	wait_ok(pair.client.scq());
	EXPECT_EQ(number(pair.client), 9u);
	EXPECT_EQ(number(pair.server, 8), 9u);
}

TEST_F(atomic, result__in_two_pieces)
{
	AtomicPair pair;
	number(pair.server) = 0x1122334455667788;
	Send s = fetch_add(1, pair.client.memory().sge(100, 3), pair.server.remote(), 1);
	s.list.push_back(pair.client.memory().sge(200, 5));
	post(pair.client.qp(), s);
	wait_ok(pair.client.scq());
	uint64_t got = 0;
	memcpy(&got, pair.client.memory().span(100, 3).data(), 3);
	memcpy(reinterpret_cast<char *>(&got) + 3, pair.client.memory().span(200, 5).data(), 5);
	EXPECT_EQ(got, 0x1122334455667788u);
}

TEST_F(atomic, result__of_another_size_is_refused)
{
	AtomicPair pair;
	post(pair.client.qp(),
	     fetch_add(1, pair.client.memory().sge(0, 16), pair.server.remote(), 1));
	EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_LOC_LEN_ERR);
}

// Atomics and Reads stay in order, with more requests than the ORD allows at a time.
TEST_F(atomic, order__with_reads)
{
	AtomicPair pair;
	number(pair.server) = 0;
	for (int i = 0; i < 60; i++) {
		if (i % 3 == 2)
			post(pair.client.qp(),
			     read(i, {pair.client.memory().sge(8 * i, 8)}, pair.server.remote()));
		else
			post(pair.client.qp(), fetch_add(i, pair.client.memory().sge(8 * i, 8),
							 pair.server.remote(), 1));
	}
	std::vector<ibv_wc> all = wait_ok(pair.client.scq(), 60);
	for (int i = 0; i < 60; i++) {
		EXPECT_EQ(all[i].wr_id, uint64_t(i));
		// a Read must see the effect of all earlier atomics
		uint64_t before = i / 3 * 2 + (i % 3 == 2 ? 2 : i % 3);
		if (i % 3 == 2)
			EXPECT_GE(number(pair.client, 8 * i), before) << i;
		else
			EXPECT_EQ(number(pair.client, 8 * i), before) << i;
	}
	EXPECT_EQ(number(pair.server), 40u);
}

TEST_F(atomic, race__connections_and_the_program_itself)
{
	constexpr int rounds = 200, connections = 4;
	AtomicPair first;
	std::vector<std::unique_ptr<Pair>> others;
	for (int i = 1; i < connections; i++)
		others.push_back(std::make_unique<AtomicPair>());
	// one number, registered in the protection domain of each connection
	auto counter = std::make_unique<std::atomic<uint64_t>[]>(1);
	std::vector<Mr> keys;
	std::vector<Pair *> pairs{&first};
	for (auto &p : others)
		pairs.push_back(p.get());
	for (Pair *p : pairs)
		keys.push_back(reg_mr(p->server.pd(), counter.get(), 8,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC));
	for (int i = 0; i < rounds; i += 10) {
		for (int c = 0; c < connections; c++)
			for (int k = 0; k < 10; k++)
				post(pairs[c]->client.qp(),
				     fetch_add(k, pairs[c]->client.memory().sge(0, 8),
					       {reinterpret_cast<uint64_t>(counter.get()),
						keys[c]->rkey},
					       1));
		for (int k = 0; k < 10000; k++)
			counter[0].fetch_add(1);
		for (Pair *p : pairs)
			wait_ok(p->client.scq(), 10);
	}
	EXPECT_EQ(counter[0].load(), uint64_t(rounds * connections + rounds / 10 * 10000))
		<< "wrong data: increments are lost";
}

TEST_F(atomic, error__not_aligned)
{
	AtomicPair pair;
	number(pair.server) = 5;
	number(pair.server, 8) = 6;
	post(pair.client.qp(),
	     fetch_add(1, pair.client.memory().sge(0, 8), pair.server.remote(4), 1));
	// RFC 7306 8.2: a Terminate is sent, and memory is unchanged
	EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_REM_OP_ERR);
	EXPECT_EQ(number(pair.server), 5u);
	EXPECT_EQ(number(pair.server, 8), 6u);
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
}

TEST_F(atomic, error__no_right)
{
	PairConfig config;
	Pair pair(config);
	number(pair.server) = 5;
	post(pair.client.qp(),
	     fetch_add(1, pair.client.memory().sge(0, 8), pair.server.remote(), 1));
	EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_REM_ACCESS_ERR);
	EXPECT_EQ(number(pair.server), 5u);
}

// The access rights of the queue pair. If the program sets rights, only those are given. The rights
// that rdma_cm sets do not include atomics.
TEST_F(atomic, rights__of_the_queue_pair)
{
	const unsigned int read_write = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	for (unsigned int access :
	     {read_write, 0u, unsigned{IBV_ACCESS_REMOTE_READ},
	      read_write | IBV_ACCESS_REMOTE_ATOMIC, unsigned{IBV_ACCESS_REMOTE_ATOMIC}}) {
		AtomicPair pair;
		number(pair.server) = 5;
		ibv_qp_attr attr{};
		attr.qp_access_flags = access;
		ASSERT_EQ(ibv_modify_qp(pair.server.qp(), &attr, IBV_QP_ACCESS_FLAGS), 0);
		EXPECT_EQ(query_qp(pair.server.qp()).qp_access_flags, access);
		post(pair.client.qp(),
		     fetch_add(1, pair.client.memory().sge(0, 8), pair.server.remote(), 1));
		const bool may = access & IBV_ACCESS_REMOTE_ATOMIC;
		EXPECT_EQ(wait(pair.client.scq()).status,
			  may ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR)
			<< access;
		EXPECT_EQ(number(pair.server), may ? 6u : 5u) << access;
	}
}

// The program sets rights before rdma_accept(), in which rdma_cm sets its own.
TEST_F(atomic, rights__named_before_the_connection)
{
	for (unsigned int access :
	     {0u, unsigned{IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE}}) {
		Config config;
		config.access = atomic_access;
		Listener listener(lab::b());
		Endpoint client(lab::a(), config);
		client.resolve(listener);
		client.connect();
		Endpoint server(listener.request(), config);
		number(server) = 5;
		ibv_qp_attr attr{};
		attr.qp_access_flags = access;
		ASSERT_EQ(ibv_modify_qp(server.qp(), &attr, IBV_QP_ACCESS_FLAGS), 0);
		server.accept();
		client.established();
		server.established();
		EXPECT_EQ(query_qp(server.qp()).qp_access_flags, access);
		if (access) {
			post(client.qp(), write(1, {client.memory().sge(0, 8)}, server.remote(64)));
			wait_ok(client.scq());
		}
		post(client.qp(), fetch_add(2, client.memory().sge(0, 8), server.remote(), 1));
		EXPECT_EQ(wait(client.scq()).status, IBV_WC_REM_ACCESS_ERR) << access;
		EXPECT_EQ(number(server), 5u);
	}
}

TEST_F(atomic, error__beyond_the_region)
{
	AtomicPair pair;
	size_t size = pair.server.memory().size();
	post(pair.client.qp(),
	     fetch_add(1, pair.client.memory().sge(0, 8), pair.server.remote(size), 1));
	EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(atomic, error__result_may_not_be_written)
{
	PairConfig config;
	config.client.access = IBV_ACCESS_REMOTE_READ;
	config.server.access = atomic_access;
	Pair pair(config);
	number(pair.server) = 5;
	post(pair.client.qp(),
	     fetch_add(1, pair.client.memory().sge(0, 8), pair.server.remote(), 1));
	EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_LOC_PROT_ERR);
	EXPECT_EQ(number(pair.server), 5u) << "the request was sent nevertheless";
}
