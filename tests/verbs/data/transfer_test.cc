// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Send, RDMA Write, RDMA Read: every byte arrives once, in its place.
#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

constexpr size_t MiB = 1 << 20;
// Sizes around MPA's padding, one segment at MTU 1500 (1428 bytes of a Write, 1424 of a Send),
// whole segments, 64 KiB, and more than one batch.
constexpr size_t sizes[] = {0,	  1,	3,    4,    1427,  1428,  1429,	 1424,	 2848,
			    2856, 4272, 4284, 4096, 65535, 65536, 65537, MiB + 1};
constexpr size_t largest = MiB + 1 + 64;

PairConfig large()
{
	Config config;
	config.memory = largest;
	return both(config);
}

PairConfig sixteen_pieces()
{
	Config config;
	config.sge = 16;
	return both(config);
}

// Moves one message of each kind, and checks its bytes and those after it.
struct Mover {
	Pair pair{large()};
	unsigned int seed = 0;

	void prepare(Endpoint &from, Endpoint &to, size_t size, size_t from_offset,
		     size_t to_offset)
	{
		fill(from.memory().span(from_offset, size), ++seed);
		memset(to.memory().data(), 0, std::min(largest, to_offset + size + 64));
	}

	void verify(Endpoint &to, size_t size, size_t offset)
	{
		EXPECT_TRUE(filled(to.memory().span(offset, size), seed)) << "size " << size;
		EXPECT_TRUE(all_equal(to.memory().span(0, offset), 0)) << "size " << size;
		size_t behind = std::min<size_t>(64, largest - offset - size);
		EXPECT_TRUE(all_equal(to.memory().span(offset + size, behind), 0))
			<< "size " << size;
	}

	void send(size_t size, size_t from_offset = 0, size_t to_offset = 0)
	{
		Endpoint &from = pair.client, &to = pair.server;
		prepare(from, to, size, from_offset, to_offset);
		post_recv(to.qp(), size, {to.memory().sge(to_offset, size)});
		post(from.qp(), rdma::send(size, {from.memory().sge(from_offset, size)}));
		EXPECT_EQ(wait_ok(from.scq()).opcode, IBV_WC_SEND);
		ibv_wc wc = wait_ok(to.rcq());
		EXPECT_EQ(wc.opcode, IBV_WC_RECV);
		EXPECT_EQ(wc.byte_len, size);
		EXPECT_EQ(wc.wr_id, size);
		EXPECT_EQ(wc.wc_flags, 0u);
		verify(to, size, to_offset);
	}

	// A Write has been placed when a later Send has arrived.
	void write(size_t size, size_t from_offset = 0, size_t to_offset = 0)
	{
		Endpoint &from = pair.client, &to = pair.server;
		prepare(from, to, size, from_offset, to_offset);
		post_recv(to.qp(), 1, {});
		post(from.qp(), rdma::write(size, {from.memory().sge(from_offset, size)},
					    to.remote(to_offset)));
		post(from.qp(), rdma::send(1, {}).unsignaled());
		EXPECT_EQ(wait_ok(from.scq()).opcode, IBV_WC_RDMA_WRITE);
		wait_ok(to.rcq());
		verify(to, size, to_offset);
	}

	void read(size_t size, size_t from_offset = 0, size_t to_offset = 0)
	{
		Endpoint &from = pair.server, &to = pair.client;
		prepare(from, to, size, from_offset, to_offset);
		post(to.qp(), rdma::read(size, {to.memory().sge(to_offset, size)},
					 from.remote(from_offset)));
		ibv_wc wc = wait_ok(to.scq());
		EXPECT_EQ(wc.opcode, IBV_WC_RDMA_READ);
		verify(to, size, to_offset);
	}
};

// Splits the bytes at offset into pieces of the given lengths.
std::vector<ibv_sge> pieces(const Endpoint &e, size_t offset, const std::vector<size_t> &lengths)
{
	std::vector<ibv_sge> list;
	for (size_t length : lengths) {
		list.push_back(e.memory().sge(offset, length));
		offset += length;
	}
	return list;
}

