// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <gtest/gtest.h>

#include <set>
#include <sys/mman.h>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct mr : testing::Test {
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());

	int try_reg(void *address, size_t length, int access)
	{
		Mr region(ibv_reg_mr(pd.get(), address, length, access));
		return region ? 0 : errno;
	}
};

// The client writes to and reads from a region that the server has registered for it.
void exchange(Pair &pair, const Remote &there, std::span<uint8_t> memory)
{
	size_t n = memory.size();
	std::span<uint8_t> own = pair.client.memory().span(0, n);

	fill(own, 1);
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, n)}, there));
	post(pair.client.qp(), read(2, {pair.client.memory().sge(n, n)}, there));
	wait_ok(pair.client.scq(), 2);
	EXPECT_TRUE(filled(memory, 1));
	EXPECT_TRUE(filled(pair.client.memory().span(n, n), 1));
}

} // namespace

TEST_F(mr, register__keys_are_not_guessable)
{
	Memory memory(4096);
	std::vector<Mr> regions;
	std::set<uint32_t> keys, steps;
	for (int i = 0; i < 32; i++) {
		regions.push_back(reg_mr(pd.get(), memory.data(), 4096));
		keys.insert(regions.back()->rkey);
		if (i)
			steps.insert((regions[i]->rkey >> 8) - (regions[i - 1]->rkey >> 8));
	}
	EXPECT_EQ(keys.size(), 32u);
	EXPECT_EQ(keys.count(0), 0u);
	if (lab::a().is_kwarp()) {
		EXPECT_GT(steps.size(), 16u) << "STag indexes follow one another";
	}
}

TEST_F(mr, register__zero_length_gives_no_access)
{
	Memory memory(4096);
	Mr region(ibv_reg_mr(pd.get(), memory.data(), 0, all_access));
	if (!region) {
		EXPECT_EQ(errno, EINVAL);
	} else {
		EXPECT_EQ(region->length, 0u);
	}
}

TEST_F(mr, register__read_only_memory)
{
	Memory memory(4096, PROT_READ);
	EXPECT_EQ(try_reg(memory.data(), 4096, IBV_ACCESS_REMOTE_READ), 0);
	EXPECT_EQ(try_reg(memory.data(), 4096, all_access), EFAULT);
}

TEST_F(mr, register__no_memory_there)
{
	Memory memory(3 * 4096);
	ASSERT_EQ(munmap(memory.data() + 4096, 4096), 0);
	EXPECT_EQ(try_reg(memory.data(), 4096, all_access), 0);
	EXPECT_NE(try_reg(memory.data(), 3 * 4096, all_access), 0);
	EXPECT_NE(try_reg(nullptr, 4096, all_access), 0);
	Memory guarded(4096, PROT_NONE);
	EXPECT_NE(try_reg(guarded.data(), 4096, IBV_ACCESS_REMOTE_READ), 0);
}

TEST_F(mr, register__range_wraps)
{
	EXPECT_NE(try_reg(reinterpret_cast<void *>(~0xfffull), 0x2000, IBV_ACCESS_REMOTE_READ), 0);
	Memory memory(4096);
	EXPECT_NE(try_reg(memory.data(), SIZE_MAX, IBV_ACCESS_REMOTE_READ), 0);
}

TEST_F(mr, register__bad_flags)
{
	Memory memory(4096);
	EXPECT_EQ(try_reg(memory.data(), 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	EXPECT_EQ(try_reg(memory.data(), 4096, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	EXPECT_NE(try_reg(memory.data(), 4096, IBV_ACCESS_LOCAL_WRITE | 1 << 15), 0);
	EXPECT_NE(try_reg(memory.data(), 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND), 0);
}

TEST_F(mr, register__optional_flags_are_ignored)
{
	Memory memory(4096);
	EXPECT_EQ(try_reg(memory.data(), 4096, all_access | IBV_ACCESS_RELAXED_ORDERING), 0);
}

TEST_F(mr, register__iova_needs_same_page_offset)
{
	Memory memory(4096);
	Mr region(ibv_reg_mr_iova(pd.get(), memory.data(), 4096, 0x100001, all_access));
	EXPECT_EQ(region, nullptr);
}

TEST_F(mr, register__same_memory_many_times)
{
	Memory memory(1 << 16);
	std::vector<Mr> regions;
	for (int i = 0; i < 256; i++)
		regions.push_back(reg_mr(pd.get(), memory.data() + i, (1 << 16) - i));
}

TEST(mr_data, access__unaligned)
{
	Pair pair;
	Memory memory(4 * 4096);
	Mr region = reg_mr(pair.server.pd(), memory.data() + 4093, 4099);
	exchange(pair, {reinterpret_cast<uintptr_t>(memory.data()) + 4093, region->rkey},
		 memory.span(4093, 4099));
	EXPECT_TRUE(all_equal(memory.span(0, 4093), 0));
	EXPECT_TRUE(all_equal(memory.span(8192, 8192), 0));
}

TEST(mr_data, access__one_byte_region)
{
	Pair pair;
	Memory memory(4096);
	Mr region = reg_mr(pair.server.pd(), memory.data() + 4095, 1);
	exchange(pair, {reinterpret_cast<uintptr_t>(memory.data()) + 4095, region->rkey},
		 memory.span(4095, 1));
}

TEST(mr_data, access__iova_is_not_the_address)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	Memory memory(3 * 4096);
	for (uint64_t base : {0x0ull, 0x7000ull, 0xfffffffffff00000ull}) {
		uint64_t iova = base + 100;
		Mr region = reg_mr_iova(pair.server.pd(), memory.data() + 100, 8192, iova);
		exchange(pair, {iova, region->rkey}, memory.span(100, 8192));
		// a range inside the region
		exchange(pair, {iova + 4000, region->rkey}, memory.span(4100, 999));
	}
}

TEST(mr_data, access__local_buffers_by_iova)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	Memory memory(2 * 4096);
	Mr region = reg_mr_iova(pair.client.pd(), memory.data(), 8192, 0x5000, all_access);
	fill(memory.span(10, 5000), 3);
	post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 5000)});
	post(pair.client.qp(), send(2, {{0x5000 + 10, 5000, region->lkey}}));
	wait_ok(pair.client.scq());
	EXPECT_EQ(wait_ok(pair.server.rcq()).byte_len, 5000u);
	EXPECT_TRUE(filled(pair.server.memory().span(0, 5000), 3));
}

