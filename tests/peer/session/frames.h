// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup frames, and the policy that a row wants.
#pragma once

#include "session.h"

namespace peer {

// What the device under test is told before a case.
struct Wishes {
	uint8_t rev = 2;
	bool crc = true;
	bool markers = false;
	bool p2p = true; // RFC 6581's peer-to-peer model: asked for, and all of its RTR messages
};

void apply(Policy &p, const Wishes &w);

using Change = std::function<void(StartupFrame &)>;

// The frame, with a change.
StartupFrame changed(StartupFrame f, const Change &change);
// A request with every flag as told.
StartupFrame request(uint8_t rev, bool m, bool c, bool r, bool s, uint8_t reserved = 0);
// Likewise any frame: from its lowest bit M, C, R, S, and all reserved ones.
StartupFrame with_bits(StartupFrame f, unsigned bits);
std::string bits_name(unsigned bits);
// A reply that fits the peer's request.
StartupFrame fitting(const Peer &p);

// What the consumer has been told of the connection; nothing within the time.
std::optional<rdma_cm_event_type> told(Victim &v, Connection &c, Millis limit = patience);

// What the peer does behind its bytes.
enum class Then { waits, fin, rst };

// Bytes that a responder must not answer: it closes, tells no consumer, counts once.
void expect_no_answer(View bytes, Then then, const std::string &counter);

} // namespace peer
