// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What all cases share: one victim on the device under test, a connection that nothing may disturb,
// and the device's own account of errors and objects.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>

#include "../victim/nldev.h"
#include "../victim/same.h"
#include "../victim/witness.h"

namespace peer {

using namespace iwarp;
using namespace victim;

// Number of receives posted on each connection, and their size.
inline constexpr unsigned receives = 4;
inline constexpr uint32_t receive_size = 2048;
inline constexpr size_t region_size = 8192;
// More than its buffers for sending hold: a read of it takes until the peer receives.
inline constexpr size_t rw_size = 1024 * 1024;
inline constexpr uint8_t depth = 4; // IRD and ORD

// What holds in a program unless a case says otherwise.
struct Usual {
	Options victim{.receives = receives,
		       .receive_size = receive_size,
		       .ird = depth,
		       .ord = depth,
		       .region_size = region_size,
		       .rw_size = rw_size};
	// Other tests use the device, too: the policy is put back after each session, and between
	// two of them counters may move.
	bool shared = false;
};
inline Usual usual;
// Large enough for data both ways.
inline const Options roomy{.receive_size = 8192, .rw_size = 32768};

// A counter of the device.
inline uint64_t counter(const std::string &name)
{
	return lab().device.counter(name);
}

class Testbed {
public:
	static Testbed &the(const Options &o = usual.victim);

	// Before and after a case. finish() tells, as GoogleTest failures, what the case has left
	// behind: objects, counts other than expected, foreign memory changed, the other connection
	// hurt.
	void begin();
	void finish();

	// A counter that must have moved by n when the case ends.
	void expect_count(const std::string &name, uint64_t n = 1) { expected_[name] += n; }
	// Have they?
	bool all_counted();
	// Those of errors and events that the device does not have.
	std::string missing_counters();
	// Has any error been counted, or has the peer told of one?
	bool any_error();
	// One error of a class that no RFC names.
	void expect_some_error() { some_error_ = true; }
	// Whatever else is counted from now on.
	void expect_anything() { anything_ = true; }

	Victim &v;
	Policy &policy;

private:
	explicit Testbed(Victim &victim);
	void restore();
	Counts judged(Counts all) const;
	Counts now();
	Counts wanted() const;
	void check_counters();
	void check_resources();
	void check_bystander();

	Nldev nldev_;
	std::unique_ptr<Witness> bystander_;
	Counts resources_, counters_, expected_;
	bool some_error_ = false, anything_ = false;
	bool judged_ = false; // the session before
};

// Waits for the condition as long as a slow machine may need.
bool eventually(const std::function<bool()> &condition);

// Until all that was sent is acknowledged: what TCP sends then is another segment.
void wait_acknowledged(const Socket &s);
// In two segments of TCP: so many bytes first.
void send_cut(Socket &s, View bytes, size_t first);

// A fresh connection to the same listener does Send, Write and Read correctly.
void expect_healthy(Victim &v);

// The other side ends the stream and sends nothing.
void expect_silent_end(Socket &s, Millis timeout = patience);
void expect_silent_end(Peer &p);

} // namespace peer
