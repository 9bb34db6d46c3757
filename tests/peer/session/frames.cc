// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "frames.h"

namespace peer {

Knobs Wishes::knobs() const
{
	return {{"mpa_rev", std::to_string(rev)},
		{"crc", crc ? "1" : "0"},
		{"markers", markers ? "1" : "0"},
		{"p2p", p2p ? "send write read" : "off"}};
}

StartupFrame changed(StartupFrame f, const Change &change)
{
	change(f);
	return f;
}

StartupFrame request(uint8_t rev, bool m, bool c, bool r, bool s, uint8_t reserved)
{
	StartupFrame f = StartupFrame::request(rev);
	f.m = m;
	f.c = c;
	f.r = r;
	f.s = s;
	f.reserved = reserved;
	if (s && rev >= 2)
		f.enhanced = Enhanced{.ird = depth, .ord = depth};
	return f;
}

StartupFrame with_bits(StartupFrame f, unsigned bits)
{
	f.m = bits & 1;
	f.c = bits & 2;
	f.r = bits & 4;
	f.s = bits & 8;
	f.reserved = bits & 16 ? 15 : 0;
	return f;
}

std::string named_bits(unsigned bits, std::initializer_list<const char *> names)
{
	std::string all;
	for (const char *name : names) {
		if (bits & 1)
			all += std::string("_") + name;
		bits >>= 1;
	}
	return all;
}

std::string bits_name(unsigned bits)
{
	return named_bits(bits, {"M", "C", "R", "S", "reserved"});
}

Enhanced enhanced_with(unsigned bits, uint16_t ird, uint16_t ord)
{
	return {.ird = ird,
		.ord = ord,
		.a = bool(bits & 1),
		.b = bool(bits & 2),
		.c = bool(bits & 4),
		.d = bool(bits & 8)};
}

std::string kinds_name(unsigned bits)
{
	return named_bits(bits, {"A", "B", "C", "D"});
}

StartupFrame request_with(uint8_t rev, bool s, bool c, bool m)
{
	return request(rev, m, c, false, s);
}

StartupFrame reply_with(uint8_t rev, bool s, bool c, bool m)
{
	StartupFrame f = request_with(rev, s, c, m);
	f.key = bytes(reply_key);
	return f;
}

StartupFrame fitting(const Peer &p)
{
	StartupFrame f = StartupFrame::reply(p.request.rev);
	f.s = p.request.s;
	if (p.request.enhanced) {
		f.enhanced = p.request.enhanced;
		std::swap(f.enhanced->ird, f.enhanced->ord);
	}
	return f;
}

} // namespace peer
