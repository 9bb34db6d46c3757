// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Reregistration changes access rights, protection domain and memory of a region, one by one and
// together. A failure leaves the region unchanged.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

constexpr uint8_t untouched = 0x55;
constexpr size_t page = 4096;
constexpr int read_only = IBV_ACCESS_REMOTE_READ;

struct Target {
	Pair pair;
	AsyncEvents events{pair.server.context()};
	Memory memory{4 * page};
	Mr mr;

	explicit Target(int access = all_access, const PairConfig &config = {})
		: pair(config), mr(reg_mr(pair.server.pd(), memory.data(), 2 * page, access))
	{
		memset(memory.data(), untouched, memory.size());
	}

	uint64_t at(size_t offset) const
	{
		return reinterpret_cast<uintptr_t>(memory.data()) + offset;
	}
	Remote there(size_t offset) const { return {at(offset), mr->rkey}; }

	int rereg(int flags, ibv_pd *pd, size_t offset, size_t length, int access)
	{
		return ibv_rereg_mr(mr.get(), flags, pd, memory.data() + offset, length, access);
	}

	int change_access(int access)
	{
		return ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
				    access);
	}

	void reaches(size_t offset, size_t length, unsigned int seed = 1)
	{
		Region &own = pair.client.memory();
		fill(own.span(0, length), seed);
		post(pair.client.qp(), write(1, {own.sge(0, length)}, there(offset)));
		post(pair.client.qp(), read(2, {own.sge(32768, length)}, there(offset)));
		wait_ok(pair.client.scq(), 2);
		EXPECT_TRUE(filled(memory.span(offset, length), seed));
		EXPECT_TRUE(filled(own.span(32768, length), seed));
	}

	void reads(size_t offset, uint8_t value)
	{
		post(pair.client.qp(), read(2, {pair.client.memory().sge(0, 64)}, there(offset)));
		wait_ok(pair.client.scq());
		EXPECT_TRUE(all_equal(pair.client.memory().span(0, 64), value));
	}

	void write_fails(size_t offset)
	{
		memset(memory.data(), untouched, memory.size());
		memset(pair.client.memory().data(), 0xaa, 64);
		post(pair.client.qp(), write(1, {pair.client.memory().sge(0, 64)}, there(offset)));
		EXPECT_EQ(events.of(pair.server.qp()).event_type, IBV_EVENT_QP_ACCESS_ERR);
		EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
		EXPECT_TRUE(all_equal(memory.span(0, memory.size()), untouched));
	}
};

struct rereg : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

} // namespace

TEST_F(rereg, access__less)
{
	Target target;
	target.reaches(0, 2 * page);
	memset(target.memory.data(), untouched, page);
	ASSERT_EQ(target.change_access(read_only), 0);
	target.reads(0, untouched);
	target.write_fails(0);
}

TEST_F(rereg, access__more)
{
	// Memory that was pinned for reading has to be pinned again, since pages may be shared.
	Target target(read_only);
	target.reads(0, untouched);
	ASSERT_EQ(target.change_access(all_access), 0);
	target.reaches(0, 2 * page);
}

TEST_F(rereg, access__more_on_fresh_zero_pages)
{
	Pair pair;
	Memory fresh(page); // never written to: the kernel's zero page, as long as it is only read
	Mr mr = reg_mr(pair.server.pd(), fresh.data(), page, read_only);
	ASSERT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			       all_access),
		  0);
	fill(pair.client.memory().span(0, page), 3);
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, page)},
				     {reinterpret_cast<uintptr_t>(fresh.data()), mr->rkey}));
	post(pair.client.qp(), read(2, {pair.client.memory().sge(page, 8)}, pair.server.remote()));
	wait_ok(pair.client.scq(), 2);
	EXPECT_TRUE(filled(fresh.span(0, page), 3));
}

TEST_F(rereg, access__zero_based)
{
	Target target;
	ASSERT_EQ(target.change_access(all_access | IBV_ACCESS_ZERO_BASED), 0);
	fill(target.pair.client.memory().span(0, 64), 3);
	post(target.pair.client.qp(),
	     write(1, {target.pair.client.memory().sge(0, 64)}, {100, target.mr->rkey}));
	post(target.pair.client.qp(),
	     read(2, {target.pair.client.memory().sge(64, 64)}, {100, target.mr->rkey}));
	wait_ok(target.pair.client.scq(), 2);
	EXPECT_TRUE(filled(target.memory.span(100, 64), 3));
	ASSERT_EQ(target.change_access(all_access), 0);
	target.reaches(0, 2 * page);
}

