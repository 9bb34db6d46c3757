// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "frames.h"

#include "traffic.h"

namespace peer {

void apply(Policy &p, const Wishes &w)
{
	p.must("mpa_rev", w.rev);
	p.must("crc", w.crc);
	p.must("markers", w.markers);
	if (!p.set("p2p", w.p2p ? "send write read" : "off"))
		p.must("p2p", w.p2p);
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

std::string bits_name(unsigned bits)
{
	return named_bits(bits, {"M", "C", "R", "S", "reserved"});
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

std::optional<rdma_cm_event_type> told(Victim &v, Connection &c, Millis limit)
{
	v.wait([&] { return c.happened.connect.has_value(); }, limit);
	return c.happened.connect;
}

void expect_no_answer(View bytes, Then then, const std::string &counter)
{
	Testbed &bed = Testbed::the();
	bed.begin();
	const unsigned before = bed.v.connections();
	Socket s = Socket::connect(bed.v.address(), lab().peer_socket());
	s.try_send(bytes);
	if (then != Then::waits)
		wait_acknowledged(s);
	if (then == Then::rst)
		s.reset();
	else if (then == Then::fin)
		s.finish();
	if (s)
		expect_silent_end(s);
	s.close();
	bed.expect_count(counter);
	EXPECT_EQ(bed.v.connections(), before) << "the consumer was told of it";
	bed.finish();
}

} // namespace peer
