// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A connection in Full Operation over hand-made TCP: FPDUs are put into the stream first and sent
// afterwards, any part of them in any order.
#pragma once

#include <gtest/gtest.h>

#include "../conformance/nldev.h"
#include "../iwarp/peer.h"
#include "../victim/victim.h"
#include "raw_tcp.h"

namespace ooo {

using iwarp::Segment;

struct Terms {
	bool ooo = true;
	bool markers = true;
	bool crc = true;
	bool sack = true;
	bool ipv6 = false;
	bool srq = false;
	bool mapped = false; // the target's socket is an IPv6 one, its addresses are IPv4 mapped
	uint32_t isn = 1000;
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

// A target and its port, for all sessions of one kind.
class Bench {
public:
	static Bench &the(const Terms &t);
	victim::Victim v;

private:
	explicit Bench(const victim::Options &o) : v(o) {}
};

// The receive buffers of sockets stay as they are, however much comes, until the end of the scope.
class FixedBuffers {
public:
	FixedBuffers();
	~FixedBuffers();
	FixedBuffers(const FixedBuffers &) = delete;
	FixedBuffers &operator=(const FixedBuffers &) = delete;

private:
	std::string before_;
};

inline constexpr unsigned receives = 16;
inline constexpr uint32_t receive_size = 4096;

class Session {
public:
	explicit Session(const Terms &t = {});
	~Session();

	// The next FPDU of the stream.
	Span add(const Segment &s, const iwarp::FpduFault &fault = {});
	// An RDMA Write of a pattern into the region that all may write to.
	Span write(size_t at, size_t len, uint32_t seed);
	// A Send of a pattern, the next or a part of it.
	Span message(size_t len, uint32_t seed);

	// Sends a part of the stream and waits until TCP has it; in segments of up to so many octets.
	void send(uint32_t from, uint32_t to, size_t most = 1400);
	void send(Span s, size_t most = 1400) { send(s.from, s.to, most); }
	// The same, with other octets than the stream's.
	void send_other(uint32_t from, View octets, size_t most = 1400);
	// One segment that TCP may drop: nobody waits.
	void push(uint32_t from, uint32_t to) { tcp_.send(base_ + from, View(stream).subspan(from, to - from)); }
	// What is still missing of the stream, from the beginning; TCP has all afterwards.
	void fill();
	uint32_t end() const { return static_cast<uint32_t>(stream.size()); }

	// A count of TCP's in /proc/net/netstat.
	static uint64_t tcp_counter(const std::string &name);
	// What has been counted since the last call.
	Counted counted();
	uint64_t counter(const std::string &name);
	// Is the pattern there?
	bool written(size_t at, size_t len, uint32_t seed);
	// The next completion must be this message's.
	void delivers(size_t len, uint32_t seed);
	bool slot_has(unsigned slot, size_t at, View octets);
	void nothing_delivered();
	// The victim's Terminate.
	std::optional<iwarp::Terminate> terminate();
	// Next segment that the victim has sent.
	Segment receive();

private:
	iwarp::Address to_;

public:
	victim::Victim &v;
	victim::Connection &c() { return v.connection(index_); }
	iwarp::FpduEncoder out;
	Octets stream;
	uint32_t send_msn = 1;

private:
	void set_policy(const Terms &t);
	void start(bool crc);
	Counted now();

	unsigned index_;
	conformance::Nldev nldev_;
	RawTcp tcp_;
	uint32_t base_ = 0; // octets of the request frame
	size_t read_ = 0;   // octets of the victim's stream that were decoded
	iwarp::FpduDecoder in_;
	unsigned delivered_ = 0;
	Counted before_{};
};

} // namespace ooo
