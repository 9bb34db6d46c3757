// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "program.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

#include "watchdog.h"

namespace victim {
namespace {

bool is_kwarp(const char *variable)
{
	const char *driver = getenv(variable);
	return driver && !strcmp(driver, "kwarp");
}

bool skipped_without_kwarp(const testing::TestResult &result)
{
	for (int i = 0; i < result.total_part_count(); i++) {
		const testing::TestPartResult &part = result.GetTestPartResult(i);
		if (part.skipped() && strstr(part.message(), "kwarp only"))
			return true;
	}
	return false;
}

// Must be the last listener: for the end of a test, it is then called before those that print.
class NoSkips : public testing::EmptyTestEventListener {
	void OnTestEnd(const testing::TestInfo &test) override
	{
		if (skipped_without_kwarp(*test.result()))
			ADD_FAILURE() << "skipped, though both devices are kwarp's";
	}
};

} // namespace

int run_tests()
{
	testing::UnitTest &all = *testing::UnitTest::GetInstance();

	watch_tests();
	if (is_kwarp("DRIVER_A") && is_kwarp("DRIVER_B"))
		all.listeners().Append(new NoSkips);
	const int status = RUN_ALL_TESTS();
	if (all.test_to_run_count() > 0)
		return status;
	printf("not ok 9996 - no test was to run: --gtest_filter=%s\n",
	       testing::GTEST_FLAG(filter).c_str());
	return 1;
}

} // namespace victim
