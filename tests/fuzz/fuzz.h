// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What every target needs: its input in small bites, memory of exact size, properties.
//
// A target reads its choices from the front of the input. An input that is too short goes on
// with zeros, so every string of octets is a case.
#pragma once

#include <algorithm>
#include <memory>

#include "../unit/code.h"

// A property that does not hold ends the process; libFuzzer keeps the input.
#define require(condition) \
	((condition) ? (void)0 : property_fails(#condition, __FILE__, __LINE__))
[[noreturn]] void property_fails(const char *what, const char *file, int line);

class Input {
public:
	Input(const u8 *p, size_t n) : p_(p), n_(n) {}

	u8 octet()
	{
		if (!n_)
			return 0;
		n_--;
		return *p_++;
	}
	u16 half() { return static_cast<u16>(octet() << 8 | octet()); }
	u32 word() { return static_cast<u32>(half()) << 16 | half(); }
	u64 two_words() { return static_cast<u64>(word()) << 32 | word(); }
	bool flag() { return octet() & 1; }
	// 0 to n - 1
	u32 below(u32 n) { return n <= 256 ? octet() % n : word() % n; }
	// Up to n octets, fewer at the end of the input.
	Octets take(size_t n)
	{
		n = std::min(n, n_);
		Octets o(p_, p_ + n);
		p_ += n;
		n_ -= n;
		return o;
	}
	Octets rest() { return take(n_); }
	bool more() const { return n_ != 0; }

private:
	const u8 *p_;
	size_t n_;
};

// A number at which things change: around the limits of its type, else any.
u32 edgy_word(Input &in);

// Octets in a heap block of exactly their number, so that ASan sees the first one read or
// written beside them. None is a block, too.
class Exact {
public:
	explicit Exact(size_t n) : p_(new u8[n]()), n_(n) {}
	Exact(const u8 *p, size_t n) : p_(new u8[n]), n_(n) { std::copy(p, p + n, p_.get()); }
	explicit Exact(const Octets &o) : Exact(o.data(), o.size()) {}

	u8 *data() { return p_.get(); }
	const u8 *data() const { return p_.get(); }
	u32 size() const { return static_cast<u32>(n_); }
	Octets first(size_t n) const { return Octets(p_.get(), p_.get() + n); }

private:
	std::unique_ptr<u8[]> p_;
	size_t n_;
};

// n octets that need not be in the input.
Octets filling(size_t n, u32 seed);
