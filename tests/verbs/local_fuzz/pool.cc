// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "pool.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "rdma/failure.h"

namespace local_fuzz {
namespace {

constexpr size_t page = 4096;

// A value in the answer is not always a descriptor: an error may have made it another command.
bool is_channel(uint64_t fd)
{
	const std::string link = "/proc/self/fd/" + std::to_string(fd);
	char target[64] = {};
	return readlink(link.c_str(), target, sizeof(target) - 1) > 0 &&
	       strstr(target, "[infiniband");
}

} // namespace

Pool::~Pool()
{
	while (size(Class::channel))
		close_channel();
}

void Pool::close_channel()
{
	std::lock_guard lock(mutex_);
	auto &all = all_[static_cast<size_t>(Class::channel)];
	if (all.empty())
		return;
	const uint64_t fd = all.front();
	all.erase(all.begin());
	if (is_channel(fd))
		close(static_cast<int>(fd));
}

void Pool::add(Class c, uint64_t value)
{
	if (c == Class::channel && !is_channel(value))
		return;
	std::lock_guard lock(mutex_);
	all_[static_cast<size_t>(c)].push_back(value);
}

void Pool::remove(Class c, uint64_t value)
{
	std::lock_guard lock(mutex_);
	auto &all = all_[static_cast<size_t>(c)];
	if (auto it = std::find(all.begin(), all.end(), value); it != all.end())
		all.erase(it);
}

uint64_t Pool::any(Class c, Dice &dice) const
{
	const uint32_t choice = dice.word(),
		       wrong = dice.below(64) ? dice.below(16) : limit_32(dice);
	std::lock_guard lock(mutex_);
	const auto &all = all_[static_cast<size_t>(c)];
	return all.empty() || dice.below(100) == 0 ? wrong : all[choice % all.size()];
}

size_t Pool::size(Class c) const
{
	std::lock_guard lock(mutex_);
	return all_[static_cast<size_t>(c)].size();
}

Arena::Arena()
{
	void *p = mmap(nullptr, size + 2 * page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		throw rdma::Failure("mmap", errno);
	base_ = static_cast<uint8_t *>(p);
	rdma::check(mprotect(base_ + size, page, PROT_READ), "mprotect");
	rdma::check(mprotect(base_ + size + page, page, PROT_NONE), "mprotect");
}

Arena::~Arena()
{
	munmap(base_, size + 2 * page);
}

uint64_t Arena::bad(Dice &dice) const
{
	return dice.any({uint64_t{0}, uint64_t{1}, address(size), address(size + page),
			 address(size) - 1 - dice.below(64), address(size) - 8, address(1),
			 UINT64_MAX, UINT64_MAX - 4095, uint64_t{0xFFFF888000000000},
			 uint64_t{0x60000000}, limit_64(dice)});
}

} // namespace local_fuzz
