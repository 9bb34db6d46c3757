// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup, up to Full Operation.
#include "session.h"

namespace live_fuzz {

using namespace iwarp;
using victim::lab;

bool Session::version_0() const
{
	return plan_.startup.victim_initiates ? plan_.policy.mpa_rev == 0 : plan_.startup.rev == 0;
}

bool Session::common_kind(const StartupFrame &request, const StartupFrame &reply) const
{
	if (!request.enhanced || !request.enhanced->a || !reply.enhanced || !reply.enhanced->a)
		return true;
	const Enhanced &x = *request.enhanced, &y = *reply.enhanced;
	return (x.b && y.b) || (x.c && y.c) || (x.d && y.d);
}

void Session::send_startup(const StartupFrame &f)
{
	if (plan_.sctp)
		return send_control(f);
	const Startup &s = plan_.startup;
	Bytes o = f.encode();

	switch (s.fault) {
	case StartupFault::none:
		break;
	case StartupFault::flip:
		o[s.at % o.size()] ^= static_cast<uint8_t>(1 << s.value % 8);
		// The changed reply may be valid, with another flag.
		if (s.victim_initiates)
			follow(StartupFrame::decode(o));
		break;
	case StartupFault::cut:
	case StartupFault::silence:
		o.resize(s.at % o.size());
		break;
	case StartupFault::key:
		o[s.at % 16] = static_cast<uint8_t>(s.value);
		break;
	case StartupFault::pd_length:
		o[18] = static_cast<uint8_t>(s.value >> 8 & (s.at & 1 ? 0xff : 3));
		o[19] = static_cast<uint8_t>(s.value);
		break;
	case StartupFault::surplus:
		put(o, pattern(1 + s.value % 64, s.at));
		break;
	case StartupFault::early_fpdu:
		put(o, FpduEncoder().encode(send_segment(1, pattern(s.value % 500)).encode()));
		break;
	case StartupFault::garbage:
		o = pattern(1 + s.value % 600, s.at);
		break;
	case StartupFault::twice:
		put(o, Bytes(o));
		break;
	}
	send(o);
}

void Session::send_control(const StartupFrame &f)
{
	const Startup &s = plan_.startup;
	sctp::Message m{.ppid = sctp::ppid_control};

	put16(m.data, p_->association->ssn++);
	put(m.data, Peer::control_of(f));
	switch (s.fault) {
	case StartupFault::none:
	case StartupFault::early_fpdu:
		break;
	case StartupFault::flip:
		m.data[s.at % m.data.size()] ^= static_cast<uint8_t>(1 << s.value % 8);
		break;
	case StartupFault::cut:
		m.data.resize(1 + s.at % m.data.size());
		break;
	case StartupFault::silence:
		return;
	case StartupFault::key:
		m.data[2 + s.at % 2] = static_cast<uint8_t>(s.value);
		break;
	case StartupFault::pd_length:
		m.ppid = s.value % 4 ? s.value & 0xff : sctp::ppid_segment;
		break;
	case StartupFault::surplus:
		put(m.data, pattern(1 + s.value % 600, s.at));
		break;
	case StartupFault::garbage:
		m.data = pattern(1 + s.value % 600, s.at);
		break;
	case StartupFault::twice:
		send(m);
		break;
	}
	send(m);
	if (s.fault == StartupFault::early_fpdu)
		transmit(send_segment(1, pattern(s.value % 500)));
}

void Session::receive_rtr_frame()
{
	const StartupFrame f = p_->receive_rtr_frame(long_patience);
	if (f.key != bytes(rtr_key) || f.rev != 1 || f.c != p_->reply.c || f.pd_length != 0)
		throw std::runtime_error("a wrong Rtr frame");
}

// The peer connects to the victim. Returns whether Full Operation has begun.
bool Session::request()
{
	const Startup &s = plan_.startup;
	StartupFrame f = StartupFrame::request(s.rev, {}, pattern(s.private_data));

	if (s.rev >= 2) {
		f.s = true;
		f.enhanced = s.enhanced;
	}
	f.s |= s.rev == 1 && s.rtr_frame;
	f.m = s.m || version_0();
	f.c = s.c || version_0();
	p_.emplace(Peer::reach(v_->address(), lab().peer_socket()));
	p_->request = f;
	send_startup(f);
	if (s.fault != StartupFault::none)
		return false;
	// To a revision that it does not serve the victim sends no reply, but closes (RFC 6581 10).
	if (!plan_.rev_served())
		return false;
	p_->receive_reply(long_patience);
	c_ = &v_->connection(0, long_patience);
	if (p_->reply.r != s.victim_rejects)
		fault(p_->reply.r ? "rejected, although the consumer accepts" :
				    "accepted, although the consumer rejects");
	if (s.rev == 1 && p_->reply.s && !p_->reply.r)
		send(StartupFrame::rtr(p_->reply.c).encode());
	// Without a common kind of RTR message the initiator closes (RFC 6581 9.2).
	return !p_->reply.r && common_kind(p_->request, p_->reply);
}

StartupFrame Session::reply_to(const StartupFrame &request) const
{
	const Startup &s = plan_.startup;
	StartupFrame f = StartupFrame::reply(request.rev, {}, pattern(s.private_data));

	f.m = s.m || version_0();
	f.c = s.c || request.c || version_0();
	if (request.rev == 1)
		f.s = request.s && s.rtr_frame;
	if (!request.enhanced)
		return f;
	const Enhanced &asked = *request.enhanced;
	Enhanced e = s.enhanced;
	e.a = asked.a;
	e.b = asked.a && asked.b && s.enhanced.b;
	e.c = asked.a && asked.c && s.enhanced.c;
	e.d = asked.a && asked.d && s.enhanced.d;
	if (asked.a && !e.b && !e.c && !e.d) {
		e.b = asked.b;
		e.c = asked.c;
		e.d = asked.d;
	}
	// The RTR Read needs a place within IRD.
	if (e.d && !e.ird)
		e.ird = 1;
	f.s = true;
	f.enhanced = e;
	return f;
}

// Sets markers and CRC of both directions from the victim's request and this reply.
void Session::follow(const StartupFrame &reply)
{
	const StartupFrame &asked = p_->request;

	p_->reply = reply;
	p_->out = FpduEncoder({reply.c || asked.c, asked.m});
	p_->in = FpduDecoder({reply.c || asked.c, reply.m});
}

// The victim connects to the peer. Returns whether Full Operation has begun.
bool Session::respond()
{
	listener_.emplace(Address(lab().peer_ip, 0), lab().peer_socket());
	c_ = &v_->connect(listener_->address());
	p_.emplace(listener_->accept(long_patience));
	p_->receive_request(long_patience);
	// In revision 1 no enhanced data follow if S is set.
	if (p_->request.rev < 2)
		p_->request.enhanced.reset();
	const StartupFrame &asked = p_->request;
	StartupFrame f = reply_to(asked);

	follow(f);
	send_startup(f);
	if (plan_.startup.fault != StartupFault::none)
		return false;
	p_->receive_rtr(long_patience);
	if (asked.rev == 1 && f.s)
		receive_rtr_frame();
	if (!v_->wait([&] { return c_->happened.connect.has_value(); }, long_patience) ||
	    *c_->happened.connect != RDMA_CM_EVENT_ESTABLISHED) {
		fault("a valid reply does not establish the connection");
		return false;
	}
	return true;
}

bool Session::start_up()
{
	return plan_.startup.victim_initiates ? respond() : request();
}

} // namespace live_fuzz
