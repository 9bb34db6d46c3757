// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Invalid input from the wire and from user space, and the outcome that the RFCs require.
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>

#include <gtest/gtest.h>

#include "../session/testbed.h"
#include "../victim/program.h"
#include "attack.h"

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && !strcmp(argv[1], "--attack")) {
		try {
			return peer::attack_main({argv + 2, argv + argc});
		} catch (const std::exception &e) {
			std::cerr << "attack: " << e.what() << "\n";
			return 1;
		}
	}
	peer::usual = {.victim = {}, .shared = true};
	testing::InitGoogleTest(&argc, argv);
	return victim::run_tests();
}
