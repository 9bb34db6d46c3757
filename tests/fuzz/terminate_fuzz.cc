// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Terminate Message: any bytes are read within their bounds; a message that is encoded for any
// segment decodes to the same message and passes the checks of a receiver.
#include "fuzz.h"

namespace {

// RFC 5040 4.8: the header control bits tell which fields follow, if there is room for them.
void parse_any(const Bytes &o)
{
	Exact raw(o);
	kwarp_term_msg msg;
	enum kwarp_err err = kwarp_term_parse(raw.data(), raw.size(), &msg);

	require(!err == (o.size() >= 4));
	require(!err || err == KWARP_ERR_SEGMENT);
	require(!err || (!msg.has_seg_len && !msg.has_ddp && !msg.has_rdmap));
	if (err)
		return;
	bool m = o[2] & 0x80, d = o[2] & 0x40, r = o[2] & 0x20;
	require(msg.err.layer == o[0] >> 4 && msg.err.etype == (o[0] & 15) && msg.err.code == o[1]);
	require(msg.has_seg_len == (m && o.size() >= 6));
	require(!msg.has_seg_len || msg.seg_len == (o[4] << 8 | o[5]));
	size_t header = o.size() > 6 && o[6] & 0x80 ? 14 : 18;
	require(msg.has_ddp == (d && o.size() >= 6 + header));
	require(msg.has_rdmap == (msg.has_ddp && r && o.size() >= 6 + header + 28));
	if (msg.has_ddp)
		require(msg.ddp.len == header && msg.ddp.opcode == (o[7] & 15));
	if (msg.has_rdmap)
		require(msg.read.src_to == get_unaligned_be64(&o[6 + header + 20]));
}

void encode_any(Input &in)
{
	u8 version = in.byte() & 1;
	enum kwarp_err what = static_cast<enum kwarp_err>(in.below(KWARP_ERR_MAX));
	const kwarp_term_err *e = kwarp_err_term(what);
	bool none = in.byte() % 8 == 0;
	u32 longer = in.flag() ? in.half() : 0;
	Bytes o = in.rest();
	u32 ulpdu_len = std::min<u32>(static_cast<u32>(o.size()) + longer, KWARP_ULPDU_MAX);
	Exact seg(o.data(), std::min<size_t>(o.size(), 64)), dst(KWARP_TERM_MAX);
	kwarp_ddp_hdr h, own;
	kwarp_term_msg msg;

	u32 n = kwarp_term_encode(dst.data(), version, e, none ? nullptr : seg.data(), seg.size(),
				  ulpdu_len);
	require(n <= KWARP_TERM_MAX);
	Exact wire(dst.data(), n);
	require(!kwarp_ddp_parse(wire.data(), n, &own) && own.msn == 1 && own.mo == 0 && own.last);
	require(!kwarp_rdmap_check(&own, n, version, false) && own.opcode == RDMAP_TERMINATE);

	Exact payload(wire.data() + own.len, n - own.len);
	require(!kwarp_term_parse(payload.data(), payload.size(), &msg));
	require(msg.err.layer == e->layer && msg.err.etype == e->etype && msg.err.code == e->code);

	// RFC 5040 figure 10
	bool returns = !none && e->layer != KWARP_LAYER_LLP && e->etype != 0;
	bool whole = returns && !kwarp_ddp_parse(seg.data(), seg.size(), &h);
	bool read = whole && e->layer == KWARP_LAYER_RDMAP && e->etype == KWARP_RDMAP_PROTECTION &&
		    !h.tagged && h.opcode == RDMAP_READ_REQUEST && seg.size() >= 18 + 28;
	require(msg.has_seg_len == returns && msg.has_ddp == whole && msg.has_rdmap == read);
	require(!returns || msg.seg_len == ulpdu_len);
	require(n == 22U + (returns ? 2 : 0) + (whole ? h.len : 0) + (read ? 28 : 0));
	if (whole)
		require(std::equal(seg.data(), seg.data() + h.len, payload.data() + 6));
	if (read)
		require(std::equal(seg.data() + 18, seg.data() + 46, payload.data() + 24));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);

	if (in.flag())
		encode_any(in);
	else
		parse_any(in.rest());
	return 0;
}
