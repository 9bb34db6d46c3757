// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "model.h"

#include <algorithm>

namespace model {

static u32 reverse(u32 v, int bits)
{
	u32 out = 0;
	for (int i = 0; i < bits; i++)
		if (v >> i & 1)
			out |= 1u << (bits - 1 - i);
	return out;
}

u32 crc(const Bytes &o)
{
	u32 rest = 0xffffffff;
	for (u8 byte : o) {
		rest ^= reverse(byte, 8) << 24;
		for (int bit = 0; bit < 8; bit++)
			rest = rest & 0x80000000 ? rest << 1 ^ 0x1edc6f41 : rest << 1;
	}
	return ~reverse(rest, 32);
}

namespace {

// A stream that is written byte by byte and inserts its own markers.
struct Stream {
	u32 at;
	bool markers;
	bool in_fpdu = false;
	u32 length_field = 0;
	Bytes out{};

	// RFC 5044 4.3: "at every 512th octet of the TCP octet stream".
	void marker_if_due()
	{
		if (!markers || at % 512 != 0)
			return;
		u32 ptr = in_fpdu ? at - length_field : 0;
		for (u32 byte : {0u, 0u, ptr >> 8, ptr & 0xff})
			raw(static_cast<u8>(byte));
	}

	void raw(u8 byte)
	{
		out.push_back(byte);
		at++;
	}

	void put(u8 byte)
	{
		marker_if_due();
		if (!in_fpdu) {
			in_fpdu = true;
			length_field = at;
		}
		raw(byte);
	}
};

} // namespace

Bytes encode(u32 pos, const Bytes &ulpdu, bool markers, bool with_crc)
{
	Stream s{pos, markers};
	u32 plain = 0;

	auto put = [&](u32 byte) {
		s.put(static_cast<u8>(byte));
		plain++;
	};
	put(ulpdu.size() >> 8);
	put(ulpdu.size() & 0xff);
	for (u8 byte : ulpdu)
		put(byte);
	while (plain % 4 != 0)
		put(0);
	// A marker after the pad is included in the CRC: RFC 5044 4.4, 1).
	s.marker_if_due();
	u32 sum = with_crc ? crc(s.out) : 0;
	for (int i = 0; i < 4; i++)
		s.raw(static_cast<u8>(sum >> 8 * i));
	return s.out;
}

u32 length(u32 pos, u32 ulpdu_len, bool markers)
{
	u32 plain = 2 + ulpdu_len;
	while (plain % 4 != 0)
		plain++;
	plain += 4;
	u32 n = 0;
	while (plain--) {
		if (markers && (pos + n) % 512 == 0)
			n += 4;
		n++;
	}
	return n;
}

Decoded decode(u32 pos, const Bytes &fpdu, bool markers, bool with_crc)
{
	Bytes plain;
	bool started = false, bad_marker = false;
	u32 length_field = 0;

	for (size_t i = 0; i < fpdu.size();) {
		u32 at = pos + static_cast<u32>(i);
		if (markers && at % 512 == 0) {
			u32 ptr = fpdu[i + 2] << 8 | fpdu[i + 3];
			ptr -= ptr % 4;
			if (ptr != (started ? at - length_field : 0))
				bad_marker = true;
			i += 4;
			continue;
		}
		if (!started) {
			started = true;
			length_field = at;
		}
		plain.push_back(fpdu[i++]);
	}
	u32 ulpdu_len = plain[0] << 8 | plain[1];
	Bytes body = slice(fpdu, 0, fpdu.size() - 4);
	u32 sum = 0;
	for (int i = 0; i < 4; i++)
		sum |= static_cast<u32>(fpdu[body.size() + i]) << 8 * i;
	if (with_crc && sum != crc(body))
		return {Verdict::crc, {}};
	if (bad_marker)
		return {Verdict::marker, {}};
	return {Verdict::ok, slice(plain, 2, ulpdu_len)};
}

} // namespace model

Pieces::Pieces(const Bytes &o, std::vector<size_t> cuts)
{
	std::sort(cuts.begin(), cuts.end());
	cuts.push_back(o.size());
	size_t from = 0;
	for (size_t to : cuts) {
		list.push_back(slice(o, from, to - from));
		list.back().shrink_to_fit();
		from = to;
	}
}

Pieces Pieces::random(const Bytes &o, size_t longest)
{
	std::vector<size_t> cuts;
	size_t at = 0;
	while (at < o.size()) {
		at += pick(0, static_cast<u32>(longest));
		if (at < o.size())
			cuts.push_back(at);
	}
	return Pieces(o, cuts);
}

Pieces::Walker Pieces::walk() const
{
	return Walker{{nullptr, 0, next}, this, 0, 0};
}

bool Pieces::next(kwarp_reader *r)
{
	auto w = reinterpret_cast<Walker *>(r);
	if (w->index == w->pieces->list.size())
		return false;
	const Bytes &piece = w->pieces->list[w->index++];
	r->p = piece.data();
	r->n = static_cast<u32>(piece.size());
	w->loads++;
	return true;
}
