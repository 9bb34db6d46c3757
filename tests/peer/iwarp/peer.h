// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A DDP/RDMAP endpoint over MPA on a TCP socket, or over SCTP: startup in either role, then
// segments. It keeps the numbers a correct endpoint keeps, and checks nothing that it sends.
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

inline constexpr Millis moment{150}; // for what must not come

// How the other side ended the connection.
struct End {
	std::optional<Terminate> terminate;
	bool bad_terminate = false;  // one came that does not parse
	uint8_t version = 1;	     // of its headers
	Event event = Event::quiet;  // fin, reset, or quiet: it did not end
	std::vector<Segment> before; // what came before

	bool closed() const { return event == Event::fin || event == Event::reset; }
};

struct PeerOptions : SocketOptions {
	bool sctp = false;
};

// Over SCTP a frame of revision 2 with S is an enhanced control message (RFC 6581 7), any other one
// of RFC 5043's, and a Session Terminate is what FIN is to TCP.
class Peer {
public:
	explicit Peer(Socket s) : socket(std::move(s)) {}
	explicit Peer(sctp::Association a) : association(std::move(a)) {}

	// Connected; nothing is sent.
	static Peer reach(const Address &to, const PeerOptions &o);
	// Sends a request, receives the reply, agrees on markers and CRC, sends the RTR
	// message if the reply asks for one.
	static Peer connect(const Address &to, const StartupFrame &request,
			    const PeerOptions &o = {});

	// A frame as a control message over SCTP: code, depths, private data.
	static Bytes control_of(const StartupFrame &f);

	// The two halves of it.
	void send_request(const StartupFrame &request);
	const StartupFrame &receive_reply(Millis timeout = patience);

	// Responder: the request and the answer to it.
	const StartupFrame &receive_request(Millis timeout = patience);
	void send_reply(const StartupFrame &reply);
	// After a reply with A: the initiator's RTR message (RFC 6581 9.2), answered if it is a
	// Read. Nothing to do without A.
	void receive_rtr(Millis timeout = patience);
	// The Rtr frame (2007 proposal), which has no private data.
	StartupFrame receive_rtr_frame(Millis timeout = patience) { return receive_frame(timeout); }

	// Full Operation
	void send_ulpdu(View ulpdu, const FpduFault &fault = {});
	void send(const Segment &s, const FpduFault &fault = {});
	void send(const std::vector<Segment> &all);
	// As send(), but tells instead of throwing when the connection is gone.
	bool try_send(const Segment &s, const FpduFault &fault = {});
	// All of them in one call, or one packet: TCP may put them into one segment of its own.
	void send_at_once(const std::vector<Segment> &all);
	void send_message(Bytes payload); // Send, next MSN
	void read(const ReadRequest &rr); // Read Request, next MSN
	// Next segment, or nothing within the time or at the end of the stream. FPDUs that
	// break RFC 5044 4, and messages that break RFC 5043 5 and 6, raise std::runtime_error.
	std::optional<Segment> receive(Millis timeout = patience);
	// As receive(), but throws if there is none.
	Segment next();
	// Receives up to the end of the stream.
	End end(Millis timeout = patience);

	void finish(); // FIN, or Session Terminate; receiving goes on
	void shut();   // SCTP: SHUTDOWN, without a Session Terminate of either side
	void reset();  // RST, or ABORT
	void close();
	// Behind the other side's end: whether nothing but SCTP's SHUTDOWN follows ours.
	bool shut_down(Millis timeout = patience);
	explicit operator bool() const { return association || socket; }
	const Socket &connection() const { return association ? association->socket() : socket; }

	// One of the two.
	Socket socket;
	std::optional<sctp::Association> association;

	StartupFrame request;
	StartupFrame reply;
	FpduEncoder out;
	FpduDecoder in;
	uint32_t send_msn = 1;
	uint32_t read_msn = 1;
	uint32_t last_msn = 0; // of the other side's Sends
	unsigned fpdus_received = 0;
	unsigned markers_received = 0;
	Event last_event = Event::data;

	// Startup bytes not yet used.
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

	// Over SCTP: accepted; Session Terminate sent; received.
	bool operating_ = false, finished_ = false, ended_ = false;
};

// Where initiators connect to.
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
