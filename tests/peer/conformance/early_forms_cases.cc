// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Startup before RFC 6581: the RDMA Consortium's revision 0 (RFC 5044 appendix C) and the Rtr frame
// of the peer-to-peer proposal of 2007.
#include "../session/session.h"

namespace peer {
namespace {

// ---- revision 0

class Rdmac : public testing::TestWithParam<unsigned> {};

// C.2.4: the reply has revision 0, M and C, whatever the victim's policy; DDP and RDMAP have
// version 0.
TEST_P(Rdmac, initiator_is_served)
{
	const unsigned bits = GetParam();
	Session s(Wishes{});
	s.dial(request(0, bits & 1, bits & 2, bits & 4, bits & 8, bits & 16 ? 15 : 0));
	EXPECT_EQ(s.p.reply.rev, 0);
	EXPECT_TRUE(s.p.reply.m);
	EXPECT_TRUE(s.p.reply.c);
	EXPECT_FALSE(s.p.reply.r);
	EXPECT_FALSE(s.p.reply.s);
	EXPECT_EQ(s.p.reply.reserved, 0);
	s.judge(lives());
	EXPECT_GT(s.p.markers_received, 0U);
}

std::string rdmac_name(const testing::TestParamInfo<unsigned> &info)
{
	return "rev_0" + bits_name(info.param);
}

INSTANTIATE_TEST_SUITE_P(Startup, Rdmac, testing::Range(0U, 32U), rdmac_name);

// C.1: after revision 0, a segment with another version than 0 of DDP or RDMAP is an error.
class RdmacVersions : public Rdmac {};

TEST_P(RdmacVersions, do_not_mix)
{
	const auto dv = static_cast<uint8_t>(GetParam() & 3),
		   rv = static_cast<uint8_t>(GetParam() >> 2);
	Session s(Wishes{});
	s.dial(request(0, true, true, false, false));
	Segment g = send_segment(1, pattern(40));
	g.dv = dv;
	g.rv = rv;
	if (!dv && !rv) {
		s.p.send_msn++;
		s.sends(g);
		return s.judge(lives());
	}
	s.p.send(g);
	s.judge(terminates(dv ? ddp::untagged_version : rdmap::op_version));
}

std::string versions_name(const testing::TestParamInfo<unsigned> &info)
{
	return std::format("ddp_{}_rdmap_{}", info.param & 3, info.param >> 2);
}

INSTANTIATE_TEST_SUITE_P(Startup, RdmacVersions, testing::Range(0U, 16U), versions_name);

// C.2.1: a non-permissive endpoint cannot interoperate; RFC 5044 7.1.1 Rev: it MUST close.
TEST(StartupNonPermissive, closes_on_revision_0)
{
	Knobs policy = Wishes{}.knobs();
	policy["permissive"] = "0";
	for (unsigned bits = 0; bits < 16; bits++)
		Session(policy).unanswered(
			request(0, bits & 1, bits & 2, bits & 4, bits & 8).encode(), Then::waits,
			"startup_revision_errors");
	Testbed::the().policy.must("permissive", "1");
}

// ---- the Rtr frame

struct RtrCase : Row {
	Bytes bytes;
	const char *counter = nullptr; // if set, the frame is wrong: the victim closes silently
	bool fin = false;	       // FIN after the bytes
	size_t cut = 0;		       // bytes in the first TCP segment
	StartupFrame frame = request_with(1, true);
	Wishes wishes{};
};

class RtrFrame : public testing::TestWithParam<RtrCase> {};

Knobs with_frame(const Wishes &w)
{
	Knobs policy = w.knobs();
	policy["p2p"] = "rtr-frame";
	return policy;
}

// The responder may send once it has received the Rtr frame. The first FPDU and the first marker
// follow the frame.
TEST_P(RtrFrame, makes_the_responder_speak)
{
	const RtrCase &c = GetParam();
	Session s(with_frame(c.wishes));
	s.dial(c.frame);
	ASSERT_TRUE(s.p.reply.s) << "the reply does not set S, as the proposal requires";
	EXPECT_EQ(s.p.reply.rev, 1);
	send_cut(s.p.socket, c.bytes, c.cut);
	if (c.fin)
		s.p.socket.finish();
	if (c.counter) {
		expect_silent_end(s.p);
		s.bed.expect_count(c.counter);
		return s.give_up();
	}
	s.victim_sends(300);
	s.judge(lives());
}

Bytes rtr_with(const Change &change)
{
	return changed(StartupFrame::rtr(), change).encode();
}

void add_accepted(std::vector<RtrCase> &c)
{
	const Bytes frame = StartupFrame::rtr().encode();
	auto add = [&](std::string name, const char *rfc, const Bytes &o) -> RtrCase & {
		return c.emplace_back(RtrCase{{std::move(name), rfc}, o});
	};
	const char *p2 = "2007 proposal 2, 5";
	add("key_as_printed", "2007 proposal 1", frame);
	add("key_as_in_the_text", "2007 proposal 1",
	    StartupFrame::rtr(true, rtr_key_of_the_text).encode());
	for (unsigned bits = 0; bits < 32; bits++)
		add("flags" + bits_name(bits),
		    "2007 proposal 2: S and Res ignored; the reply's M and C hold",
		    with_bits(StartupFrame::rtr(), bits).encode());
	for (unsigned bits = 0; bits < 4; bits++)
		for (bool crc : {true, false})
			for (bool markers : {true, false}) {
				RtrCase &r = add(std::format("request{}{}{}", bits_name(bits),
							     crc ? "_victim_crc" : "",
							     markers ? "_victim_markers" : ""),
						 p2, frame);
				r.frame = request_with(1, true, bits & 2, bits & 1);
				r.wishes = {.crc = crc, .markers = markers};
			}
	for (size_t n : {1, 4, 255, 512})
		add(std::format("private_data_of_{}", n),
		    "2007 proposal 3: private data mean nothing",
		    rtr_with([n](StartupFrame &f) { f.private_data = pattern(n); }));
	for (size_t cut = 1; cut < startup_header_len; cut++)
		add(std::format("cut_after_{}", cut), p2, frame).cut = cut;
}

void add_refused(std::vector<RtrCase> &c)
{
	auto add = [&](std::string name, const char *rfc, const char *counter, const Bytes &o,
		       bool fin = false) {
		c.push_back({{std::move(name), rfc}, o, counter, fin});
	};
	auto key = [&](std::string name, const Bytes &o) {
		add(std::move(name), "RFC 5044 7.1.2 rule 5 as for the other frames",
		    "startup_key_errors", o);
	};
	const char *rest = "RFC 5044 7.1.1 as for the other frames";
	for (size_t i = 0; i < 16; i++)
		key(std::format("key_byte_{}", i),
		    rtr_with([i](StartupFrame &f) { f.key[i] ^= 0x01; }));
	key("request_instead", request_with(1, true).encode());
	c.back().counter = "startup_role_errors";
	key("fpdu_instead", FpduEncoder().encode(send_segment(1, pattern(40)).encode()));
	add("private_data_of_513", rest, "startup_length_errors",
	    rtr_with([](StartupFrame &f) { f.private_data = pattern(513); }));
	for (uint8_t rev : {0, 2, 3, 255})
		add(std::format("rev_{}", rev), rest, "startup_revision_errors",
		    rtr_with([rev](StartupFrame &f) { f.rev = rev; }));
	for (size_t n : {0, 1, 16, 19})
		add(std::format("fin_after_{}", n), "RFC 5044 8 code 1", "startup_closed",
		    slice(StartupFrame::rtr().encode(), 0, n), true);
}

INSTANTIATE_TEST_SUITE_P(Startup, RtrFrame, rows(add_accepted, add_refused), RowName());

// The victim as initiator sends the Rtr frame if and only if the reply has S. Without S the startup
// is that of revision 1.
class RtrFrameSent : public testing::TestWithParam<unsigned> {};

TEST_P(RtrFrameSent, if_the_reply_has_s)
{
	const unsigned bits = GetParam();
	Session s(with_frame({.rev = 1}));
	s.call([&](const Peer &p) {
		EXPECT_EQ(p.request.rev, 1);
		EXPECT_TRUE(p.request.s);
		return reply_with(1, bits & 4, bits & 2, bits & 1);
	});
	if (bits & 4) {
		const StartupFrame f = s.p.receive_rtr_frame();
		EXPECT_TRUE(f.key == bytes(rtr_key) || f.key == bytes(rtr_key_of_the_text));
		EXPECT_EQ(f.rev, 1);
		EXPECT_FALSE(f.s || f.r || f.reserved);
		EXPECT_EQ(*f.pd_length, 0);
	}
	s.established();
	s.judge(lives());
}

std::string sent_name(const testing::TestParamInfo<unsigned> &info)
{
	return "reply" + named_bits(info.param, {"M", "C", "S"});
}

INSTANTIATE_TEST_SUITE_P(Startup, RtrFrameSent, testing::Range(0U, 8U), sent_name);

} // namespace
} // namespace peer
