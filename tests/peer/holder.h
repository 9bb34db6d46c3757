// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A thread that stays inside the kernel's send function: tests/kernel/hold.c, whose parameters
// these are. A thread with the name "holder" does, and with workers() each worker that sends by
// SCTP.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

namespace holder {

inline const std::string parameters = "/sys/module/kwarp_ktest/parameters/";

inline void set(const std::string &parameter, bool yes)
{
	std::ofstream file(parameters + parameter);
	file << yes << std::endl;
	if (!file)
		throw std::runtime_error("cannot set " + parameter);
}

inline void go_on(bool yes)
{
	set("go_on", yes);
}

inline void workers(bool yes)
{
	set("workers", yes);
}

// Whether a thread stays there now.
inline bool holding()
{
	char c = 'N';
	std::ifstream(parameters + "holding") >> c;
	return c == 'Y';
}

} // namespace holder
