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

char running[256]; // what is printed if it hangs

void too_long(int)
{
	ssize_t n = write(STDOUT_FILENO, running, strlen(running));
	_exit(n > 0 ? 3 : 4);
}

class Watchdog : public testing::EmptyTestEventListener {
	void OnTestStart(const testing::TestInfo &t) override
	{
		snprintf(running, sizeof(running), "\nnot ok 9996 - the test hangs: %s.%s\n",
			 t.test_suite_name(), t.name());
		may_take(limit);
	}
	void OnTestEnd(const testing::TestInfo &) override { alarm(0); }
};

} // namespace

void may_take(std::chrono::seconds time)
{
	alarm(machine::patience_s(time));
}

void watch_tests()
{
	signal(SIGALRM, too_long);
	testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
}

} // namespace victim
