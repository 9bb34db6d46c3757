// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// DDP over SCTP (RFC 5043) for the peer: associations, messages, session control. The caller may
// choose any PPID, order, DDP-SSN and contents for a message that it sends.
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
	// Largest message in bytes that SCTP does not fragment; 0: limited by the path MTU.
	uint32_t most = 0;
	// Own port of a connection; 0: any.
	uint16_t port = 0;
};

// A message as SCTP delivers it.
struct Message {
	uint32_t ppid = ppid_segment;
	bool unordered = true;
	uint16_t stream = 0;
	Bytes data{}; // begins with the DDP-SSN

	uint16_t ssn() const { return get16(data); }
	// Function code of a control message.
	uint16_t code() const { return get16(data, 2); }
	// The bytes after the DDP-SSN; those after the function code of a control message.
	Bytes segment() const { return slice(data, 2, data.size() - 2); }
	Bytes private_data() const { return slice(data, 4, data.size() - 4); }
};

class Association {
public:
	explicit Association(Socket socket) : socket_(std::move(socket)) {}
	// Throws Timeout or std::system_error.
	static Association connect(const Address &to, const Options &o = {});

	// Sends a message unchanged. Throws std::system_error.
	void send(const Message &m);
	// As send(), but returns false and sets errno instead of throwing. With more, SCTP may
	// delay the message, to send it in one packet with the next one.
	bool try_send(const Message &m, bool more = false);
	// As send() and try_send(), for a control message or a segment with the next DDP-SSN.
	void control(uint16_t code, View private_data = {});
	void segment(View segment);
	bool try_control(uint16_t code, View private_data = {});
	bool try_segment(View segment, bool more = false);
	uint16_t ssn = 0;

	// Returns the next message in the order of the DDP-SSNs; nothing at the end of the
	// association. Throws Timeout, and std::runtime_error if a DDP-SSN is repeated, too far
	// ahead, or missing at the end.
	std::optional<Message> receive(Millis timeout = patience);
	// The same in the order of arrival. Not together with receive().
	std::optional<Message> arrival(Millis timeout = patience);
	// Discards messages until the association ends, and returns true; false if no message
	// arrives within the timeout.
	bool ends(Millis timeout = patience);
	// Returns whether the association ends before a message arrives. Throws Timeout if neither
	// happens.
	bool ends_silently(Millis timeout = patience) { return !arrival(timeout); }
	// Whether the association was aborted, restarted by the other side, or timed out.
	bool lost() const { return lost_; }
	// End the association with SHUTDOWN or ABORT.
	void close() { socket_.close(); }
	void abort() { socket_.reset(); }
	void shut(); // sends SHUTDOWN; can still receive
	const Socket &socket() const { return socket_; }

private:
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
