// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RLIMIT_MEMLOCK: memory counts exactly while it is registered.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include "rdma/endpoint.h"
#include "user.h"

using namespace rdma;
using limits::pinned;

namespace {

constexpr size_t limit = 1 << 20, page = 4096;

ibv_mr *reg(ibv_pd *pd, void *data, size_t size, int access = all_access)
{
	errno = 0;
	return ibv_reg_mr(pd, data, size, access);
}

// Runs the function in a process of a user with that limit, with a protection domain.
void limited(const std::function<void(ibv_pd *)> &what)
{
	limits::as_nobody(
		[&] {
			Context context = open_device(lab::a().device);
			Pd pd = alloc_pd(context.get());
			what(pd.get());
			EXPECT_EQ(pinned(), 0u);
		},
		[] { limits::set_memlock(limit); });
}

} // namespace

TEST(memlock, register__up_to_the_limit)
{
	limited([](ibv_pd *pd) {
		Memory memory(2 * limit);
		EXPECT_EQ(reg(pd, memory.data(), limit + page), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_EQ(pinned(), 0u);
		Mr all(reg(pd, memory.data(), limit));
		ASSERT_NE(all, nullptr);
		EXPECT_EQ(pinned(), limit);
		EXPECT_EQ(reg(pd, memory.data() + limit, page), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_EQ(pinned(), limit);
		all.reset();
		EXPECT_EQ(pinned(), 0u);
		Mr again(reg(pd, memory.data(), limit));
		EXPECT_NE(again, nullptr);
	});
}

// Pages registered twice are pinned twice.
TEST(memlock, register__the_sum_counts)
{
	limited([](ibv_pd *pd) {
		Memory memory(limit);
		Mr one(reg(pd, memory.data(), limit / 2)), two(reg(pd, memory.data(), limit / 2));
		ASSERT_TRUE(one && two);
		EXPECT_EQ(reg(pd, memory.data(), 1), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		one.reset();
		Mr three(reg(pd, memory.data(), 1));
		EXPECT_NE(three, nullptr);
		EXPECT_EQ(pinned(), limit / 2 + page);
	});
}

TEST(memlock, register__failures_pin_nothing)
{
	limited([](ibv_pd *pd) {
		Memory memory(limit), read_only(limit, PROT_READ), none(limit, PROT_NONE);
		// the memory ends after its second page
		ASSERT_EQ(munmap(memory.data() + 2 * page, page), 0);
		EXPECT_EQ(reg(pd, memory.data(), 4 * page), nullptr);
		EXPECT_EQ(pinned(), 0u);
		EXPECT_EQ(reg(pd, read_only.data(), 4 * page), nullptr);
		EXPECT_EQ(pinned(), 0u);
		EXPECT_EQ(reg(pd, none.data(), 4 * page), nullptr);
		EXPECT_EQ(pinned(), 0u);
		EXPECT_EQ(reg(pd, memory.data(), page, IBV_ACCESS_REMOTE_WRITE), nullptr);
		EXPECT_EQ(reg(pd, memory.data(), page, IBV_ACCESS_ON_DEMAND), nullptr);
		EXPECT_EQ(reg(pd, memory.data(), SIZE_MAX), nullptr);
		EXPECT_EQ(pinned(), 0u);
	});
}

TEST(memlock, rereg__counts_what_is_new)
{
	limited([](ibv_pd *pd) {
		Memory memory(2 * limit);
		Mr mr(reg(pd, memory.data(), 4 * page));
		ASSERT_NE(mr, nullptr);
		int what = IBV_REREG_MR_CHANGE_TRANSLATION;
		EXPECT_NE(ibv_rereg_mr(mr.get(), what, nullptr, memory.data(), limit + page, 0), 0);
		EXPECT_EQ(errno, ENOMEM);
		// The failure may have invalidated the region; its pages are either still charged
		// or released.
		EXPECT_LE(pinned(), 4 * page);
		mr.reset();
		EXPECT_EQ(pinned(), 0u);
		mr.reset(reg(pd, memory.data(), 4 * page));
		ASSERT_EQ(ibv_rereg_mr(mr.get(), what, nullptr, memory.data() + limit, 8 * page, 0),
			  0);
		EXPECT_EQ(pinned(), 8 * page);
	});
}

// A process exits without cleanup: the next process of the user can use the whole limit.
TEST(memlock, process__takes_nothing_with_it)
{
	for (int i = 0; i < 3; i++)
		limits::as_nobody(
			[] {
				ibv_context *context = open_device(lab::a().device).release();
				Memory memory(limit);
				EXPECT_NE(reg(alloc_pd(context).release(), memory.data(), limit),
					  nullptr);
				_exit(testing::Test::HasFailure());
			},
			[] { limits::set_memlock(limit); });
}
