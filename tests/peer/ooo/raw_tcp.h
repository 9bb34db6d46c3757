// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A TCP endpoint made by hand on a tun device: which bytes go out, in which segments and in which
// order, is the test's choice. It acknowledges what it receives and sends nothing again by itself.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "../iwarp/socket.h"

namespace ooo {

using namespace iwarp;

// The far end of a tun device that exists.
class Tun {
public:
	// tunA
	static Tun &the();
	~Tun();
	Tun(const Tun &) = delete;
	Tun &operator=(const Tun &) = delete;

	void send(View packet);
	std::optional<Bytes> receive(Millis timeout);

private:
	explicit Tun(const std::string &name);
	int fd_;
};

class RawTcp {
public:
	// Connects from an address that is routed to the device. The initial sequence number is
	// free, and the window, in units of 128 bytes.
	RawTcp(Tun &tun, const Address &from, const Address &to, uint32_t isn, bool sack = true,
	       uint16_t window = 0xffff);
	// Resets the connection, unless the other side has.
	~RawTcp();
	RawTcp(const RawTcp &) = delete;
	RawTcp &operator=(const RawTcp &) = delete;

	// One segment; offsets are those of the stream, from 0.
	void send(uint32_t offset, View bytes);
	// The end of the stream, at this offset.
	void finish(uint32_t offset);
	// A reset that the other side takes if it has all up to this offset.
	void abort(uint32_t offset);
	// Takes in what has come; waits for the first of it.
	void poll(Millis timeout);
	// Polls until the condition holds; throws if that takes too long.
	void wait(const char *what, const std::function<bool()> &condition);
	// Does the other side have it, in order or not?
	bool has(uint32_t from, uint32_t to) const;
	// Where the next that it has begins, behind what it has in order; or the limit.
	uint32_t gap_end(uint32_t limit) const;
	// Bytes it has in order.
	uint32_t acknowledged() const { return acked_; }

	// Behind the last byte that the other side has let in so far.
	uint32_t edge() const { return edge_; }

	Bytes received; // its stream
	bool finished = false;
	bool reset = false;

private:
	struct Block {
		uint32_t from, to;
	};
	struct Header;
	void transmit(uint8_t flags, uint32_t seq, View bytes, View options = {});
	void take(View packet);
	void take_segment(View tcp);
	void take_options(View options);

	Tun &tun_;
	Address from_, to_;
	uint32_t isn_;
	uint32_t peer_isn_ = 0;
	bool open_ = false;
	bool sack_;
	const uint16_t window_;
	uint32_t acked_ = 0;
	uint32_t edge_ = 0;
	unsigned scale_ = 0; // of the windows that it offers
	std::vector<Block> sacked_;
};

} // namespace ooo
