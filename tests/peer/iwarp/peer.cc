// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "peer.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace iwarp {
namespace {

class Deadline {
public:
	explicit Deadline(Millis t) : end_(std::chrono::steady_clock::now() + t) {}
	Millis left() const
	{
		auto d =
			std::chrono::duration_cast<Millis>(end_ - std::chrono::steady_clock::now());
		return std::max(d, Millis{0});
	}

private:
	std::chrono::steady_clock::time_point end_;
};

// Difference between the function codes of an enhanced control message (RFC 6581 7) and of the
// plain one.
constexpr uint16_t enhanced_by = sctp::enhanced_initiate - sctp::initiate;

uint16_t code_of(const StartupFrame &f)
{
	const uint16_t plain = f.key == bytes(request_key) ? sctp::initiate :
			       f.r			   ? sctp::reject :
							     sctp::accept;
	return f.enhanced ? plain + enhanced_by : plain;
}

StartupFrame frame_of(const sctp::Message &m)
{
	const uint16_t code = m.code();
	const bool enhanced = code >= sctp::enhanced_initiate;
	const uint16_t plain = enhanced ? code - enhanced_by : code;
	Bytes data = m.private_data();
	if (plain < sctp::initiate || plain > sctp::reject || (enhanced && data.size() < 4))
		throw std::runtime_error("received a control message that is invalid at startup");
	StartupFrame f = plain == sctp::initiate ? StartupFrame::request(1) :
						   StartupFrame::reply(1);
	f.c = false;
	f.r = plain == sctp::reject;
	if (enhanced) {
		f.rev = 2;
		f.s = true;
		f.enhanced = Enhanced::decode(data);
		data.erase(data.begin(), data.begin() + 4);
	}
	f.private_data = std::move(data);
	return f;
}

} // namespace

Peer Peer::reach(const Address &to, const PeerOptions &o)
{
	if (o.sctp)
		return Peer(sctp::Association::connect(to, {.netns = o.netns}));
	return Peer(Socket::connect(to, o.netns));
}

Peer Peer::connect(const Address &to, const StartupFrame &request, const PeerOptions &o)
{
	Peer p = reach(to, o);
	p.send_request(request);
	p.receive_reply();
	return p;
}

void Peer::send_request(const StartupFrame &r)
{
	request = r;
	send_frame(r);
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
	send_frame(r);
}

void Peer::send_frame(const StartupFrame &f)
{
	if (!association)
		return socket.send(f.encode());
	const Bytes body = control_of(f);
	association->control(get16(body), View(body).subspan(2));
}

Bytes Peer::control_of(const StartupFrame &f)
{
	Bytes body;
	put16(body, code_of(f));
	if (f.enhanced)
		put(body, f.enhanced->encode());
	put(body, f.private_data);
	return body;
}

StartupFrame Peer::receive_control(Millis timeout)
{
	const std::optional<sctp::Message> m = receive_message(timeout);
	if (!m && last_event == Event::quiet)
		throw Timeout("timeout waiting for a control message");
	if (!m)
		throw std::runtime_error("the session ended before a control message");
	if (m->ppid != sctp::ppid_control)
		throw std::runtime_error("received a segment instead of a control message");
	return frame_of(*m);
}

StartupFrame Peer::receive_frame(Millis timeout)
{
	if (association)
		return receive_control(timeout);
	Deadline deadline(timeout);
	while (raw.size() < startup_header_len || raw.size() < StartupFrame::length(raw)) {
		last_event = socket.receive(raw, deadline.left());
		if (last_event == Event::quiet)
			throw Timeout("timeout waiting for a startup frame");
		if (last_event != Event::data)
			throw std::runtime_error("the stream ended before a startup frame");
	}
	size_t len = StartupFrame::length(raw);
	StartupFrame f = StartupFrame::decode(View(raw).first(len));
	raw.erase(raw.begin(), raw.begin() + static_cast<ptrdiff_t>(len));
	return f;
}

// RFC 5044 7.1.1: M requests markers in the direction that its sender receives. CRCs are used if
// either side sets C.
void Peer::agree(const StartupFrame &mine, const StartupFrame &theirs)
{
	bool crc = mine.c || theirs.c;
	out = FpduEncoder({crc, theirs.m});
	in = FpduDecoder({crc, mine.m});
	operating_ = !reply.r;
}

// Sends an RTR message of a kind that both sides offer (RFC 6581 9.2).
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
		throw std::runtime_error("no RTR message was received");
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

bool Peer::try_ulpdu(View ulpdu, const FpduFault &fault)
{
	if (!association)
		return socket.try_send(out.encode(ulpdu, fault));
	if (fault.any())
		throw std::logic_error("SCTP has no FPDUs that could be faulty");
	return association->try_segment(ulpdu);
}

void Peer::send_ulpdu(View ulpdu, const FpduFault &fault)
{
	if (!try_ulpdu(ulpdu, fault))
		throw std::system_error(errno, std::generic_category(), "send");
}

void Peer::send(const Segment &s, const FpduFault &fault)
{
	send_ulpdu(s.encode(), fault);
}

bool Peer::try_send(const Segment &s, const FpduFault &fault)
{
	return try_ulpdu(s.encode(), fault);
}

