// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "watchdog.h"

#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

#include "../patience.h"

namespace victim {
namespace {

constexpr std::chrono::seconds limit{300}; // for one test

char running[256];

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
		alarm(machine::patience_s(limit));
	}
	void OnTestEnd(const testing::TestInfo &) override { alarm(0); }
};

} // namespace

void watch_tests()
{
	signal(SIGALRM, too_long);
	testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
}

} // namespace victim
