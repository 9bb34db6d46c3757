// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "startup.h"

namespace conformance {

using namespace iwarp;
using victim::lab;

void apply(Policy &p, const Wishes &w)
{
	p.rev(w.rev);
	p.crc(w.crc);
	p.markers(w.markers);
	if (!p.set("p2p", w.p2p ? "send write read" : "off"))
		p.must("p2p", w.p2p ? "1" : "0");
}

void expect_no_answer(const Octets &octets, bool fin, const std::string &counter)
{
	Testbed &bed = Testbed::the();
	bed.begin();
	const unsigned before = bed.v.connections();
	Socket s = Socket::connect(bed.v.address(), lab().peer_socket());
	s.try_send(octets);
	if (fin)
		s.finish();
	Octets got;
	Event e;
	while ((e = s.receive(got, patience)) == Event::data)
		;
	EXPECT_TRUE(e == Event::fin || e == Event::reset) << "still open";
	EXPECT_TRUE(got.empty()) << "the victim answers";
	s.close();
	bed.expect_count(counter);
	EXPECT_EQ(bed.v.connections(), before) << "the consumer was told of it";
	bed.finish();
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

} // namespace conformance
