// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Bad input from the wire and from user space, and what the RFCs say happens then.
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "attack.h"

namespace {

constexpr unsigned limit = 60; // seconds for one test

char running[256];

// A call that never returns is a failure of the kernel; say which test it was.
void too_long(int)
{
	const char text[] = "\ntest hangs: ";
	ssize_t n = write(STDOUT_FILENO, text, sizeof(text) - 1);
	n += write(STDOUT_FILENO, running, strlen(running));
	_exit(n > 0 ? 3 : 4);
}

class Watchdog : public testing::EmptyTestEventListener {
	void OnTestStart(const testing::TestInfo &t) override
	{
		snprintf(running, sizeof(running), "%s.%s\n", t.test_suite_name(), t.name());
		alarm(limit);
	}
	void OnTestEnd(const testing::TestInfo &) override { alarm(0); }
};

} // namespace

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1 && !strcmp(argv[1], "--attack")) {
		try {
			return bad_input::attack_main({argv + 2, argv + argc});
		} catch (const std::exception &e) {
			std::cerr << "attack: " << e.what() << "\n";
			return 1;
		}
	}
	signal(SIGALRM, too_long);
	testing::InitGoogleTest(&argc, argv);
	testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
	return RUN_ALL_TESTS();
}
