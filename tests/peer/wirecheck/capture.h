// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Reads the TCP segments of a pcap file: Ethernet, IPv4, and IPv6 without extension headers.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <string>

#include "../iwarp/bytes.h"

namespace wirecheck {

// One direction of a connection.
struct Flow {
	iwarp::Bytes from, to; // address and port
	auto operator<=>(const Flow &) const = default;
	Flow reverse() const { return {to, from}; }
};

struct Stream {
	iwarp::Bytes bytes;
	std::vector<size_t> segments; // offset in bytes at which each TCP segment begins
	bool complete = true;	      // no gap
};

struct TcpSegment {
	Flow flow;
	uint32_t seq;
	uint32_t length; // bytes of payload on the wire; the capture may contain fewer
	bool syn;
	uint64_t time;	     // nanoseconds of the capture's clock
	iwarp::View payload; // the captured part; valid until take() returns
};

// Calls take() for each TCP segment, in the order of the capture. Throws std::runtime_error if the
// file is not a capture that it can read.
void for_each_segment(const std::string &file, const std::function<void(const TcpSegment &)> &take);

// Returns the streams whose SYN is captured. The capture must contain whole packets. A segment that
// is lost or out of order makes its stream incomplete.
std::map<Flow, Stream> read_capture(const std::string &file);

} // namespace wirecheck
