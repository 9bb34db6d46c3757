// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Revision 0 (RFC 5044 appendix C): the peer is an RDMA Consortium RNIC, in either role.
#include "../session/session.h"

namespace peer {
namespace {

const StartupFrame request_0 = request_with(0, false, true, true),
		   reply_0 = reply_with(0, false, true, true);

// RFC 5044 C.2.4: the reply has revision 0, M and C. Then DDP and RDMAP have version 0 in both
// directions.
TEST(Forms, rev_0__responder)
{
	// M and C of the request have no effect (figure 14)
	for (bool bits : {true, false})
		for (const char *own : {"0", "1"}) {
			Session s(roomy, {{"markers", own}, {"crc", own}});
			const uint64_t rx = counter("rx_markers"), tx = counter("tx_markers");
			s.bed.expect_count("rdmac_connections");
			s.dial(request_with(0, false, bits, bits));
			EXPECT_EQ(s.p.reply.rev, 0);
			EXPECT_TRUE(s.p.reply.m && s.p.reply.c);
			EXPECT_FALSE(s.p.reply.r || s.p.reply.s);
			s.judge_working();
			EXPECT_GT(counter("rx_markers"), rx);
			EXPECT_GT(counter("tx_markers"), tx);
			EXPECT_GT(s.p.markers_received, 0U);
		}
}

// RFC 5044 C.1: versions are not mixed. The Terminate has version 0, too.
TEST(Forms, rev_0__version_1_is_an_error)
{
	Session s;
	s.dial(request_0);
	s.p.send(send_segment(1, pattern(40)));
	s.judge(terminates(ddp::untagged_version));
}

// RFC 5044 7.1.1, Rev: a responder that cannot interoperate closes.
TEST(Forms, rev_0__responder_not_permissive)
{
	Session s(Knobs{{"permissive", "0"}});
	s.unanswered(request_0.encode(), Then::waits, "startup_revision_errors");
}

// The victim sends a request of this revision; the reply has revision 0.
void answered_with_rev_0(const Knobs &policy, uint8_t rev)
{
	Session s(roomy, policy);
	s.call([&](const Peer &p) {
		EXPECT_EQ(p.request.rev, rev);
		if (!rev) {
			EXPECT_TRUE(p.request.m && p.request.c);
			EXPECT_FALSE(p.request.s);
		}
		return reply_0;
	});
	s.established();
	s.bed.expect_count("rdmac_connections");
	s.judge_working();
	EXPECT_GT(s.p.markers_received, 0U);
}

TEST(Forms, rev_0__initiator)
{
	answered_with_rev_0({{"mpa_rev", "0"}}, 0);
}

// RFC 5044 C.2.5: a reply of revision 0 to a request of revision 1 leads to version 0 with markers
// and CRC, whatever M and C of the request are.
TEST(Forms, rev_0__answers_rev_1)
{
	answered_with_rev_0({{"mpa_rev", "1"}, {"crc", "off"}}, 1);
}

// RFC 5044 C.2.2: the non-permissive initiator closes.
TEST(Forms, rev_0__answers_rev_1_not_permissive)
{
	Session s(Knobs{{"mpa_rev", "1"}, {"permissive", "0"}});
	s.call([](const Peer &) { return reply_0; });
	s.reply_refused("startup_revision_errors");
}

} // namespace
} // namespace peer
