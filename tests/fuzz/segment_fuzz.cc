// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// DDP segments with RDMAP headers: parsed, encoded again, checked; and the arithmetic of the range
// checks, compared with integers that are too wide to wrap.
#include "fuzz.h"

namespace {

using Wide = unsigned __int128;

bool operator==(const kwarp_ddp_hdr &a, const kwarp_ddp_hdr &b)
{
	return a.tagged == b.tagged && a.last == b.last && a.dv == b.dv && a.rv == b.rv &&
	       a.opcode == b.opcode && a.len == b.len && a.stag == b.stag && a.to == b.to &&
	       a.inv_stag == b.inv_stag && a.qn == b.qn && a.msn == b.msn && a.mo == b.mo;
}

// RFC 5040 figures 4 and 5, RFC 7306 figures 2 and 3: is this opcode valid on this queue?
bool in_its_place(const kwarp_ddp_hdr &h, bool ext)
{
	if (h.tagged)
		return h.opcode == RDMAP_WRITE || h.opcode == RDMAP_READ_RESPONSE;
	switch (h.qn) {
	case 0:
		return (h.opcode >= RDMAP_SEND && h.opcode <= RDMAP_SEND_SE_INVAL) ||
		       (ext && (h.opcode == RDMAP_IMM || h.opcode == RDMAP_IMM_SE));
	case 1:
		return h.opcode == RDMAP_READ_REQUEST || (ext && h.opcode == RDMAP_ATOMIC_REQUEST);
	case 2:
		return h.opcode == RDMAP_TERMINATE;
	default:
		return ext && h.qn == 3 && h.opcode == RDMAP_ATOMIC_RESPONSE;
	}
}

// Size of a message that is only a header; 0 for others.
u32 fixed_len(u8 opcode)
{
	switch (opcode) {
	case RDMAP_READ_REQUEST:
		return 28;
	case RDMAP_IMM:
	case RDMAP_IMM_SE:
		return 8;
	case RDMAP_ATOMIC_REQUEST:
		return 52;
	case RDMAP_ATOMIC_RESPONSE:
		return 12;
	default:
		return 0;
	}
}

// Each verdict has its reason in the header.
void check_verdict(const kwarp_ddp_hdr &h, u32 ulpdu_len, u8 version, bool ext)
{
	enum kwarp_err err = kwarp_rdmap_check(&h, ulpdu_len, version, ext);
	u32 payload = ulpdu_len - h.len, fixed = fixed_len(h.opcode);
	bool known_queue = h.tagged || h.qn <= (ext ? 3U : 2U);

	switch (err) {
	case KWARP_ERR_NONE:
		require(h.dv == version && h.rv == version && in_its_place(h, ext));
		require(!fixed || (payload == fixed && h.last && !h.mo));
		require(h.opcode != RDMAP_TERMINATE || !h.mo);
		break;
	case KWARP_ERR_TAGGED_VERSION:
		require(h.tagged && h.dv != version);
		break;
	case KWARP_ERR_UNTAGGED_VERSION:
		require(!h.tagged && h.dv != version);
		break;
	case KWARP_ERR_UNTAGGED_QN:
		require(h.dv == version && !known_queue);
		break;
	case KWARP_ERR_RDMAP_VERSION:
		require(h.dv == version && known_queue && h.rv != version);
		break;
	case KWARP_ERR_RDMAP_OPCODE:
		require(h.dv == version && h.rv == version && known_queue && !in_its_place(h, ext));
		break;
	case KWARP_ERR_UNTAGGED_MO:
		require(in_its_place(h, ext) && (fixed || h.opcode == RDMAP_TERMINATE) && h.mo);
		break;
	case KWARP_ERR_UNTAGGED_TOO_LONG:
		require(in_its_place(h, ext) && fixed && h.qn && !h.mo &&
			(payload > fixed || !h.last));
		break;
	case KWARP_ERR_SEGMENT:
		require(in_its_place(h, ext) && fixed && !h.mo && (payload != fixed || !h.last));
		break;
	default:
		require(!"a known verdict about a header");
	}
}

void check_read(Input &in)
{
	Exact raw(in.take(KWARP_RDMAP_READ_LEN) + Bytes(KWARP_RDMAP_READ_LEN));
	Exact exact(raw.data(), KWARP_RDMAP_READ_LEN), back(KWARP_RDMAP_READ_LEN);
	kwarp_rdmap_read rd;

	kwarp_rdmap_read_parse(exact.data(), &rd);
	require(kwarp_rdmap_read_encode(&rd, back.data()) == KWARP_RDMAP_READ_LEN);
	require(back.first(KWARP_RDMAP_READ_LEN) == exact.first(KWARP_RDMAP_READ_LEN));
}

void check_header(Input &in)
{
	u8 bits = in.byte();
	u32 extra = bits & 1 ? in.word() % KWARP_ULPDU_MAX : 0;
	Bytes o = in.rest();
	// There are no bytes after the required ones.
	Exact head(o.data(), std::min<size_t>(o.size(), KWARP_DDP_HDR_MAX));
	Exact wire(KWARP_DDP_HDR_MAX);
	u32 ulpdu_len = static_cast<u32>(o.size()) + (o.size() >= KWARP_DDP_HDR_MAX ? extra : 0);
	kwarp_ddp_hdr h, again;

	enum kwarp_err err = kwarp_ddp_parse(head.data(), ulpdu_len, &h);
	bool tagged = !o.empty() && o[0] & 0x80;
	require(!err == (ulpdu_len >= (tagged ? 14U : 18U)));
	require(!err || (err == KWARP_ERR_SEGMENT && h == kwarp_ddp_hdr{}));
	if (err)
		return;
	require(h.len == kwarp_ddp_hdr_len(tagged) && h.tagged == tagged);

	require(kwarp_ddp_encode(&h, wire.data()) == h.len);
	Bytes want = head.first(h.len);
	want[0] &= 0xc3; // reserved bits
	want[1] &= 0xcf;
	require(wire.first(h.len) == want);
	require(!kwarp_ddp_parse(wire.data(), ulpdu_len, &again) && h == again);

	for (u8 version : {0, 1})
		for (bool ext : {false, true})
			check_verdict(h, ulpdu_len, version, ext);
}

// Header prediction: a segment continues a message if its header, of which one byte may be changed,
// is the next one. It then has the header that the parser reads.
void check_continues(Input &in)
{
	const u32 payload = in.word() % 65536, ulpdu_len = 2 + in.byte() % 22;
	const u8 at = in.byte() % KWARP_DDP_HDR_MAX, change = in.byte();
	kwarp_ddp_hdr h, parsed;
	Bytes first = in.rest(), next(KWARP_DDP_HDR_MAX);
	first.resize(KWARP_DDP_HDR_MAX);
	if (kwarp_ddp_parse(first.data(), KWARP_DDP_HDR_MAX, &h))
		return;
	const bool last = h.last;
	kwarp_ddp_advance(&h, payload);
	kwarp_ddp_encode_next(&h, first.data(), next.data());
	next[at] ^= change;
	// There are no bytes after the required ones.
	Exact second(next.data(), std::min<size_t>(ulpdu_len, KWARP_DDP_HDR_MAX));
	const kwarp_ddp_hdr wanted = h;
	const bool resembles = kwarp_ddp_resembles(&h, second.data(), ulpdu_len);
	require(!resembles ? h == wanted :
			     !kwarp_ddp_parse(second.data(), ulpdu_len, &parsed) && h == parsed);
	h = wanted;
	if (!kwarp_ddp_continues(&h, second.data(), ulpdu_len)) {
		require(h == wanted);
		require(last || ulpdu_len < h.len || (at < h.len && change));
		return;
	}
	require(!last && resembles);
	require(!kwarp_ddp_parse(second.data(), ulpdu_len, &parsed) && h == parsed);
}

void check_ranges(Input &in)
{
	u64 base = static_cast<u64>(edgy_word(in)) << 32 | edgy_word(in);
	u64 size = static_cast<u64>(in.flag() ? edgy_word(in) : 0) << 32 | edgy_word(in);
	u64 to = in.flag() ? base + static_cast<int>(edgy_word(in)) :
			     static_cast<u64>(edgy_word(in)) << 32 | edgy_word(in);
	u32 len = edgy_word(in), mo = edgy_word(in);
	// A region does not wrap.
	if (static_cast<Wide>(base) + size > static_cast<Wide>(1) << 64)
		size = 0 - base;

	Wide end = static_cast<Wide>(to) + len, limit = static_cast<Wide>(base) + size;
	enum kwarp_err want = !len		       ? KWARP_ERR_NONE :
			      end >> 64		       ? KWARP_ERR_TAGGED_WRAP :
			      to < base || end > limit ? KWARP_ERR_TAGGED_BOUNDS :
							 KWARP_ERR_NONE;
	enum kwarp_err err = kwarp_ddp_check_to(to, len, base, size);
	// Whether a range that ends with the last byte of the address space wraps is open to
	// interpretation.
	if (end == static_cast<Wide>(1) << 64)
		require(err == KWARP_ERR_TAGGED_WRAP ||
			err == (end > limit ? KWARP_ERR_TAGGED_BOUNDS : KWARP_ERR_NONE));
	else
		require(err == want);
	enum kwarp_err src = kwarp_rdmap_check_src(to, len, base, size);
	require(src == (err == KWARP_ERR_NONE	     ? KWARP_ERR_NONE :
			err == KWARP_ERR_TAGGED_WRAP ? KWARP_ERR_RDMAP_WRAP :
						       KWARP_ERR_RDMAP_BOUNDS));

	enum kwarp_err order = kwarp_ddp_check_mo(mo, len, size);
	require(order == (mo > size			     ? KWARP_ERR_UNTAGGED_MO :
			  static_cast<Wide>(mo) + len > size ? KWARP_ERR_UNTAGGED_TOO_LONG :
							       KWARP_ERR_NONE));
}

// The check of the MSN against the window of posted buffers.
void check_msn(Input &in)
{
	u32 first = edgy_word(in), count = in.byte(), at = in.byte();
	u32 msn = in.flag() ? first + at : edgy_word(in);
	enum kwarp_err want = KWARP_ERR_UNTAGGED_MSN;

	for (u32 i = 0; i <= count; i++)
		if (first + i == msn)
			want = i == count ? KWARP_ERR_UNTAGGED_NO_BUFFER : KWARP_ERR_NONE;
	require(kwarp_ddp_check_msn(msn, first, count) == want);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);

	switch (in.byte() & 3) {
	case 0:
		check_ranges(in);
		break;
	case 1:
		check_msn(in);
		check_read(in);
		break;
	case 3:
		check_continues(in);
		break;
	default:
		check_header(in);
	}
	return 0;
}
