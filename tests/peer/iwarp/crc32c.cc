// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "crc32c.h"

#include <array>

namespace iwarp {
namespace {

constexpr uint32_t castagnoli_reflected = 0x82F63B78;

constexpr std::array<uint32_t, 256> make_table()
{
	std::array<uint32_t, 256> table{};
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t r = i;
		for (int bit = 0; bit < 8; bit++)
			r = r & 1 ? r >> 1 ^ castagnoli_reflected : r >> 1;
		table[i] = r;
	}
	return table;
}

constexpr auto table = make_table();

} // namespace

uint32_t crc32c(View bytes)
{
	uint32_t r = ~0U;
	for (uint8_t o : bytes)
		r = r >> 8 ^ table[(r ^ o) & 0xFF];
	return ~r;
}

Bytes crc_field(View bytes)
{
	uint32_t c = crc32c(bytes);
	return {static_cast<uint8_t>(c), static_cast<uint8_t>(c >> 8),
		static_cast<uint8_t>(c >> 16), static_cast<uint8_t>(c >> 24)};
}

} // namespace iwarp
