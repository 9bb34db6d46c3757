// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The peer's end of a connection in Full Operation over hand-made TCP: FPDUs are put into the
// stream first and sent afterwards, any part of them in any order.
#pragma once

#include <ostream>

#include "../iwarp/peer.h"
#include "../victim/nldev.h"
#include "../victim/same.h"
#include "../victim/victim.h"
#include "raw_tcp.h"

namespace ooo {

using namespace victim;

struct Terms {
	bool ooo = true;
	bool markers = true;
	bool crc = true;
	bool sack = true;
	bool ipv6 = false;
	bool srq = false;
	bool mapped = false; // the target's socket is an IPv6 one, its addresses are IPv4 mapped
	uint32_t isn = 1000;
	uint16_t window = 0xffff; // that the peer offers, in units of 128 bytes
};

// Offsets in the stream of Full Operation.
struct Span {
	uint32_t from, to;
};

// What the device counts, since the last look.
struct Counted {
	uint64_t placed, delivered, replaced;
	bool operator==(const Counted &) const = default;
};

std::ostream &operator<<(std::ostream &os, const Counted &c);

// The receive buffers of sockets stay as they are, however much comes, until the end of the scope.
// TCP might have them grow when they are full, if @full does not say otherwise.
class FixedBuffers {
public:
	explicit FixedBuffers(bool full = true);
	~FixedBuffers();
	FixedBuffers(const FixedBuffers &) = delete;
	FixedBuffers &operator=(const FixedBuffers &) = delete;

private:
	std::string moderation_, most_;
};

class Wire {
public:
	// Sets the device's policy, and connects.
	Wire(const Address &to, const Terms &t);

	// The next FPDU of the stream.
	Span add(const Segment &s, const FpduFault &fault = {});
	// A Send of a pattern, the next or a part of it.
	Span message(size_t len, uint32_t seed);

	// Sends a part of the stream and waits until TCP has it; in segments of up to so many
	// bytes.
	void send(uint32_t from, uint32_t to, size_t most = 1400);
	void send(Span s, size_t most = 1400) { send(s.from, s.to, most); }
	// One segment; nobody waits.
	void throw_in(uint32_t from, uint32_t to)
	{
		tcp_.send(base_ + from, View(stream).subspan(from, to - from));
	}
	// The same as send(), with other bytes than the stream's.
	void send_other(uint32_t from, View bytes, size_t most = 1400);
	// Single bytes between the two, the last first, each so far from the one before, until TCP
	// has counted that in /proc/net/netstat. TCP may drop them: nobody waits. Return: has it?
	bool crowd(uint32_t from, uint32_t to, uint32_t step, const std::string &counter);
	// The end of the stream: nobody waits until TCP has it.
	void finish() { tcp_.finish(base_ + end()); }
	void abort() { tcp_.abort(base_ + end()); }
	// What is still missing of the stream, from the beginning; TCP has all afterwards.
	void fill();
	// Takes in what the other side has sent, and waits for nothing.
	void take() { tcp_.poll(Millis{0}); }
	// What it has in order.
	uint32_t acknowledged() const { return tcp_.acknowledged() - base_; }
	// Where the window that is offered ends.
	uint32_t edge() const { return tcp_.edge() - base_; }
	// An FPDU of the stream with another segment in it.
	Bytes instead_of(Span fpdu, const Segment &s) const
	{
		return FpduEncoder(out.mode(), fpdu.from).encode(s.encode());
	}
	Bytes part(Span s) const { return slice(stream, s.from, s.to - s.from); }
	uint32_t end() const { return static_cast<uint32_t>(stream.size()); }

	// What has been counted since the last call.
	Counted counted();
	uint64_t counter(const std::string &name);
	// The other side's Terminate.
	std::optional<Terminate> terminate();
	// Next segment that it has sent.
	Segment receive();

	FpduEncoder out;
	Bytes stream;
	uint32_t send_msn = 1;

private:
	void start(bool crc);
	Counted now();

	Nldev nldev_;
	RawTcp tcp_;
	uint32_t base_ = 0; // bytes of the request frame
	size_t read_ = 0;   // bytes of the other side's stream that were decoded
	FpduDecoder in_;
	Counted before_{};
};

} // namespace ooo
