// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "region.h"

#include <algorithm>
#include <cerrno>
#include <sys/mman.h>
#include <system_error>

namespace victim {

Region::Region(ibv_pd *pd, size_t size, int access) : size_(size)
{
	static uint32_t seed;
	void *m =
		mmap(nullptr, total(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m == MAP_FAILED)
		throw std::system_error(errno, std::generic_category(), "mmap");
	mem_ = static_cast<uint8_t *>(m);
	original_ = iwarp::pattern(total(), ++seed);
	std::copy(original_.begin(), original_.end(), mem_);
	mr_ = ibv_reg_mr(pd, data(), size_, access);
	if (!mr_) {
		int saved = errno;
		munmap(mem_, total());
		throw std::system_error(saved, std::generic_category(), "ibv_reg_mr");
	}
}

Region::~Region()
{
	ibv_dereg_mr(mr_);
	munmap(mem_, total());
}

iwarp::Bytes Region::original(size_t at, size_t len) const
{
	auto from = original_.begin() + static_cast<ptrdiff_t>(guard + at);
	return {from, from + static_cast<ptrdiff_t>(len)};
}

void Region::restore()
{
	std::copy(original_.begin(), original_.end(), mem_);
}

std::string Region::changed(const std::vector<Range> &allowed) const
{
	iwarp::Bytes want = original_;
	for (const Range &r : allowed) {
		auto at = static_cast<ptrdiff_t>(guard) + r.at;
		std::copy(mem_ + at, mem_ + at + static_cast<ptrdiff_t>(r.len), want.begin() + at);
	}
	auto [wrong, there] = std::mismatch(want.begin(), want.end(), mem_);
	if (wrong == want.end())
		return {};
	ptrdiff_t at = wrong - want.begin() - static_cast<ptrdiff_t>(guard);
	return "wrong data: byte " + std::to_string(at) + " of a region of " +
	       std::to_string(size_) + " was changed";
}

iwarp::Segment write_to(const Region &r, int64_t at, iwarp::Bytes payload, bool last)
{
	return iwarp::write_segment(r.rkey(), r.base() + static_cast<uint64_t>(at),
				    std::move(payload), last);
}

} // namespace victim
