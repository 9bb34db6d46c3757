// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Registered memory, and patterns to identify data.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "objects.h"

namespace rdma {

constexpr int all_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ;

// Pages of our own, filled with zeros.
class Memory {
public:
	explicit Memory(size_t size, int protection = 3 /* PROT_READ | PROT_WRITE */);
	~Memory();
	Memory(const Memory &) = delete;
	Memory &operator=(const Memory &) = delete;

	uint8_t *data() const { return data_; }
	size_t size() const { return size_; }
	std::span<uint8_t> span(size_t offset, size_t length) const
	{
		return {data_ + offset, length};
	}

private:
	uint8_t *data_;
	size_t size_;
};

// Memory that is registered as a whole.
class Region : public Memory {
public:
	Region(ibv_pd *pd, size_t size, int access = all_access);

	ibv_mr *mr() const { return mr_.get(); }
	uint32_t lkey() const { return mr_->lkey; }
	uint32_t rkey() const { return mr_->rkey; }
	uint64_t address(size_t offset = 0) const
	{
		return reinterpret_cast<uintptr_t>(data()) + offset;
	}
	ibv_sge sge(size_t offset, size_t length) const
	{
		return {address(offset), static_cast<uint32_t>(length), lkey()};
	}
	void deregister() { mr_.reset(); }

private:
	Mr mr_;
};

Mr reg_mr(ibv_pd *pd, void *address, size_t length, int access = all_access);
Mr reg_mr_iova(ibv_pd *pd, void *address, size_t length, uint64_t iova, int access = all_access);

// Bytes that depend on seed and position. If a comparison fails, its message contains "wrong data",
// after which tests/run-suite.sh makes no second try.
void fill(std::span<uint8_t> bytes, unsigned int seed);
testing::AssertionResult filled(std::span<const uint8_t> bytes, unsigned int seed);
testing::AssertionResult all_equal(std::span<const uint8_t> bytes, uint8_t value);

} // namespace rdma
