// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Runs the cases, each of which checks the device under test against a statement of an RFC.
#include <csignal>
#include <gtest/gtest.h>

#include "../victim/program.h"

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	testing::InitGoogleTest(&argc, argv);
	return victim::run_tests();
}
