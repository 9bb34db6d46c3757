// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The peer's end of a connection in Full Operation over RawTcp. FPDUs are first added to the
// stream; then any part of the stream can be sent, in any order.
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
	bool mapped = false; // the target's socket is IPv6 with IPv4-mapped addresses
	uint32_t isn = 1000;
	uint16_t window = 0xffff; // that the peer advertises, in units of 128 bytes
};

// Offsets in the peer's stream; 0 is the first byte of Full Operation.
struct Span {
	uint32_t from, to;
};

// Increments of ooo_placed_fpdus, ooo_delivered_without_copy and ooo_replaced.
struct Counted {
	uint64_t placed, delivered, replaced;
	bool operator==(const Counted &) const = default;
};

std::ostream &operator<<(std::ostream &os, const Counted &c);

// Disables the growth of TCP receive buffers during its lifetime: auto-tuning, and with @full also
// the growth of a buffer that is full.
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
	// Sets the device's policy, connects, and receives the MPA reply.
	Wire(const Address &to, const Terms &t);

	// Appends an FPDU to the stream, and sends nothing. Returns its place.
	Span add(const Segment &s, const FpduFault &fault = {});
	// Appends the next Send, whose payload is pattern(len, seed).
	Span message(size_t len, uint32_t seed);

	// Sends a part of the stream, in segments of at most @most bytes, and waits until the other
	// side's TCP has reported it, by ACK or SACK.
	void send(uint32_t from, uint32_t to, size_t most = 1400);
	void send(Span s, size_t most = 1400) { send(s.from, s.to, most); }
	// Sends one segment without waiting.
	void throw_in(uint32_t from, uint32_t to)
	{
		tcp_.send(base_ + from, View(stream).subspan(from, to - from));
	}
	// As send(), with other bytes than the stream has there.
	void send_other(uint32_t from, View bytes, size_t most = 1400);
	// Sends single bytes between @from and @to, from the end backwards, @step bytes apart,
	// until this counter of /proc/net/netstat increases. Does not wait for acknowledgments,
	// because TCP may drop the bytes. Returns whether the counter has increased.
	bool crowd(uint32_t from, uint32_t to, uint32_t step, const std::string &counter);
	// Sends FIN, or RST, at the end of the stream, without waiting.
	void finish() { tcp_.finish(base_ + end()); }
	void abort() { tcp_.abort(base_ + end()); }
	// Sends all parts of the stream that the other side's TCP does not have, in order, and
	// waits until all is acknowledged or the connection is reset.
	void fill();
	// Receives the segments that have arrived, without waiting.
	void take() { tcp_.poll(Millis{0}); }
	// Offset up to which the other side has acknowledged the stream.
	uint32_t acknowledged() const { return tcp_.acknowledged() - base_; }
	// Right edge of the window that the other side has advertised, as an offset.
	uint32_t edge() const { return tcp_.edge() - base_; }
	// Returns an FPDU for the place of @fpdu in the stream, with another segment in it.
	Bytes instead_of(Span fpdu, const Segment &s) const
	{
		return FpduEncoder(out.mode(), fpdu.from).encode(s.encode());
	}
	Bytes part(Span s) const { return slice(stream, s.from, s.to - s.from); }
	uint32_t end() const { return static_cast<uint32_t>(stream.size()); }

	// Returns the increments since the previous call, or since startup.
	Counted counted();
	uint64_t counter(const std::string &name);
	// Receives the next segment; nothing if it is not a valid Terminate.
	std::optional<Terminate> terminate();
	// Returns the next segment of the other side; throws if its stream ends.
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