size_t sum(const std::vector<size_t> &lengths)
{
	return std::accumulate(lengths.begin(), lengths.end(), size_t(0));
}

const std::vector<size_t> many{1, 2, 3, 5, 0, 7, 1460, 11, 4096, 13, 17, 1, 1, 1, 5000, 19};
const std::vector<size_t> other{4000, 1, 0, 3, 2000, 4634};

} // namespace

TEST(send, transfer__sizes)
{
	Mover mover;
	for (size_t size : sizes)
		mover.send(size);
}

TEST(write, transfer__sizes)
{
	Mover mover;
	for (size_t size : sizes)
		mover.write(size);
}

TEST(read, transfer__sizes)
{
	Mover mover;
	for (size_t size : sizes)
		mover.read(size);
}

TEST(send, transfer__unaligned)
{
	Mover mover;
	for (size_t from : {1, 2, 3})
		for (size_t to : {1, 2, 3, 7})
			mover.send(5001, from, to);
}

TEST(write, transfer__unaligned)
{
	Mover mover;
	for (size_t from : {1, 2, 3})
		for (size_t to : {1, 2, 3, 7})
			mover.write(5001, from, to);
}

TEST(read, transfer__unaligned)
{
	Mover mover;
	for (size_t from : {1, 2, 3})
		for (size_t to : {1, 2, 3, 7})
			mover.read(5001, from, to);
}

TEST(send, transfer__no_list_at_all)
{
	Pair pair;
	post_recv(pair.server.qp(), 5, {});
	post(pair.client.qp(), send(6, {}));
	wait_ok(pair.client.scq());
	EXPECT_EQ(wait_ok(pair.server.rcq()).byte_len, 0u);
}

TEST(send, transfer__shorter_than_the_receive)
{
	Pair pair;
	fill(pair.client.memory().span(0, 100), 1);
	post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 4096)});
	post(pair.client.qp(), send(1, {pair.client.memory().sge(0, 100)}));
	EXPECT_EQ(wait_ok(pair.server.rcq()).byte_len, 100u);
	EXPECT_TRUE(filled(pair.server.memory().span(0, 100), 1));
	EXPECT_TRUE(all_equal(pair.server.memory().span(100, 3996), 0));
}

// A receive may have more room than the longest message; the part that is used must be registered.
TEST(send, transfer__receive_longer_than_any_message)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	ibv_sge all = pair.server.memory().sge(0, 1);
	all.length = UINT32_MAX;
	post_recv(pair.server.qp(), 1, {all, all});
	fill(pair.client.memory().span(0, 100), 1);
	post(pair.client.qp(), send(1, {pair.client.memory().sge(0, 100)}));
	EXPECT_EQ(wait_ok(pair.server.rcq()).byte_len, 100U);
	EXPECT_TRUE(filled(pair.server.memory().span(0, 100), 1));
}

TEST(send, transfer__gather_and_scatter)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only: needs 16 pieces";
	Pair pair(sixteen_pieces());
	size_t total = sum(many);
	ASSERT_EQ(sum(other), total + 1);
	fill(pair.client.memory().span(3, total), 7);
	post_recv(pair.server.qp(), 1, pieces(pair.server, 5, other));
	post(pair.client.qp(), send(1, pieces(pair.client, 3, many)));
	wait_ok(pair.client.scq());
	EXPECT_EQ(wait_ok(pair.server.rcq()).byte_len, total);
	EXPECT_TRUE(filled(pair.server.memory().span(5, total), 7));
	EXPECT_TRUE(all_equal(pair.server.memory().span(5 + total, 100), 0));
}

TEST(send, transfer__pieces_in_any_order)
{
	Pair pair;
	std::span<uint8_t> from = pair.client.memory().span(0, 3000);
	fill(from, 7);
	post_recv(pair.server.qp(), 1,
		  {pair.server.memory().sge(2000, 1000), pair.server.memory().sge(0, 2000)});
	post(pair.client.qp(),
	     send(1, {pair.client.memory().sge(2000, 1000), pair.client.memory().sge(0, 2000)}));
	wait_ok(pair.client.scq());
	EXPECT_EQ(wait_ok(pair.server.rcq()).byte_len, 3000u);
	EXPECT_TRUE(filled(pair.server.memory().span(0, 3000), 7));
}

