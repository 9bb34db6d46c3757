// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Out-of-order placement, segment by segment. Needs a tun device tunA with the device under test on it.
#include <csignal>
#include <gtest/gtest.h>

#include "../victim/watchdog.h"

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	testing::InitGoogleTest(&argc, argv);
	victim::watch_tests();
	return RUN_ALL_TESTS();
}
