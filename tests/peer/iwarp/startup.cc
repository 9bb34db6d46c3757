// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "startup.h"

namespace iwarp {
namespace {

constexpr uint8_t bit_m = 0x80, bit_c = 0x40, bit_r = 0x20, bit_s = 0x10;
constexpr uint16_t depth_mask = 0x3FFF, flag_high = 0x8000, flag_low = 0x4000;

StartupFrame frame(std::string_view key, uint8_t rev, std::optional<Enhanced> e, Bytes pd)
{
	StartupFrame f;
	f.key = bytes(key);
	f.rev = rev;
	f.s = e.has_value();
	f.enhanced = e;
	f.private_data = std::move(pd);
	return f;
}

} // namespace

Bytes Enhanced::encode() const
{
	Bytes o;
	put16(o,
	      static_cast<uint16_t>((a ? flag_high : 0) | (b ? flag_low : 0) | (ird & depth_mask)));
	put16(o,
	      static_cast<uint16_t>((c ? flag_high : 0) | (d ? flag_low : 0) | (ord & depth_mask)));
	return o;
}

Enhanced Enhanced::decode(View v)
{
	uint16_t first = get16(v, 0), second = get16(v, 2);
	Enhanced e;
	e.a = first & flag_high;
	e.b = first & flag_low;
	e.ird = first & depth_mask;
	e.c = second & flag_high;
	e.d = second & flag_low;
	e.ord = second & depth_mask;
	return e;
}

Bytes StartupFrame::encode() const
{
	Bytes pd = enhanced ? enhanced->encode() : Bytes{};
	put(pd, private_data);
	Bytes o = key;
	put8(o, static_cast<uint8_t>((m ? bit_m : 0) | (c ? bit_c : 0) | (r ? bit_r : 0) |
				     (s ? bit_s : 0) | (reserved & 0x0F)));
	put8(o, rev);
	put16(o, pd_length.value_or(static_cast<uint16_t>(pd.size())));
	put(o, pd);
	return o;
}

size_t StartupFrame::length(View v)
{
	return startup_header_len + get16(v, 18);
}

StartupFrame StartupFrame::decode(View v)
{
	StartupFrame f;
	uint8_t flags = v[16];
	View pd = v.subspan(startup_header_len);
	f.key.assign(v.begin(), v.begin() + 16);
	f.m = flags & bit_m;
	f.c = flags & bit_c;
	f.r = flags & bit_r;
	f.s = flags & bit_s;
	f.reserved = flags & 0x0F;
	f.rev = v[17];
	f.pd_length = get16(v, 18);
	if (f.s && pd.size() >= 4) {
		f.enhanced = Enhanced::decode(pd);
		pd = pd.subspan(4);
	}
	f.private_data.assign(pd.begin(), pd.end());
	return f;
}

StartupFrame StartupFrame::request(uint8_t rev, std::optional<Enhanced> e, Bytes pd)
{
	return frame(request_key, rev, e, std::move(pd));
}

StartupFrame StartupFrame::reply(uint8_t rev, std::optional<Enhanced> e, Bytes pd)
{
	return frame(reply_key, rev, e, std::move(pd));
}

StartupFrame StartupFrame::rtr(bool c, std::string_view key, Bytes pd)
{
	StartupFrame f = frame(key, 1, {}, std::move(pd));
	f.c = c;
	return f;
}

} // namespace iwarp
