// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup of a session, in either role, and the checks of its outcome.
#include "session.h"

namespace peer {

void Session::dial(const StartupFrame &request, size_t cut, const PeerOptions &o)
{
	p = Peer::reach(v.address(), o);
	if (!cut) {
		p.send_request(request);
	} else {
		p.request = request;
		send_cut(p.socket, request.encode(), cut);
	}
	replied();
}

void Session::replied()
{
	p.receive_reply();
	begin_operation();
	if (!p.reply.r)
		bed.expect_count("accepts");
	v.connection(index_);
}

Peer Session::attempt()
{
	initiator_ = true;
	v.connect(listener.address());
	return asked();
}

Peer Session::asked(Millis timeout)
{
	Peer next = listener.accept(timeout);
	next.receive_request();
	EXPECT_EQ(next.request.key, bytes(request_key));
	return next;
}

void Session::call(const std::function<StartupFrame(const Peer &)> &reply)
{
	p = attempt();
	p.send_reply(reply(p));
	begin_operation();
}

void Session::call_fitting(const Change &change)
{
	call([&](const Peer &asked) {
		StartupFrame f = fitting(asked);
		if (change)
			change(f);
		return f;
	});
}

// RFC 5044 figure 14: revision 0 has markers and CRCs in both directions, whatever the frames say.
void Session::begin_operation()
{
	if (p.reply.rev)
		return;
	version = 0;
	p.out = FpduEncoder({true, true});
	p.in = FpduDecoder({true, true});
}

void Session::unanswered(View bytes, Then then, const std::string &counter)
{
	p = Peer(Socket::connect(v.address(), lab().peer_netns));
	p.socket.try_send(bytes);
	if (then != Then::waits)
		wait_acknowledged(p.socket);
	if (then == Then::rst)
		p.reset();
	else if (then == Then::fin)
		p.finish();
	if (p)
		expect_silent_end(p.socket);
	p.close();
	bed.expect_count(counter);
	EXPECT_EQ(v.connections(), index_) << "the consumer received a connection request";
	bed.finish();
}

// The victim replies with R and exits MPA, so no FPDU follows (RFC 5044 7.1.2 rule 2). Over SCTP
// the device rejects by a Session Terminate without a reply; a consumer's rejection is a reply with
// private data, then SHUTDOWN (RFC 5043 6.3, 6.4).
void Session::rejected(const StartupFrame &request, const Bytes &data, bool by_consumer)
{
	p = Peer::reach(v.address(), lab().peer_socket());
	p.send_request(request);
	if (by_consumer || !lab().sctp) {
		p.receive_reply();
		EXPECT_TRUE(p.reply.r);
		EXPECT_EQ(p.reply.rev, request.rev);
		EXPECT_EQ(p.reply.s, request.s);
		EXPECT_EQ(p.reply.private_data, data);
	}
	expect_silent_end(p);
	if (lab().sctp) {
		EXPECT_EQ(p.last_event == Event::fin, !by_consumer) << "Session Terminate";
		EXPECT_FALSE(p.association->lost());
	}
	p.close();
	bed.expect_count("tx_rejects");
	if (!by_consumer)
		bed.expect_count("startup_length_errors");
	EXPECT_EQ(v.connections(), index_ + by_consumer);
	if (by_consumer)
		v.drop(index_);
	dropped_ = true;
	bed.finish();
}

std::optional<rdma_cm_event_type> Session::cm_event(Millis limit)
{
	Connection &con = c();
	v.wait([&] { return con.happened.connect.has_value(); }, limit);
	return con.happened.connect;
}

void Session::established()
{
	EXPECT_EQ(cm_event(), RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(c().happened.status, 0);
	if (initiator_)
		bed.expect_count("connects");
}

void Session::expect_failure_event()
{
	ASSERT_TRUE(cm_event()) << "the consumer receives no connection event";
	EXPECT_LT(c().happened.status, 0);
	if (initiator_) {
		EXPECT_NE(cm_event(), RDMA_CM_EVENT_ESTABLISHED);
	}
}

// RFC 5044 7.1.2 rule 3
void Session::reply_rejected(const Bytes &private_data)
{
	EXPECT_EQ(cm_event(), RDMA_CM_EVENT_REJECTED);
	EXPECT_EQ(c().happened.status, -ECONNREFUSED);
	EXPECT_EQ(c().happened.reply_data, private_data);
	bed.expect_count("rx_rejects");
	give_up();
}

// RFC 5044 7.1.2 rule 3: close and exit MPA.
void Session::reply_refused(const std::string &counter)
{
	expect_failure_event();
	if (p.socket)
		expect_silent_end(p.socket);
	bed.expect_count(counter);
	give_up();
}

// RFC 6581 9.1, 9.2: the victim sends a Terminate, and its consumer gets no connection.
void Session::reply_terminated(const Code &code, const std::string &counter)
{
	End e = p.end();
	ASSERT_TRUE(e.terminate) << "no Terminate";
	EXPECT_EQ(e.terminate->code, code);
	EXPECT_FALSE(e.terminate->m || e.terminate->d || e.terminate->r);
	EXPECT_EQ(e.event, Event::fin);
	EXPECT_TRUE(e.before.empty()) << "the victim sends an FPDU before the Terminate";
	expect_failure_event();
	bed.expect_count("tx_terminate");
	bed.expect_count("mpa_errors");
	if (!counter.empty())
		bed.expect_count(counter);
	give_up();
}

} // namespace peer
