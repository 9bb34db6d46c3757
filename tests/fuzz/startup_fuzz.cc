// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA startup frames: the decoder on any bytes, for each type of frame, in any pieces; and encoding
// followed by decoding.
#include "fuzz.h"

namespace {

constexpr u32 header = KWARP_MPA_FRAME_LEN;

// The documented order of checks, derived from RFC 5044 7.1.1 and RFC 6581 9.
int expected(const Bytes &o, u8 type)
{
	struct Key {
		std::string_view text;
		u8 type;
	};
	static constexpr Key keys[] = {
		{"MPA ID Req Frame", KWARP_MPA_REQ},
		{"MPA ID Rep Frame", KWARP_MPA_REP},
		{"MPA ID Rtr Frame", KWARP_MPA_RTR_FRAME},
		{"MPA ID RtR Frame", KWARP_MPA_RTR_FRAME},
	};
	std::string_view seen(reinterpret_cast<const char *>(o.data()),
			      std::min<size_t>(o.size(), KWARP_MPA_KEY_LEN));
	bool mine = false, others = false;
	for (const Key &k : keys)
		if (k.text.substr(0, seen.size()) == seen)
			(k.type == type ? mine : others) = true;
	if (!mine && !others)
		return -KWARP_MPA_E_KEY;
	if (!mine && seen.size() == KWARP_MPA_KEY_LEN)
		return -KWARP_MPA_E_ROLE;
	if (o.size() < header)
		return 0;

	u8 flags = o[16], rev = o[17];
	u32 pd = static_cast<u32>(o[18] << 8 | o[19]);
	if (type == KWARP_MPA_RTR_FRAME ? rev != 1 : rev > 2)
		return -KWARP_MPA_E_REV;
	if (pd > 512)
		return -KWARP_MPA_E_PD_LEN;
	if (type != KWARP_MPA_RTR_FRAME && rev == 2 && flags & 0x10 && pd < 4)
		return -KWARP_MPA_E_ENHANCED;
	return o.size() < header + pd ? 0 : static_cast<int>(header + pd);
}

void check_fields(const Bytes &o, const kwarp_mpa_frame &f, u8 type, u32 len)
{
	bool reply = type == KWARP_MPA_REP, rtr = type == KWARP_MPA_RTR_FRAME;

	require(f.type == type && f.rev == o[17]);
	require(f.markers == !!(o[16] & 0x80) && f.crc == !!(o[16] & 0x40));
	require(f.reject == (reply && o[16] & 0x20));
	require(f.s == (!rtr && o[16] & 0x10));
	require(f.pd_off + f.pd_len == static_cast<int>(len));
	require(f.pd_off == header + (kwarp_mpa_enhanced(&f) ? KWARP_MPA_ENH_LEN : 0U));
	require(f.pd_len <= kwarp_mpa_pd_room(&f));
	require(f.ird <= 0x3fff && f.ord <= 0x3fff && !(f.rtr & ~KWARP_RTR_ALL));
	require(f.p2p || !f.rtr);
	if (!kwarp_mpa_enhanced(&f))
		require(!f.p2p && !f.ird && !f.ord);
}

// Encoding a decoded frame gives the same bytes, except those that a receiver ignores.
void check_encoding(const Bytes &o, const kwarp_mpa_frame &f)
{
	Exact dst(f.pd_off);
	Bytes want = slice(o, 0, f.pd_off);

	require(kwarp_mpa_encode(&f, dst.data()) == f.pd_off);
	want[16] &= static_cast<u8>(f.type == KWARP_MPA_REP ? 0xf0 :
				    f.type == KWARP_MPA_REQ ? 0xd0 :
							      0xc0);
	if (f.type == KWARP_MPA_RTR_FRAME)
		want[9] = 'R'; // sent as RtR, accepted as Rtr, too
	if (kwarp_mpa_enhanced(&f) && !(want[20] & 0x80))
		want[20] &= 0x3f, want[22] &= 0x3f;
	require(dst.first(f.pd_off) == want);
}

bool operator==(const kwarp_mpa_frame &a, const kwarp_mpa_frame &b)
{
	return a.type == b.type && a.rev == b.rev && a.markers == b.markers && a.crc == b.crc &&
	       a.reject == b.reject && a.s == b.s && a.p2p == b.p2p && a.rtr == b.rtr &&
	       a.ird == b.ird && a.ord == b.ord && a.pd_len == b.pd_len && a.pd_off == b.pd_off;
}

int decode(const Bytes &o, size_t n, u8 type, kwarp_mpa_frame &f)
{
	Exact part(o.data(), n);
	int ret = kwarp_mpa_decode(part.data(), part.size(), static_cast<kwarp_mpa_type>(type), &f);

	require(ret == expected(part.first(n), type));
	return ret;
}

// Decodes byte by byte up to the end of the header, and then the length of kwarp_mpa_need().
void decode_any(const Bytes &o, u8 type)
{
	kwarp_mpa_frame f, again;
	size_t n = 0;
	int ret;

	while (!(ret = decode(o, n, type, f)) && n < o.size()) {
		Exact part(o.data(), n);
		u32 need = kwarp_mpa_need(part.data(), part.size());
		require(need > n && need <= KWARP_MPA_FRAME_MAX);
		n = std::min<size_t>(n < header ? n + 1 : need, o.size());
	}
	if (ret < 0) {
		// An error is final.
		require(decode(o, o.size(), type, f) == ret);
		return;
	}
	if (!ret)
		return;
	require(ret == static_cast<int>(n) && kwarp_mpa_need(o.data(), static_cast<u32>(n)) == n);
	check_fields(o, f, type, static_cast<u32>(ret));
	check_encoding(o, f);
	// Bytes after the frame are not read.
	require(decode(o, o.size(), type, again) == ret && f == again);
}

void encode_any(Input &in, u8 type)
{
	kwarp_mpa_frame f{}, back;
	u8 bits = in.byte();

	f.type = type;
	f.rev = type == KWARP_MPA_RTR_FRAME ? 1 : static_cast<u8>(in.below(3));
	f.markers = bits & 1;
	f.crc = bits & 2;
	f.reject = type == KWARP_MPA_REP && bits & 4;
	f.s = type != KWARP_MPA_RTR_FRAME && bits & 8;
	f.pd_len = static_cast<u16>(in.flag() ? 500 + in.below(16) : in.half());
	if (kwarp_mpa_enhanced(&f)) {
		f.p2p = bits & 16;
		f.rtr = f.p2p ? bits >> 5 : 0;
		f.ird = in.half() & 0x3fff;
		f.ord = in.half() & 0x3fff;
	}
	f.pd_off = header + (kwarp_mpa_enhanced(&f) ? KWARP_MPA_ENH_LEN : 0);

	Exact dst(f.pd_off);
	int n = kwarp_mpa_encode(&f, dst.data());
	if (f.pd_len > kwarp_mpa_pd_room(&f)) {
		require(n == -KWARP_MPA_E_PD_LEN);
		return;
	}
	require(n == f.pd_off);
	Bytes o = dst.first(f.pd_off) + filling(f.pd_len, bits);
	require(decode(o, o.size(), type, back) == static_cast<int>(o.size()));
	require(back == f);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);
	u8 mode = in.byte();

	if (mode & 0x80)
		encode_any(in, mode % 3);
	else
		decode_any(in.rest(), mode % 3);
	return 0;
}
