// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The objects of a process on a device that commands can name.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "mutator.h"

namespace local_fuzz {

enum class Class { none, pd, cq, qp, srq, mr, mw, ah, channel, dmabuf, key, count };

// Handles, descriptors of completion channels and dma-bufs, keys of mappings. Thread-safe.
class Pool {
public:
	Pool() = default;
	~Pool();
	Pool(const Pool &) = delete;
	Pool &operator=(const Pool &) = delete;

	void add(Class c, uint64_t value);
	void remove(Class c, uint64_t value);
	// Removes the oldest one.
	void close_channel();
	// An object of the class; occasionally, or if there is none, a wrong number.
	uint64_t any(Class c, Dice &dice) const;
	size_t size(Class c) const;

private:
	mutable std::mutex mutex_;
	std::array<std::vector<uint64_t>, static_cast<size_t>(Class::count)> all_;
};

// Memory for requests, for replies and for registration; pages that cannot be read or written.
class Arena {
public:
	Arena();
	~Arena();
	Arena(const Arena &) = delete;
	Arena &operator=(const Arena &) = delete;

	static constexpr size_t size = 1 << 20;

	uint8_t *base() const { return base_; }
	uint64_t address(size_t offset = 0) const
	{
		return reinterpret_cast<uintptr_t>(base_) + offset;
	}
	// Addresses that the kernel cannot write to, or can write to only for a few bytes.
	uint64_t bad(Dice &dice) const;

private:
	uint8_t *base_;
};

} // namespace local_fuzz
