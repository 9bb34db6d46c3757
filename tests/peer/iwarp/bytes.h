// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Byte strings and big-endian fields.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace iwarp {

using Bytes = std::vector<uint8_t>;
using View = std::span<const uint8_t>;

inline void put8(Bytes &o, uint8_t v)
{
	o.push_back(v);
}

inline void put16(Bytes &o, uint16_t v)
{
	put8(o, static_cast<uint8_t>(v >> 8));
	put8(o, static_cast<uint8_t>(v));
}

inline void put32(Bytes &o, uint32_t v)
{
	put16(o, static_cast<uint16_t>(v >> 16));
	put16(o, static_cast<uint16_t>(v));
}

inline void put64(Bytes &o, uint64_t v)
{
	put32(o, static_cast<uint32_t>(v >> 32));
	put32(o, static_cast<uint32_t>(v));
}

inline void put(Bytes &o, View v)
{
	o.insert(o.end(), v.begin(), v.end());
}

inline uint16_t get16(View v, size_t at = 0)
{
	return static_cast<uint16_t>(v[at] << 8 | v[at + 1]);
}

inline uint32_t get32(View v, size_t at = 0)
{
	return static_cast<uint32_t>(get16(v, at)) << 16 | get16(v, at + 2);
}

inline uint64_t get64(View v, size_t at = 0)
{
	return static_cast<uint64_t>(get32(v, at)) << 32 | get32(v, at + 4);
}

inline Bytes bytes(std::string_view s)
{
	return {s.begin(), s.end()};
}

inline Bytes slice(View v, size_t at, size_t len)
{
	const View part = v.subspan(at, len);
	return {part.begin(), part.end()};
}

inline Bytes join(std::initializer_list<View> parts)
{
	Bytes all;
	for (View p : parts)
		put(all, p);
	return all;
}

// Returns n pseudo-random bytes, the same for the same seed.
inline Bytes pattern(size_t n, uint32_t seed = 1)
{
	Bytes o(n);
	uint32_t x = seed * 2654435761U + 1;
	for (uint8_t &b : o) {
		x = x * 1664525U + 1013904223U;
		b = static_cast<uint8_t>(x >> 24);
	}
	return o;
}

} // namespace iwarp
