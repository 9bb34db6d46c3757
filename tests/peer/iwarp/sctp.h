// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// DDP over SCTP as a peer sees it (RFC 5043): associations, chunks, session control. Nothing is
// forced to be right: PPID, order, DDP-SSN and contents of each message are free.
#pragma once

#include <map>

#include "socket.h"

namespace iwarp::sctp {

inline constexpr uint32_t ppid_segment = 16;
inline constexpr uint32_t ppid_control = 17;

enum Code : uint16_t { // RFC 5043 5.2.3, RFC 6581 7
	initiate = 1,
	accept = 2,
	reject = 3,
	terminate = 4,
	enhanced_initiate = 5,
	enhanced_accept = 6,
	enhanced_reject = 7,
};

struct Options {
	std::string netns;
	std::optional<uint32_t> adaptation = 1;
	uint16_t streams = 1;
	// Largest message that SCTP sends in one piece; 0: what the path allows.
	uint32_t most = 0;
	int rcvbuf = 0; // bytes, 0: the system's choice
};

// A message as SCTP delivers it.
struct Message {
	uint32_t ppid = ppid_segment;
	bool unordered = true;
	uint16_t stream = 0;
	Bytes data{}; // with the DDP-SSN

	uint16_t ssn() const { return get16(data); }
	// A control message's function code.
	uint16_t code() const { return get16(data, 2); }
	// What follows the DDP-SSN, or the function code.
	Bytes segment() const { return slice(data, 2, data.size() - 2); }
	Bytes private_data() const { return slice(data, 4, data.size() - 4); }
};

class Association {
public:
	explicit Association(Socket socket) : socket_(std::move(socket)) {}
	// From an address, or from any.
	static Association connect(const Address &to, const Options &o = {});

	// Sends a message as it is. Throws if SCTP refuses it.
	void send(const Message &m);
	// As send(), but tells instead of throwing. SCTP may keep a message for one packet with the
	// next one, if there will be more.
	bool try_send(const Message &m, bool more = false);
	// The same with the next DDP-SSN.
	void control(uint16_t code, View private_data = {});
	void segment(View segment);
	bool try_control(uint16_t code, View private_data = {});
	bool try_segment(View segment, bool more = false);
	uint16_t ssn = 0;

	// The next message by DDP-SSN, however they arrive; nothing at the end of the association.
	// Throws Timeout. A DDP-SSN that comes twice, or is left out, is an error.
	std::optional<Message> receive(Millis timeout = patience);
	// Whether the end comes, after messages of any kind.
	bool ends(Millis timeout = patience);
	// It was by ABORT, or for want of an answer.
	bool lost() const { return lost_; }
	// Ends it by SCTP's own means: SHUTDOWN, or ABORT.
	void close() { socket_.close(); }
	void abort() { socket_.reset(); }
	void shut(); // SHUTDOWN; receiving goes on
	const Socket &socket() const { return socket_; }

private:
	std::optional<Message> arrival(Millis timeout);

	Socket socket_;
	bool lost_ = false;
	uint16_t expect_ = 0;
	std::map<uint16_t, Message> early_;
};

class Listener {
public:
	explicit Listener(const Address &at, const Options &o = {});
	uint16_t port() const { return socket_.local().port(); }
	Association accept(Millis timeout = patience);

private:
	Socket socket_;
};

} // namespace iwarp::sctp
