// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What a TCP receiver's gaps cost: which bytes came before their turn, and how many were waiting
// each time when a gap closed. From a capture at the receiver's end; packet headers are enough.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "../wirecheck/capture.h"

namespace wiregaps {

// A gap closes: bytes that were waiting come into their turn.
struct Closing {
	uint64_t bytes;
	uint64_t time;	// of the segment that closes it
	uint64_t until; // of the next one
};

// One direction of a connection, from its SYN on.
class Gaps {
public:
	explicit Gaps(uint32_t first) : base_(first) {}

	void arrives(uint32_t seq, uint32_t length, uint64_t time = 0);

	// Bytes of the stream up to the first gap.
	uint64_t bytes() const { return next_; }
	// Bytes that came when some before them were missing; each counts once.
	uint64_t early() const { return early_; }
	const std::vector<Closing> &closings() const { return closings_; }

private:
	void queue(uint64_t from, uint64_t to);

	uint32_t base_;
	uint64_t next_ = 0;
	uint64_t early_ = 0;
	std::map<uint64_t, uint64_t> waiting_; // begin to end, apart from each other
	std::vector<Closing> closings_;
};

// How long what a gap had held up took to be delivered: for each closing behind which something was
// delivered before the next segment came, from its segment to the last delivery. Both lists are in
// order of time.
std::vector<uint64_t> closing_times(const std::vector<Closing> &closings,
				    const std::vector<uint64_t> &deliveries);

std::map<wirecheck::Flow, Gaps> read_gaps(const std::string &file);

} // namespace wiregaps
