// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "fuzz.h"

#include <cstdio>
#include <cstdlib>

void property_fails(const char *what, const char *file, int line)
{
	std::fprintf(stderr, "%s:%d: property does not hold: %s\n", file, line, what);
	std::abort();
}

u32 edgy_word(Input &in)
{
	u8 kind = in.byte();
	u32 near = kind >> 2;

	switch (kind & 3) {
	case 0:
		return near;
	case 1:
		return 0U - near;
	case 2:
		return (1U << near % 32) - (near >> 5);
	default:
		return in.word();
	}
}

Bytes filling(size_t n, u32 seed)
{
	Bytes o(n);
	u32 x = seed * 747796405U + 1;

	for (u8 &b : o) {
		x = x * 1664525U + 1013904223U;
		b = static_cast<u8>(x >> 24);
	}
	return o;
}
