// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A connection to the victim, whose memory and completions the test looks at.
#pragma once

#include <gtest/gtest.h>

#include "../victim/victim.h"
#include "wire.h"

namespace ooo {

// The calling thread runs nowhere else; throws if it cannot.
void stay_on(int cpu);

inline constexpr unsigned receives = 16;
inline constexpr uint32_t receive_size = 4096;

// Whom the next connection is for, before there is one.
class Target {
public:
	Victim &v;
	Connection &c() { return v.connection(index_); }

protected:
	explicit Target(const Terms &t);

	const Address to_;
	const unsigned index_;
};

class Session : public Target, public Wire {
public:
	explicit Session(const Terms &t = {});
	~Session();

	// An RDMA Write of a pattern into the region that all may write to.
	Span write(size_t at, size_t len, uint32_t seed);
	// Is the pattern there?
	testing::AssertionResult written(size_t at, size_t len, uint32_t seed);
	// The same for much, by several Writes that are each on a few pages: payload in more pieces
	// of memory counts as all that lies between them, and which pages a region has is chance.
	void write_much(size_t at, size_t len, uint32_t seed);
	testing::AssertionResult much_written(size_t at, size_t len, uint32_t seed);
	// The next completion must be this message's.
	void delivers(size_t len, uint32_t seed);
	testing::AssertionResult slot_has(unsigned slot, size_t at, View bytes);
	void nothing_delivered();
	// All that is missing is sent, and behind it a message that arrives as well.
	void fill_and_deliver();
	void terminates(const Code &code);

private:
	unsigned delivered_ = 0;
};

} // namespace ooo
