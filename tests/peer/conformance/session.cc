// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "session.h"

#include <algorithm>
#include <ostream>
#include <sstream>

namespace conformance {

using iwarp::End;
using iwarp::Event;
using iwarp::Peer;
using iwarp::StartupFrame;
using iwarp::Terminate;
using victim::lab;
using victim::Victim;

namespace {

unsigned begin(Testbed &bed)
{
	bed.begin();
	return bed.v.connections();
}

} // namespace

std::string counter_of(const Code &c)
{
	if (c == iwarp::mpa::closed)
		return "llp_lost";
	if (c == iwarp::mpa::crc)
		return "crc_errors";
	if (c == iwarp::mpa::marker)
		return "marker_errors";
	if (c.layer == 1)
		return c.etype == 1 ? "ddp_tagged_errors" : "ddp_untagged_errors";
	if (c.layer == 0)
		return c.etype == 1 ? "rdmap_protection_errors" : "rdmap_operation_errors";
	return "startup_negotiation_errors";
}


Session::Session()
	: bed(Testbed::the()), v(bed.v), p(iwarp::Socket()), index_(begin(bed)), history_(v.history().size())
{
}

Session::Session(const Terms &t) : Session()
{
	bed.policy.rev(2);
	bed.policy.crc(t.crc);
	bed.policy.markers(t.markers_in);
	StartupFrame r = StartupFrame::request(t.rev);
	if (t.rev >= 2) {
		r.s = true;
		r.enhanced = iwarp::Enhanced{.ird = depth, .ord = depth};
	}
	r.c = t.crc;
	r.m = t.markers_out;
	dial(r, 0, lab().peer_socket(t.rcvbuf));
}

void Session::dial(const StartupFrame &request, size_t cut, const iwarp::SocketOptions &o)
{
	const Octets octets = request.encode();
	p.socket = iwarp::Socket::connect(v.address(), o);
	p.request = request;
	if (cut) {
		p.socket.send(iwarp::View(octets).first(cut));
		// A segment of its own: the next octets do not leave before it is acknowledged.
		wait_acknowledged(p.socket);
	}
	p.socket.send(iwarp::View(octets).subspan(cut));
	p.receive_reply();
	if (p.reply.rev == 0) {
		// RFC 5044 figure 14: whatever the frames say.
		version = 0;
		p.out = iwarp::FpduEncoder({true, true});
		p.in = iwarp::FpduDecoder({true, true});
	}
	if (!p.reply.r)
		bed.expect_count("accepts");
	v.connection(index_);
}

void Session::call(iwarp::Socket &listener, const std::function<StartupFrame(const Peer &)> &reply)
{
	v.connect(iwarp::Address(lab().peer_ip, listener.local().port()));
	p.socket = listener.accept(iwarp::patience);
	p.receive_request();
	p.send_reply(reply(p));
}

Session::~Session()
{
	if (!dropped_ && v.connections() > index_)
		v.drop(index_);
}

void Session::offend(const Segment &s, const iwarp::FpduFault &fault)
{
	offence_ = s;
	// The victim may find fault with the beginning and close before it has all.
	p.socket.try_send(p.out.encode(s.encode(), fault));
}

void Session::places(victim::Region &r, ptrdiff_t at, Octets octets)
{
	placed_.push_back({&r, {at, octets.size()}, std::move(octets)});
}

void Session::may_touch(victim::Region &r, victim::Range range)
{
	placed_.push_back({&r, range, {}});
}

void Session::delivers(const Octets &message)
{
	std::optional<ibv_wc> wc = v.completion();
	ASSERT_TRUE(wc) << "a correct message does not arrive";
	ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc->opcode, IBV_WC_RECV);
	EXPECT_EQ(wc->byte_len, message.size());
	EXPECT_EQ(Victim::connection_of(wc->wr_id), index_);
	EXPECT_EQ(Victim::index_of(wc->wr_id), delivered_) << "not the oldest receive";
	places(c().recv, c().slot(delivered_++).at, message);
}

Segment Session::segment(Octets payload)
{
	Segment s = iwarp::send_segment(p.send_msn++, std::move(payload));
	s.dv = s.rv = version;
	return s;
}

void Session::message(size_t len)
{
	Octets data = iwarp::pattern(len, delivered_ + 1000);
	p.send(segment(data));
	delivers(data);
}

void Session::completes(ibv_wc_opcode opcode)
{
	std::optional<ibv_wc> wc = v.completion();
	ASSERT_TRUE(wc) << "no completion of the victim's own work request";
	EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc->opcode, opcode);
	(opcode == IBV_WC_RDMA_READ ? reads_ : sends_)++;
}

void Session::judge(const Outcome &outcome)
{
	SCOPED_TRACE("judging how the victim took it");
	if (outcome.fate == Fate::lives)
		check_life();
	check_end(outcome);
	check_victim(outcome.fate == Fate::terminates);
	let_go();
}

void Session::judge_gone(const std::string &counter)
{
	SCOPED_TRACE("judging how the victim took it");
	if (!counter.empty())
		bed.expect_count(counter);
	check_victim(false);
	let_go();
}

void Session::let_go()
{
	p.socket.close();
	check_memory();
	v.drop(index_);
	dropped_ = true;
	bed.finish();
}

void Session::give_up()
{
	let_go();
}

void Session::check_life()
{
	message(64);
	if (testing::Test::HasFatalFailure())
		return;
	victim_sends(100);
	p.socket.finish();
}

