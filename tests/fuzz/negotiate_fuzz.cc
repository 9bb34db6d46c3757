// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two sides negotiate by frames that are encoded as bytes: their results must be consistent. Then
// one frame is replaced by any other: the result of a side must stay within its own limits.
#include <bit>

#include "fuzz.h"

namespace {

constexpr u16 depth_max = KWARP_MPA_DEPTH_MAX;

struct Side {
	kwarp_mpa_policy pol{};
	kwarp_mpa_local local{};

	explicit Side(Input &in)
	{
		u8 bits = in.byte(), rest = in.byte();
		pol.rev = static_cast<u8>(bits % 3);
		pol.permissive = bits & 4;
		pol.crc = bits & 8 ? KWARP_CRC_PREFERRED : KWARP_CRC_OFF;
		pol.markers = bits & 16;
		pol.p2p = bits & 32;
		pol.rtr = rest & 15;
		pol.max_ird = depth(in, rest & 16);
		pol.max_ord = depth(in, rest & 32);
		local.ird = depth(in, rest & 64);
		local.ord = depth(in, rest & 128);
		local.pd_len = static_cast<u16>(in.byte());
		if (pol.crc && local.pd_len & 1)
			pol.crc = KWARP_CRC_REQUIRED;
	}

	u16 ird_limit() const { return std::min(pol.max_ird, depth_max); }
	u16 ord_limit() const { return std::min(pol.max_ord, depth_max); }

private:
	static u16 depth(Input &in, bool small) { return small ? in.byte() % 4 : in.half(); }
};

// The frame encoded and decoded, as the peer receives it.
kwarp_mpa_frame wire(const kwarp_mpa_frame &f)
{
	Exact head(KWARP_MPA_FRAME_LEN + KWARP_MPA_ENH_LEN);
	int n = kwarp_mpa_encode(&f, head.data());
	kwarp_mpa_frame got;

	require(n > 0);
	Bytes o = head.first(static_cast<size_t>(n)) + Bytes(f.pd_len);
	require(kwarp_mpa_decode(o.data(), static_cast<u32>(o.size()),
				 static_cast<kwarp_mpa_type>(f.type),
				 &got) == static_cast<int>(o.size()));
	require(got.ird == f.ird && got.ord == f.ord && got.rtr == f.rtr && got.p2p == f.p2p &&
		got.s == f.s && got.reject == f.reject && got.rev == f.rev &&
		got.pd_len == f.pd_len);
	return got;
}

// Any frame that a decoder accepts.
kwarp_mpa_frame any_frame(Input &in, kwarp_mpa_type type)
{
	kwarp_mpa_frame f{};
	u8 bits = in.byte();

	f.type = type;
	f.rev = bits % 3;
	f.markers = bits & 4;
	f.crc = bits & 8;
	f.reject = type == KWARP_MPA_REP && bits & 16;
	f.s = bits & 32;
	f.pd_off = KWARP_MPA_FRAME_LEN;
	if (kwarp_mpa_enhanced(&f)) {
		f.p2p = bits & 64;
		f.rtr = f.p2p ? in.byte() & KWARP_RTR_ALL : 0;
		f.ird = in.half() & 0x3fff;
		f.ord = in.half() & 0x3fff;
		f.pd_off += KWARP_MPA_ENH_LEN;
	}
	return f;
}

void check_common(const Side &s, const kwarp_mpa_params &out)
{
	bool rdmac = out.rev == KWARP_MPA_REV_RDMAC;

	require(out.rev <= KWARP_MPA_REV_MAX);
	require(out.ddp_version == (rdmac ? 0 : 1));
	// RFC 5044 appendix C
	require(!rdmac || (out.crc && out.tx_markers && out.rx_markers));
	// A side that requests CRCs gets them (RFC 5044 7.1.1).
	require(out.crc || !s.pol.crc);
	require(rdmac || out.rx_markers == s.pol.markers);
	require(out.ird <= depth_max && out.ord <= depth_max);
	// One more than the limit is allowed only for an RTR message that is a Read.
	require(out.ird <= std::max<u16>(s.ird_limit(), out.rtr & KWARP_RTR_READ ? 1 : 0));
	require(out.ord <= std::max<u16>(s.ord_limit(), out.rtr & KWARP_RTR_READ ? 1 : 0));
	require(out.peer_ird <= 0x3fff && out.peer_ord <= 0x3fff);
}

void check_initiator(const Side &s, int ret, const kwarp_mpa_params &out)
{
	switch (-ret) {
	case 0:
	case KWARP_MPA_E_REJECTED:
	case KWARP_MPA_E_IRD:
	case KWARP_MPA_E_RTR:
	case KWARP_MPA_E_CRC:
		break;
	case KWARP_MPA_E_REV:
	case KWARP_MPA_E_FALLBACK:
	case KWARP_MPA_E_ENHANCED:
		return;
	default:
		require(!"a documented error");
	}
	check_common(s, out);
	require(out.wait == KWARP_MPA_WAIT_NONE);
	if (ret)
		return;
	require(std::popcount(out.rtr) <= 1);
	require(!out.rtr || s.pol.p2p || !(out.rtr & KWARP_RTR_FRAME));
	require(!(out.rtr & KWARP_RTR_FRAME) || out.rev == KWARP_MPA_REV_1);
	require(!(out.rtr & KWARP_RTR_ALL) || out.rev == KWARP_MPA_REV_2);
	require(!(out.rtr & KWARP_RTR_READ) || out.ord);
}

void check_responder(const Side &s, const kwarp_mpa_frame &req, const kwarp_mpa_frame &rep,
		     const kwarp_mpa_params &out)
{
	check_common(s, out);
	require(rep.rev == req.rev && out.rev == req.rev);
	require(out.tx_markers == (req.markers || !req.rev));
	require(out.crc == (s.pol.crc || req.crc || !req.rev));
	// RFC 6581 10: the reply is enhanced if and only if the request is
	require(kwarp_mpa_enhanced(&rep) == kwarp_mpa_enhanced(&req));
	if (!kwarp_mpa_enhanced(&rep))
		return;
	// RFC 6581 9.1: 0x3FFF is answered with 0x3FFF; 9.2: A is matched, and one kind named
	require(req.ord != KWARP_MPA_NO_NEGOTIATION || rep.ird == KWARP_MPA_NO_NEGOTIATION);
	require(req.ird != KWARP_MPA_NO_NEGOTIATION || rep.ord == KWARP_MPA_NO_NEGOTIATION ||
		rep.reject);
	require(rep.p2p == req.p2p && !rep.p2p == !rep.rtr);
	require(!(rep.rtr & KWARP_RTR_READ) || rep.ird);
}

// If no frame was replaced, both sides agree.
void check_pair(const kwarp_mpa_frame &req, const kwarp_mpa_frame &rep, const kwarp_mpa_params &a,
		const kwarp_mpa_params &b)
{
	require(a.rev == b.rev && a.ddp_version == b.ddp_version && a.crc == b.crc);
	require(a.tx_markers == b.rx_markers && a.rx_markers == b.tx_markers);
	require((b.wait == KWARP_MPA_WAIT_RTR_FRAME) == !!(a.rtr & KWARP_RTR_FRAME));
	require(!(a.rtr & ~b.rtr) && !a.rtr == !b.rtr);
	if (!kwarp_mpa_enhanced(&rep))
		return;
	require(a.peer_ird == rep.ird && a.peer_ord == rep.ord && b.peer_ird == req.ird &&
		b.peer_ord == req.ord);
	// A side has no more outstanding Reads than the other side allows.
	if (rep.ird != KWARP_MPA_NO_NEGOTIATION)
		require(a.ord <= b.ird);
	if (rep.ord != KWARP_MPA_NO_NEGOTIATION)
		require(b.ord <= a.ird);
}

// Whether policies, IRD and ORD allow an RTR message.
bool rtr_possible(const Side &a, const Side &b)
{
	u8 mine = a.pol.rtr & KWARP_RTR_ALL, theirs = b.pol.rtr & KWARP_RTR_ALL;

	return (mine ? mine : KWARP_RTR_ALL) & (theirs ? theirs : KWARP_RTR_ALL) &
	       (KWARP_RTR_WRITE | KWARP_RTR_SEND);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);
	u8 fault = in.byte() % 4;
	Side a(in), b(in);
	kwarp_mpa_frame req, rep, seen;
	kwarp_mpa_params ours{}, theirs{};

