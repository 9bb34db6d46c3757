// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The victim's RDMA Reads of the peer, and their answers.
#pragma once

#include "cases.h"

namespace peer {

inline constexpr uint32_t source_stag = 0x77777700;
inline constexpr uint64_t source_to = 0x4000;
inline constexpr size_t read_len = 400;
inline constexpr size_t sink_at = 64;

// The victim's next Read Request.
ReadRequest next_request(Session &s);
// Makes the victim read n bytes into its local region; what it asks for.
ReadRequest asked(Session &s, size_t n = read_len, size_t at = sink_at);
// The answer that is right.
Segment answer(const ReadRequest &rr);
// It has come.
void done(Session &s, size_t n = read_len, size_t at = sink_at);

// Asked for n bytes, the peer answers in segments that begin where told.
Act answer_in_parts(const std::vector<size_t> &cuts, size_t n = read_len);
// A response that is right except for one change, or for its length; what it says may be placed
// before it is seen.
Act answer_with(const Edit &change);
Act answer_of(size_t n);
// A first segment that is right, and one that is not: of so many bytes, so far behind the sink's
// beginning.
Act answer_in_two(size_t first, size_t at, size_t second);
// The right answer once more.
Act answer_twice();
// A response to a region that the peer may write to, and the victim has not named.
Act response_into_rw();

// The victim has more reads than its ORD allows at once; each is answered in its turn.
void more_reads_than_ord(Session &s, unsigned reads, unsigned ord);

} // namespace peer
