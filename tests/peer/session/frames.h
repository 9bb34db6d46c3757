// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup frames, and the device's policy for a startup.
#pragma once

#include <functional>
#include <map>

#include "testbed.h"

namespace peer {

using namespace iwarp;

// Knobs of the device's policy, by name.
using Knobs = std::map<std::string, std::string>;

// The policy of the device under test in a case.
struct Wishes {
	uint8_t rev = 2;
	bool crc = true;
	bool markers = false;
	bool p2p = true; // requests RFC 6581's peer-to-peer model, with all three RTR messages

	Knobs knobs() const;
};

using Change = std::function<void(StartupFrame &)>;

// Returns the frame with the change applied.
StartupFrame changed(StartupFrame f, const Change &change);
// Returns a request with these flags, and with enhanced data if s is set and rev is 2 or more.
StartupFrame request(uint8_t rev, bool m, bool c, bool r, bool s, uint8_t reserved = 0);
// Sets the flags of a frame, from the lowest bit: M, C, R, S, and all four reserved bits.
StartupFrame with_bits(StartupFrame f, unsigned bits);
std::string bits_name(unsigned bits);
// Returns the names of the bits that are set: named_bits(5, {"A", "B", "C"}) is "_A_C".
std::string named_bits(unsigned bits, std::initializer_list<const char *> names);
// Returns enhanced data with these flags, from the lowest bit: A, B, C, D.
Enhanced enhanced_with(unsigned bits, uint16_t ird = depth, uint16_t ord = depth);
std::string kinds_name(unsigned bits);
// As request(), with R and the reserved bits clear; and the reply with the same fields.
StartupFrame request_with(uint8_t rev, bool s, bool c = true, bool m = false);
StartupFrame reply_with(uint8_t rev, bool s, bool c = true, bool m = false);
// Returns a reply that matches the request which p has received: the same revision and S, and the
// enhanced data with IRD and ORD exchanged.
StartupFrame fitting(const Peer &p);

} // namespace peer
