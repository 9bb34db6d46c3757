// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Correct operation: a correct peer and the victim, with all operations and modes.
#include <set>

#include "../session/reads.h"

namespace peer {
namespace {

struct Mode {
	uint8_t rev;
	bool crc;
	bool markers_in;
	bool markers_out;
	bool ipv6;
};

class Smoke : public testing::TestWithParam<Mode> {};

TEST_P(Smoke, all_operations_both_ways)
{
	const Mode &m = GetParam();
	if (m.ipv6 && lab().victim_ip6.empty())
		GTEST_SKIP() << "no IPv6";
	const Options large{.receive_size = 100000, .rw_size = 1 << 20, .ipv6 = m.ipv6};
	Session s(Terms{.rev = m.rev,
			.crc = m.crc,
			.markers_in = m.markers_in,
			.markers_out = m.markers_out,
			.victim = large});
	EXPECT_EQ(s.p.reply.rev, m.rev);
	EXPECT_EQ(s.p.reply.m, m.markers_in);
	EXPECT_EQ(s.p.reply.c, m.crc);
	if (m.rev == 2) {
		ASSERT_TRUE(s.p.reply.enhanced);
		EXPECT_GE(s.p.reply.enhanced->ird, s.p.request.enhanced->ord);
		EXPECT_LE(s.p.reply.enhanced->ord, s.p.request.enhanced->ird);
	}
	s.data_both_ways({0, 1, 3, 4, 100, 511, 1400, 1448, 5000, 70000});
	EXPECT_EQ(s.p.markers_received > 0, m.markers_out);
	s.judge(lives());
}

std::vector<Mode> modes()
{
	std::vector<Mode> m;
	if (lab().sctp) // no CRCs and no markers over SCTP
		return {{1, false, false, false, false},
			{2, false, false, false, false},
			{2, false, false, false, true}};
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
	return "rev_" + std::to_string(m.rev) + (m.crc ? "_crc" : "_no_crc") +
	       (m.markers_in ? "_markers_in" : "") + (m.markers_out ? "_markers_out" : "") +
	       (m.ipv6 ? "_ipv6" : "");
});

// All counters of errors and events exist. Otherwise no test could fail because one did not move.
TEST(Conformance, counters_are_there)
{
	EXPECT_EQ(Testbed::the().missing_counters(), "");
}

// RFC 5044 7.1.2 rule 4: the responder sends nothing before the initiator's first FPDU.
TEST(Conformance, responder_waits_for_the_first_fpdu)
{
	for (uint8_t rev : {1, 2}) {
		Session s(Terms{.rev = rev});
		s.c().post_send(*s.v.rw, 0, 100);
		EXPECT_FALSE(s.p.receive(Millis{400}))
			<< "sent before the first FPDU, rev " << +rev;
		ASSERT_EQ(s.p.last_event, Event::quiet);
		s.p.send(write_segment(0, 0, {})); // an FPDU of length zero is enough
		const Segment g = s.p.next();
		EXPECT_TRUE(same(g.payload, s.v.rw->original(0, 100)));
		s.completes(IBV_WC_SEND);
	}
}

// RFC 6581 9.2: in the peer-to-peer model the responder sends after the RTR message.
TEST(Conformance, peer_to_peer_responder_sends_after_rtr)
{
	for (bool read : {false, true}) {
		SCOPED_TRACE(read ? "read" : "write");
		Session s;
		// the peer sends the RTR message if the kinds match
		s.dial(StartupFrame::request(
			2, Enhanced{.ird = 4, .ord = 4, .a = true, .c = !read, .d = read}));
		ASSERT_TRUE(s.p.reply.enhanced);
		EXPECT_TRUE(s.p.reply.enhanced->a);
		EXPECT_TRUE(s.p.reply.enhanced->b || s.p.reply.enhanced->c ||
			    s.p.reply.enhanced->d);
		s.victim_sends(100);
	}
}

// RFC 6581 9.1: 0x3FFF is answered with 0x3FFF.
TEST(Conformance, no_negotiation_is_answered_alike)
{
	Session s;
	s.dial(StartupFrame::request(2, Enhanced{.ird = 0x3FFF, .ord = 0x3FFF}));
	ASSERT_TRUE(s.p.reply.enhanced);
	EXPECT_EQ(s.p.reply.enhanced->ird, 0x3FFF);
	EXPECT_EQ(s.p.reply.enhanced->ord, 0x3FFF);
}

// RFC 5044 4.2, 4.4: the victim's FPDUs of any length have a zero pad and a correct CRC. Peer
// checks both.
TEST(Conformance, every_length_of_fpdu)
{
	Session s(Terms{.markers_out = true});
	s.message();
	for (uint32_t n = 0; n < 130; n++) {
		s.c().post_send(*s.v.rw, n, n);
		const Segment g = s.p.next();
		EXPECT_TRUE(same(g.payload, s.v.rw->original(n, n)));
		EXPECT_EQ(g.msn, n + 1);
		s.completes(IBV_WC_SEND);
	}
}

// As many Read Requests as IRD may be outstanding.
TEST(Conformance, ird_reads_at_once)
{
	Session s(Terms{.rev = 2, .victim = Options{.ird = 4, .rw_size = 256 * 1024}});
	for (int i = 0; i < 4; i++)
		s.p.read({static_cast<uint32_t>(i + 1), 0, 256 * 1024, s.v.rw->rkey(),
			  s.v.rw->base()});
	for (uint32_t i = 0; i < 4; i++) {
		const Segment answer = s.receives(op_read_response);
		EXPECT_EQ(answer.stag, i + 1);
		EXPECT_EQ(answer.to, 0U);
		EXPECT_TRUE(same(answer.payload, s.v.rw->original(0, 256 * 1024)));
	}
	s.judge(lives());
	expect_healthy(s.v);
}

// RFC 5040 8.1.1: STags that are difficult to predict. The lowest eight bits are an index.
TEST(Conformance, sink_stags_are_not_guessable)
{
	constexpr unsigned reads = 16;
	Session s(Terms{});
	std::set<uint32_t> stags, steps;
	uint32_t last = 0;
	for (unsigned i = 0; i < reads; i++) {
		const ReadRequest rr = asked(s);
		s.p.send(answer(rr));
		done(s);
		stags.insert(rr.sink_stag);
		if (i)
			steps.insert((rr.sink_stag >> 8) - (last >> 8));
		last = rr.sink_stag;
	}
	EXPECT_EQ(stags.size(), reads);
	EXPECT_GT(steps.size(), reads / 2) << "sink STags follow one another";
	s.judge(lives());
}

TEST(Conformance, disconnect_by_the_victim)
{
	Session s(Terms{});
	s.message();
	s.c().disconnect();
	s.judge(closes());
}

} // namespace
} // namespace peer
