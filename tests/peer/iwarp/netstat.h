// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace iwarp {

// A counter of TCP (TcpExt of nstat) of the calling thread's network namespace.
inline uint64_t tcp_counter(const std::string &wanted)
{
	std::ifstream in("/proc/thread-self/net/netstat");
	std::string names, values, name, value;
	while (std::getline(in, names) && std::getline(in, values)) {
		std::istringstream n(names), v(values);
		while (n >> name && v >> value)
			if (name == wanted)
				return std::stoull(value);
	}
	throw std::runtime_error("no " + wanted);
}

} // namespace iwarp
