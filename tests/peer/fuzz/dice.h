// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The random numbers of a session. They depend only on its seed.
#pragma once

#include <initializer_list>
#include <random>

#include "../iwarp/bytes.h"

namespace live_fuzz {

class Dice {
public:
	explicit Dice(uint64_t seed) : random_(seed) {}

	// Returns 0 to n - 1. The distributions of <random> are not used, since they differ between
	// libraries.
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