TEST(mr_data, access__many_pages)
{
	constexpr size_t size = 2 << 20;
	Config config;
	config.memory = 2 * size;
	Pair pair(both(config));
	Memory memory(size + 4096);
	Mr region = reg_mr(pair.server.pd(), memory.data() + 1, size - 1);
	exchange(pair, {reinterpret_cast<uintptr_t>(memory.data()) + 1, region->rkey},
		 memory.span(1, size - 1));
	EXPECT_TRUE(all_equal(memory.span(size, 4096), 0));
}

TEST(mr_data, access__memory_shared_by_two_regions)
{
	Pair pair;
	Memory memory(8192);
	uint64_t address = reinterpret_cast<uintptr_t>(memory.data());
	Mr one = reg_mr(pair.server.pd(), memory.data(), 8192);
	Mr two = reg_mr(pair.server.pd(), memory.data() + 100, 100);
	exchange(pair, {address + 100, two->rkey}, memory.span(100, 100));
	two.reset();
	exchange(pair, {address, one->rkey}, memory.span(0, 8192));
}

TEST(mr_data, access__read_only_memory_is_readable)
{
	Pair pair;
	Memory memory(4096);
	fill(memory.span(0, 4096), 9);
	ASSERT_EQ(mprotect(memory.data(), 4096, PROT_READ), 0);
	Mr region = reg_mr(pair.server.pd(), memory.data(), 4096, IBV_ACCESS_REMOTE_READ);
	post(pair.client.qp(), read(1, {pair.client.memory().sge(0, 4096)},
				    {reinterpret_cast<uintptr_t>(memory.data()), region->rkey}));
	wait_ok(pair.client.scq());
	EXPECT_TRUE(filled(pair.client.memory().span(0, 4096), 9));
}

TEST(mr_data, deregister__while_connected)
{
	Pair pair;
	Memory memory(4096);
	uint64_t address = reinterpret_cast<uintptr_t>(memory.data());
	Mr region = reg_mr(pair.server.pd(), memory.data(), 4096);
	Remote there{address, region->rkey};
	exchange(pair, there, memory.span(0, 4096));

	memset(memory.data(), 0x55, 4096);
	region.reset();
	post(pair.client.qp(), write(3, {pair.client.memory().sge(0, 4096)}, there));
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(all_equal(memory.span(0, 4096), 0x55));
}

TEST(mr_data, deregister__while_written_to)
{
	// No byte arrives after ibv_dereg_mr() has returned, and no call hangs.
	Pair pair;
	Memory memory(65536);
	uint64_t address = reinterpret_cast<uintptr_t>(memory.data());
	Mr region = reg_mr(pair.server.pd(), memory.data(), 65536);
	fill(pair.client.memory().span(0, 65536), 1);
	for (int i = 0; i < 32; i++)
		post(pair.client.qp(),
		     write(i, {pair.client.memory().sge(0, 65536)}, {address, region->rkey})
			     .unsignaled());
	region.reset();
	memset(memory.data(), 0x55, 65536);
	drain(pair.client.scq());
	EXPECT_TRUE(all_equal(memory.span(0, 65536), 0x55));
}

TEST(mr_data, deregister__while_read_from)
{
	// Reads in progress return the right data or end in an error.
	Pair pair;
	Memory memory(65536);
	uint64_t address = reinterpret_cast<uintptr_t>(memory.data());
	Mr region = reg_mr(pair.server.pd(), memory.data(), 65536);
	fill(memory.span(0, 65536), 1);
	for (int i = 0; i < 20; i++)
		post(pair.client.qp(),
		     read(i, {pair.client.memory().sge(0, 65536)}, {address, region->rkey}));
	region.reset();
	memset(memory.data(), 0x55, 65536);
	bool failed = false;
	for (const ibv_wc &wc : wait(pair.client.scq(), 20)) {
		EXPECT_TRUE(!failed || wc.status == IBV_WC_WR_FLUSH_ERR) << to_string(wc);
		failed |= wc.status != IBV_WC_SUCCESS;
	}
	if (!failed) {
		EXPECT_TRUE(filled(pair.client.memory().span(0, 65536), 1));
	}
}
