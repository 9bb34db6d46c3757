// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// All that is drawn in a session comes from its seed, and from nothing else.
#pragma once

#include <initializer_list>
#include <random>

#include "../iwarp/bytes.h"

namespace live_fuzz {

class Dice {
public:
	explicit Dice(uint64_t seed) : random_(seed) {}

	// 0 to n - 1. Not the library's distribution: that differs from one to another.
	uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
	uint32_t from(uint32_t low, uint32_t high) { return low + below(high - low + 1); }
	bool chance(unsigned percent) { return below(100) < percent; }
	uint32_t word() { return static_cast<uint32_t>(random_()); }
	uint64_t two_words() { return random_(); }
	template <typename T>
	T any(std::initializer_list<T> of)
	{
		return of.begin()[below(static_cast<uint32_t>(of.size()))];
	}

	iwarp::Bytes bytes(size_t n) { return iwarp::pattern(n, word()); }

private:
	std::mt19937_64 random_;
};

} // namespace live_fuzz
