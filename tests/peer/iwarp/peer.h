// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A DDP/RDMAP endpoint over MPA on a TCP socket, or over SCTP: startup in either role, then
// segments. It maintains the stream position and the MSNs as a correct endpoint does, and sends
// every message unchecked.
#pragma once

#include <optional>
#include <variant>

#include "fpdu.h"
#include "sctp.h"
#include "segment.h"
#include "socket.h"
#include "startup.h"
#include "terminate.h"

namespace iwarp {

inline constexpr Millis moment{150}; // how long tests wait for an event that must not occur

// How the other side ended the connection.
struct End {
	std::optional<Terminate> terminate;
	bool bad_terminate = false;  // a Terminate does not parse, or its DV and RV differ
	uint8_t version = 1;	     // DV of the Terminate
	Event event = Event::quiet;  // fin, reset, or quiet: no end before the timeout
	std::vector<Segment> before; // all segments received except Terminates

	bool closed() const { return event == Event::fin || event == Event::reset; }
};

struct PeerOptions {
	std::string netns{};
	bool sctp = false;
};

// Over SCTP a startup frame with enhanced data is an enhanced control message (RFC 6581 7), any
// other frame a control message of RFC 5043, and a Session Terminate takes the place of FIN.
class Peer {
public:
	explicit Peer(Socket s) : socket(std::move(s)) {}
	explicit Peer(sctp::Association a) : association(std::move(a)) {}

	// Connects, and sends nothing.
	static Peer reach(const Address &to, const PeerOptions &o);
	// Connects, sends the request, receives the reply, sets up markers and CRC, and sends the
	// RTR message if the reply requires one.
	static Peer connect(const Address &to, const StartupFrame &request,
			    const PeerOptions &o = {});

	// Returns the SCTP control message of a frame, without DDP-SSN: function code, enhanced
	// data if any, private data.
	static Bytes control_of(const StartupFrame &f);

	// Initiator: the two steps of connect() that follow reach().
	void send_request(const StartupFrame &request);
	const StartupFrame &receive_reply(Millis timeout = patience);

	// Responder: receives the request, and sends the reply.
	const StartupFrame &receive_request(Millis timeout = patience);
	void send_reply(const StartupFrame &reply);
	// Responder: receives the RTR message (RFC 6581 9.2), and answers it if it is a Read
	// Request. Returns at once if the reply did not set A. Throws if the message is of a kind
	// not agreed on.
	void receive_rtr(Millis timeout = patience);
	// Responder: receives the Rtr frame (2007 proposal); does not check it.
	StartupFrame receive_rtr_frame(Millis timeout = patience) { return receive_frame(timeout); }

	// Full Operation
	void send_ulpdu(View ulpdu, const FpduFault &fault = {});
	void send(const Segment &s, const FpduFault &fault = {});
	void send(const std::vector<Segment> &all);
	// As send(), but returns false and sets errno where send() throws std::system_error.
	bool try_send(const Segment &s, const FpduFault &fault = {});
	// Sends all segments in one call over TCP, with MSG_MORE over SCTP, so that they may share
	// a TCP segment or an SCTP packet.
	void send_at_once(const std::vector<Segment> &all);
	void send_message(Bytes payload); // Send, next MSN
	void read(const ReadRequest &rr); // Read Request, next MSN
	// Returns the next segment; nothing after the timeout or at the end of the stream:
	// last_event shows which. Throws std::runtime_error for an FPDU that violates RFC 5044 4, a
	// message that violates RFC 5043 5 and 6, and a ULPDU without a whole DDP header.
	std::optional<Segment> receive(Millis timeout = patience);
	// As receive(), but throws if no segment is received.
	Segment next();
	// Receives until the end of the stream or the timeout.
	End end(Millis timeout = patience);

	void finish(); // sends FIN or a Session Terminate; can still receive
	void shut();   // SCTP: sends SHUTDOWN, and expects no Session Terminate
	void reset();  // sends RST or ABORT
	void close();
	// To call after the other side's Session Terminate: sends ours, and returns whether the
	// association then ends by SHUTDOWN, without a further message. Over TCP returns true.
	bool shut_down(Millis timeout = patience);
	explicit operator bool() const { return association || socket; }
	const Socket &connection() const { return association ? association->socket() : socket; }

	// Exactly one of the two is in use.
	Socket socket;
	std::optional<sctp::Association> association;

	StartupFrame request;
	StartupFrame reply;
	FpduEncoder out;
	FpduDecoder in;
	uint32_t send_msn = 1;
	uint32_t read_msn = 1;
	uint32_t last_msn = 0; // of the last Send segment received
	unsigned fpdus_received = 0;
	unsigned markers_received = 0;
	Event last_event = Event::data;

	// Bytes received during startup and not yet decoded; FPDUs may follow a startup frame.
	Bytes raw;

private:
	void send_frame(const StartupFrame &f);
	StartupFrame receive_frame(Millis timeout);
	StartupFrame receive_control(Millis timeout);
	void agree(const StartupFrame &mine, const StartupFrame &theirs);
	void send_rtr();
	bool try_ulpdu(View ulpdu, const FpduFault &fault);
	std::optional<Bytes> receive_fpdu(Millis timeout);
	std::optional<sctp::Message> receive_message(Millis timeout);

	// SCTP: the reply accepts the session; Session Terminate sent; Session Terminate received.
	bool operating_ = false, finished_ = false, ended_ = false;
};

// Accepts the connections of initiators.
class PeerListener {
public:
	explicit PeerListener(const Address &at, const PeerOptions &o = {});
	Address address() const;
	Peer accept(Millis timeout = patience);
	void close() { listener_ = Socket(); }

private:
	Address at_;
	std::variant<Socket, sctp::Listener> listener_;
};

} // namespace iwarp
