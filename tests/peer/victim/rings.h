// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The memory that a driver shares with user space, seen from outside: found in
// /proc/self/maps, understood only as far as watching a correct program teaches.
#pragma once

#include <infiniband/verbs.h>
#include <random>
#include <vector>

#include "../iwarp/bytes.h"

namespace victim {

struct Mapping {
	uint8_t *addr;
	size_t len;
	off_t offset; // in the command file
	bool operator==(const Mapping &) const = default;
};

// All writable shared mappings of uverbs files in this process.
std::vector<Mapping> device_mappings();
// Those of after that are not in before.
std::vector<Mapping> added(const std::vector<Mapping> &before, const std::vector<Mapping> &after);

// The doorbell: uverbs' POST_SEND or POST_RECV without any work request. Return: errno or 0.
int ring_doorbell(ibv_qp *qp, bool receive);

// What correct posts teach about a mapping: its words that they count up, and what the
// elements look like.
struct Lesson {
	size_t len = 0;
	std::vector<size_t> counters; // offsets
	iwarp::Bytes image;
};

// To be told before and after each correct post.
class Pupil {
public:
	explicit Pupil(const Mapping &m) : map_(m), lesson_{m.len, {}, {m.addr, m.addr + m.len}} {}

	void before_post();
	void after_post();
	const Lesson &lesson() const { return lesson_; }

private:
	Mapping map_;
	Lesson lesson_;
};

// Scribbles in a mapping. One thread per object; several may work on the same mapping.
class Scribbler {
public:
	Scribbler(const Mapping &m, uint32_t seed, const Lesson &lesson = {})
		: map_(m), random_(seed)
	{
		if (lesson.len == m.len)
			lesson_ = lesson;
	}

	// One mutation of a random kind.
	void mutate();
	// Good elements with a few bytes wrong, and counters that say they are new.
	void mutate_elements();
	// Random bytes everywhere.
	void fill();

private:
	size_t below(size_t n) { return n * random_() >> 32; }
	uint32_t value();
	volatile uint32_t *word(size_t at)
	{
		return reinterpret_cast<volatile uint32_t *>(map_.addr + at / 4 * 4);
	}

	Mapping map_;
	std::mt19937 random_;
	Lesson lesson_;
};

} // namespace victim
