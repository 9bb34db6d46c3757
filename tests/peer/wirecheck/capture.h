// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A pcap file as the TCP streams in it: Ethernet, IPv4 or IPv6 without options, no loss.
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
	std::vector<size_t> segments; // where in bytes each TCP segment began
	bool complete = true;	      // no gap
};

struct TcpSegment {
	Flow flow;
	uint32_t seq;
	uint32_t length; // bytes of payload on the wire; the capture may have fewer
	bool syn;
	uint64_t time;	     // nanoseconds of the capture's clock
	iwarp::View payload; // what was captured; for the time of the call
};

// Every TCP segment, in the order of the capture.
void for_each_segment(const std::string &file, const std::function<void(const TcpSegment &)> &take);

// For captures of whole packets.
std::map<Flow, Stream> read_capture(const std::string &file);

} // namespace wirecheck
