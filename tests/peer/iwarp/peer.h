// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// An MPA/DDP/RDMAP endpoint on a socket: startup in either role, then segments.
// It keeps the numbers a correct endpoint keeps, and checks nothing that it sends.
#pragma once

#include <optional>

#include "fpdu.h"
#include "segment.h"
#include "socket.h"
#include "startup.h"
#include "terminate.h"

namespace iwarp {

inline constexpr Millis moment{150};	// for what must not come

// How the other side ended the connection.
struct End {
	std::optional<Terminate> terminate;
	bool bad_terminate = false; // one came that does not parse
	Event event = Event::quiet; // fin, reset, or quiet: it did not end
	std::vector<Segment> before; // what came before

	bool closed() const { return event == Event::fin || event == Event::reset; }
};

class Peer {
public:
	explicit Peer(Socket s) : socket(std::move(s)) {}

	// Sends a request, receives the reply, agrees on markers and CRC, sends the RTR
	// message if the reply asks for one.
	static Peer connect(const Address &to, const StartupFrame &request, const SocketOptions &o = {});

	// The two halves of it.
	void send_request(const StartupFrame &request);
	const StartupFrame &receive_reply(Millis timeout = patience);

	// Responder: the request and the answer to it.
	const StartupFrame &receive_request(Millis timeout = patience);
	void send_reply(const StartupFrame &reply);
	// After a reply with A: the initiator's RTR message (RFC 6581 9.2), answered if it is a
	// Read. Nothing to do without A.
	void receive_rtr(Millis timeout = patience);

	// Full Operation
	void send_ulpdu(View ulpdu, const FpduFault &fault = {});
	void send(const Segment &s, const FpduFault &fault = {});
	void send_message(Octets payload);			// Send, next MSN
	void read(const ReadRequest &rr);			// Read Request, next MSN
	// Next segment, or nothing within the time or at the end of the stream. FPDUs that
	// break RFC 5044 4 raise std::runtime_error.
	std::optional<Segment> receive(Millis timeout = patience);
	// Receives up to the end of the stream.
	End end(Millis timeout = patience);

	Socket socket;
	StartupFrame request;
	StartupFrame reply;
	FpduEncoder out;
	FpduDecoder in;
	uint32_t send_msn = 1;
	uint32_t read_msn = 1;
	unsigned fpdus_received = 0;
	unsigned markers_received = 0;
	Event last_event = Event::data;

	// Startup octets not yet used.
	Octets raw;

private:
	StartupFrame receive_frame(Millis timeout);
	void agree(const StartupFrame &mine, const StartupFrame &theirs);
	void send_rtr();
};

} // namespace iwarp
