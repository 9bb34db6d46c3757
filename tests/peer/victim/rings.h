// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The memory that a driver shares with user space. The code finds it in /proc/self/maps and has no
// knowledge of its layout except the changes that correct posts make.
#pragma once

#include <infiniband/verbs.h>
#include <random>
#include <vector>

#include "../iwarp/bytes.h"

namespace victim {

struct Mapping {
	uint8_t *addr;
	size_t len;
	off_t offset; // in the uverbs file
	bool operator==(const Mapping &) const = default;
};

// Returns all writable shared mappings of uverbs files in this process.
std::vector<Mapping> device_mappings();
// Returns the mappings of after that are not in before.
std::vector<Mapping> added(const std::vector<Mapping> &before, const std::vector<Mapping> &after);

// Rings the doorbell: uverbs' POST_SEND or POST_RECV without a work request. Returns 0 or errno.
int ring_doorbell(ibv_qp *qp, bool receive);

// The facts that correct posts reveal about a mapping.
struct Lesson {
	size_t len = 0;		      // bytes
	std::vector<size_t> counters; // offsets of the 32-bit words that a post increments
	iwarp::Bytes image;	      // the mapping's contents, with correct elements
};

// Collects a Lesson. The caller calls before_post() and after_post() around each correct post.
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

// Overwrites parts of a mapping. Each object is for one thread; several objects may work on the
// same mapping.
class Scribbler {
public:
	Scribbler(const Mapping &m, uint32_t seed, const Lesson &lesson = {})
		: map_(m), random_(seed)
	{
		if (lesson.len == m.len)
			lesson_ = lesson;
	}

	// Makes one change of a random kind.
	void mutate();
	// Writes correct elements with a few wrong bytes, and advances the counters, so that the
	// elements count as new.
	void mutate_elements();
	// Fills the mapping with random bytes.
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
