// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/mpa_negotiate.[ch]. Sentences of RFC 5044 and RFC 6581 are written as conditions on
// frames and parameters, and checked for all combinations of flags. The tests do not calculate the
// results as the code does.
#include <algorithm>

#include "proto.h"

namespace {

constexpr u32 none = 0x3fff; // RFC 6581 9.1: no negotiation

kwarp_mpa_policy policy(u8 rev)
{
	kwarp_mpa_policy p{};
	p.rev = rev;
	p.crc = true;
	p.rtr = KWARP_RTR_ALL;
	p.max_ird = p.max_ord = 128;
	return p;
}

kwarp_mpa_local local(u16 ird, u16 ord)
{
	kwarp_mpa_local l{};
	l.ird = ird;
	l.ord = ord;
	return l;
}

kwarp_mpa_frame frame(kwarp_mpa_type type, u8 rev, bool s = false)
{
	kwarp_mpa_frame f{};
	f.type = type;
	f.rev = rev;
	f.s = s;
	return f;
}

// Encodes and decodes a frame, which must not change.
kwarp_mpa_frame wire(const kwarp_mpa_frame &f)
{
	kwarp_mpa_frame got;
	Bytes o(24);
	int n = kwarp_mpa_encode(&f, o.data());
	EXPECT_GT(n, 0);
	o.resize(n + f.pd_len);
	EXPECT_EQ(kwarp_mpa_decode(o.data(), o.size(), static_cast<kwarp_mpa_type>(f.type), &got),
		  static_cast<int>(o.size()));
	return got;
}

// All distinct policies.
template <typename F>
void each_policy(F f)
{
	for (u8 rev : {0, 1, 2})
		for (u32 bits = 0; bits < 16; bits++)
			for (u8 rtr = 0; rtr < 16; rtr++) {
				auto p = policy(rev);
				p.permissive = bits & 1;
				p.crc = bits & 2 ? KWARP_CRC_PREFERRED : KWARP_CRC_OFF;
				p.markers = bits & 4;
				p.p2p = bits & 8;
				p.rtr = rtr;
				f(p);
			}
}

template <typename F>
void each_bool(int n, F f)
{
	for (u32 bits = 0; bits < 1u << n; bits++)
		f([bits](int i) { return (bits >> i & 1) != 0; });
}

// RFC 6581 9.2 "MUST support at least one"; a read only where reads are possible.
u8 supported(const kwarp_mpa_policy &p, u16 reads = 1)
{
	u8 rtr = p.rtr & 7 ? p.rtr & 7 : 7;
	if (reads == 0 && rtr == KWARP_RTR_READ)
		return KWARP_RTR_SEND | KWARP_RTR_WRITE;
	return reads == 0 ? rtr & ~KWARP_RTR_READ : rtr;
}

const u16 depths[] = {0, 1, 16, 128, 129, 0x3ffe, 0x3fff};

// RFC 5044 7.1.1 (M, C) and figures 14, 16 (revision 0), for either side.
void check_framing(const kwarp_mpa_frame &mine, const kwarp_mpa_frame &peers,
		   const kwarp_mpa_params &out)
{
	ASSERT_EQ(out.ddp_version, out.rev == 0 ? 0 : 1);
	if (out.rev == 0) {
		ASSERT_TRUE(out.crc && out.tx_markers && out.rx_markers);
		return;
	}
	// "CRCs MUST be generated and checked by both" if either has C
	if (mine.crc || peers.crc) {
		ASSERT_TRUE(out.crc);
	} else {
		ASSERT_FALSE(out.crc);
	}
	// "When '1' Markers MUST be added", "'0' MUST NOT"
	ASSERT_EQ(out.tx_markers, peers.markers);
	ASSERT_EQ(out.rx_markers, mine.markers);
}

} // namespace

