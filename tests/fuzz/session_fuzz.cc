// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Session control of DDP over SCTP: any bytes as a message of each type, and encoding followed by
// decoding; DDP-SSNs in any order against a model of the window.
#include "fuzz.h"

extern "C" {
#include "sctp_session.h"
}

namespace {

// The documented order of checks, derived from RFC 5043 5.2.3 and RFC 6581 7.
int expected(const Bytes &o, u8 type)
{
	const u32 code = o.size() < 2 ? 0 : static_cast<u32>(o[0] << 8 | o[1]);
	if (code < 1 || code > 7 || code == 4)
		return -KWARP_MPA_E_KEY;
	if ((code == 1 || code == 5) != (type == KWARP_MPA_REQ))
		return -KWARP_MPA_E_ROLE;
	if (o.size() > 2 + 512)
		return -KWARP_MPA_E_PD_LEN;
	return (code == 5 || code == 6) && o.size() < 6 ? -KWARP_MPA_E_ENHANCED : 0;
}

void decode_any(const Bytes &o, kwarp_mpa_type type)
{
	Exact exact(o), head(KWARP_SCTP_HEAD_MAX);
	kwarp_mpa_frame f, again;

	require(kwarp_session_is_terminate(exact.data(), exact.size()) ==
		(o.size() == 2 && o[0] == 0 && o[1] == 4));
	const int ret = kwarp_session_decode(exact.data(), exact.size(), type, &f);
	require(ret == expected(o, static_cast<u8>(type)));
	if (ret)
		return;
	require(f.type == type && u32{f.pd_off} + f.pd_len == o.size());
	require(kwarp_mpa_enhanced(&f) == (o[1] >= 5) && f.reject == (o[1] == 3 || o[1] == 7));

	// An Enhanced Reject may have no IRD and ORD, but is never encoded so.
	if (o[1] == 7 && o.size() < 6) {
		require(f.pd_off == 2 && !f.ird && !f.ord);
		return;
	}
	// Encoding keeps all fields, and clears unused bits.
	const int n = kwarp_session_encode(&f, head.data());
	require(n == f.pd_off && head.data()[1] == o[1]);
	Exact back(head.first(static_cast<size_t>(n)) + slice(o, f.pd_off, f.pd_len));
	require(kwarp_session_decode(back.data(), back.size(), type, &again) == 0);
	require(again.ird == f.ird && again.ord == f.ord && again.p2p == f.p2p &&
		again.rtr == f.rtr && again.pd_len == f.pd_len);
}

void encode_any(Input &in)
{
	kwarp_mpa_frame f{}, back;
	const u8 bits = in.byte();

	f.type = bits & 1 ? KWARP_MPA_REP : KWARP_MPA_REQ;
	f.reject = (bits & 3) == 3;
	f.rev = bits & 4 ? KWARP_MPA_REV_2 : KWARP_MPA_REV_1;
	f.s = bits & 4;
	f.pd_len = static_cast<u16>(500 + in.below(20));
	f.ird = in.half() & 0x3fff;
	f.ord = in.half() & 0x3fff;
	Exact head(f.s ? KWARP_SCTP_HEAD_MAX : KWARP_SCTP_CODE_LEN);
	const int n = kwarp_session_encode(&f, head.data());
	if (f.pd_len > kwarp_mpa_pd_room(&f)) {
		require(n == -KWARP_MPA_E_PD_LEN);
		return;
	}
	require(n == static_cast<int>(head.size()));
	Exact all(head.first(head.size()) + filling(f.pd_len, bits));
	require(kwarp_session_decode(all.data(), all.size(), static_cast<kwarp_mpa_type>(f.type),
				     &back) == 0);
	require(back.reject == f.reject && back.pd_len == f.pd_len &&
		kwarp_mpa_enhanced(&back) == kwarp_mpa_enhanced(&f));
	require(!f.s || (back.ird == f.ird && back.ord == f.ord));
}

// Compares the window with a model that counts steps instead of calculating.
void window(Input &in)
{
	const u16 next = in.half(),
		  ssn = in.flag() ? static_cast<u16>(next + in.below(5000)) : in.half();
	u32 steps = 0;
	for (u16 at = next; at != ssn && steps < KWARP_SCTP_WINDOW; at++)
		steps++;
	require(kwarp_session_ahead(ssn, next) == steps);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);

	switch (in.byte() % 4) {
	case 0:
		encode_any(in);
		break;
	case 1:
		window(in);
		break;
	case 2:
		decode_any(in.rest(), KWARP_MPA_REQ);
		break;
	default:
		decode_any(in.rest(), KWARP_MPA_REP);
	}
	return 0;
}