	kwarp_mpa_request(&a.pol, &a.local, &req);
	require(req.rev == a.pol.rev && (req.markers == a.pol.markers || !req.rev) &&
		(req.crc == (a.pol.crc != KWARP_CRC_OFF) || !req.rev));
	seen = fault == 1 ? any_frame(in, KWARP_MPA_REQ) : wire(req);

	int admitted = kwarp_mpa_admit(&b.pol, &seen);
	require(!admitted || admitted == -KWARP_MPA_E_REV);
	require(admitted || seen.rev <= b.pol.rev);
	require(!admitted || seen.rev > b.pol.rev || !seen.rev);
	if (admitted && fault != 2)
		return 0;
	if (!admitted && fault == 3) {
		kwarp_mpa_reject(&b.pol, &seen, b.local.pd_len, &rep);
		require(rep.reject && rep.rev == seen.rev);
	} else if (!admitted) {
		kwarp_mpa_respond(&b.pol, &seen, &b.local, &rep, &theirs);
		require(!rep.reject);
		check_responder(b, seen, rep, theirs);
	}
	if (fault == 1)
		return 0;
	seen = fault == 2 ? any_frame(in, KWARP_MPA_REP) : wire(rep);

	int verdict = kwarp_mpa_complete(&a.pol, &a.local, &req, &seen, &ours);
	check_initiator(a, verdict, ours);
	if (fault == 2)
		return 0;
	if (rep.reject) {
		require(verdict == -KWARP_MPA_E_REJECTED);
		return 0;
	}
	require(!verdict || verdict == -KWARP_MPA_E_RTR);
	if (verdict) {
		require(req.p2p && !rtr_possible(a, b));
		return 0;
	}
	check_pair(req, rep, ours, theirs);
	return 0;
}
