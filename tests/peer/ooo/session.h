// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A connection to the victim, whose memory and completions the test looks at.
#pragma once

#include <gtest/gtest.h>

#include "../victim/victim.h"
#include "wire.h"

namespace ooo {

// A target and its port, for all sessions of one kind.
class Bench {
public:
	static Bench &the(const Terms &t);
	victim::Victim v;

private:
	explicit Bench(const victim::Options &o) : v(o) {}
};

inline constexpr unsigned receives = 16;
inline constexpr uint32_t receive_size = 4096;

// Whom the next connection is for, before there is one.
class Target {
public:
	victim::Victim &v;
	victim::Connection &c() { return v.connection(index_); }

protected:
	explicit Target(const Terms &t);

	const iwarp::Address to_;
	const unsigned index_;
};

class Session : public Target, public Wire {
public:
	explicit Session(const Terms &t = {});
	~Session();

	// An RDMA Write of a pattern into the region that all may write to.
	Span write(size_t at, size_t len, uint32_t seed);
	// Is the pattern there?
	bool written(size_t at, size_t len, uint32_t seed);
	// The next completion must be this message's.
	void delivers(size_t len, uint32_t seed);
	bool slot_has(unsigned slot, size_t at, View octets);
	void nothing_delivered();

private:
	unsigned delivered_ = 0;
};

} // namespace ooo
