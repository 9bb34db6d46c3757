// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "trial.h"

#include <algorithm>
#include <ostream>
#include <set>

namespace bad_input {

using iwarp::End;
using iwarp::FpduFault;
using iwarp::Peer;
using iwarp::Segment;
using iwarp::StartupFrame;
using iwarp::Terminate;
using victim::lab;

namespace {

constexpr size_t probe_len = 64;

// hw_counters name that belongs to a Terminate code we make the victim send.
std::optional<std::string> counter_of(const Code &c)
{
	if (c == iwarp::mpa::crc)
		return "crc_errors";
	if (c == iwarp::mpa::marker)
		return "marker_errors";
	if (c.layer == 1)
		return c.etype == 1 ? "ddp_tagged_errors" : "ddp_untagged_errors";
	if (c.layer == 0 && (c.etype == 1 || c.etype == 2))
		return c.etype == 1 ? "rdmap_protection_errors" : "rdmap_operation_errors";
	return {};
}

constexpr const char *watched[] = {
	"crc_errors",	       "marker_errors",		  "length_errors",	    "ddp_tagged_errors",
	"ddp_untagged_errors", "rdmap_protection_errors", "rdmap_operation_errors", "tx_terminate",
};

StartupFrame request_for(const Terms &s)
{
	StartupFrame r = StartupFrame::request(s.rev);
	if (s.rev >= 2) {
		r.s = true;
		r.enhanced = iwarp::Enhanced{.ird = s.victim.ord, .ord = s.victim.ird};
	}
	r.c = s.crc && s.peer_wants_crc;
	r.m = s.markers_to_peer;
	return r;
}

} // namespace

Verdict ends()
{
	return {{}, true, false};
}

Verdict lives()
{
	return {{}, false, true};
}

Verdict either()
{
	return {{}, true, true};
}

Trial::Trial(const Terms &s)
	: v(s.victim), p(Peer::connect(v.address(), request_for(s), lab().peer_socket(s.rcvbuf))), setup(s),
	  errors_before_(lab().device.errors())
{
	v.connection(0);
	for (const char *name : watched)
		counters_before_.emplace_back(name, lab().device.counter(name));
}

void Trial::offend(const Segment &s, const FpduFault &fault)
{
	offence_ = s;
	p.send(s, fault);
}

void Trial::touches_receive(unsigned slot)
{
	touches(connection().recv, connection().slot(slot));
}

void Trial::good_message(size_t len)
{
	Octets data = iwarp::pattern(len, received_ + 1000);
	p.send_message(data);
	std::optional<ibv_wc> wc = v.completion();
	ASSERT_TRUE(wc) << "a correct message does not arrive";
	ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc->byte_len, len);
	unsigned slot = victim::Victim::index_of(wc->wr_id);
	EXPECT_EQ(connection().received(slot, len), data);
	touches_receive(slot);
	received_++;
}

bool Trial::lives()
{
	Octets data = iwarp::pattern(probe_len, 4711);
	if (!p.socket.try_send(p.out.encode(iwarp::send_segment(p.send_msn, data).encode())))
		return false;
	while (std::optional<ibv_wc> wc = v.completion()) {
		if (wc->status != IBV_WC_SUCCESS)
			return false;
		if (victim::Victim::is_send(wc->wr_id))
			continue;
		unsigned slot = victim::Victim::index_of(wc->wr_id);
		touches_receive(slot);
		received_++;
		if (wc->byte_len == probe_len && connection().received(slot, probe_len) == data)
			return true;
	}
	return false;
}

void Trial::judge(const Verdict &verdict)
{
	SCOPED_TRACE("judging how the victim took it");
	bool alive = verdict.may_live && lives();
	std::optional<Code> code;

	if (!alive) {
		EXPECT_TRUE(verdict.may_end || !verdict.codes.empty()) << "this is legal and must not end the connection";
		End end = p.end();
		check_terminate(end, verdict);
		check_ended(end);
		// Where no RFC names the code, its counter is the implementation's choice, too.
		if (end.terminate && !verdict.codes.empty())
			code = end.terminate->code;
	}
	check_counters(!alive, code);
	check_memory();
	EXPECT_EQ(v.ledger_fault(), "");
	p.socket.close();
	expect_healthy(v);
	check_memory();
}

void Trial::check_terminate(const End &end, const Verdict &verdict)
{
	EXPECT_FALSE(end.bad_terminate) << "the Terminate does not parse";
	if (verdict.codes.empty())
		return;
	ASSERT_TRUE(end.terminate) << "no Terminate; expected " << verdict.codes.front()
				   << (end.closed() ? "; connection was closed" : "; connection still open");
	bool fits = std::find(verdict.codes.begin(), verdict.codes.end(), end.terminate->code) != verdict.codes.end();
	EXPECT_TRUE(fits) << "Terminate says " << end.terminate->code << "; expected " << verdict.codes.front()
			  << (verdict.codes.size() > 1 ? " or another" : "");
	check_headers(*end.terminate);
}

