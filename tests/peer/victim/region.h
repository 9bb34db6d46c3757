// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Registered memory that notices every byte changed in it or beside it.
#pragma once

#include <infiniband/verbs.h>
#include <string>
#include <vector>

#include "../iwarp/segment.h"

namespace victim {

// Offsets from the region's base; negative and beyond the size: the guards.
struct Range {
	ptrdiff_t at;
	size_t len;
};

// Memory of size bytes between two guards on the same mapping, of which exactly the
// middle is registered. All of it is filled with a pattern.
class Region {
public:
	static constexpr size_t guard = 4096;

	Region(ibv_pd *pd, size_t size, int access);
	~Region();
	Region(const Region &) = delete;
	Region &operator=(const Region &) = delete;

	uint8_t *data() { return mem_ + guard; }
	uint64_t base() const { return reinterpret_cast<uint64_t>(mem_) + guard; }
	uint64_t end() const { return base() + size_; }
	size_t size() const { return size_; }
	uint32_t lkey() const { return mr_->lkey; }
	uint32_t rkey() const { return mr_->rkey; }
	iwarp::Bytes copy(size_t at, size_t len) { return {data() + at, data() + at + len}; }
	// The pattern as it was at the beginning.
	iwarp::Bytes original(size_t at, size_t len) const;

	// Writes the pattern again.
	void restore();

	// Empty if nothing outside the ranges has changed, else what has, in words.
	std::string changed(const std::vector<Range> &allowed = {}) const;

private:
	size_t total() const { return size_ + 2 * guard; }
	size_t size_;
	uint8_t *mem_;
	iwarp::Bytes original_;
	ibv_mr *mr_;
};

// An RDMA Write into a region, at an offset from its base.
iwarp::Segment write_to(const Region &r, int64_t at, iwarp::Bytes payload, bool last = true);

} // namespace victim
