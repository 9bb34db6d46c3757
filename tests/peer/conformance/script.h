// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Forty messages of every kind, played over one connection again and again, each time cut into TCP
// segments in another way; and what the victim must make of them.
#pragma once

#include "../session/session.h"

namespace peer {

// Cut points: offsets into a stream, increasing.
using Cuts = std::vector<size_t>;

// Where something begins or ends in a stream that was composed.
struct Stream {
	Bytes bytes;
	Cuts fpdus;   // first byte of each FPDU, a marker before it included
	Cuts markers; // first byte of each marker
};

struct Message {
	enum Kind { send, send_se, write, read_request, read_response } kind;
	size_t len;
	size_t segment; // bytes of payload in a DDP segment
};

class Script {
public:
	// Small messages of up to 40 bytes, or all sizes up to 20000.
	Script(bool small, bool crc, bool markers);

	// One round of the first 39 messages. The victim's reads are asked for already; only the
	// bytes are missing.
	Stream compose();
	// Sends it in pieces and judges the outcome: all completions in order, all memory, all
	// answers. Empty if they are as they must be.
	std::string play(const Stream &s, const Cuts &cuts);
	// The last message ends the connection: a Send with Invalidate of what may not be
	// invalidated.
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
	// of the round being composed
	size_t write_at_ = 0, response_ = 0, read_ = 0;
};

} // namespace peer
