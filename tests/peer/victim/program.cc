// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "program.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

#include "watchdog.h"

namespace victim {
namespace {

bool is_kwarp(const char *variable)
{
	const char *driver = getenv(variable);
	return driver && !strcmp(driver, "kwarp");
}

// The debug kernel of scripts/guest/uml.sh is the only user-mode Linux with lockdep. The file that
// shows this is not in /sys, which "ip netns exec" mounts again.
bool is_debug_kernel()
{
	std::ifstream cpuinfo("/proc/cpuinfo");
	for (std::string line; std::getline(cpuinfo, line);)
		if (line.find("User Mode Linux") != std::string::npos)
			return !access("/proc/lockdep_stats", F_OK);
	return false;
}

bool skipped_for(const char *reason, const testing::TestResult &result)
{
	for (int i = 0; i < result.total_part_count(); i++) {
		const testing::TestPartResult &part = result.GetTestPartResult(i);
		if (part.skipped() && strstr(part.message(), reason))
			return true;
	}
	return false;
}

// Must be the last listener: for the end of a test, it is then called before those that print.
class NoSkips : public testing::EmptyTestEventListener {
	void OnTestEnd(const testing::TestInfo &test) override
	{
		if (both_kwarp_ && skipped_for("kwarp only", *test.result()))
			ADD_FAILURE() << "skipped, though both devices are kwarp's";
		if (debug_kernel_ && skipped_for("the kernel has no ", *test.result()))
			ADD_FAILURE() << "skipped, though uml.config has this feature";
	}

	const bool both_kwarp_ = is_kwarp("DRIVER_A") && is_kwarp("DRIVER_B");
	const bool debug_kernel_ = is_debug_kernel();
};

} // namespace

int run_tests()
{
	testing::UnitTest &all = *testing::UnitTest::GetInstance();

	watch_tests();
	all.listeners().Append(new NoSkips);
	const int status = RUN_ALL_TESTS();
	if (all.test_to_run_count() > 0)
		return status;
	printf("not ok 9996 - no test was to run: --gtest_filter=%s\n",
	       testing::GTEST_FLAG(filter).c_str());
	return 1;
}

} // namespace victim
