// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "session.h"

namespace peer {
namespace {

unsigned begin(Testbed &bed, const Knobs &policy)
{
	bed.begin();
	for (const auto &[knob, value] : policy)
		bed.policy.must(knob, value);
	return bed.v.connections();
}

} // namespace

Session::Session(const Options &o, const Knobs &policy)
	: bed(Testbed::the(o)), v(bed.v), p(Socket()), index_(begin(bed, policy)),
	  history_(v.history().size())
{
}

Session::Session(const Terms &t)
	: Session(t.victim.value_or(usual.victim), {{"mpa_rev", "2"},
						    {"crc", t.crc ? "1" : "0"},
						    {"markers", t.markers_in ? "1" : "0"}})
{
	StartupFrame r = StartupFrame::request(t.rev);
	if (t.rev >= 2) {
		r.s = true;
		r.enhanced = Enhanced{.ird = v.options().ord, .ord = v.options().ird};
	}
	r.c = t.crc && t.peer_wants_crc;
	r.m = t.markers_out;
	dial(r);
}

Session::~Session()
{
	if (!dropped_ && v.connections() > index_) {
		p.close();
		v.settled(index_, Millis{5000});
		v.drop(index_);
	}
	if (usual.shared)
		bed.policy.restore();
}

void Session::sends(const Segment &s, const FpduFault &fault)
{
	p.send(s, fault);
	delivers(s.payload);
}

void Session::begins(const Bytes &first)
{
	p.send(send_segment(p.send_msn, first, 0, false));
	places(c().recv, c().slot(slot()).at, first);
}

void Session::writes(Region &r, size_t at, const Bytes &data, const FpduFault &fault)
{
	p.send(write_to(r, static_cast<int64_t>(at), data), fault);
	places(r, static_cast<ptrdiff_t>(at), data);
}

void Session::offend(const Segment &s, const FpduFault &fault)
{
	offence_ = s;
	// The victim may detect the error in the first bytes and close before the rest is sent.
	p.try_send(s, fault);
}

void Session::places(Region &r, ptrdiff_t at, Bytes bytes)
{
	// A receive may be filled more than once: only the last contents count.
	std::erase_if(placed_, [&](const Placed &q) {
		return q.region == &r && q.range.at == at && q.bytes;
	});
	placed_.push_back({&r, {at, bytes.size()}, std::move(bytes)});
}

void Session::may_touch(Region &r, Range range)
{
	placed_.push_back({&r, range, {}});
}

void Session::delivers(const Bytes &message)
{
	std::optional<ibv_wc> wc = v.completion();
	ASSERT_TRUE(wc) << "a correct message does not arrive";
	ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc->opcode, IBV_WC_RECV);
	EXPECT_EQ(wc->byte_len, message.size());
	EXPECT_EQ(Victim::connection_of(wc->wr_id), index_);
	EXPECT_EQ(Victim::index_of(wc->wr_id), slot()) << "not the oldest receive";
	places(c().recv, c().slot(slot()).at, message);
	delivered_++;
}

Segment Session::in_version(Segment s) const
{
	s.dv = s.rv = version;
	return s;
}

Segment Session::segment(Bytes payload)
{
	return in_version(send_segment(p.send_msn++, std::move(payload)));
}

void Session::message(size_t len)
{
	sends(segment(pattern(len, delivered_ + 1000)));
}

void Session::completes(ibv_wc_opcode opcode)
{
	std::optional<ibv_wc> wc = v.completion();
	ASSERT_TRUE(wc) << "a work request of the victim does not complete";
	EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc->opcode, opcode);
	reads_ += opcode == IBV_WC_RDMA_READ;
}

void Session::judge(const Verdict &verdict)
{
	SCOPED_TRACE("checking the outcome");
	if (verdict.fate == Fate::either)
		return judge_life();
	if (verdict.fate == Fate::lives)
		check_life();
	check_end(verdict);
	check_victim(verdict.fate == Fate::terminates);
	give_up();
}

// The victim may keep the connection or end it. If the connection goes on, no error may be counted.
void Session::judge_life()
{
	if (!alive())
		return judge(ends());
	EXPECT_TRUE(bed.all_counted()) << "an error was counted, but the connection goes on";
	bed.expect_anything();
	p.close();
	check_victim(false);
	give_up();
}

// Sends a message and returns whether the victim delivers it. Other completions may precede it.
bool Session::alive()
{
	const Bytes data = pattern(64, 4711);
	if (!p.try_send(send_segment(p.send_msn, data)))
		return false;
	while (std::optional<ibv_wc> wc = v.completion()) {
		if (wc->status != IBV_WC_SUCCESS)
			return false;
		if (Victim::is_send(wc->wr_id)) {
			reads_ += wc->opcode == IBV_WC_RDMA_READ;
			continue;
		}
		const unsigned slot = Victim::index_of(wc->wr_id);
		may_touch_slot();
		delivered_++;
		if (wc->byte_len == data.size() && c().received(slot, data.size()) == data)
			return true;
	}
	return false;
}

