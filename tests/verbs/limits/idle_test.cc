// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What queue pairs cost that have nothing to do.
#include <gtest/gtest.h>

#include <unistd.h>

#include "rdma/crowd.h"

// The figure itself is `make bench`'s. This is half of what it was when each connection kept 32 KiB of TCP's for
// the few octets of its startup frame.
TEST(idle, memory__no_buffers)
{
	if (access("/sys/kernel/debug/kmemleak", F_OK) == 0)
		GTEST_SKIP() << "a debugging kernel has more about each object than in it";
	EXPECT_LT(rdma::idle_cost(300), 24 * 1024);
}