TEST(mpa_negotiate, kwarp_mpa_request__every_policy)
{
	each_policy([](const kwarp_mpa_policy &p) {
		auto l = local(20, 300);
		l.pd_len = 7;
		kwarp_mpa_frame req;
		kwarp_mpa_request(&p, &l, &req);
		ASSERT_EQ(req.type, KWARP_MPA_REQ);
		ASSERT_EQ(req.rev, p.rev);
		ASSERT_EQ(req.pd_len, 7);
		ASSERT_FALSE(req.reject);
		// RFC 5044 figure 14: an RDMAC RNIC has both
		ASSERT_EQ(req.markers, p.rev == 0 || p.markers);
		ASSERT_EQ(req.crc, p.rev == 0 || p.crc);
		switch (p.rev) {
		case 0:
			ASSERT_FALSE(req.s);
			break;
		case 1: // 2007 proposal, 2
			ASSERT_EQ(req.s, p.p2p && p.rtr & KWARP_RTR_FRAME);
			break;
		case 2:
			ASSERT_TRUE(req.s);
			ASSERT_EQ(req.ird, 20);
			ASSERT_EQ(req.ord, 128); // the device's limit
			ASSERT_EQ(req.p2p, p.p2p);
			// RFC 6581 9.2: each supported kind with A, else none
			ASSERT_EQ(req.rtr, p.p2p ? supported(p) : 0);
			break;
		}
	});
}

TEST(mpa_negotiate, kwarp_mpa_request__depths_never_mean_no_negotiation)
{
	auto p = policy(2);
	p.max_ird = p.max_ord = 0xffff;
	auto l = local(0x3fff, 0xffff);
	kwarp_mpa_frame req;
	kwarp_mpa_request(&p, &l, &req);
	EXPECT_EQ(req.ird, 0x3ffe);
	EXPECT_EQ(req.ord, 0x3ffe);
}

TEST(mpa_negotiate, kwarp_mpa_request__revision_unknown_yet)
{
	auto p = policy(9);
	auto l = local(1, 1);
	kwarp_mpa_frame req;
	kwarp_mpa_request(&p, &l, &req);
	EXPECT_EQ(req.rev, 2);
}

TEST(mpa_negotiate, kwarp_mpa_admit__every_revision)
{
	each_policy([](const kwarp_mpa_policy &p) {
		for (u8 rev : {0, 1, 2})
			for (bool s : {false, true}) {
				auto req = frame(KWARP_MPA_REQ, rev, s);
				// RFC 6581 10: not supported, close. RFC 6581 6: with
				// 2 also 1. RFC 5044 C.2: revision 0 if permissive.
				bool ok = rev == 0 ? p.rev == 0 || p.permissive : rev <= p.rev;
				ASSERT_EQ(kwarp_mpa_admit(&p, &req), ok ? 0 : -KWARP_MPA_E_REV);
			}
	});
}

// RFC 6581 7: over SCTP either side may send first.
TEST(mpa_negotiate, kwarp_mpa_respond__no_wait_over_sctp)
{
	for (u8 rev : {1, 2}) {
		kwarp_mpa_policy p{};
		p.rev = rev;
		p.sctp = true;
		auto l = local(4, 4);
		kwarp_mpa_frame req, rep;
		kwarp_mpa_params out;
		kwarp_mpa_request(&p, &l, &req);
		kwarp_mpa_respond(&p, &req, &l, &rep, &out);
		EXPECT_EQ(out.wait, KWARP_MPA_WAIT_NONE) << int(rev);
		EXPECT_EQ(out.rtr, 0) << int(rev);
	}
}

// Unenhanced: all flags of the request under all policies.
TEST(mpa_negotiate, kwarp_mpa_respond__unenhanced)
{
	each_policy([](const kwarp_mpa_policy &p) {
		each_bool(3, [&](auto bit) {
			for (u8 rev : {0, 1, 2}) {
				auto req = frame(KWARP_MPA_REQ, rev, bit(2) && rev < 2);
				req.crc = bit(0) || rev == 0;
				req.markers = bit(1) || rev == 0;
				if (kwarp_mpa_admit(&p, &req))
					continue;
				auto l = local(5, 200);
				l.pd_len = 512;
				kwarp_mpa_frame rep;
				kwarp_mpa_params out;
				kwarp_mpa_respond(&p, &req, &l, &rep, &out);
				ASSERT_EQ(rep.type, KWARP_MPA_REP);
				ASSERT_EQ(rep.rev, rev);
				ASSERT_EQ(out.rev, rev);
				ASSERT_EQ(rep.pd_len, 512);
				ASSERT_FALSE(rep.reject);
				ASSERT_EQ(rep.markers, rev == 0 || p.markers);
				// the C bit of the reply is the result
				ASSERT_EQ(rep.crc, out.crc);
				ASSERT_EQ(out.crc, rev == 0 || p.crc || req.crc);
				check_framing(rep, req, out);
				// consumer's depths within the device's limits
				ASSERT_EQ(out.ird, 5);
				ASSERT_EQ(out.ord, 128);
				ASSERT_EQ(out.peer_ird, 0);
				ASSERT_EQ(out.peer_ord, 0);
				// 2007 proposal: S if asked and supported
				bool rtr = rev == 1 && req.s && p.rtr & KWARP_RTR_FRAME;
				ASSERT_EQ(rep.s, rtr);
				ASSERT_EQ(out.wait,
					  rtr ? KWARP_MPA_WAIT_RTR_FRAME : KWARP_MPA_WAIT_FPDU);
				ASSERT_EQ(out.rtr, rtr ? KWARP_RTR_FRAME : 0);
			}
		});
	});
}

