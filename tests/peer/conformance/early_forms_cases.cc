// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Forms of startup older than RFC 6581: the RDMA Consortium's revision 0 (RFC 5044 appendix C) and
// the Rtr frame of the peer-to-peer proposal of 2007.
#include "../session/frames.h"
#include "../session/traffic.h"

namespace peer {
namespace {

// ---- revision 0
// ------------------------------------------------------------------------------------

class Rdmac : public testing::TestWithParam<unsigned> {
protected:
	void SetUp() override
	{
		apply(bed.policy, {});
		if (!bed.policy.set("permissive", "1"))
			GTEST_SKIP() << "not a permissive RNIC";
	}

	Testbed &bed = Testbed::the();
};

// C.2.4: the reply has revision 0, M and C, whatever this side would like; DDP and RDMAP are
// version 0.
TEST_P(Rdmac, initiator_is_served)
{
	const unsigned bits = GetParam();
	Session s;
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

// C.1: versions do not mix.
class RdmacVersions : public Rdmac {};

TEST_P(RdmacVersions, do_not_mix)
{
	const auto dv = static_cast<uint8_t>(GetParam() & 3),
		   rv = static_cast<uint8_t>(GetParam() >> 2);
	Session s;
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
	return "ddp_" + std::to_string(info.param & 3) + "_rdmap_" +
	       std::to_string(info.param >> 2);
}

INSTANTIATE_TEST_SUITE_P(Startup, RdmacVersions, testing::Range(0U, 16U), versions_name);

// C.2.1: cannot interoperate; RFC 5044 7.1.1 Rev: MUST close.
TEST(StartupNonPermissive, closes_on_revision_0)
{
	Testbed &bed = Testbed::the();
	apply(bed.policy, {});
	if (!bed.policy.set("permissive", "0"))
		GTEST_SKIP() << "no such policy";
	for (unsigned bits = 0; bits < 16; bits++)
		expect_no_answer(request(0, bits & 1, bits & 2, bits & 4, bits & 8).encode(),
				 Then::waits, "startup_revision_errors");
	bed.policy.must("permissive", "1");
}

// ---- the Rtr frame
// ---------------------------------------------------------------------------------

struct RtrCase : Row {
	Bytes bytes;
	const char *counter = nullptr; // it is wrong: closed without a word
	bool fin = false;
	size_t cut = 0;
	StartupFrame frame = request(1, false, true, false, true);
	Wishes wishes{};
};

class RtrFrame : public testing::TestWithParam<RtrCase> {};

void expect_closed(Session &s, const std::string &counter)
{
	expect_silent_end(s.p.socket);
	s.bed.expect_count(counter);
	s.give_up();
}

// The responder may send first once the Rtr frame is there; FPDUs and markers count from behind it.
TEST_P(RtrFrame, makes_the_responder_speak)
{
	const RtrCase &c = GetParam();
	Session s;
	apply(s.bed.policy, c.wishes);
	if (!s.bed.policy.set("p2p", "rtr-frame"))
		GTEST_SKIP() << "no such policy";
	s.dial(c.frame);
	ASSERT_TRUE(s.p.reply.s) << "the proposal's reply has S";
	EXPECT_EQ(s.p.reply.rev, 1);
	s.p.socket.send(View(c.bytes).first(c.cut));
	wait_acknowledged(s.p.socket);
	s.p.socket.send(View(c.bytes).subspan(c.cut));
	if (c.fin)
		s.p.socket.finish();
	if (c.counter)
		return expect_closed(s, c.counter);
	s.victim_sends(300);
	s.judge(lives());
}

Bytes rtr_with(const Change &change)
{
	return changed(StartupFrame::rtr(), change).encode();
}

void add_accepted(std::vector<RtrCase> &c)
{
	const char *p2 = "2007 proposal 2, 5", *p3 = "2007 proposal 3: private data mean nothing";
	c.push_back({"key_as_printed", "2007 proposal 1", StartupFrame::rtr().encode()});
	c.push_back({"key_as_in_the_text", "2007 proposal 1",
		     StartupFrame::rtr(true, rtr_key_of_the_text).encode()});
	for (unsigned bits = 0; bits < 32; bits++)
		c.push_back({"flags" + bits_name(bits),
			     "2007 proposal 2: S and Res ignored; the reply's M and C hold",
			     with_bits(StartupFrame::rtr(), bits).encode()});
	for (unsigned bits = 0; bits < 4; bits++)
		for (bool crc : {true, false})
			for (bool markers : {true, false})
				c.push_back({"request" + bits_name(bits) +
						     (crc ? "_victim_crc" : "") +
						     (markers ? "_victim_markers" : ""),
					     p2,
					     StartupFrame::rtr().encode(),
					     nullptr,
					     false,
					     0,
					     request(1, bits & 1, bits & 2, false, true),
					     {.crc = crc, .markers = markers}});
	for (size_t n : {1, 4, 255, 512})
		c.push_back({"private_data_of_" + std::to_string(n), p3,
			     rtr_with([n](StartupFrame &f) { f.private_data = pattern(n); })});
	for (size_t cut = 1; cut < startup_header_len; cut++)
		c.push_back({"cut_after_" + std::to_string(cut), p2, StartupFrame::rtr().encode(),
			     nullptr, false, cut});
}

void add_refused(std::vector<RtrCase> &c)
{
	const char *key = "RFC 5044 7.1.2 rule 5 as for the other frames",
		   *rest = "RFC 5044 7.1.1 as for the other frames";
	for (size_t i = 0; i < 16; i++)
		c.push_back({"key_byte_" + std::to_string(i), key,
			     rtr_with([i](StartupFrame &f) { f.key[i] ^= 0x01; }),
			     "startup_key_errors"});
	c.push_back({"request_instead", key, request(1, false, true, false, true).encode(),
		     "startup_key_errors"});
	c.push_back({"fpdu_instead", key,
		     FpduEncoder().encode(send_segment(1, pattern(40)).encode()),
		     "startup_key_errors"});
	c.push_back({"private_data_of_513", rest,
		     rtr_with([](StartupFrame &f) { f.private_data = pattern(513); }),
		     "startup_length_errors"});
	for (uint8_t rev : {0, 2, 3, 255})
		c.push_back({"rev_" + std::to_string(rev), rest,
			     rtr_with([rev](StartupFrame &f) { f.rev = rev; }),
			     "startup_revision_errors"});
	for (size_t n : {0, 1, 16, 19}) {
		Bytes o = StartupFrame::rtr().encode();
		o.resize(n);
		c.push_back({"fin_after_" + std::to_string(n), "RFC 5044 8 code 1", o,
			     "startup_closed", true});
	}
}

INSTANTIATE_TEST_SUITE_P(Startup, RtrFrame, rows(add_accepted, add_refused), RowName());

// The victim as initiator sends the frame if and only if the reply has S; else it is plain
// revision 1.
class RtrFrameSent : public testing::TestWithParam<unsigned> {};

TEST_P(RtrFrameSent, if_the_reply_has_s)
{
	const unsigned bits = GetParam();
	Session s;
	apply(s.bed.policy, {.rev = 1});
	if (!s.bed.policy.set("p2p", "rtr-frame"))
		GTEST_SKIP() << "no such policy";
	Listener listener;
	s.call(listener, [&](const Peer &p) {
		EXPECT_EQ(p.request.rev, 1);
		EXPECT_TRUE(p.request.s);
		StartupFrame f = StartupFrame::reply(1);
		f.m = bits & 1;
		f.c = bits & 2;
		f.s = bits & 4;
		return f;
	});
	if (bits & 4) {
		const StartupFrame f = s.p.receive_rtr_frame();
		EXPECT_TRUE(f.key == bytes(rtr_key) || f.key == bytes(rtr_key_of_the_text));
		EXPECT_EQ(f.rev, 1);
		EXPECT_FALSE(f.s || f.r || f.reserved);
		EXPECT_EQ(*f.pd_length, 0);
	}
	EXPECT_EQ(told(s.v, s.c()), RDMA_CM_EVENT_ESTABLISHED);
	s.bed.expect_count("connects");
	s.judge(lives());
}

std::string sent_name(const testing::TestParamInfo<unsigned> &info)
{
	return "reply" + named_bits(info.param, {"M", "C", "S"});
}

INSTANTIATE_TEST_SUITE_P(Startup, RtrFrameSent, testing::Range(0U, 8U), sent_name);

} // namespace
} // namespace peer
