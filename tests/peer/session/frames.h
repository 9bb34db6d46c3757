// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup frames, and the policy of the device when they come.
#pragma once

#include <functional>
#include <map>

#include "testbed.h"

namespace peer {

using namespace iwarp;

// Knobs of the device's policy, by name.
using Knobs = std::map<std::string, std::string>;

// What the device under test is told before a case.
struct Wishes {
	uint8_t rev = 2;
	bool crc = true;
	bool markers = false;
	bool p2p = true; // RFC 6581's peer-to-peer model: asked for, and all of its RTR messages

	Knobs knobs() const;
};

using Change = std::function<void(StartupFrame &)>;

// The frame, with a change.
StartupFrame changed(StartupFrame f, const Change &change);
// A request with every flag as told.
StartupFrame request(uint8_t rev, bool m, bool c, bool r, bool s, uint8_t reserved = 0);
// Likewise any frame: from its lowest bit M, C, R, S, and all reserved ones.
StartupFrame with_bits(StartupFrame f, unsigned bits);
std::string bits_name(unsigned bits);
// "_A_C" for the bits 5 of {"A", "B", "C"}.
std::string named_bits(unsigned bits, std::initializer_list<const char *> names);
// Likewise enhanced data: from its lowest bit A, B, C, D.
Enhanced enhanced_with(unsigned bits, uint16_t ird = depth, uint16_t ord = depth);
std::string kinds_name(unsigned bits);
// A request, or a reply, with these flags and no other ones.
StartupFrame request_with(uint8_t rev, bool s, bool c = true, bool m = false);
StartupFrame reply_with(uint8_t rev, bool s, bool c = true, bool m = false);
// A reply that fits the peer's request.
StartupFrame fitting(const Peer &p);

} // namespace peer