// Enhanced: control flags A, B, C, D (RFC 6581 9.2), under all RTR policies.
static void responds_to_flags(u8 rtr, u8 asked, bool a, u16 limit, u16 my_ird, bool fixed)
{
	auto p = policy(2);
	p.rtr = rtr;
	p.max_ird = limit;
	p.p2p = coin(); // not the responder's choice
	auto req = frame(KWARP_MPA_REQ, 2, true);
	req.p2p = a;
	req.rtr = a ? asked : 0;
	req.ord = fixed ? none : 0;
	auto l = local(my_ird, 0);
	u16 own_ird = std::min(my_ird, limit);
	u8 can = supported(p, fixed ? own_ird : limit);
	kwarp_mpa_frame rep;
	kwarp_mpa_params out;
	kwarp_mpa_respond(&p, &req, &l, &rep, &out);
	// "MUST respond with an enhanced MPA message"
	ASSERT_TRUE(kwarp_mpa_enhanced(&rep));
	// "then the responder MUST set Control Flag A to 1"
	ASSERT_EQ(rep.p2p, a);
	ASSERT_EQ(out.rtr, rep.rtr);
	ASSERT_EQ(out.wait, KWARP_MPA_WAIT_FPDU);
	ASSERT_EQ(rep.ird, fixed ? none : out.ird);
	ASSERT_LE(out.ird, limit);
	// a zero-length Read needs an IRD of 1; otherwise IRD is unchanged
	if (rep.rtr & KWARP_RTR_READ) {
		ASSERT_EQ(out.ird, std::max<u16>(own_ird, 1));
	} else {
		ASSERT_EQ(out.ird, own_ird);
	}
	if (!a) {
		ASSERT_EQ(rep.rtr, 0);
		return;
	}
	// at least one kind, and only supported ones
	ASSERT_NE(rep.rtr, 0);
	ASSERT_EQ(rep.rtr & ~can, 0);
	// for each initiator-supported option it supports
	ASSERT_EQ(rep.rtr & asked, asked & can);
}

TEST(mpa_negotiate, kwarp_mpa_respond__control_flags)
{
	for (u8 rtr = 0; rtr < 16; rtr++)
		for (u8 asked = 0; asked < 8; asked++)
			for (bool a : {false, true})
				for (u16 limit : {0, 1, 128})
					for (u16 my_ird : {0, 2})
						for (bool fixed : {false, true})
							ASSERT_NO_FATAL_FAILURE(responds_to_flags(
								rtr, asked, a, limit, my_ird,
								fixed));
}