TEST(write, transfer__gather)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only: needs 16 pieces";
	Pair pair(sixteen_pieces());
	size_t total = sum(many);
	fill(pair.client.memory().span(3, total), 8);
	post_recv(pair.server.qp(), 1, {});
	post(pair.client.qp(), write(1, pieces(pair.client, 3, many), pair.server.remote(9)));
	post(pair.client.qp(), send(2, {}));
	wait_ok(pair.client.scq(), 2);
	wait_ok(pair.server.rcq());
	EXPECT_TRUE(filled(pair.server.memory().span(9, total), 8));
	EXPECT_TRUE(all_equal(pair.server.memory().span(9 + total, 100), 0));
}

TEST(read, transfer__scatter)
{
	Pair pair(lab::both_kwarp() ? sixteen_pieces() : PairConfig());
	size_t most = static_cast<size_t>(query_device(pair.client.context()).max_sge_rd);
	std::vector<size_t> lengths(many.begin(), many.begin() + std::min(most, many.size()));
	size_t total = sum(lengths);
	fill(pair.server.memory().span(1, total), 8);
	post(pair.client.qp(), read(1, pieces(pair.client, 3, lengths), pair.server.remote(1)));
	wait_ok(pair.client.scq());
	EXPECT_TRUE(filled(pair.client.memory().span(3, total), 8));
	EXPECT_TRUE(all_equal(pair.client.memory().span(3 + total, 100), 0));
}

TEST(read, transfer__sink_needs_no_remote_rights)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	PairConfig config;
	config.client.access = IBV_ACCESS_LOCAL_WRITE;
	Pair pair(config);
	fill(pair.server.memory().span(0, 5000), 2);
	post(pair.client.qp(), read(1, {pair.client.memory().sge(0, 5000)}, pair.server.remote()));
	wait_ok(pair.client.scq());
	EXPECT_TRUE(filled(pair.client.memory().span(0, 5000), 2));
}

TEST(inline_data, send__up_to_what_was_granted)
{
	PairConfig config;
	config.client.inline_data = lab::both_kwarp() ? 512 : 64;
	Pair pair(config);
	uint32_t granted = pair.client.cap().max_inline_data;
	Memory unregistered(4096);
	for (uint32_t size : {0u, 1u, 2u, 3u, 63u, 64u, granted - 1, granted}) {
		if (size > granted)
			continue;
		std::span<uint8_t> data = unregistered.span(1, size);
		fill(data, size);
		post_recv(pair.server.qp(), size, {pair.server.memory().sge(0, 4096)});
		ibv_sge sge{reinterpret_cast<uintptr_t>(data.data()), size, 0};
		post(pair.client.qp(), send(size, {sge}).flags(IBV_SEND_INLINE));
		memset(data.data(), 0xee, size); // the buffer may be reused at once
		wait_ok(pair.client.scq());
		EXPECT_EQ(wait_ok(pair.server.rcq()).byte_len, size);
		EXPECT_TRUE(filled(pair.server.memory().span(0, size), size)) << size;
	}
}

TEST(inline_data, write__several_pieces)
{
	PairConfig config;
	config.client.inline_data = 60;
	Pair pair(config);
	Memory unregistered(4096);
	fill(unregistered.span(0, 60), 1);
	uint64_t at = reinterpret_cast<uintptr_t>(unregistered.data());
	post_recv(pair.server.qp(), 1, {});
	post(pair.client.qp(),
	     write(1, {{at, 7, 0}, {at + 7, 3, 0}, {at + 10, 50, 0}}, pair.server.remote())
		     .flags(IBV_SEND_INLINE));
	memset(unregistered.data(), 0xee, 60);
	post(pair.client.qp(), send(2, {}));
	wait_ok(pair.client.scq(), 2);
	wait_ok(pair.server.rcq());
	EXPECT_TRUE(filled(pair.server.memory().span(0, 60), 1));
}

