// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What the CRC policy says and what is in use then: RFC 5044 7.1.1, C.
#include "forms.h"

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

} // namespace

TEST_F(Forms, crc__initiator)
{
	for (const char *rev : {"1", "2"})
		for (const CrcForm &f : crc_forms) {
			SCOPED_TRACE(std::string(f.policy) + ", revision " + rev +
				     (f.peer_wants ? ", C" : ", no C"));
			PolicyScope mpa_rev(lab().device, "mpa_rev", rev),
				crc(lab().device, "crc", f.policy);
			PolicyScope p2p(lab().device, "p2p", "off");
			Victim v(roomy());
			Connection &c = v.connect(target());
			Peer p = asked();
			EXPECT_EQ(p.request.c, f.asks);
			StartupFrame reply =
				reply_with_flags(p.request.rev, p.request.s, f.peer_wants);
			p.send_reply(reply);
			EXPECT_EQ(p.out.mode().crc, f.in_use);
			expect_established(v, c);
			expect_data_both_ways(v, c, p);
		}
}

TEST_F(Forms, crc__responder)
{
	for (uint8_t rev : {1, 2})
		for (const CrcForm &f : crc_forms) {
			SCOPED_TRACE(std::string(f.policy) + ", revision " + std::to_string(rev) +
				     (f.peer_wants ? ", C" : ", no C"));
			PolicyScope crc(lab().device, "crc", f.policy);
			Victim v(roomy());
			StartupFrame request = request_with(rev, rev == 2, f.peer_wants);
			Peer p = ask(v, request);
			EXPECT_EQ(p.reply.c, f.in_use); // it tells the outcome
			expect_data_both_ways(v, v.connection(0), p);
		}
}

// The responder's policy "required" is met by its own C (RFC 5044 7.1.1).
TEST_F(Forms, crc__required_by_the_responder)
{
	PolicyScope crc(lab().device, "crc", "required");
	Victim v(roomy());
	Peer p = ask(v, request_with(1, false, false));
	EXPECT_TRUE(p.reply.c);
	expect_data_both_ways(v, v.connection(0), p);
}

// A reply that denies what policy requires: RFC 6581 9.3 has code 5 for errors without their own.
TEST_F(Forms, crc__required_and_denied)
{
	PolicyScope crc(lab().device, "crc", "required");
	for (const char *rev : {"1", "2"}) {
		PolicyScope mpa_rev(lab().device, "mpa_rev", rev);
		uint64_t before = counter("startup_crc_errors"),
			 all = counter("startup_negotiation_errors");
		Victim v;
		Connection &c = v.connect(target());
		Peer p = asked();
		StartupFrame reply = reply_with_flags(p.request.rev, p.request.s, false);
		reply.enhanced = p.request.enhanced;
		p.send_reply(reply);
		End e = p.end(patience);
		EXPECT_TRUE(e.closed());
		EXPECT_EQ(e.terminate.has_value(), p.request.rev == 2);
		if (e.terminate) {
			EXPECT_EQ(e.terminate->code, mpa::local_catastrophic);
		}
		ASSERT_TRUE(told(v, c));
		EXPECT_NE(*c.happened.connect, RDMA_CM_EVENT_ESTABLISHED);
		EXPECT_NE(c.happened.status, 0);
		expect_moves("startup_crc_errors", before);
		expect_moves("startup_negotiation_errors", all);
	}
}

} // namespace peer