TEST_F(rereg, pd__other)
{
	Target target;
	Pair other;
	ASSERT_EQ(ibv_rereg_mr(target.mr.get(), IBV_REREG_MR_CHANGE_PD, other.server.pd(), nullptr,
			       0, 0),
		  0);
	EXPECT_EQ(target.mr->pd, other.server.pd());
	fill(other.client.memory().span(0, 64), 3);
	post(other.client.qp(), write(1, {other.client.memory().sge(0, 64)}, target.there(0)));
	post(other.client.qp(), read(2, {other.client.memory().sge(64, 64)}, target.there(0)));
	wait_ok(other.client.scq(), 2);
	EXPECT_TRUE(filled(target.memory.span(0, 64), 3));
	target.write_fails(0);
	// The region counts as a user of its new domain.
	Pd lonely = alloc_pd(target.pair.server.context());
	ASSERT_EQ(ibv_rereg_mr(target.mr.get(), IBV_REREG_MR_CHANGE_PD, lonely.get(), nullptr, 0,
			       0),
		  0);
	EXPECT_EQ(ibv_dealloc_pd(lonely.get()), EBUSY);
	target.mr.reset();
}

TEST_F(rereg, pd__same)
{
	Target target;
	ASSERT_EQ(ibv_rereg_mr(target.mr.get(), IBV_REREG_MR_CHANGE_PD, target.pair.server.pd(),
			       nullptr, 0, 0),
		  0);
	target.reaches(0, 2 * page);
}

TEST_F(rereg, translation__elsewhere)
{
	Target target;
	target.reaches(0, page);
	ASSERT_EQ(target.rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, 2 * page, page, 0), 0);
	EXPECT_EQ(target.mr->addr, target.memory.data() + 2 * page);
	EXPECT_EQ(target.mr->length, page);
	target.reaches(2 * page, page, 2);
	target.write_fails(0);
}

TEST_F(rereg, translation__larger_and_unaligned)
{
	Target target;
	ASSERT_EQ(target.rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, 1, 4 * page - 2, 0), 0);
	target.reaches(1, 4 * page - 2);
	target.write_fails(4 * page - 64);
}

TEST_F(rereg, all__at_once)
{
	Target target(read_only);
	Pair other;
	ASSERT_EQ(target.rereg(IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |
				       IBV_REREG_MR_CHANGE_ACCESS,
			       other.server.pd(), 2 * page, 2 * page, all_access),
		  0);
	fill(other.client.memory().span(0, page), 3);
	post(other.client.qp(),
	     write(1, {other.client.memory().sge(0, page)}, target.there(3 * page)));
	post(other.client.qp(),
	     read(2, {other.client.memory().sge(page, 8)}, target.there(3 * page)));
	wait_ok(other.client.scq(), 2);
	EXPECT_TRUE(filled(target.memory.span(3 * page, page), 3));
	target.mr.reset(); // before its protection domain
}

TEST_F(rereg, all__many_times)
{
	Target target;
	for (int i = 0; i < 200; i++) {
		size_t offset = i % 3 * page;
		ASSERT_EQ(target.rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, offset, page, 0),
			  0);
		ASSERT_EQ(target.change_access(i % 2 ? all_access : read_only), 0);
	}
	target.reaches(page, page);
}

