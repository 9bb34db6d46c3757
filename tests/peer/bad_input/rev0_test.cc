// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Revision 0, RFC 5044 appendix C: either side may be an RDMA Consortium RNIC.
#include "forms.h"

namespace peer {

// RFC 5044 C.2.4: Reply with revision zero and M and C; then version 0 both ways.
TEST_F(Forms, rev_0__responder)
{
	// what the request says of M and C is beside the point (figure 14)
	for (bool bits : {true, false})
		for (const char *own : {"0", "1"}) {
			PolicyScope markers(lab().device, "markers", own),
				crc(lab().device, "crc", own);
			uint64_t before = counter("rdmac_connections"), rx = counter("rx_markers"),
				 tx = counter("tx_markers");
			Victim v(roomy());
			Peer p = ask(v, request_with(0, false, bits, bits));
			EXPECT_EQ(p.reply.rev, 0);
			EXPECT_TRUE(p.reply.m && p.reply.c);
			EXPECT_FALSE(p.reply.r || p.reply.s);
			p.out = FpduEncoder({true, true});
			p.in = FpduDecoder({true, true});
			expect_data_both_ways(v, v.connection(0), p, 0);
			expect_moves("rdmac_connections", before);
			expect_moves("rx_markers", rx);
			expect_moves("tx_markers", tx);
			EXPECT_GT(p.markers_received, 0U);
		}
}

// RFC 5044 C.1: no mixing of versions. The Terminate is of version 0, too.
TEST_F(Forms, rev_0__version_1_is_an_error)
{
	uint64_t before = counter("version_errors");
	Victim v;
	Peer p = ask(v, request_with(0, false, true, true));
	p.send(send_segment(1, pattern(40)));
	const Segment s = p.next();
	EXPECT_EQ(s.opcode, op_terminate);
	EXPECT_EQ(s.dv, 0);
	EXPECT_EQ(s.rv, 0);
	std::optional<Terminate> t = Terminate::decode(s.payload);
	ASSERT_TRUE(t);
	EXPECT_EQ(t->code, ddp::untagged_version);
	expect_moves("version_errors", before);
	EXPECT_TRUE(p.end().closed());
}

// RFC 5044 7.1.1, Rev: who cannot interoperate closes.
TEST_F(Forms, rev_0__responder_not_permissive)
{
	PolicyScope permissive(lab().device, "permissive", "0");
	uint64_t before = counter("startup_revision_errors");
	Victim v;
	Peer p(Socket::connect(v.address(), lab().peer_socket()));
	p.send_request(request_with(0, false, true, true));
	expect_closed(p);
	EXPECT_EQ(v.connections(), 0U);
	expect_moves("startup_revision_errors", before);
	expect_healthy(v);
}

TEST_F(Forms, rev_0__initiator)
{
	PolicyScope rev(lab().device, "mpa_rev", "0");
	Victim v(roomy());
	Connection &c = v.connect(target());
	Peer p = asked();
	EXPECT_EQ(p.request.rev, 0);
	EXPECT_TRUE(p.request.m && p.request.c);
	EXPECT_FALSE(p.request.s);
	p.send_reply(reply_with_flags(0, false, true, true));
	expect_established(v, c);
	expect_data_both_ways(v, c, p, 0);
	EXPECT_GT(p.markers_received, 0U);
}

// RFC 5044 C.2.5: revision 1 asked, 0 answered: version 0, markers and CRC, whatever was asked.
TEST_F(Forms, rev_0__answers_rev_1)
{
	PolicyScope rev(lab().device, "mpa_rev", "1"), crc(lab().device, "crc", "off");
	Victim v(roomy());
	Connection &c = v.connect(target());
	Peer p = asked();
	EXPECT_EQ(p.request.rev, 1);
	p.send_reply(reply_with_flags(0, false, true, true));
	p.out = FpduEncoder({true, true});
	p.in = FpduDecoder({true, true});
	expect_established(v, c);
	expect_data_both_ways(v, c, p, 0);
}

// RFC 5044 C.2.2: the non-permissive initiator closes.
TEST_F(Forms, rev_0__answers_rev_1_not_permissive)
{
	PolicyScope rev(lab().device, "mpa_rev", "1"), permissive(lab().device, "permissive", "0");
	uint64_t before = counter("startup_revision_errors");
	Victim v;
	Connection &c = v.connect(target());
	Peer p = asked();
	p.send_reply(reply_with_flags(0, false, true, true));
	expect_closed(p);
	ASSERT_TRUE(told(v, c));
	EXPECT_NE(*c.happened.connect, RDMA_CM_EVENT_ESTABLISHED);
	expect_moves("startup_revision_errors", before);
}

} // namespace peer
