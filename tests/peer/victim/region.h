// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Registered memory that detects changes to every byte in it and next to it.
#pragma once

#include <infiniband/verbs.h>
#include <string>
#include <vector>

#include "../iwarp/segment.h"

namespace victim {

// A range of bytes. Offsets below 0 or beyond the region's size are in the guards.
struct Range {
	ptrdiff_t at; // from the region's base
	size_t len;
};

// One mapping that consists of size registered bytes between two guards that are not registered. A
// pattern fills all of it.
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
	ibv_mr *mr() const { return mr_; }
	iwarp::Bytes copy(size_t at, size_t len) { return {data() + at, data() + at + len}; }
	// Returns the initial pattern of these bytes.
	iwarp::Bytes original(size_t at, size_t len) const;

	// Writes the initial pattern to the region and its guards.
	void restore();

	// Describes the first byte outside the allowed ranges that has changed; empty if none has.
	std::string changed(const std::vector<Range> &allowed = {}) const;

private:
	size_t total() const { return size_ + 2 * guard; }
	size_t size_;
	uint8_t *mem_;
	iwarp::Bytes original_;
	ibv_mr *mr_;
};

// Returns an RDMA Write to a region, at an offset in bytes from its base.
iwarp::Segment write_to(const Region &r, int64_t at, iwarp::Bytes payload, bool last = true);

} // namespace victim
