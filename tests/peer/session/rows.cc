// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "rows.h"

#include <sstream>

namespace peer {

std::string named_bits(unsigned bits, std::initializer_list<const char *> names)
{
	std::string all;
	for (const char *name : names) {
		if (bits & 1)
			all += std::string("_") + name;
		bits >>= 1;
	}
	return all;
}

std::string hex(uint64_t n)
{
	std::ostringstream s;
	s << std::hex << n;
	return s.str();
}

} // namespace peer