void Peer::send(const std::vector<Segment> &all)
{
	for (const Segment &s : all)
		send(s);
}

void Peer::send_at_once(const std::vector<Segment> &all)
{
	Bytes fpdus;
	for (const Segment &s : all)
		if (!association)
			put(fpdus, out.encode(s.encode()));
		else if (!association->try_segment(s.encode(), &s != &all.back()))
			throw std::system_error(errno, std::generic_category(), "SCTP send");
	if (!association)
		socket.send(fpdus);
}

void Peer::send_message(Bytes payload)
{
	send(send_segment(send_msn++, std::move(payload)));
}

void Peer::read(const ReadRequest &rr)
{
	send(read_request_segment(read_msn++, rr));
}

std::optional<Bytes> Peer::receive_fpdu(Millis timeout)
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
				throw std::runtime_error("received an FPDU with nonzero pad bytes");
			if (!f->marker_ok)
				throw std::runtime_error("received an FPDU with a wrong marker");
			return std::move(f->ulpdu);
		}
		Bytes more;
		last_event = socket.receive(more, deadline.left());
		if (last_event != Event::data)
			return {};
		in.feed(more);
	}
}

// Returns the next message; nothing after the timeout, at the end of the association, and for a
// Session Terminate, which ends the stream. RFC 5043 6.2 requires a Session Terminate of one side
// only; the victim must always send one.
std::optional<sctp::Message> Peer::receive_message(Millis timeout)
{
	std::optional<sctp::Message> m;
	try {
		m = association->receive(timeout);
	} catch (const Timeout &) {
		last_event = Event::quiet;
		return {};
	}
	if (!m) {
		last_event = Event::reset;
		if (operating_ && !association->lost())
			throw std::runtime_error("received SHUTDOWN without a Session Terminate");
		return {};
	}
	if (!m->unordered || m->stream ||
	    (m->ppid != sctp::ppid_segment && m->ppid != sctp::ppid_control))
		throw std::runtime_error("received a message with a wrong PPID, order or stream");
	if (m->ppid == sctp::ppid_segment)
		return m;
	if (m->data.size() < 4)
		throw std::runtime_error("received a control message without a code");
	if (m->code() != sctp::terminate)
		return m;
	if (!m->private_data().empty())
		throw std::runtime_error("received private data in a Session Terminate");
	ended_ = true;
	last_event = Event::fin;
	return {};
}

std::optional<Segment> Peer::receive(Millis timeout)
{
	std::optional<Bytes> ulpdu;
	if (!association) {
		ulpdu = receive_fpdu(timeout);
	} else if (ended_) {
		last_event = Event::fin;
	} else if (std::optional<sctp::Message> m = receive_message(timeout)) {
		// Before an accepting reply: skip the answer to an altered request that is still
		// valid.
		if (m->ppid != sctp::ppid_segment && !operating_)
			return receive(timeout);
		if (m->ppid != sctp::ppid_segment)
			throw std::runtime_error("received a control message among segments");
		ulpdu = m->segment();
	}
	if (!ulpdu)
		return {};
	std::optional<Segment> s = Segment::decode(*ulpdu);
	if (!s)
		throw std::runtime_error("received a ULPDU without a DDP header");
	if (!s->tagged && s->qn == q_send)
		last_msn = s->msn;
	return s;
}

Segment Peer::next()
{
	std::optional<Segment> s = receive();
	if (!s)
		throw std::runtime_error("an expected segment was not received");
	return std::move(*s);
}

End Peer::end(Millis timeout)
{
	Deadline deadline(timeout);
	End e;
	while (std::optional<Segment> s = receive(deadline.left())) {
		if (!s->tagged && s->qn == q_terminate && s->opcode == op_terminate) {
			e.terminate = Terminate::decode(s->payload);
			e.bad_terminate = !e.terminate || s->dv != s->rv;
			e.version = s->dv;
			continue;
		}
		e.before.push_back(std::move(*s));
	}
	e.event = last_event;
	return e;
}

void Peer::finish()
{
	if (!association)
		return socket.finish();
	if (!finished_)
		association->try_control(sctp::terminate);
	finished_ = true;
}

void Peer::shut()
{
	operating_ = false;
	association->shut();
}

void Peer::reset()
{
	if (association)
		association->abort();
	socket.reset();
}

void Peer::close()
{
	if (association && operating_)
		finish();
	association.reset();
	socket.close();
}

bool Peer::shut_down(Millis timeout)
{
	if (!association)
		return true;
	finish();
	try {
		return !association->receive(timeout) && !association->lost();
	} catch (const Timeout &) {
		return false;
	}
}

PeerListener::PeerListener(const Address &at, const PeerOptions &o) : at_(at)
{
	if (o.sctp)
		listener_ = sctp::Listener(at, {.netns = o.netns});
	else
		listener_ = Socket::listen(at, o.netns);
}

Address PeerListener::address() const
{
	const auto *sctp = std::get_if<sctp::Listener>(&listener_);
	Address a = at_;
	a.port(sctp ? sctp->port() : std::get<Socket>(listener_).local().port());
	return a;
}

Peer PeerListener::accept(Millis timeout)
{
	return std::visit([=](auto &l) { return Peer(l.accept(timeout)); }, listener_);
}

} // namespace iwarp
