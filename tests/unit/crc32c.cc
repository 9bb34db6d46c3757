// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// crc32c() as the kernel has it: reflected, no inversion. Table driven.
#include <array>

#include "code.h"

unsigned int crc32c_calls;

static constexpr std::array<u32, 256> make_table()
{
	std::array<u32, 256> table{};
	for (u32 i = 0; i < 256; i++) {
		u32 crc = i;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
		table[i] = crc;
	}
	return table;
}

extern "C" u32 crc32c(u32 crc, const void *p, size_t len)
{
	static constexpr auto table = make_table();
	auto byte = static_cast<const u8 *>(p);

	crc32c_calls++;
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *byte++) & 0xff];
	return crc;
}
