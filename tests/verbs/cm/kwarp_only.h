// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Fixture of tests that need more than other drivers provide.
#pragma once

#include <gtest/gtest.h>

#include "lab/host.h"

struct KwarpOnly : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};