void Session::judge_gone(const std::string &counter)
{
	SCOPED_TRACE("checking the outcome");
	if (!counter.empty())
		bed.expect_count(counter);
	check_victim(false);
	give_up();
}

void Session::give_up()
{
	p.close();
	check_memory();
	v.drop(index_);
	dropped_ = true;
	bed.finish();
}

// Checks a Send in each direction, then ends the peer's stream with FIN.
void Session::check_life()
{
	message(64);
	if (testing::Test::HasFatalFailure())
		return;
	victim_sends(100);
	p.finish();
}

void Session::victim_sends(size_t len)
{
	const Bytes sent = v.rw->copy(0, len);
	c().post_send(*v.rw, 0, len);
	EXPECT_TRUE(same(receives(op_send).payload, sent));
	completes(IBV_WC_SEND);
}

Segment Session::receives(uint8_t opcode)
{
	const uint32_t msn = p.last_msn + 1;
	std::optional<Segment> all;
	for (size_t at = 0;;) {
		const Segment s = p.next();
		// Skip Read Responses for which the case has not waited.
		if (opcode == op_send && s.opcode == op_read_response)
			continue;
		EXPECT_EQ(s.opcode, opcode);
		EXPECT_EQ(s.dv, version);
		EXPECT_EQ(s.rv, version);
		EXPECT_EQ(s.ddp_reserved, 0);
		EXPECT_EQ(s.rdmap_reserved, 0);
		EXPECT_EQ(s.inv_stag, 0U);
		if (!all) {
			all = s;
			all->payload.clear();
		}
		if (s.tagged) {
			EXPECT_EQ(s.stag, all->stag);
			EXPECT_EQ(s.to, all->to + at);
		} else {
			EXPECT_EQ(s.qn, opcode == op_read_request ? q_read : q_send);
			EXPECT_EQ(s.msn, s.qn == q_send ? msn : all->msn);
			EXPECT_EQ(s.mo, at);
		}
		put(all->payload, s.payload);
		at = all->payload.size();
		if (s.last)
			return *all;
	}
}

void Session::data_both_ways(const std::vector<size_t> &sizes)
{
	may_touch(*v.rw, {0, v.rw->size()});
	may_touch(c().recv, {0, c().recv.size()});
	for (size_t n : sizes) {
		SCOPED_TRACE(n);
		peer_acts(n);
		victim_acts(n);
	}
}

void Session::peer_acts(size_t n)
{
	constexpr size_t most = 1400, most_of_write = 60000; // bytes of payload in a segment
	const Segment message = segment(pattern(n, 60));
	const unsigned receive = slot();
	p.send(cut_every(message, most));
	delivers(message.payload);
	c().post_receive(receive);

	const Segment write = in_version(write_to(*v.rw, 5, pattern(n, 61)));
	p.send(cut_every(write, most_of_write));
	const ReadRequest rr{99, 1000, static_cast<uint32_t>(n), v.rw->rkey(), write.to};
	p.send(in_version(read_request_segment(p.read_msn++, rr)));
	const Segment answer = receives(op_read_response);
	EXPECT_EQ(answer.stag, rr.sink_stag);
	EXPECT_EQ(answer.to, rr.sink_to);
	EXPECT_TRUE(same(answer.payload, write.payload));
	EXPECT_TRUE(same(v.rw->copy(5, n), write.payload));
}

void Session::victim_acts(size_t n)
{
	victim_sends(n);
	c().post_write(*v.rw, 7, n, 0xABCD, 0x10000);
	const Segment write = receives(op_write);
	EXPECT_EQ(write.stag, 0xABCDU);
	EXPECT_EQ(write.to, 0x10000U);
	EXPECT_TRUE(same(write.payload, v.rw->copy(7, n)));
	completes(IBV_WC_RDMA_WRITE);

	const size_t sink = v.rw->size() / 2;
	c().post_read(*v.rw, sink, n, 0xEE, 0x20000);
	const ReadRequest rr = ReadRequest::decode(receives(op_read_request).payload);
	EXPECT_EQ(rr.size, n);
	EXPECT_EQ(rr.src_stag, 0xEEU);
	EXPECT_EQ(rr.src_to, 0x20000U);
	const Bytes data = pattern(n, 62);
	p.send(cut_every(in_version(read_response_segment(rr.sink_stag, rr.sink_to, data)), 1400));
	completes(IBV_WC_RDMA_READ);
	EXPECT_TRUE(same(v.rw->copy(sink, n), data));
}

void Session::judge_working()
{
	data_both_ways();
	judge(lives());
}

