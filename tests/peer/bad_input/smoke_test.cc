// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The positive side: what a correct peer and a correct victim do together.
#include "trial.h"

namespace bad_input {
namespace {

using namespace iwarp;
using victim::lab;
using victim::PolicyScope;
using victim::Victim;

struct Mode {
	uint8_t rev;
	bool crc;
	bool markers_to_victim;
	bool markers_to_peer;
	bool ipv6;
};

class Smoke : public testing::TestWithParam<Mode> {};

Terms setup_of(const Mode &m)
{
	Terms s{.rev = m.rev, .crc = m.crc, .markers_to_victim = m.markers_to_victim, .markers_to_peer = m.markers_to_peer};
	s.victim.ipv6 = m.ipv6;
	s.victim.rw_size = 1 << 20;
	s.victim.receive_size = 100000;
	return s;
}

constexpr size_t sizes[] = {0, 1, 3, 4, 100, 511, 1400, 1448, 5000, 70000};

// A message in segments of at most n octets.
void send_in_segments(Peer &p, const Octets &o, size_t n)
{
	for (size_t at = 0; at == 0 || at < o.size(); at += n) {
		size_t len = std::min(n, o.size() - at);
		Octets part(o.begin() + static_cast<ptrdiff_t>(at), o.begin() + static_cast<ptrdiff_t>(at + len));
		p.send(send_segment(p.send_msn, part, static_cast<uint32_t>(at), at + len == o.size()));
	}
	p.send_msn++;
}

// All segments of the next message; checks opcode, MSN and offsets.
Octets receive_message(Peer &p, uint8_t opcode, uint32_t msn, uint32_t stag = 0, uint64_t to = 0)
{
	Octets all;
	for (;;) {
		std::optional<Segment> s = p.receive();
		if (!s)
			throw std::runtime_error("message does not come");
		EXPECT_EQ(s->opcode, opcode);
		EXPECT_EQ(s->dv, 1);
		EXPECT_EQ(s->rv, 1);
		EXPECT_EQ(s->ddp_reserved, 0);
		EXPECT_EQ(s->rdmap_reserved, 0);
		EXPECT_EQ(s->inv_stag, 0U);
		if (s->tagged) {
			EXPECT_EQ(s->stag, stag);
			EXPECT_EQ(s->to, to + all.size());
		} else {
			EXPECT_EQ(s->qn, q_send);
			EXPECT_EQ(s->msn, msn);
			EXPECT_EQ(s->mo, all.size());
		}
		put(all, s->payload);
		if (s->last)
			return all;
	}
}

TEST_P(Smoke, all_operations_both_ways)
{
	Terms s = setup_of(GetParam());
	if (s.victim.ipv6 && lab().victim_ip6.empty())
		GTEST_SKIP() << "no IPv6";
	TrialPolicy policy(s);
	if (!policy.holds())
		GTEST_SKIP() << "the device cannot be set up for it";
	Trial t(s);
	Peer &p = t.p;
	Victim &v = t.v;
	victim::Connection &c = t.connection();
	EXPECT_EQ(p.reply.rev, s.rev);
	EXPECT_EQ(p.reply.m, s.markers_to_victim);
	EXPECT_EQ(p.reply.c, s.crc);
	if (s.rev == 2) {
		ASSERT_TRUE(p.reply.enhanced);
		EXPECT_GE(p.reply.enhanced->ird, p.request.enhanced->ord);
		EXPECT_LE(p.reply.enhanced->ord, p.request.enhanced->ird);
	}

	uint32_t msn = 1;
	for (size_t n : sizes) {
		SCOPED_TRACE(n);
		Octets in = pattern(n, 60);
		// peer -> victim: Send, Write, Read
		send_in_segments(p, in, 1400);
		std::optional<ibv_wc> wc = v.completion();
		ASSERT_TRUE(wc);
		ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
		unsigned slot = Victim::index_of(wc->wr_id);
		EXPECT_EQ(wc->byte_len, n);
		EXPECT_EQ(c.received(slot, n), in);
		c.post_receive(slot);
		p.send(write_segment(v.rw->rkey(), v.rw->base() + 5, pattern(std::min<size_t>(n, 60000), 61)));
		p.read({99, 1000, static_cast<uint32_t>(n), v.rw->rkey(), v.rw->base() + 5});
		Octets got = receive_message(p, op_read_response, 0, 99, 1000);
		EXPECT_EQ(got, v.rw->copy(5, n));
		got.resize(std::min<size_t>(n, 60000));
		EXPECT_EQ(got, pattern(std::min<size_t>(n, 60000), 61));
		// victim -> peer: Send, Write, Read
		c.post_send(*v.rw, 0, n);
		EXPECT_EQ(receive_message(p, op_send, msn++), v.rw->copy(0, n));
		c.post_write(*v.rw, 7, n, 0xABCD, 0x10000);
		EXPECT_EQ(receive_message(p, op_write, 0, 0xABCD, 0x10000), v.rw->copy(7, n));
		EXPECT_EQ(v.completion()->status, IBV_WC_SUCCESS);
		EXPECT_EQ(v.completion()->status, IBV_WC_SUCCESS);
		c.post_read(*v.rw, 200000, n, 0xEE, 0x20000);
		std::optional<Segment> rr = p.receive();
		ASSERT_TRUE(rr && rr->opcode == op_read_request);
		ReadRequest q = ReadRequest::decode(rr->payload);
		EXPECT_EQ(q.size, n);
		EXPECT_EQ(q.src_stag, 0xEEU);
		EXPECT_EQ(q.src_to, 0x20000U);
		EXPECT_EQ(rr->qn, q_read);
		EXPECT_EQ(rr->rdmap_reserved, 0);
		EXPECT_EQ(rr->inv_stag, 0U);
		Octets answer = pattern(n, 62);
		for (size_t at = 0; at == 0 || at < n; at += 1400) {
			size_t len = std::min<size_t>(1400, n - at);
			p.send(read_response_segment(q.sink_stag, q.sink_to + at,
						     {answer.begin() + static_cast<ptrdiff_t>(at),
						      answer.begin() + static_cast<ptrdiff_t>(at + len)},
						     at + len == n));
		}
		wc = v.completion();
		ASSERT_TRUE(wc);
		EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
		EXPECT_EQ(wc->opcode, IBV_WC_RDMA_READ);
		EXPECT_EQ(v.rw->copy(200000, n), answer);
	}
	EXPECT_EQ(p.markers_received > 0, s.markers_to_peer);
	for (victim::Region *r : {v.ro.get(), v.wo.get(), v.local.get(), v.alien.get()})
		EXPECT_EQ(r->changed(), "");
	EXPECT_EQ(v.ledger_fault(), "");
	// Graceful end from the peer's side.
	p.socket.finish();
	EXPECT_TRUE(p.end().closed());
	EXPECT_TRUE(v.wait([&] { return c.happened.disconnected; }));
	EXPECT_TRUE(v.settled(0));
}

std::vector<Mode> modes()
{
	std::vector<Mode> m;
	for (uint8_t rev : {1, 2})
		for (bool crc : {true, false})
			for (bool to_victim : {false, true})
				for (bool to_peer : {false, true})
					m.push_back({rev, crc, to_victim, to_peer, false});
	m.push_back({2, true, false, false, true});
	m.push_back({1, true, true, true, true});
	return m;
}

INSTANTIATE_TEST_SUITE_P(modes, Smoke, testing::ValuesIn(modes()), [](const auto &info) {
	const Mode &m = info.param;
	return "rev_" + std::to_string(m.rev) + (m.crc ? "_crc" : "_no_crc") + (m.markers_to_victim ? "_markers_in" : "") +
	       (m.markers_to_peer ? "_markers_out" : "") + (m.ipv6 ? "_ipv6" : "");
});

// Without them nothing below could fail for a missing count.
TEST(Conformance, counters_are_there)
{
	if (!lab().device.policy("crc"))
		GTEST_SKIP() << "not a kwarp device";
	EXPECT_EQ(lab().device.missing_counters(), "");
}

// RFC 5044 7.1.2 rule 4: not one octet before the first FPDU of the initiator.
TEST(Conformance, responder_waits_for_the_first_fpdu)
{
	for (uint8_t rev : {1, 2}) {
		Trial t(Terms{.rev = rev});
		t.connection().post_send(*t.v.rw, 0, 100);
		EXPECT_FALSE(t.p.receive(Millis{400})) << "sent before the first FPDU, rev " << +rev;
		ASSERT_EQ(t.p.last_event, Event::quiet);
		t.p.send(write_segment(0, 0, {})); // zero-length: enough
		std::optional<Segment> s = t.p.receive();
		ASSERT_TRUE(s) << "still waiting after the first FPDU, rev " << +rev;
		EXPECT_EQ(s->payload, t.v.rw->original(0, 100));
		EXPECT_EQ(t.v.completion()->status, IBV_WC_SUCCESS);
	}
}

// RFC 6581 9.2: a reply to a peer-to-peer request, and the responder sends after the RTR message.
TEST(Conformance, peer_to_peer_responder_sends_after_rtr)
{
	for (int kind = 0; kind < 2; kind++) {
		SCOPED_TRACE(kind ? "read" : "write");
		Victim v;
		Enhanced e{.ird = 4, .ord = 4, .a = true};
		(kind ? e.d : e.c) = true;
		Peer p(Socket::connect(v.address(), lab().peer_socket()));
		p.send_request(StartupFrame::request(2, e));
		p.receive_reply(); // sends the RTR message if the kinds match
		ASSERT_TRUE(p.reply.enhanced);
		EXPECT_TRUE(p.reply.enhanced->a);
		EXPECT_TRUE(p.reply.enhanced->b || p.reply.enhanced->c || p.reply.enhanced->d);
		v.connection(0).post_send(*v.rw, 0, 100);
		std::optional<Segment> s = p.receive();
		ASSERT_TRUE(s);
		EXPECT_EQ(s->payload.size(), 100U);
	}
}

// RFC 6581 9.1: 0x3FFF is answered with 0x3FFF.
TEST(Conformance, no_negotiation_is_answered_alike)
{
	Victim v;
	Peer p(Socket::connect(v.address(), lab().peer_socket()));
	p.send_request(StartupFrame::request(2, Enhanced{.ird = 0x3FFF, .ord = 0x3FFF}));
	p.receive_reply();
	ASSERT_TRUE(p.reply.enhanced);
	EXPECT_EQ(p.reply.enhanced->ird, 0x3FFF);
	EXPECT_EQ(p.reply.enhanced->ord, 0x3FFF);
}

// RFC 5044 4.2, 4.4: the victim's FPDUs have zero pad and right CRC (Peer checks each), for all lengths.
TEST(Conformance, every_length_of_fpdu)
{
	Trial t(Terms{.markers_to_peer = true});
	t.good_message();
	for (uint32_t n = 0; n < 130; n++) {
		t.connection().post_send(*t.v.rw, n, n);
		std::optional<Segment> s = t.p.receive();
		ASSERT_TRUE(s);
		EXPECT_EQ(s->payload, t.v.rw->original(n, n));
		EXPECT_EQ(s->msn, n + 1);
		EXPECT_EQ(t.v.completion()->status, IBV_WC_SUCCESS);
	}
}

// IRD reads at once are within what was agreed.
TEST(Conformance, ird_reads_at_once)
{
	Trial t(Terms{.rev = 2, .victim = {.ird = 4, .rw_size = 256 * 1024}});
	for (int i = 0; i < 4; i++)
		t.p.read({static_cast<uint32_t>(i + 1), 0, 256 * 1024, t.v.rw->rkey(), t.v.rw->base()});
	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(receive_message(t.p, op_read_response, 0, i + 1, 0), t.v.rw->original(0, 256 * 1024));
	t.judge(lives());
}

TEST(Conformance, disconnect_by_the_victim)
{
	Trial t(Terms{});
	victim::Connection &c = t.connection();
	t.good_message();
	c.disconnect();
	End e = t.p.end();
	EXPECT_EQ(e.event, Event::fin);
	EXPECT_FALSE(e.terminate);
	t.p.socket.close();
	EXPECT_TRUE(t.v.wait([&] { return c.happened.disconnected; }));
	EXPECT_TRUE(t.v.settled(0));
}

} // namespace
} // namespace bad_input
