// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The cost of idle queue pairs.
#include <gtest/gtest.h>

#include <unistd.h>

#include "rdma/crowd.h"

// `make bench` measures the figure itself. This is half of the cost when each connection kept 32
// KiB of TCP's memory for the few bytes of its startup frame.
TEST(idle, memory__no_buffers)
{
	if (access("/sys/kernel/debug/kmemleak", F_OK) == 0)
		GTEST_SKIP() << "a debugging kernel has more data about each object than in it";
	EXPECT_LT(rdma::idle_cost(300), 24 * 1024);
}