// RFC 5040 figure 10 and 7.1.
void Trial::check_headers(const Terminate &t)
{
	if (t.code.layer == 2 || t.code.etype == 0) {
		EXPECT_FALSE(t.d || t.r) << "no headers belong into this Terminate";
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

void Trial::check_ended(const End &end)
{
	EXPECT_TRUE(end.closed()) << "the connection was not closed";
	p.socket.close();
	victim::Connection &c = connection();
	EXPECT_TRUE(v.settled(c.index())) << "a posted work request never completed";
	EXPECT_TRUE(soon([&] { return c.state() == IBV_QPS_ERR; }, iwarp::patience)) << "QP state " << c.state();
	EXPECT_TRUE(v.wait([&] { return c.happened.disconnected; })) << "no DISCONNECTED event";
	unsigned received = 0, reads = 0;
	for (const ibv_wc &wc : v.history()) {
		if (victim::Victim::connection_of(wc.wr_id) != c.index() || wc.status != IBV_WC_SUCCESS)
			continue;
		if (victim::Victim::is_send(wc.wr_id))
			reads += wc.opcode == IBV_WC_RDMA_READ;
		else
			received++;
	}
	EXPECT_EQ(reads, reads_) << "a read succeeded that was not answered well";
	EXPECT_EQ(received, received_) << "something wrong was delivered";
}

void Trial::check_counters(bool ended, const std::optional<Code> &code)
{
	if (!lab().device.has_counters())
		return;
	if (!ended) {
		EXPECT_EQ(lab().device.errors(), errors_before_) << "something legal was counted as an error";
		return;
	}
	EXPECT_TRUE(soon([&] { return lab().device.errors() > errors_before_; })) << "no error counter moved";
	std::set<std::string> names;
	if (code) {
		names.insert("tx_terminate");
		if (std::optional<std::string> name = counter_of(*code))
			names.insert(*name);
	}
	for (auto &[name, before] : counters_before_) {
		if (!names.contains(name))
			continue;
		EXPECT_TRUE(soon([&] { return lab().device.counter(name).value_or(0) > before.value_or(0); })) << name;
	}
}

void Trial::check_memory()
{
	std::vector<victim::Region *> regions = v.all();
	regions.push_back(&connection().recv);
	for (victim::Region *r : regions) {
		std::vector<victim::Range> allowed;
		for (const Touched &t : touched_)
			if (t.region == r)
				allowed.push_back(t.range);
		EXPECT_EQ(r->changed(allowed), "");
	}
}

void expect_healthy(victim::Victim &v)
{
	SCOPED_TRACE("a healthy connection afterwards");
	const Octets message = iwarp::pattern(100, 31), written = iwarp::pattern(300, 32);
	Peer p = Peer::connect(v.address(), StartupFrame::request(1), lab().peer_socket());

	p.send(iwarp::write_segment(v.spare->rkey(), v.spare->base(), written));
	p.send_message(message);
	// The consumer may hear late of the connection on trial: its receives come back flushed, ours does not.
	std::optional<ibv_wc> wc;
	do
		wc = v.completion();
	while (wc && wc->status == IBV_WC_WR_FLUSH_ERR);
	ASSERT_TRUE(wc) << "its message does not arrive";
	ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
	victim::Connection &c = v.connection(victim::Victim::connection_of(wc->wr_id));
	EXPECT_EQ(c.received(victim::Victim::index_of(wc->wr_id), message.size()), message);
	EXPECT_EQ(v.spare->copy(0, written.size()), written);

	p.read({1, 2, static_cast<uint32_t>(written.size()), v.spare->rkey(), v.spare->base()});
	Octets got;
	while (got.size() < written.size()) {
		std::optional<Segment> s = p.receive();
		ASSERT_TRUE(s) << "no answer to its read";
		ASSERT_EQ(s->opcode, iwarp::op_read_response);
		iwarp::put(got, s->payload);
	}
	EXPECT_EQ(got, written);
	EXPECT_EQ(v.spare->changed({{0, written.size()}}), "");
}

TrialPolicy::TrialPolicy(const Terms &s)
	: crc_(lab().device, "crc", s.crc ? "1" : "0"),
	  markers_(lab().device, "markers", s.markers_to_victim ? "1" : "0"),
	  // A device without knobs has the defaults: CRC on, no markers.
	  holds_((crc_.holds() || (!crc_.exists() && s.crc)) &&
		 (markers_.holds() || (!markers_.exists() && !s.markers_to_victim)))
{
}

void PrintTo(const Case &c, std::ostream *os)
{
	*os << c.name << " (" << c.rfc << ")";
}

std::string case_name(const testing::TestParamInfo<Case> &info)
{
	return info.param.name;
}

} // namespace bad_input
