// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Prints GoogleTest's results as TAP, line by line, so that the runner counts each test.
#pragma once

#include <gtest/gtest.h>

namespace lab {

class TapPrinter : public testing::EmptyTestEventListener {
	void OnTestIterationStart(const testing::UnitTest &all, int iteration) override;
	void OnTestPartResult(const testing::TestPartResult &part) override;
	void OnTestEnd(const testing::TestInfo &test) override;

	int done_ = 0;
};

} // namespace lab