// IRD and ORD, RFC 6581 9.1
static void responds_to_depths(u16 req_ird, u16 req_ord, u16 my_ird, u16 my_ord, u16 limit)
{
	auto p = policy(2);
	p.max_ird = p.max_ord = limit;
	auto req = frame(KWARP_MPA_REQ, 2, true);
	req.ird = req_ird;
	req.ord = req_ord;
	auto l = local(my_ird, my_ord);
	kwarp_mpa_frame rep;
	kwarp_mpa_params out;
	kwarp_mpa_respond(&p, &req, &l, &rep, &out);
	// passed to the ULP unchanged
	ASSERT_EQ(out.peer_ird, req_ird);
	ASSERT_EQ(out.peer_ord, req_ord);
	u16 cap = std::min<u16>(limit, 0x3ffe);
	u16 own_ird = std::min(my_ird, cap);
	u16 own_ord = std::min(my_ord, cap);
	ASSERT_LE(out.ird, cap);
	ASSERT_LE(out.ord, own_ord);
	if (req_ord == none) {
		// local IRD unchanged, 0x3FFF in the reply
		ASSERT_EQ(out.ird, own_ird);
		ASSERT_EQ(rep.ird, none);
	} else {
		ASSERT_EQ(rep.ird, out.ird);
		ASSERT_GE(out.ird, own_ird);
		// the IRD reaches the initiator's ORD unless limited
		ASSERT_TRUE(out.ird >= req_ord || out.ird == cap);
		// and is not raised without need
		ASSERT_TRUE(out.ird == own_ird || out.ird <= req_ord);
	}
	if (req_ird == none) {
		ASSERT_EQ(out.ord, own_ord);
		ASSERT_EQ(rep.ord, none);
	} else {
		// "MUST set its ORD at most to the initiator IRD"
		ASSERT_LE(out.ord, req_ird);
		ASSERT_TRUE(out.ord == own_ord || out.ord == req_ird);
		ASSERT_EQ(rep.ord, out.ord);
	}
}

TEST(mpa_negotiate, kwarp_mpa_respond__depths)
{
	for (u16 req_ird : depths)
		for (u16 req_ord : depths)
			for (u16 my_ird : depths)
				for (u16 my_ord : depths)
					for (u16 limit : {1, 64, 128, 0xffff})
						ASSERT_NO_FATAL_FAILURE(responds_to_depths(
							req_ird, req_ord, my_ird, my_ord, limit));
}

TEST(mpa_negotiate, kwarp_mpa_reject__every_request)
{
	each_policy([](const kwarp_mpa_policy &p) {
		each_bool(4, [&](auto bit) {
			for (u8 rev : {0, 1, 2}) {
				auto req = frame(KWARP_MPA_REQ, rev, bit(0));
				req.crc = bit(1);
				req.markers = bit(2);
				req.p2p = rev == 2 && bit(0) && bit(3);
				req.rtr = req.p2p ? KWARP_RTR_WRITE : 0;
				if (kwarp_mpa_admit(&p, &req))
					continue;
				kwarp_mpa_frame rep;
				kwarp_mpa_reject(&p, &req, 9, &rep);
				ASSERT_EQ(rep.type, KWARP_MPA_REP);
				ASSERT_TRUE(rep.reject);
				ASSERT_EQ(rep.rev, rev);
				ASSERT_EQ(rep.pd_len, 9);
				ASSERT_EQ(kwarp_mpa_enhanced(&rep), rev == 2 && bit(0));
				ASSERT_EQ(rep.p2p, req.p2p);
				auto got = wire(rep);
				ASSERT_TRUE(got.reject);
				ASSERT_EQ(got.ird, kwarp_mpa_enhanced(&rep) ? none : 0u);
			}
		});
	});
}

// RFC 5044 C, RFC 6581 10: which revisions are compatible.
TEST(mpa_negotiate, kwarp_mpa_complete__revisions)
{
	struct Row {
		u8 asked, answered;
		bool s;
		int plain, permissive; // result under either policy
	} rows[] = {
		{0, 0, false, 0, 0},
		{0, 1, false, -KWARP_MPA_E_REV, -KWARP_MPA_E_REV},
		{0, 2, false, -KWARP_MPA_E_REV, -KWARP_MPA_E_REV},
		{1, 0, false, -KWARP_MPA_E_REV, 0},
		{1, 1, false, 0, 0},
		{1, 1, true, 0, 0}, // S has no meaning if not requested
		{1, 2, false, 0, 0},
		{1, 2, true, -KWARP_MPA_E_ENHANCED, -KWARP_MPA_E_ENHANCED},
		{2, 0, false, -KWARP_MPA_E_REV, -KWARP_MPA_E_FALLBACK},
		{2, 1, false, -KWARP_MPA_E_FALLBACK, -KWARP_MPA_E_FALLBACK},
		{2, 1, true, -KWARP_MPA_E_FALLBACK, -KWARP_MPA_E_FALLBACK},
		{2, 2, false, -KWARP_MPA_E_ENHANCED, -KWARP_MPA_E_ENHANCED},
		{2, 2, true, 0, 0},
	};
	for (const Row &row : rows)
		for (bool permissive : {false, true}) {
			auto p = policy(row.asked);
			p.permissive = permissive;
			auto l = local(1, 1);
			kwarp_mpa_frame req;
			kwarp_mpa_request(&p, &l, &req);
			auto rep = frame(KWARP_MPA_REP, row.answered, row.s);
			kwarp_mpa_params out;
			int got = kwarp_mpa_complete(&p, &l, &req, &rep, &out);
			ASSERT_EQ(got, permissive ? row.permissive : row.plain)
				<< +row.asked << ' ' << +row.answered << ' ' << row.s;
			if (!got) {
				ASSERT_EQ(out.rev, std::min(row.asked, row.answered));
				check_framing(req, rep, out);
				ASSERT_EQ(out.wait, KWARP_MPA_WAIT_NONE);
			}
		}
}

