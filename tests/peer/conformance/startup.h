// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup frames that are no connection, and the policy that a row wants.
#pragma once

#include "session.h"

namespace conformance {

// What the device under test is told before a case.
struct Wishes {
	uint8_t rev = 2;
	bool crc = true;
	bool markers = false;
	bool p2p = true; // RFC 6581's peer-to-peer model: asked for, and all of its RTR messages
};

void apply(Policy &p, const Wishes &w);

// An octet string that a responder must not answer: it closes, tells no consumer, counts once.
void expect_no_answer(const Octets &octets, bool fin, const std::string &counter);

// A request with every flag as told.
iwarp::StartupFrame request(uint8_t rev, bool m, bool c, bool r, bool s, uint8_t reserved = 0);

} // namespace conformance
