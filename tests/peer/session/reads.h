// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA Reads by the victim, and the peer's Read Responses.
#pragma once

#include "cases.h"

namespace peer {

inline constexpr uint32_t source_stag = 0x77777700;
inline constexpr uint64_t source_to = 0x4000;
inline constexpr size_t read_len = 400;
inline constexpr size_t sink_at = 64;

// Receives the victim's next Read Request and checks its header. Throws if the next segment is
// another one, or none comes.
ReadRequest next_request(Session &s);
// Posts a read of n bytes into the victim's local region at offset at, and returns the Read Request
// that the peer receives.
ReadRequest asked(Session &s, size_t n = read_len, size_t at = sink_at);
// Returns the correct Read Response, in one segment.
Segment answer(const ReadRequest &rr);
// Checks that the read has completed with success and that its n bytes are in the local region.
void done(Session &s, size_t n = read_len, size_t at = sink_at);

// Answers a read of n bytes correctly, in segments that begin at 0 and at these offsets.
Act answer_in_parts(const std::vector<size_t> &cuts, size_t n = read_len);
// Each answers a read with a wrong Read Response: with the change, or with n bytes. Its payload may
// be placed in the sink before the victim detects the error.
Act answer_with(const Edit &change);
Act answer_of(size_t n);
// Answers a read with a correct segment of first bytes, then with a wrong last segment of second
// bytes at offset at of the sink.
Act answer_in_two(size_t first, size_t at, size_t second);
// Sends the correct Read Response twice; the second one is wrong.
Act answer_twice();
// Sends a Read Response to the region rw, which permits remote write but is no sink of a read.
Act response_into_rw();

// Posts more reads than ORD. Checks that at most ord Read Requests are outstanding, and that each
// Read Response allows the next one.
void more_reads_than_ord(Session &s, unsigned reads, unsigned ord);

} // namespace peer