// A request of revision 2 that is not enhanced: kwarp sends none, but it is legal.
TEST(mpa_negotiate, kwarp_mpa_complete__unenhanced_rev2)
{
	auto p = policy(2);
	auto l = local(3, 4);
	auto req = frame(KWARP_MPA_REQ, 2);
	auto rep = frame(KWARP_MPA_REP, 2);
	kwarp_mpa_params out;
	EXPECT_EQ(kwarp_mpa_complete(&p, &l, &req, &rep, &out), 0);
	EXPECT_EQ(out.ird, 3);
	EXPECT_EQ(out.ord, 4);
	rep.s = true;
	EXPECT_EQ(kwarp_mpa_complete(&p, &l, &req, &rep, &out), -KWARP_MPA_E_ENHANCED);
}

TEST(mpa_negotiate, kwarp_mpa_complete__framing)
{
	each_policy([](const kwarp_mpa_policy &p) {
		each_bool(2, [&](auto bit) {
			auto l = local(1, 1);
			kwarp_mpa_frame req;
			kwarp_mpa_request(&p, &l, &req);
			auto rep = frame(KWARP_MPA_REP, p.rev, p.rev == 2);
			rep.crc = bit(0);
			rep.markers = bit(1);
			rep.p2p = req.p2p;
			rep.rtr = req.rtr;
			rep.ird = 1;
			kwarp_mpa_params out;
			ASSERT_EQ(kwarp_mpa_complete(&p, &l, &req, &rep, &out), 0);
			check_framing(req, rep, out);
		});
	});
}

TEST(mpa_negotiate, kwarp_mpa_complete__rejected)
{
	for (u8 rev : {0, 1, 2})
		for (bool s : {false, true}) {
			auto p = policy(rev);
			auto l = local(1, 1);
			kwarp_mpa_frame req;
			kwarp_mpa_request(&p, &l, &req);
			auto rep = frame(KWARP_MPA_REP, rev, s);
			rep.reject = true;
			rep.ird = 7;
			rep.ord = 500;
			kwarp_mpa_params out;
			EXPECT_EQ(kwarp_mpa_complete(&p, &l, &req, &rep, &out),
				  -KWARP_MPA_E_REJECTED);
			// RFC 6581 9.1: passed to the ULP for rejects, too
			EXPECT_EQ(out.peer_ird, rev == 2 && s ? 7 : 0);
			EXPECT_EQ(out.peer_ord, rev == 2 && s ? 500 : 0);
		}
}

// RFC 6581 7: over SCTP a Reject is the answer of a consumer, in either form.
TEST(mpa_negotiate, kwarp_mpa_complete__rejected_in_the_other_form_over_sctp)
{
	for (u8 rev : {1, 2}) {
		auto p = policy(rev);
		p.sctp = true;
		auto l = local(1, 1);
		kwarp_mpa_frame req;
		kwarp_mpa_request(&p, &l, &req);
		auto rep = frame(KWARP_MPA_REP, 3 - rev, rev == 1);
		kwarp_mpa_params out;
		EXPECT_EQ(kwarp_mpa_complete(&p, &l, &req, &rep, &out),
			  rev == 1 ? -KWARP_MPA_E_ENHANCED : -KWARP_MPA_E_FALLBACK);
		rep.reject = true;
		EXPECT_EQ(kwarp_mpa_complete(&p, &l, &req, &rep, &out), -KWARP_MPA_E_REJECTED);
	}
}

