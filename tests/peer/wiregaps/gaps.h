// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Gaps in a TCP stream, from a capture at the receiver: the number of bytes received out of order,
// and of those that wait each time when a gap closes. A capture of packet headers is enough.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "../wirecheck/capture.h"

namespace wiregaps {

// The closing of a gap: waiting bytes become in order.
struct Closing {
	uint64_t bytes;
	uint64_t time;	// of the segment that closes the gap, nanoseconds
	uint64_t until; // of the next segment, nanoseconds; 0: none
};

// One direction of a connection. first: sequence number of its first byte
class Gaps {
public:
	explicit Gaps(uint32_t first) : base_(first) {}

	// Records a segment, in the order of the capture. length: bytes; time: nanoseconds
	void arrives(uint32_t seq, uint32_t length, uint64_t time = 0);

	// Bytes of the stream up to the first gap.
	uint64_t bytes() const { return next_; }
	// Bytes that arrived while earlier ones were missing; a retransmitted byte counts once.
	uint64_t early() const { return early_; }
	const std::vector<Closing> &closings() const { return closings_; }

private:
	void queue(uint64_t from, uint64_t to);

	uint32_t base_;
	uint64_t next_ = 0;
	uint64_t early_ = 0;
	std::map<uint64_t, uint64_t> waiting_; // begin to end; ranges do not touch
	std::vector<Closing> closings_;
};

// Returns how long the delivery of waiting messages took after a gap closed: for each closing that
// is followed by a delivery before the next segment, the nanoseconds from the closing segment to
// the last such delivery. Both lists must be in order of time.
std::vector<uint64_t> closing_times(const std::vector<Closing> &closings,
				    const std::vector<uint64_t> &deliveries);

// Returns the gaps of each direction whose SYN is captured.
std::map<wirecheck::Flow, Gaps> read_gaps(const std::string &file);

} // namespace wiregaps
