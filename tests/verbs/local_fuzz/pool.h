// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a process has of a device, as far as commands can name it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "mutator.h"

namespace local_fuzz {

enum class Class { none, pd, cq, qp, srq, mr, mw, ah, channel, dmabuf, key, count };

// Handles, descriptors of completion channels and dma-bufs, keys of mappings. For several threads.
class Pool {
public:
	Pool() = default;
	~Pool();
	Pool(const Pool &) = delete;
	Pool &operator=(const Pool &) = delete;

	void add(Class c, uint64_t value);
	void remove(Class c, uint64_t value);
	// The oldest one.
	void close_channel();
	// One of them, or a wrong one if there is none, and now and then.
	uint64_t any(Class c, Dice &dice) const;
	size_t size(Class c) const;

private:
	mutable std::mutex mutex_;
	std::array<std::vector<uint64_t>, static_cast<size_t>(Class::count)> all_;
};

// Memory for requests, for answers and to be registered; pages that cannot be read or written.
class Arena {
public:
	Arena();
	~Arena();
	Arena(const Arena &) = delete;
	Arena &operator=(const Arena &) = delete;

	static constexpr size_t size = 1 << 20;

	uint8_t *base() const { return base_; }
	uint64_t address(size_t offset = 0) const { return reinterpret_cast<uintptr_t>(base_) + offset; }
	// Where the kernel must not write, or must not come far.
	uint64_t bad(Dice &dice) const;

private:
	uint8_t *base_;
};

} // namespace local_fuzz