// 2007 proposal, 2 and 5
TEST(mpa_negotiate, kwarp_mpa_complete__rtr_frame)
{
	for (u8 rtr : {0, 7, 8, 15})
		for (bool p2p : {false, true})
			for (bool s : {false, true}) {
				auto p = policy(1);
				p.p2p = p2p;
				p.rtr = rtr;
				auto l = local(1, 1);
				kwarp_mpa_frame req;
				kwarp_mpa_request(&p, &l, &req);
				auto rep = frame(KWARP_MPA_REP, 1, s);
				kwarp_mpa_params out;
				ASSERT_EQ(kwarp_mpa_complete(&p, &l, &req, &rep, &out), 0);
				bool frame_due = p2p && rtr & 8 && s;
				EXPECT_EQ(out.rtr, frame_due ? KWARP_RTR_FRAME : 0);
			}
}

// An RDMAC responder answers a request with S: no Rtr frame follows.
TEST(mpa_negotiate, kwarp_mpa_complete__rtr_frame_not_for_rdmac)
{
	auto p = policy(1);
	p.permissive = p.p2p = true;
	p.rtr = KWARP_RTR_FRAME;
	auto l = local(1, 1);
	kwarp_mpa_frame req;
	kwarp_mpa_request(&p, &l, &req);
	ASSERT_TRUE(req.s);
	auto rep = frame(KWARP_MPA_REP, 0, true);
	kwarp_mpa_params out;
	EXPECT_EQ(kwarp_mpa_complete(&p, &l, &req, &rep, &out), 0);
	EXPECT_EQ(out.rtr, 0);
	EXPECT_EQ(out.ddp_version, 0);
}

// RFC 6581 9.2, initiator, for every possible reply.
static void completes_with_flags(u8 rtr, bool p2p, u8 said, bool a, u16 ird, u16 my_ord, u16 limit)
{
	auto p = policy(2);
	p.rtr = rtr;
	p.p2p = p2p;
	p.max_ord = limit;
	auto l = local(4, my_ord);
	u16 own_ord = std::min(my_ord, limit);
	kwarp_mpa_frame req;
	kwarp_mpa_request(&p, &l, &req);
	auto rep = frame(KWARP_MPA_REP, 2, true);
	rep.p2p = a;
	rep.rtr = a ? said : 0;
	rep.ird = ird;
	kwarp_mpa_params out;
	int got = kwarp_mpa_complete(&p, &l, &req, &rep, &out);
	u8 common = supported(p, limit) & rep.rtr;
	ASSERT_EQ(req.rtr, p2p ? supported(p, limit) : 0);
	// 9.1: "MUST leave its local endpoint ORD value unchanged" at 0x3FFF
	if (ird == 0 || (ird == none && own_ord == 0))
		common &= ~KWARP_RTR_READ;

	if (!a) {
		// the responder did not match A
		ASSERT_EQ(got, p2p ? -KWARP_MPA_E_RTR : 0);
		ASSERT_EQ(out.rtr, 0);
		return;
	}
	// "MUST generate one of the negotiated RTR indications", or
	// a Terminate with code 7
	ASSERT_EQ(got, common ? 0 : -KWARP_MPA_E_RTR);
	if (got)
		return;
	ASSERT_EQ(out.rtr & ~common, 0);
	ASSERT_EQ(out.rtr & (out.rtr - 1), 0); // just one
	ASSERT_NE(out.rtr, 0);
	if (out.rtr == KWARP_RTR_READ && ird != none) {
		ASSERT_EQ(out.ord, std::max<u16>(1, std::min(own_ord, ird)));
	} else {
		ASSERT_EQ(out.ord, ird == none ? own_ord : std::min(own_ord, ird));
	}
}

