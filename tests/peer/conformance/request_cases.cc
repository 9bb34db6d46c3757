// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The victim as responder: every combination of a request's flags and revision with the policies of
// CRCs and markers; IRD and ORD with the flags of enhanced data. Each case then uses the connection
// in both directions with the negotiated parameters.
#include "../session/session.h"

namespace peer {
namespace {

struct RequestCase : Row {
	StartupFrame frame;
	Wishes wishes{};
};

class Request : public testing::TestWithParam<RequestCase> {};

// Checks the fields of the reply: RFC 5044 7.1.1, RFC 6581 6 and 10.
void check_frame(const StartupFrame &req, const StartupFrame &rep, const Wishes &w)
{
	EXPECT_EQ(rep.key, bytes(reply_key));
	EXPECT_EQ(rep.rev, req.rev);
	EXPECT_FALSE(rep.r);
	EXPECT_EQ(rep.reserved, 0);
	EXPECT_EQ(rep.s, req.s && req.rev >= 2) << "S must be set iff the request is enhanced";
	EXPECT_EQ(rep.private_data, Bytes{});
	if (lab().sctp)
		return;
	EXPECT_EQ(rep.m, w.markers) << "M must be the victim's policy for receiving";
	if (w.crc) {
		EXPECT_TRUE(rep.c) << "C is not set, but the victim's policy requires CRCs";
	}
	if (!w.crc && !req.c) {
		EXPECT_FALSE(rep.c) << "C is set, but neither side requires CRCs";
	}
}

// Checks IRD and ORD of the reply: RFC 6581 9.1.
void check_depths(const Enhanced &req, const Enhanced &rep)
{
	constexpr uint16_t none = 0x3FFF, limit = 32; // the device's default policy
	if (req.ord == none) {
		EXPECT_EQ(rep.ird, none) << "MUST respond with 0x3FFF";
	} else {
		EXPECT_GE(rep.ird, std::min(req.ord, limit))
			<< "below both the initiator's ORD and the device's limit";
		EXPECT_LE(rep.ird, limit) << "more than the device's limit";
	}
	if (req.ird == none) {
		EXPECT_EQ(rep.ord, none) << "MUST respond with 0x3FFF";
	} else {
		EXPECT_LE(rep.ord, req.ird) << "responder's ORD exceeds initiator's IRD";
		EXPECT_LE(rep.ord, depth) << "more than the consumer allows";
	}
}

// Checks the flags of the peer-to-peer model: RFC 6581 9.2. The device supports all three RTR
// messages.
void check_model(const Enhanced &req, const Enhanced &rep)
{
	EXPECT_EQ(rep.a, req.a);
	if (!req.a) {
		EXPECT_FALSE(rep.b || rep.c || rep.d) << "B, C and D MUST be 0 if A is 0";
		return;
	}
	EXPECT_TRUE(rep.b || rep.c || rep.d) << "at least one RTR message MUST be set";
	EXPECT_TRUE((!req.b || rep.b) && (!req.c || rep.c) && (!req.d || rep.d))
		<< "each supported RTR message SHOULD be set";
}

TEST_P(Request, is_answered)
{
	const RequestCase &c = GetParam();
	Session s(c.wishes);
	s.dial(c.frame);
	check_frame(c.frame, s.p.reply, c.wishes);
	if (c.frame.enhanced) {
		ASSERT_TRUE(s.p.reply.enhanced);
		check_depths(*c.frame.enhanced, *s.p.reply.enhanced);
		check_model(*c.frame.enhanced, *s.p.reply.enhanced);
	}
	// Without a common RTR message the initiator sends a Terminate: 9.2.
	const std::optional<Enhanced> &e = c.frame.enhanced;
	if (e && e->a && !e->b && !e->c && !e->d) {
		s.p.send(terminate_segment(mpa::no_rtr));
		s.judge(closes("rx_terminate"));
		return;
	}
	s.judge(lives());
}

void add_flags(std::vector<RequestCase> &c)
{
	auto add = [&](const char *rfc, const StartupFrame &f, const Wishes &w = {}) {
		const unsigned bits = f.m | f.c << 1 | f.r << 2 | f.s << 3;
		c.push_back({{std::format("rev_{}{}{}{}{}", f.rev, bits_name(bits),
					  f.reserved ? std::format("_reserved_{:x}", f.reserved) :
						       "",
					  w.crc ? "" : "_victim_no_crc",
					  w.markers ? "_victim_markers" : ""),
			      rfc},
			     f,
			     w});
	};
	for (uint8_t rev : {1, 2}) {
		// All reserved bits or none here; each one alone below.
		for (unsigned bits = 0; bits < 32; bits++)
			for (bool crc : {true, false})
				for (bool markers : {false, true})
					add("RFC 5044 7.1.1, RFC 6581 6 and 10",
					    request(rev, bits & 1, bits & 2, bits & 4, bits & 8,
						    bits & 16 ? 15 : 0),
					    {.crc = crc, .markers = markers});
		for (uint8_t bit : {1, 2, 4, 8})
			add("RFC 5044 7.1.1 Res: not checked",
			    request(rev, false, true, false, rev == 2, bit));
	}
}

void add_enhanced(std::vector<RequestCase> &c)
{
	static constexpr uint16_t depths[][2] = {
		{0, 0},	     {0, 1},	  {1, 0},	    {1, 1},	      {4, 4},
		{32, 32},    {33, 33},	  {0x3FFE, 0x3FFE}, {0x3FFF, 0x3FFF}, {0x3FFF, 1},
		{1, 0x3FFF}, {0, 0x3FFF}, {0x3FFF, 0},
	};
	for (unsigned bits = 0; bits < 16; bits++)
		for (const auto &[ird, ord] : depths) {
			StartupFrame f = request_with(2, true);
			f.enhanced = enhanced_with(bits, ird, ord);
			c.push_back({{std::format("enhanced{}_ird_{:x}_ord_{:x}", kinds_name(bits),
						  ird, ord),
				      "RFC 6581 9.1, 9.2"},
				     f});
		}
}

INSTANTIATE_TEST_SUITE_P(Startup, Request, rows(add_enhanced, of_mpa(add_flags)), RowName());

} // namespace
} // namespace peer
