// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What the RFCs say of an endpoint, case by case, on the device under test.
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