TEST(mpa_negotiate, kwarp_mpa_complete__control_flags)
{
	for (u8 rtr = 0; rtr < 16; rtr++)
		for (bool p2p : {false, true})
			for (u8 said = 0; said < 8; said++)
				for (bool a : {false, true})
					for (u16 ird : {0, 1, 50, 0x3fff})
						for (u16 my_ord : {0, 1, 9})
							for (u16 limit : {0, 128})
								ASSERT_NO_FATAL_FAILURE(
									completes_with_flags(
										rtr, p2p, said, a,
										ird, my_ord,
										limit));
}

// RFC 6581 9.1, initiator
static void completes_with_depths(u16 rep_ird, u16 rep_ord, u16 my_ird, u16 my_ord, u16 limit)
{
	auto p = policy(2);
	p.max_ird = p.max_ord = limit;
	auto l = local(my_ird, my_ord);
	kwarp_mpa_frame req;
	kwarp_mpa_request(&p, &l, &req);
	auto rep = frame(KWARP_MPA_REP, 2, true);
	rep.ird = rep_ird;
	rep.ord = rep_ord;
	kwarp_mpa_params out;
	int got = kwarp_mpa_complete(&p, &l, &req, &rep, &out);
	u16 cap = std::min<u16>(limit, 0x3ffe);
	u16 own_ird = std::min(my_ird, cap);
	u16 own_ord = std::min(my_ord, cap);

	ASSERT_EQ(out.peer_ird, rep_ird);
	ASSERT_EQ(out.peer_ord, rep_ord);
	if (rep_ird == none) {
		ASSERT_EQ(out.ord, own_ord);
	} else {
		// "its ORD at most to the responder IRD"
		ASSERT_EQ(out.ord, std::min(own_ord, rep_ird));
	}
	if (rep_ord == none) {
		ASSERT_EQ(got, 0);
		ASSERT_EQ(out.ird, own_ird);
	} else if (rep_ord > cap) {
		// "MUST send a TERM ... Error Code 6"
		ASSERT_EQ(got, -KWARP_MPA_E_IRD);
	} else {
		// "its IRD at least to the responder ORD"
		ASSERT_EQ(got, 0);
		ASSERT_EQ(out.ird, std::max(own_ird, rep_ord));
	}
}

TEST(mpa_negotiate, kwarp_mpa_complete__depths)
{
	for (u16 rep_ird : depths)
		for (u16 rep_ord : depths)
			for (u16 my_ird : depths)
				for (u16 my_ord : depths)
					for (u16 limit : {1, 64, 128, 0xffff})
						ASSERT_NO_FATAL_FAILURE(completes_with_depths(
							rep_ird, rep_ord, my_ird, my_ord, limit));
}

// Both ends are kwarp: for all pairs of policies they must agree.
TEST(mpa_negotiate, both_ends__agree)
{
	std::vector<kwarp_mpa_policy> all;
	each_policy([&](const kwarp_mpa_policy &p) {
		if (p.rtr == 1 || p.rtr == 2 || p.rtr == 4 || p.rtr == 15)
			all.push_back(p);
	});
	u32 agreed = 0, refused = 0;
	for (auto mine : all)
		for (auto theirs : all) {
			auto a = local(pick(0, 3) * 50, pick(0, 3) * 50);
			auto b = local(pick(0, 3) * 50, pick(0, 3) * 50);
			kwarp_mpa_frame req, rep;
			kwarp_mpa_params i, r;

			kwarp_mpa_request(&mine, &a, &req);
			auto req_in = wire(req);
			if (kwarp_mpa_admit(&theirs, &req_in)) {
				ASSERT_TRUE(mine.rev > theirs.rev || mine.rev == 0);
				refused++;
				continue;
			}
			kwarp_mpa_respond(&theirs, &req_in, &b, &rep, &r);
			auto rep_in = wire(rep);
			int err = kwarp_mpa_complete(&mine, &a, &req, &rep_in, &i);
			ASSERT_EQ(i.rev, r.rev);
			ASSERT_EQ(i.ddp_version, r.ddp_version);
			ASSERT_EQ(i.crc, r.crc);
			ASSERT_EQ(i.tx_markers, r.rx_markers);
			ASSERT_EQ(i.rx_markers, r.tx_markers);
			ASSERT_EQ(i.wait, KWARP_MPA_WAIT_NONE);
			ASSERT_NE(r.wait, KWARP_MPA_WAIT_NONE);
			if (err) {
				ASSERT_EQ(err, -KWARP_MPA_E_RTR);
				ASSERT_EQ(supported(mine) & supported(theirs), 0);
				refused++;
				continue;
			}
			agreed++;
			if (i.rev == 2) {
				ASSERT_LE(i.ord, r.ird);
				ASSERT_LE(r.ord, i.ird);
			}
			if (i.rtr) {
				ASSERT_EQ(i.rtr & ~r.rtr, 0);
			} else {
				ASSERT_EQ(r.rtr, 0);
			}
		}
	EXPECT_GT(agreed, 5000u);
	EXPECT_GT(refused, 5000u);
}

