// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "peer.h"

#include <algorithm>

namespace iwarp {
namespace {

class Deadline {
public:
	explicit Deadline(Millis t) : end_(std::chrono::steady_clock::now() + t) {}
	Millis left() const
	{
		auto d = std::chrono::duration_cast<Millis>(end_ - std::chrono::steady_clock::now());
		return std::max(d, Millis{0});
	}

private:
	std::chrono::steady_clock::time_point end_;
};

} // namespace

Peer Peer::connect(const Address &to, const StartupFrame &request, const SocketOptions &o)
{
	Peer p(Socket::connect(to, o));
	p.send_request(request);
	p.receive_reply();
	return p;
}

void Peer::send_request(const StartupFrame &r)
{
	request = r;
	socket.send(r.encode());
}

const StartupFrame &Peer::receive_reply(Millis timeout)
{
	reply = receive_frame(timeout);
	agree(request, reply);
	if (!reply.r && reply.enhanced && reply.enhanced->a)
		send_rtr();
	return reply;
}

const StartupFrame &Peer::receive_request(Millis timeout)
{
	request = receive_frame(timeout);
	return request;
}

void Peer::send_reply(const StartupFrame &r)
{
	reply = r;
	agree(reply, request);
	socket.send(r.encode());
}

StartupFrame Peer::receive_frame(Millis timeout)
{
	Deadline deadline(timeout);
	while (raw.size() < startup_header_len || raw.size() < StartupFrame::length(raw)) {
		last_event = socket.receive(raw, deadline.left());
		if (last_event == Event::quiet)
			throw Timeout("no startup frame");
		if (last_event != Event::data)
			throw std::runtime_error("closed instead of a startup frame");
	}
	size_t len = StartupFrame::length(raw);
	StartupFrame f = StartupFrame::decode(View(raw).first(len));
	raw.erase(raw.begin(), raw.begin() + static_cast<ptrdiff_t>(len));
	return f;
}

// RFC 5044 7.1.1: each side's M is about what it receives; CRC if either wants it.
void Peer::agree(const StartupFrame &mine, const StartupFrame &theirs)
{
	bool crc = mine.c || theirs.c;
	out = FpduEncoder({crc, theirs.m});
	in = FpduDecoder({crc, mine.m});
}

// RFC 6581 9.2: one of the kinds that both sides named.
void Peer::send_rtr()
{
	const Enhanced &want = *request.enhanced, &can = *reply.enhanced;
	if (want.c && can.c) {
		send(write_segment(0, 0, {}));
	} else if (want.d && can.d) {
		read({});
		receive(); // the zero-length Read Response
	} else if (want.b && can.b) {
		send_message({});
	}
}

void Peer::receive_rtr(Millis timeout)
{
	if (!reply.enhanced || !reply.enhanced->a)
		return;
	std::optional<Segment> s = receive(timeout);
	if (!s)
		throw std::runtime_error("no RTR message");
	const Enhanced &agreed = *reply.enhanced;
	bool empty = s->opcode == op_read_request || s->payload.empty();
	if (!empty || (s->opcode == op_send && !agreed.b) || (s->opcode == op_write && !agreed.c) ||
	    (s->opcode == op_read_request && !agreed.d))
		throw std::runtime_error("the first message is not the RTR message agreed on");
	if (s->opcode == op_read_request) {
		ReadRequest rr = ReadRequest::decode(s->payload);
		send(read_response_segment(rr.sink_stag, rr.sink_to, {}));
	}
}

void Peer::send_ulpdu(View ulpdu, const FpduFault &fault)
{
	socket.send(out.encode(ulpdu, fault));
}

void Peer::send(const Segment &s, const FpduFault &fault)
{
	send_ulpdu(s.encode(), fault);
}

void Peer::send_message(Octets payload)
{
	send(send_segment(send_msn++, std::move(payload)));
}

void Peer::read(const ReadRequest &rr)
{
	send(read_request_segment(read_msn++, rr));
}

std::optional<Segment> Peer::receive(Millis timeout)
{
	Deadline deadline(timeout);
	in.feed(raw);
	raw.clear();
	for (;;) {
		if (std::optional<Fpdu> f = in.next()) {
			fpdus_received++;
			markers_received += f->markers;
			if (!f->crc_ok)
				throw std::runtime_error("received an FPDU with a wrong CRC");
			if (!f->pad_ok)
				throw std::runtime_error("received an FPDU with a pad that is not zero");
			if (!f->marker_ok)
				throw std::runtime_error("received an FPDU with a wrong marker");
			std::optional<Segment> s = Segment::decode(f->ulpdu);
			if (!s)
				throw std::runtime_error("received an FPDU without a DDP header");
			return s;
		}
		Octets more;
		last_event = socket.receive(more, deadline.left());
		if (last_event != Event::data)
			return {};
		in.feed(more);
	}
}

End Peer::end(Millis timeout)
{
	Deadline deadline(timeout);
	End e;
	while (std::optional<Segment> s = receive(deadline.left())) {
		if (!s->tagged && s->qn == q_terminate && s->opcode == op_terminate) {
			e.terminate = Terminate::decode(s->payload);
			e.bad_terminate = !e.terminate;
			continue;
		}
		e.before.push_back(std::move(*s));
	}
	e.event = last_event;
	return e;
}

} // namespace iwarp