TEST_F(rereg, failure__leaves_it_as_it_was)
{
	Target target;
	EXPECT_EQ(ibv_rereg_mr(target.mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
			       reinterpret_cast<void *>(page), page, 0),
		  IBV_REREG_MR_ERR_CMD);
	target.reaches(0, 2 * page, 2);
	EXPECT_EQ(target.change_access(IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
	target.reaches(0, 2 * page, 3);
	EXPECT_EQ(target.change_access(all_access | IBV_ACCESS_ON_DEMAND), IBV_REREG_MR_ERR_CMD);
	target.reaches(0, 2 * page, 4);
	EXPECT_EQ(target.rereg(1 << 7, nullptr, 0, 0, 0), IBV_REREG_MR_ERR_INPUT);
	EXPECT_EQ(target.rereg(IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, 0, 0, 0),
		  IBV_REREG_MR_ERR_INPUT);
	EXPECT_EQ(target.rereg(0, nullptr, 0, 0, 0), IBV_REREG_MR_ERR_CMD);
	target.reaches(0, 2 * page, 5);
}

TEST_F(rereg, failure__memory_that_may_not_be_written)
{
	Target target(read_only);
	ASSERT_EQ(mprotect(target.memory.data(), 2 * page, PROT_READ), 0);
	EXPECT_EQ(target.change_access(all_access), IBV_REREG_MR_ERR_CMD);
	target.reads(0, untouched);
	ASSERT_EQ(mprotect(target.memory.data(), 2 * page, PROT_READ | PROT_WRITE), 0);
}

TEST_F(rereg, traffic__rights_that_stay_are_never_missing)
{
	// The peer may read before, during and after the change, so no Read fails.
	Target target;
	fill(target.memory.span(0, 2 * page), 1);
	int done = 0;
	for (int i = 0; i < 400; i++) {
		post(target.pair.client.qp(),
		     read(i, {target.pair.client.memory().sge(0, 2 * page)}, target.there(0)));
		ASSERT_EQ(target.change_access(i % 2 ? all_access : read_only), 0);
		ibv_wc wc;
		while (ibv_poll_cq(target.pair.client.scq(), 1, &wc) == 1) {
			ASSERT_EQ(wc.status, IBV_WC_SUCCESS);
			done++;
		}
		while (i + 1 - done >= 32) {
			wait_ok(target.pair.client.scq());
			done++;
		}
	}
	wait_ok(target.pair.client.scq(), 400 - done);
	EXPECT_TRUE(filled(target.pair.client.memory().span(0, 2 * page), 1));
}

TEST_F(rereg, traffic__old_place_is_left_alone)
{
	for (int round = 0; round < 8; round++) {
		Config config;
		Pair pair(both(config));
		Memory old(65536), fresh(65536);
		Mr mr = reg_mr(pair.server.pd(), old.data(), old.size());
		Remote there{reinterpret_cast<uintptr_t>(old.data()), mr->rkey};
		memset(pair.client.memory().data(), 0xaa, 65536);
		for (int i = 0; i < 32; i++)
			post(pair.client.qp(),
			     write(i, {pair.client.memory().sge(0, 65536)}, there).unsignaled());
		for (int spin = 0; round % 2 && spin < 1000000 && old.data()[0] != 0xaa; spin++)
			asm volatile("" ::: "memory");
		ASSERT_EQ(ibv_rereg_mr(mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
				       fresh.data(), fresh.size(), 0),
			  0);
		memset(old.data(), untouched, old.size());
		// another Write, if all others completed before the change
		try_post(pair.client.qp(), write(99, {pair.client.memory().sge(0, 64)}, there));
		EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
		EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
		EXPECT_TRUE(all_equal(old.span(0, old.size()), untouched));
		EXPECT_TRUE(all_equal(fresh.span(0, fresh.size()), 0));
	}
}

// In the child the address is another page. Write access needs the pages to be pinned once more.
TEST_F(rereg, access__by_another_process)
{
	Target t(read_only);
	const pid_t child = fork();
	if (!child) {
		const bool refused = t.change_access(all_access) && errno == EACCES;
		_exit(refused && !t.change_access(0) && !t.change_access(read_only) ? 0 : 1);
	}
	int status = -1;
	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
	t.reads(0, untouched);
}

TEST_F(rereg, traffic__right_to_write_taken_away)
{
	for (int round = 0; round < 8; round++) {
		Target target;
		memset(target.pair.client.memory().data(), 0xaa, 2 * page);
		for (int i = 0; i < 60; i++)
			post(target.pair.client.qp(),
			     write(i, {target.pair.client.memory().sge(0, 2 * page)},
				   target.there(0))
				     .unsignaled());
		for (int spin = 0; round % 2 && spin < 1000000 && target.memory.data()[0] != 0xaa;
		     spin++)
			asm volatile("" ::: "memory");
		ASSERT_EQ(target.change_access(read_only), 0);
		memset(target.memory.data(), untouched, 2 * page);
		post(target.pair.client.qp(),
		     write(99, {target.pair.client.memory().sge(0, 64)}, target.there(0)));
		EXPECT_TRUE(target.pair.server.reaches(IBV_QPS_ERR));
		EXPECT_TRUE(all_equal(target.memory.span(0, 4 * page), untouched));
	}
}