void Session::check_end(const Verdict &verdict)
{
	End end = p.end();
	EXPECT_TRUE(end.closed()) << "the connection was not closed";
	EXPECT_FALSE(end.bad_terminate) << "the Terminate does not parse";
	switch (verdict.fate) {
	case Fate::lives:
		EXPECT_FALSE(end.terminate);
		EXPECT_EQ(end.event, Event::fin);
		break;
	case Fate::terminates:
		check_terminate(end, verdict);
		break;
	case Fate::closes:
		EXPECT_FALSE(end.terminate) << "Terminate has code " << end.terminate->code;
		if (!verdict.counter.empty())
			bed.expect_count(verdict.counter);
		break;
	default:
		bed.expect_some_error();
		break;
	}
	EXPECT_TRUE(end.event != Event::fin || p.shut_down())
		<< "no SHUTDOWN after the Session Terminate";
	p.close();
}

void Session::check_terminate(const End &end, const Verdict &verdict)
{
	ASSERT_TRUE(end.terminate)
		<< "no Terminate; expected " << verdict.codes.front()
		<< (end.closed() ? "; connection was closed" : "; connection still open");
	const Code &got = end.terminate->code;
	EXPECT_TRUE(verdict.fits(got))
		<< "Terminate has code " << got << "; expected " << verdict.codes.front()
		<< (verdict.codes.size() > 1 ? " or another" : "");
	EXPECT_EQ(end.version, version);
	// A reset could discard the Terminate before the peer has read it.
	EXPECT_EQ(end.event, Event::fin) << "no FIN after the Terminate";
	check_headers(*end.terminate);
	bed.expect_count("tx_terminate");
	for (const std::string &name : verdict.counters_for(got))
		bed.expect_count(name);
}

// RFC 5040 4.8, figure 10 and 7.1.
void Session::check_headers(const Terminate &t)
{
	EXPECT_EQ(t.reserved, 0);
	if (t.code.layer == 2 || t.code.etype == 0) {
		EXPECT_FALSE(t.m || t.d || t.r) << "this Terminate must not contain headers";
		return;
	}
	if (!offence_)
		return;
	EXPECT_TRUE(t.m && t.d)
		<< "the DDP header and the segment length must be in this Terminate";
	EXPECT_EQ(t.ddp_header, offence_->header());
	EXPECT_EQ(t.segment_len, offence_->encode().size());
	bool read = offence_->opcode == op_read_request && !offence_->tagged;
	if (read && t.code.layer == 0 && t.code.etype == 1) {
		EXPECT_TRUE(t.r) << "the Read Request must be in this Terminate";
		EXPECT_EQ(t.rdmap_header, offence_->payload);
	} else if (!read || t.code.layer == 1) {
		EXPECT_FALSE(t.r);
	}
}

void Session::check_victim(bool fatal)
{
	Connection &con = c();
	EXPECT_TRUE(v.settled(index_)) << "a posted work request never completed";
	EXPECT_TRUE(eventually([&] { return con.state() == IBV_QPS_ERR; }))
		<< "QP state " << con.state();
	// A passive connection of the peer-to-peer model may end before ESTABLISHED. The consumer
	// then receives a connection error instead of DISCONNECTED.
	auto informed = [&] {
		const auto &h = con.happened;
		return h.disconnected || (h.connect && *h.connect != RDMA_CM_EVENT_ESTABLISHED);
	};
	EXPECT_TRUE(v.wait(informed))
		<< "the consumer receives no event for the end of the connection";
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
	EXPECT_EQ(received, delivered_) << "the number of successful receives is wrong";
	EXPECT_EQ(reads, reads_) << "the number of successful reads is wrong";
	if (fatal) {
		EXPECT_TRUE(v.wait([&] { return con.happened.fatal; }))
			<< "no asynchronous error event";
	}
}

void Session::check_memory()
{
	// The case has ended early, so the list of places that may have changed is incomplete.
	if (testing::Test::HasFatalFailure())
		return;
	std::vector<Region *> regions = v.all();
	regions.push_back(&c().recv);
	for (Region *r : regions) {
		std::vector<Range> allowed;
		for (const Placed &q : placed_)
			if (q.region == r)
				allowed.push_back(q.range);
		EXPECT_EQ(r->changed(allowed), "");
	}
	for (const Placed &q : placed_) {
		if (!q.bytes)
			continue;
		const size_t at = static_cast<size_t>(q.range.at);
		const Bytes there = q.region->copy(at, q.range.len);
		// After a failure, missing data are expected: report them without "wrong data",
		// which would forbid a second try (see same()).
		if (testing::Test::HasFailure() && there == q.region->original(at, q.range.len))
			ADD_FAILURE() << "nothing was placed at " << at;
		else
			EXPECT_TRUE(same(there, *q.bytes));
	}
}

} // namespace peer
