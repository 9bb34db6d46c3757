// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A connection to the victim, with checks of the victim's memory and completions.
#pragma once

#include <gtest/gtest.h>

#include "../victim/victim.h"
#include "wire.h"

namespace ooo {

// Binds the calling thread to a processor; throws if this fails.
void stay_on(int cpu);

inline constexpr unsigned receives = 16;
inline constexpr uint32_t receive_size = 4096;

// The victim, its address, and the number of its next connection.
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

	// Appends an RDMA Write of pattern(len, seed) to offset @at of the victim's rw region.
	Span write(size_t at, size_t len, uint32_t seed);
	// Checks that the region has this pattern there.
	testing::AssertionResult written(size_t at, size_t len, uint32_t seed);
	// The same for more bytes, as several Writes to at most three pages each. The device
	// records payload in more than four pieces of memory as all memory between them, which then
	// overlaps other payload by chance, depending on the pages of the region.
	void write_much(size_t at, size_t len, uint32_t seed);
	testing::AssertionResult much_written(size_t at, size_t len, uint32_t seed);
	// Waits for the next completion, and checks that it is this message's.
	void delivers(size_t len, uint32_t seed);
	testing::AssertionResult slot_has(unsigned slot, size_t at, View bytes);
	void nothing_delivered();
	// Appends a message, sends all that is missing, and waits for the message's completion.
	void fill_and_deliver();
	void terminates(const Code &code);

private:
	unsigned delivered_ = 0;
};

} // namespace ooo