TEST(inline_data, post__more_than_granted)
{
	PairConfig config;
	config.client.inline_data = 32;
	Pair pair(config);
	uint32_t granted = pair.client.cap().max_inline_data;
	EXPECT_NE(try_post(pair.client.qp(), send(1, {pair.client.memory().sge(0, granted + 1)})
						     .flags(IBV_SEND_INLINE)),
		  0);
	EXPECT_EQ(pair.client.state(), IBV_QPS_RTS);
}

TEST(transfer, bidirectional__all_kinds)
{
	Pair pair(large());
	constexpr size_t piece = 9001;
	constexpr int rounds = 20;

	// each side: memory [0, 20 pieces) is the source of writes, the next 20 their target, then
	// receives
	auto one_side = [](Endpoint &self, Endpoint &other) {
		for (int i = 0; i < rounds; i++)
			fill(self.memory().span(i * piece, piece), i);
		for (int i = 0; i < rounds; i++) {
			post(self.qp(), write(i, {self.memory().sge(i * piece, piece)},
					      other.remote((rounds + i) * piece)));
			post(self.qp(), send(i, {self.memory().sge(i * piece, piece)}));
		}
		wait_ok(self.scq(), 2 * rounds);
		wait_ok(self.rcq(), rounds);
	};
	for (Endpoint *e : {&pair.client, &pair.server})
		for (int i = 0; i < rounds; i++)
			post_recv(e->qp(), i, {e->memory().sge((2 * rounds + i) * piece, piece)});
	std::thread client(one_side, std::ref(pair.client), std::ref(pair.server));
	std::thread server(one_side, std::ref(pair.server), std::ref(pair.client));
	client.join();
	server.join();
	for (Endpoint *e : {&pair.client, &pair.server})
		for (int i = 0; i < rounds; i++) {
			EXPECT_TRUE(filled(e->memory().span((rounds + i) * piece, piece), i));
			EXPECT_TRUE(filled(e->memory().span((2 * rounds + i) * piece, piece), i));
		}
}

TEST(transfer, parallel__four_pairs_in_threads)
{
	std::vector<std::unique_ptr<Pair>> pairs;
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		pairs.push_back(std::make_unique<Pair>());
	for (int i = 0; i < 4; i++)
		threads.emplace_back([i, &pair = *pairs[i]] {
			for (int round = 0; round < 10; round++) {
				unsigned int seed = i * 100 + round;
				fill(pair.client.memory().span(0, 20000), seed);
				post(pair.client.qp(),
				     write(1, {pair.client.memory().sge(0, 20000)},
					   pair.server.remote(20000)));
				post(pair.client.qp(),
				     read(2, {pair.client.memory().sge(40000, 20000)},
					  pair.server.remote(20000)));
				wait_ok(pair.client.scq(), 2);
				EXPECT_TRUE(filled(pair.client.memory().span(40000, 20000), seed));
			}
		});
	for (std::thread &t : threads)
		t.join();
}

TEST(transfer, parallel__one_qp_posted_to_by_two_threads)
{
	Pair pair;
	auto poster = [&](uint64_t base) {
		for (uint64_t i = 0; i < 100; i++)
			while (int error =
				       try_post(pair.client.qp(),
						write(base + i, {pair.client.memory().sge(base, 8)},
						      pair.server.remote(base)))) {
				ASSERT_EQ(error, ENOMEM);
				std::this_thread::yield();
			}
	};
	fill(pair.client.memory().span(0, 8), 1);
	fill(pair.client.memory().span(1000, 8), 2);
	std::thread one(poster, 0), two(poster, 1000);
	uint64_t next[2] = {0, 1000};
	for (const ibv_wc &wc : wait_ok(pair.client.scq(), 200))
		EXPECT_EQ(wc.wr_id, next[wc.wr_id >= 1000]++);
	one.join();
	two.join();
}
