// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "region.h"

#include <sys/mman.h>

namespace rdma {

Memory::Memory(size_t size, int protection) : size_(size)
{
	void *p = mmap(nullptr, size ? size : 1, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		throw Failure("mmap", errno);
	data_ = static_cast<uint8_t *>(p);
}

Memory::~Memory()
{
	munmap(data_, size_ ? size_ : 1);
}

Region::Region(ibv_pd *pd, size_t size, int access)
	: Memory(size), mr_(reg_mr(pd, data(), size, access))
{
}

Mr reg_mr(ibv_pd *pd, void *address, size_t length, int access)
{
	return Mr(check(ibv_reg_mr(pd, address, length, access), "ibv_reg_mr"));
}

Mr reg_mr_iova(ibv_pd *pd, void *address, size_t length, uint64_t iova, int access)
{
	return Mr(check(ibv_reg_mr_iova(pd, address, length, iova, access), "ibv_reg_mr_iova"));
}

static uint8_t pattern(unsigned int seed, size_t i)
{
	return static_cast<uint8_t>(seed * 29 + i * 131 + (i >> 8) * 17 + (i >> 16) * 101 + 7);
}

void fill(std::span<uint8_t> bytes, unsigned int seed)
{
	for (size_t i = 0; i < bytes.size(); i++)
		bytes[i] = pattern(seed, i);
}

testing::AssertionResult filled(std::span<const uint8_t> bytes, unsigned int seed)
{
	for (size_t i = 0; i < bytes.size(); i++)
		if (bytes[i] != pattern(seed, i))
			return testing::AssertionFailure()
			       << "wrong data: byte " << i << " of " << bytes.size() << " is "
			       << int(bytes[i]) << " instead of " << int(pattern(seed, i));
	return testing::AssertionSuccess();
}

testing::AssertionResult all_equal(std::span<const uint8_t> bytes, uint8_t value)
{
	for (size_t i = 0; i < bytes.size(); i++)
		if (bytes[i] != value)
			return testing::AssertionFailure()
			       << "wrong data: byte " << i << " of " << bytes.size() << " is "
			       << int(bytes[i]) << " instead of " << int(value);
	return testing::AssertionSuccess();
}

} // namespace rdma
