// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A TCP endpoint in user space, on a tun device. The test controls which bytes are sent, in which
// segments and in which order. The endpoint acknowledges received data; it never retransmits.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "../iwarp/socket.h"

namespace ooo {

using namespace iwarp;

// The user-space end of an existing tun device.
class Tun {
public:
	// Attaches to tunA at the first call.
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
	// Connects from @from, an address that is routed to the device. @isn is the initial
	// sequence number; @window is the advertised window in units of 128 bytes.
	RawTcp(Tun &tun, const Address &from, const Address &to, uint32_t isn, bool sack = true,
	       uint16_t window = 0xffff);
	// Resets the connection, unless the other side has reset it.
	~RawTcp();
	RawTcp(const RawTcp &) = delete;
	RawTcp &operator=(const RawTcp &) = delete;

	// Sends one segment; @offset is counted from the beginning of the stream.
	void send(uint32_t offset, View bytes);
	// Sends FIN at this offset.
	void finish(uint32_t offset);
	// Sends RST at this offset. The other side accepts it if it has received all data before.
	void abort(uint32_t offset);
	// Processes received packets; waits up to @timeout for the first one.
	void poll(Millis timeout);
	// Polls until the condition holds. Throws Timeout, with @what in its text, if it does not
	// in time.
	void wait(const char *what, const std::function<bool()> &condition);
	// Returns whether the other side has acknowledged or SACKed these bytes. Without SACK, data
	// after a gap count as received.
	bool has(uint32_t from, uint32_t to) const;
	// Returns the end of the first gap: the lowest SACKed offset beyond the acknowledged bytes,
	// or @limit if that is less.
	uint32_t gap_end(uint32_t limit) const;
	// Number of bytes that the other side has acknowledged.
	uint32_t acknowledged() const { return acked_; }

	// Right edge of the other side's window, the largest so far, as an offset.
	uint32_t edge() const { return edge_; }

	Bytes received; // the other side's stream
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
	unsigned scale_ = 0; // window scale of the other side
	std::vector<Block> sacked_;
};

} // namespace ooo
