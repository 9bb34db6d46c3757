// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The kernel memory that idle queue pairs take.
#include <gtest/gtest.h>

#include <unistd.h>

#include "rdma/crowd.h"

// `make bench` measures the exact figure. The limit here is half of the memory that was needed when
// each connection kept 32 KiB of TCP's memory for the few bytes of its startup frame.
TEST(idle, memory__no_buffers)
{
	if (access("/sys/kernel/debug/kmemleak", F_OK) == 0)
		GTEST_SKIP() << "a debug kernel needs more memory for its checks than for objects";
	EXPECT_LT(rdma::idle_cost(300), 24 * 1024);
}