void Session::victim_sends(size_t len)
{
	const Octets answer = v.spare->copy(0, len);
	c().post_send(*v.spare, 0, len);
	for (;;) {
		std::optional<Segment> s = p.receive();
		ASSERT_TRUE(s) << "the victim does not send";
		ASSERT_NE(s->opcode, iwarp::op_terminate) << "it is legal, and is answered with a Terminate";
		// Others may be Read Responses that the case has not waited for.
		if (s->opcode != iwarp::op_send)
			continue;
		EXPECT_EQ(s->payload, answer);
		EXPECT_EQ(s->dv, version);
		EXPECT_EQ(s->rv, version);
		break;
	}
	completes(IBV_WC_SEND);
}

void Session::check_end(const Outcome &outcome)
{
	End end = p.end();
	EXPECT_TRUE(end.closed()) << "the connection was not closed";
	EXPECT_FALSE(end.bad_terminate) << "the Terminate does not parse";
	switch (outcome.fate) {
	case Fate::lives:
		EXPECT_FALSE(end.terminate);
		EXPECT_EQ(end.event, Event::fin);
		break;
	case Fate::terminates:
		check_terminate(end, outcome);
		break;
	case Fate::closes:
		EXPECT_FALSE(end.terminate) << "Terminate says " << end.terminate->code;
		if (!outcome.counter.empty())
			bed.expect_count(outcome.counter);
		break;
	case Fate::ends:
		bed.expect_some_error();
		break;
	}
	p.socket.close();
}

void Session::check_terminate(const End &end, const Outcome &outcome)
{
	ASSERT_TRUE(end.terminate) << "no Terminate; expected " << outcome.codes.front()
				   << (end.closed() ? "; connection was closed" : "; connection still open");
	const Code &got = end.terminate->code;
	bool fits = std::find(outcome.codes.begin(), outcome.codes.end(), got) != outcome.codes.end();
	EXPECT_TRUE(fits) << "Terminate says " << got << "; expected " << outcome.codes.front()
			  << (outcome.codes.size() > 1 ? " or another" : "");
	// A reset could take the Terminate away from the peer.
	EXPECT_EQ(end.event, Event::fin) << "no FIN behind the Terminate";
	check_headers(*end.terminate);
	bed.expect_count("tx_terminate");
	bed.expect_count(outcome.counter.empty() ? counter_of(got) : outcome.counter);
}

// RFC 5040 4.8, figure 10 and 7.1.
void Session::check_headers(const Terminate &t)
{
	EXPECT_EQ(t.reserved, 0);
	if (t.code.layer == 2 || t.code.etype == 0) {
		EXPECT_FALSE(t.m || t.d || t.r) << "no headers belong into this Terminate";
		return;
	}
	if (!offence_)
		return;
	EXPECT_TRUE(t.m && t.d) << "the DDP header and the segment length belong into this Terminate";
	EXPECT_EQ(t.ddp_header, offence_->header());
	EXPECT_EQ(t.segment_len, offence_->encode().size());
	bool read = offence_->opcode == iwarp::op_read_request && !offence_->tagged;
	if (read && t.code.layer == 0 && t.code.etype == 1) {
		EXPECT_TRUE(t.r) << "the Read Request belongs into this Terminate";
		EXPECT_EQ(t.rdmap_header, offence_->payload);
	} else if (!read || t.code.layer == 1) {
		EXPECT_FALSE(t.r);
	}
}

void Session::check_victim(bool fatal)
{
	victim::Connection &con = c();
	EXPECT_TRUE(v.settled(index_)) << "a posted work request never completed";
	EXPECT_TRUE(eventually([&] { return con.state() == IBV_QPS_ERR; })) << "QP state " << con.state();
	// A passive connection of the peer-to-peer model may end before it was established.
	auto told = [&] {
		const auto &h = con.happened;
		return h.disconnected || (h.connect && *h.connect != RDMA_CM_EVENT_ESTABLISHED);
	};
	EXPECT_TRUE(v.wait(told)) << "the consumer is not told of the end";
	unsigned received = 0, reads = 0;
	for (size_t i = history_; i < v.history().size(); i++) {
		const ibv_wc &wc = v.history()[i];
		if (Victim::connection_of(wc.wr_id) != index_ || wc.status != IBV_WC_SUCCESS)
			continue;
		if (!Victim::is_send(wc.wr_id))
			received++;
		else
			reads += wc.opcode == IBV_WC_RDMA_READ;
	}
	EXPECT_EQ(received, delivered_) << "something wrong was delivered";
	EXPECT_EQ(reads, reads_) << "a read succeeded that was not answered well";
	if (fatal) {
		EXPECT_TRUE(v.wait([&] { return con.happened.fatal; })) << "no asynchronous error event";
	}
}

void Session::check_memory()
{
	std::vector<victim::Region *> regions = v.all();
	regions.push_back(&c().recv);
	for (victim::Region *r : regions) {
		std::vector<victim::Range> allowed;
		for (const Placed &q : placed_)
			if (q.region == r)
				allowed.push_back(q.range);
		EXPECT_EQ(r->changed(allowed), "");
	}
	for (const Placed &q : placed_)
		if (q.octets) {
			EXPECT_EQ(q.region->copy(static_cast<size_t>(q.range.at), q.range.len), *q.octets);
		}
}

void PrintTo(const Case &c, std::ostream *os)
{
	*os << c.name << " (" << c.rfc << ")";
}

std::string hex(uint64_t n)
{
	std::ostringstream s;
	s << std::hex << n;
	return s.str();
}

TEST_P(Wire, conforms)
{
	const Case &c = GetParam();
	Session s(c.terms);
	c.act(s);
	if (!HasFatalFailure())
		s.judge(c.outcome);
}

} // namespace conformance
