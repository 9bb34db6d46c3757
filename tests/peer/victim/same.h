// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

#include <algorithm>
#include <gtest/gtest.h>

#include "../iwarp/bytes.h"

namespace victim {

// Compares the bytes delivered or placed with the bytes sent. The message for a differing byte
// contains "wrong data": tests/run-suite.sh does not repeat a failed suite with this text in its
// output.
inline testing::AssertionResult same(iwarp::View got, iwarp::View wanted)
{
	if (got.size() != wanted.size())
		return testing::AssertionFailure()
		       << got.size() << " bytes instead of " << wanted.size();
	const auto [g, w] = std::mismatch(got.begin(), got.end(), wanted.begin());
	if (g == got.end())
		return testing::AssertionSuccess();
	return testing::AssertionFailure()
	       << "wrong data: byte " << g - got.begin() << " of " << got.size() << " is "
	       << int(*g) << " instead of " << int(*w);
}

} // namespace victim
