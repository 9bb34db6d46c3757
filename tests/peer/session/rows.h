// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Tables of cases for GoogleTest: each row is one test.
#pragma once

#include <concepts>
#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <vector>

#include "../victim/lab.h"

namespace peer {

struct Row {
	std::string name;
	const char *rfc; // the sections that require the outcome
};

template <std::derived_from<Row> T>
void PrintTo(const T &row, std::ostream *os)
{
	*os << row.name << " (" << row.rfc << ")";
}

// For INSTANTIATE_TEST_SUITE_P: names the test after its row.
struct RowName {
	template <typename P>
	std::string operator()(const testing::TestParamInfo<P> &info) const
	{
		return info.param.name;
	}
};

// For INSTANTIATE_TEST_SUITE_P: the rows that these functions add.
template <typename T, typename... F>
auto rows(void (*first)(std::vector<T> &), F... more)
{
	std::vector<T> all;
	first(all);
	(more(all), ...);
	return testing::ValuesIn(all);
}

// Wraps a function that adds rows about MPA: over SCTP the result adds none.
template <typename T>
auto of_mpa(void (*add)(std::vector<T> &))
{
	return [add](std::vector<T> &rows) {
		if (!victim::lab().sctp)
			add(rows);
	};
}

} // namespace peer
