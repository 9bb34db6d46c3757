// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "tap.h"

#include <cstdio>
#include <sstream>
#include <string>

namespace lab {

void TapPrinter::OnTestIterationStart(const testing::UnitTest &all, int)
{
	printf("1..%d\n", all.test_to_run_count());
	fflush(stdout);
}

void TapPrinter::OnTestPartResult(const testing::TestPartResult &part)
{
	if (!part.failed())
		return;
	if (part.file_name())
		printf("# %s:%d\n", part.file_name(), part.line_number());
	std::istringstream message(part.message());
	for (std::string line; std::getline(message, line);)
		printf("#   %s\n", line.c_str());
}

static const char *skip_reason(const testing::TestResult &result)
{
	for (int i = 0; i < result.total_part_count(); i++)
		if (result.GetTestPartResult(i).skipped())
			return result.GetTestPartResult(i).message();
	return "";
}

void TapPrinter::OnTestEnd(const testing::TestInfo &test)
{
	const testing::TestResult &result = *test.result();

	printf("%s %d - %s.%s (%lld ms)", result.Failed() ? "not ok" : "ok", ++done_,
	       test.test_suite_name(), test.name(), (long long)result.elapsed_time());
	if (result.Skipped()) {
		std::string reason = skip_reason(result);
		reason.erase(reason.find_last_not_of('\n') + 1);
		printf(" # SKIP %s", reason.c_str());
	}
	printf("\n");
	fflush(stdout);
}

} // namespace lab
