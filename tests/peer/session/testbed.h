// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The state that all cases share: one victim on the device under test, a connection that no case
// may disturb (the bystander), and the device's counters and resource numbers.
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

// Number of receives posted on each connection, and their size in bytes.
inline constexpr unsigned receives = 4;
inline constexpr uint32_t receive_size = 2048;
inline constexpr size_t region_size = 8192;
// More bytes than the victim's send buffer holds: the response to a read of them all is complete
// only after the peer has received most of it.
inline constexpr size_t rw_size = 1024 * 1024;
inline constexpr uint8_t depth = 4; // IRD and ORD

// Defaults of a program. A case may override them.
struct Usual {
	Options victim{.receives = receives,
		       .receive_size = receive_size,
		       .ird = depth,
		       .ord = depth,
		       .region_size = region_size,
		       .rw_size = rw_size};
	// Tests without a Session use the device, too: each session restores the policy at its end,
	// and counters may move between two sessions.
	bool shared = false;
};
inline Usual usual;
// Large enough for data_both_ways().
inline const Options roomy{.receive_size = 8192, .rw_size = 32768};

// Returns a counter of the device.
inline uint64_t counter(const std::string &name)
{
	return lab().device.counter(name);
}

class Testbed {
public:
	static Testbed &the(const Options &o = usual.victim);

	// Called before and after a case. finish() reports GoogleTest failures for leaked objects,
	// counters that differ from the expected values, completions that were not posted, and a
	// bystander that does not work.
	void begin();
	void finish();

	// Requires that the counter, and the one that contains it, have moved by n when the case
	// ends.
	void expect_count(const std::string &name, uint64_t n = 1);
	// Returns whether all counters have their expected values now.
	bool all_counted();
	// Returns the names of the error and event counters that the device lacks.
	std::string missing_counters();
	// Returns whether the case has moved an error counter, rx_terminate or rx_rejects.
	bool any_error();
	// Requires at least one error, of any class.
	void expect_some_error() { some_error_ = true; }
	// Accepts any counters when the case ends.
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
	bool judged_ = false; // finish() has checked the previous case
};

// Waits for the condition as long as a slow machine may need. Returns false after that time.
bool eventually(const std::function<bool()> &condition);

// Waits until all bytes sent are acknowledged, so that later bytes are in another TCP segment.
// Throws Timeout.
void wait_acknowledged(const Socket &s);
// Sends the bytes in two parts, in different TCP segments. The first part has first bytes.
void send_cut(Socket &s, View bytes, size_t first);

// Checks that Send, Write and Read work on a new connection to the victim.
void expect_healthy(Victim &v);

// Each checks that the victim ends the stream without sending anything.
void expect_silent_end(Socket &s, Millis timeout = patience);
void expect_silent_end(Peer &p);

} // namespace peer
