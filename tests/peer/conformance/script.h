// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A script of forty messages of all kinds. The peer sends it over one connection many times, each
// time split into other TCP segments, and checks the victim's completions, memory and answers.
#pragma once

#include "../session/session.h"

namespace peer {

// Cut points: increasing offsets in a stream, at each of which a new TCP segment begins.
using Cuts = std::vector<size_t>;

// A composed byte stream and the offsets of its parts.
struct Stream {
	Bytes bytes;
	Cuts fpdus;   // first byte of each FPDU, or of the marker in front of it
	Cuts markers; // first byte of each marker
};

struct Message {
	enum Kind { send, send_se, write, read_request, read_response } kind;
	size_t len;
	size_t segment; // most bytes of payload in a DDP segment
};

class Script {
public:
	// Connects. The messages have up to 40 bytes (small) or up to 20000 bytes.
	Script(bool small, bool crc, bool markers);

	// Restores all memory, posts the victim's reads, receives their Read Requests, and returns
	// one round: the stream of the first 39 messages, the Read Responses included.
	Stream compose();
	// Sends the stream in pieces and checks the outcome: completions in order, memory, answers
	// to the peer's reads. Returns a description of a fault, or an empty string.
	std::string play(const Stream &s, const Cuts &cuts);
	// Sends the last message, which ends the connection: a Send with Invalidate of a region
	// that must not be invalidated. Returns as play().
	std::string end(const std::function<Cuts(const Stream &)> &cuts);

	unsigned rounds() const { return rounds_; }

private:
	void add(Stream &to, const Segment &s);
	void compose_message(Stream &to, const Message &m);
	void deliver(const Bytes &o, const Cuts &cuts);
	std::string judge_completions();
	std::string judge_memory();
	std::string judge_answers();
	void renew();

	const bool small_;
	std::vector<Message> messages_;
	std::unique_ptr<Victim> v_;
	Peer p_;
	std::vector<ReadRequest> asked_;
	unsigned rounds_ = 0;
	// Numbers of Writes, Read Responses and Read Requests composed in this round.
	size_t write_at_ = 0, response_ = 0, read_ = 0;
};

} // namespace peer
