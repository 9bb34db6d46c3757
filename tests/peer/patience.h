// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Limits for waiting, in the programs here and in tests/verbs. Only a hang may reach such a limit,
// however busy the machine is; no limit decides the outcome of a test that does not hang. The
// environment variable KWARP_PATIENCE scales the limits, in percent: 300 if the machine has a third
// of the usual speed. Values below 100 have no effect.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace machine {

// Scales a limit for a machine of the usual speed to this machine.
inline std::chrono::milliseconds patience(std::chrono::milliseconds limit)
{
	static const int percent = [] {
		const char *text = getenv("KWARP_PATIENCE");
		return std::max(text ? atoi(text) : 0, 100);
	}();
	return limit * percent / 100;
}

// Limit for one event.
inline const std::chrono::milliseconds one_event = patience(std::chrono::seconds(30));

// As patience(), in seconds for alarm().
inline unsigned int patience_s(std::chrono::seconds limit)
{
	return static_cast<unsigned int>(patience(limit).count() / 1000);
}

} // namespace machine
