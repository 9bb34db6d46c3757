// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Declarations of the code under test for C++, and byte strings, for tests/unit and tests/fuzz.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

extern "C" {
#include "ddp.h"
#include "early.h"
#include "errors.h"
#include "mpa_find.h"
#include "mpa_fpdu.h"
#include "mpa_negotiate.h"
#include "mpa_startup.h"
#include "mpa_writer.h"
#include "rdmap.h"
#include "terminate.h"
}

using Bytes = std::vector<u8>;

// Number of crc32c() calls since it was set to zero.
extern unsigned int crc32c_calls;

// Produces the same numbers in every run, so that failures can be repeated.
inline std::mt19937_64 &rng()
{
	static std::mt19937_64 generator(5044);
	return generator;
}

// A number from low to high, both included.
inline u32 pick(u32 low, u32 high)
{
	return std::uniform_int_distribution<u32>(low, high)(rng());
}

inline bool coin()
{
	return pick(0, 1) == 1;
}

inline Bytes random_bytes(size_t n)
{
	Bytes o(n);
	for (auto &b : o)
		b = static_cast<u8>(pick(0, 255));
	return o;
}

// "01 23 45" to bytes.
inline Bytes hex(std::string_view text)
{
	Bytes o;
	int high = -1;
	for (char c : text) {
		if (c == ' ' || c == '\n' || c == '\t')
			continue;
		int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
		if (high < 0) {
			high = digit;
		} else {
			o.push_back(static_cast<u8>(high << 4 | digit));
			high = -1;
		}
	}
	return o;
}

inline Bytes operator+(Bytes a, const Bytes &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

inline Bytes slice(const Bytes &o, size_t from, size_t n)
{
	return Bytes(o.begin() + from, o.begin() + from + n);
}
