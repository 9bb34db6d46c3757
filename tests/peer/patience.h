// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How long the programs here and in tests/verbs wait for what must come. Only what hangs is to
// reach such a limit, however busy the machine is; it decides nothing else. The environment
// variable KWARP_PATIENCE is a percentage: 300 where the machine has a third of the usual speed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace machine {

// The limit that is as much on this machine.
inline std::chrono::milliseconds patience(std::chrono::milliseconds limit)
{
	static const int percent = [] {
		const char *text = getenv("KWARP_PATIENCE");
		return std::max(text ? atoi(text) : 0, 100);
	}();
	return limit * percent / 100;
}

// For one event.
inline const std::chrono::milliseconds one_event = patience(std::chrono::seconds(30));

// For alarm().
inline unsigned int patience_s(std::chrono::seconds limit)
{
	return static_cast<unsigned int>(patience(limit).count() / 1000);
}

} // namespace machine
