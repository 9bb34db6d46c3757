// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The CRC policy, and the resulting use of CRCs (RFC 5044 4.4, 7.1.1, C).
#include "../session/session.h"

namespace peer {
namespace {

struct CrcForm {
	const char *policy;
	bool peer_wants;
	bool asks;   // the victim's C
	bool in_use; // RFC 5044 7.1.1: if either side has C
};

const CrcForm crc_forms[] = {
	{"off", false, false, false},	  {"off", true, false, true},
	{"preferred", false, true, true}, {"preferred", true, true, true},
	{"required", true, true, true},
};

std::string trace(const CrcForm &f, int rev)
{
	return std::format("{}, revision {}, {}", f.policy, rev, f.peer_wants ? "C" : "no C");
}

TEST(Forms, crc__initiator)
{
	for (int rev : {1, 2})
		for (const CrcForm &f : crc_forms) {
			SCOPED_TRACE(trace(f, rev));
			Session s(roomy, {{"mpa_rev", std::to_string(rev)},
					  {"crc", f.policy},
					  {"p2p", "off"}});
			s.call([&](const Peer &p) {
				EXPECT_EQ(p.request.c, f.asks);
				return reply_with(p.request.rev, p.request.s, f.peer_wants);
			});
			EXPECT_EQ(s.p.out.mode().crc, f.in_use);
			s.established();
			s.judge_working();
		}
}

TEST(Forms, crc__responder)
{
	for (uint8_t rev : {1, 2})
		for (const CrcForm &f : crc_forms) {
			SCOPED_TRACE(trace(f, rev));
			Session s(roomy, {{"crc", f.policy}});
			s.dial(request_with(rev, rev == 2, f.peer_wants));
			EXPECT_EQ(s.p.reply.c, f.in_use); // the result for both sides
			s.judge_working();
		}
}

// The responder's own C is enough for its policy "required" (RFC 5044 7.1.1).
TEST(Forms, crc__required_by_the_responder)
{
	Session s(roomy, {{"crc", "required"}});
	s.dial(request_with(1, false, false));
	EXPECT_TRUE(s.p.reply.c);
	s.judge_working();
}

// The reply has no C although the victim's policy requires CRCs. RFC 6581 9.3 has code 5 for errors
// without a code of their own.
TEST(Forms, crc__required_and_denied)
{
	for (int rev : {1, 2}) {
		Session s(roomy, {{"crc", "required"}, {"mpa_rev", std::to_string(rev)}});
		s.call([](const Peer &p) {
			StartupFrame reply = reply_with(p.request.rev, p.request.s, false);
			reply.enhanced = p.request.enhanced;
			return reply;
		});
		if (rev == 2)
			s.reply_terminated(mpa::local_catastrophic, "startup_crc_errors");
		else
			s.reply_refused("startup_crc_errors");
	}
}

// RFC 5044 4.4: what was agreed at startup holds until the connection ends. The peer checks the
// CRCs that it receives.
TEST(Conformance, crc_agreed_outlasts_a_change_of_the_policy)
{
	Session s(roomy, {{"crc", "required"}});
	s.dial(request_with(1, false, true));
	s.message();
	s.bed.policy.must("crc", "off");
	s.data_both_ways();
	s.p.send(write_to(*s.v.rw, 0, pattern(40)), {.crc_xor = 1});
	s.judge(terminates(mpa::crc));
}

TEST(Conformance, crc_not_agreed_is_not_used_after_a_change_of_the_policy)
{
	Session s(roomy, {{"crc", "off"}});
	s.dial(request_with(1, false, false));
	s.message();
	s.bed.policy.must("crc", "required");
	EXPECT_FALSE(s.p.out.mode().crc);
	s.p.send(write_to(*s.v.rw, 0, pattern(40)), {.crc_xor = 1});
	s.message();
	EXPECT_TRUE(same(s.v.rw->copy(0, 40), pattern(40)));
	s.judge_working();
}

} // namespace
} // namespace peer
