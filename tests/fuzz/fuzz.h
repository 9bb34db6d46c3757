// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Functions for all targets: input in small pieces, memory of exact size, checks of properties.
//
// A target reads its choices from the front of the input. A short input is padded with zeros, so
// every byte string is a case.
#pragma once

#include <algorithm>
#include <memory>

#include "../unit/code.h"

// A violated property ends the process; libFuzzer keeps the input.
#define require(condition) ((condition) ? (void)0 : property_fails(#condition, __FILE__, __LINE__))
[[noreturn]] void property_fails(const char *what, const char *file, int line);

class Input {
public:
	Input(const u8 *p, size_t n) : p_(p), n_(n) {}

	u8 byte()
	{
		if (!n_)
			return 0;
		n_--;
		return *p_++;
	}
	u16 half() { return static_cast<u16>(byte() << 8 | byte()); }
	u32 word() { return static_cast<u32>(half()) << 16 | half(); }
	u64 two_words() { return static_cast<u64>(word()) << 32 | word(); }
	bool flag() { return byte() & 1; }
	// 0 to n - 1
	u32 below(u32 n) { return n <= 256 ? byte() % n : word() % n; }
	// Up to n bytes, fewer at the end of the input.
	Bytes take(size_t n)
	{
		n = std::min(n, n_);
		Bytes o(p_, p_ + n);
		p_ += n;
		n_ -= n;
		return o;
	}
	Bytes rest() { return take(n_); }
	bool more() const { return n_ != 0; }

private:
	const u8 *p_;
	size_t n_;
};

// A number that is likely to be near a limit of its type.
u32 edgy_word(Input &in);

// Bytes in a heap block of exactly that size, so that ASan detects accesses outside. An empty
// string has a block, too.
class Exact {
public:
	explicit Exact(size_t n) : p_(new u8[n]()), n_(n) {}
	Exact(const u8 *p, size_t n) : p_(new u8[n]), n_(n) { std::copy(p, p + n, p_.get()); }
	explicit Exact(const Bytes &o) : Exact(o.data(), o.size()) {}

	u8 *data() { return p_.get(); }
	const u8 *data() const { return p_.get(); }
	u32 size() const { return static_cast<u32>(n_); }
	Bytes first(size_t n) const { return Bytes(p_.get(), p_.get() + n); }

private:
	std::unique_ptr<u8[]> p_;
	size_t n_;
};

// n bytes that do not depend on the input.
Bytes filling(size_t n, u32 seed);
