// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The parameters of tests/kernel/hold.c, which stops threads inside the kernel's send functions: a
// thread named "holder" and, with workers(true), each worker that sends by SCTP.
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

// Releases stopped threads and stops no other one (true), or stops threads again (false).
inline void go_on(bool yes)
{
	set("go_on", yes);
}

inline void workers(bool yes)
{
	set("workers", yes);
}

// Returns whether a thread is stopped now.
inline bool holding()
{
	char c = 'N';
	std::ifstream(parameters + "holding") >> c;
	return c == 'Y';
}

} // namespace holder
