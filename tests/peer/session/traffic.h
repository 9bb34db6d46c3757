// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What works on a connection in Full Operation, as GoogleTest failures where it does not.
#pragma once

#include <gtest/gtest.h>

#include "../iwarp/peer.h"
#include "../victim/same.h"
#include "../victim/victim.h"

namespace peer {

using namespace iwarp;
using namespace victim;

// The segment in DDP's and RDMAP's version 0 or 1.
Segment in_version(uint8_t version, Segment s);

// All segments of the next message as one; every field of their headers is checked.
Segment receive_message(Peer &p, uint8_t opcode, uint8_t version = 1);

// The next completion; throws if it is no success.
ibv_wc expect_success(Victim &v);
// The same for a receive of this message, whose receive is posted again.
void expect_received(Victim &v, Connection &c, const Bytes &message);
// The victim's Read Request, and what is put there.
ReadRequest expect_read(Peer &p, uint32_t stag, uint64_t to, size_t len, uint8_t version = 1);
// The victim sends, and the peer gets it.
void expect_victim_sends(Victim &v, Connection &c, Peer &p, size_t len, uint8_t version = 1);

// Send, Write and Read of these sizes in both directions with that version in every header, data
// compared.
void expect_data_both_ways(Victim &v, Connection &c, Peer &p, uint8_t version = 1,
			   const std::vector<size_t> &sizes = {1, 500, 1400, 5000});

// A fresh connection to the same listener does Send, Write and Read correctly.
void expect_healthy(Victim &v);

// The other side ends the stream and sends nothing.
void expect_silent_end(Socket &s, Millis timeout = patience);
void expect_silent_end(Peer &p);

} // namespace peer