// An initiator of revision 2 and a responder of revision 1: the request is rejected, or the
// connection closed; then revision 1 is used.
TEST(mpa_negotiate, both_ends__fallback)
{
	auto mine = policy(2), theirs = policy(1);
	auto l = local(4, 4);
	kwarp_mpa_frame req, rep;
	kwarp_mpa_params i, r;
	kwarp_mpa_request(&mine, &l, &req);
	EXPECT_EQ(kwarp_mpa_admit(&theirs, &req), -KWARP_MPA_E_REV);
	mine.rev = 1;
	kwarp_mpa_request(&mine, &l, &req);
	ASSERT_EQ(kwarp_mpa_admit(&theirs, &req), 0);
	kwarp_mpa_respond(&theirs, &req, &l, &rep, &r);
	EXPECT_EQ(kwarp_mpa_complete(&mine, &l, &req, &rep, &i), 0);
	EXPECT_EQ(i.rev, 1);
}

// A local policy that is stricter than RFC 5044 7.1.1, by which the peer must follow the C bit of
// the request.
TEST(mpa_negotiate, kwarp_mpa_complete__crc_required)
{
	for (u8 rev : {0, 1, 2})
		for (bool need : {false, true})
			for (bool crc : {false, true})
				for (bool reject : {false, true}) {
					auto p = policy(rev);
					if (need)
						p.crc = KWARP_CRC_REQUIRED;
					auto l = local(1, 1);
					kwarp_mpa_frame req;
					kwarp_mpa_request(&p, &l, &req);
					ASSERT_TRUE(req.crc);
					auto rep = frame(KWARP_MPA_REP, rev, rev == 2);
					rep.crc = crc;
					rep.reject = reject;
					kwarp_mpa_params out;
					int want = reject	? -KWARP_MPA_E_REJECTED :
						   need && !crc ? -KWARP_MPA_E_CRC :
								  0;
					EXPECT_EQ(kwarp_mpa_complete(&p, &l, &req, &rep, &out),
						  want);
					// a Terminate is sent as both frames agreed
					EXPECT_TRUE(out.crc);
					EXPECT_EQ(out.rev, rev);
				}
}

TEST(mpa_negotiate, kwarp_mpa_rtr_frame__c_as_in_reply)
{
	for (bool crc : {false, true}) {
		kwarp_mpa_frame req{}, rep{}, f;
		req.crc = true;
		req.markers = true;
		rep.crc = crc;
		kwarp_mpa_rtr_frame(&req, &rep, &f);
		EXPECT_EQ(f.type, KWARP_MPA_RTR_FRAME);
		EXPECT_EQ(f.rev, 1);
		EXPECT_EQ(f.crc, crc);
		EXPECT_TRUE(f.markers);
		EXPECT_FALSE(f.s || f.reject);
		EXPECT_EQ(f.pd_len, 0);
		wire(f);
	}
}

TEST(mpa_negotiate, kwarp_mpa_err_code__every_error)
{
	for (int err = KWARP_MPA_E_KEY; err <= KWARP_MPA_E_CRC; err++)
		for (int sign : {-1, 1}) {
			auto want = err == KWARP_MPA_E_IRD ? KWARP_ERR_MPA_IRD :
				    err == KWARP_MPA_E_RTR ? KWARP_ERR_MPA_RTR :
				    err == KWARP_MPA_E_CRC ? KWARP_ERR_MPA_LOCAL :
							     KWARP_ERR_MPA_STARTUP;
			EXPECT_EQ(kwarp_mpa_err_code(sign * err), want);
		}
}
