// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Rtr frame of the 2007 proposal, with the victim in either role.
#include "../session/session.h"

namespace peer {
namespace {

const Knobs patient{{"startup_timeout_ms", "60000"}};
const StartupFrame asks = request_with(1, true);

// Startup with the peer as initiator, which sends the Rtr frame.
struct FrameForm {
	bool request_c, markers_to_victim, markers_to_peer;
	std::string_view key = rtr_key;
	size_t private_data = 0;
};

const FrameForm frame_forms[] = {
	{true, false, false},
	{false, false, false},
	{true, true, true},
	{false, true, true},
	{true, false, false, rtr_key_of_the_text},
	{true, true, false, rtr_key, 1},
	{true, false, true, rtr_key, 512},
};

// ---- 2007 proposal, responder ----

TEST(Forms, rtr_frame__responder_may_speak_first)
{
	for (const FrameForm &f : frame_forms) {
		SCOPED_TRACE(&f - frame_forms);
		Session s(roomy, {{"markers", f.markers_to_victim ? "1" : "0"}, {"crc", "off"}});
		s.bed.expect_count("rx_rtr_frames");
		s.dial(request_with(1, true, f.request_c, f.markers_to_peer));
		EXPECT_EQ(s.p.reply.rev, 1);
		EXPECT_TRUE(s.p.reply.s);
		EXPECT_EQ(s.p.reply.c, f.request_c);
		EXPECT_EQ(s.p.reply.m, f.markers_to_victim);
		EXPECT_FALSE(s.cm_event(moment)) << "established before the initiator is ready";
		s.p.socket.send(
			StartupFrame::rtr(s.p.reply.c, f.key, pattern(f.private_data)).encode());
		s.established();
		// the positions of markers count from the end of the Rtr frame
		s.victim_sends(3000);
		s.judge_working();
	}
}

TEST(Forms, rtr_frame__in_pieces_and_with_what_follows)
{
	for (bool pieces : {false, true}) {
		Session s(roomy, {{"markers", "1"}});
		s.dial(asks);
		const Bytes data = pattern(700),
			    all = join({StartupFrame::rtr(true, rtr_key, pattern(30)).encode(),
					s.p.out.encode(s.segment(data).encode())});
		for (size_t at = 0, n = pieces ? 1 : all.size(); at < all.size(); at += n)
			s.p.socket.send(View(all).subspan(at, n));
		s.established();
		s.delivers(data);
		s.victim_sends(100);
		s.judge_working();
	}
}

// 2007 proposal 2: a reply without S means no support, so plain revision 1 follows.
TEST(Forms, rtr_frame__responder_without_it)
{
	for (const char *policy : {"off", "send write read"}) {
		Session s(roomy, {{"p2p", policy}});
		s.dial(asks);
		EXPECT_FALSE(s.p.reply.s);
		s.established();
		s.judge_working();
	}
}

// 2007 proposal 2: a request without S is plain revision 1.
TEST(Forms, rtr_frame__not_asked_for)
{
	Session s(roomy);
	s.dial(request_with(1, false));
	EXPECT_FALSE(s.p.reply.s);
	s.judge_working();
}

// RFC 5044 7.1.2 rule 5: any other key ends the connection.
TEST(Forms, rtr_frame__something_else_comes)
{
	const char *role = "startup_role_errors", *key = "startup_key_errors";
	const std::pair<Bytes, const char *> others[] = {
		{StartupFrame::request(1).encode(), role},
		{StartupFrame::reply(1).encode(), role},
		{FpduEncoder().encode(send_segment(1, pattern(60)).encode()), key},
		{bytes("MPA ID RTR Frame0000"), key},
	};
	for (const auto &[o, counter] : others) {
		Session s(patient);
		s.dial(asks);
		s.p.socket.try_send(o);
		expect_silent_end(s.p);
		s.expect_failure_event();
		s.judge_gone(counter);
	}
}

TEST(Forms, rtr_frame__never_comes)
{
	Session s;
	s.v.answers(Answer::hold);
	s.p = Peer::reach(s.v.address(), lab().peer_socket());
	s.p.send_request(asks);
	s.c();
	s.v.answers(Answer::accept);
	s.bed.policy.must("startup_timeout_ms", 500);
	s.c().accept();
	s.bed.expect_count("accepts");
	s.p.receive_reply();
	expect_silent_end(s.p);
	s.expect_failure_event();
	s.judge_gone("startup_timeouts");
}

TEST(Forms, rtr_frame__end_of_stream_instead)
{
	for (size_t n : {0, 1, 19, 20}) {
		Session s(patient);
		s.dial(asks);
		if (n < 20) {
			s.p.socket.send(View(StartupFrame::rtr().encode()).first(n));
			s.p.finish();
		} else {
			s.p.reset();
		}
		s.expect_failure_event();
		s.judge_gone("startup_closed");
	}
}

TEST(Forms, rtr_frame__qp_destroyed_before_it)
{
	Session s(patient);
	s.dial(asks);
	EXPECT_FALSE(s.cm_event(Millis{20}));
	rdma_destroy_qp(s.c().id());
	expect_silent_end(s.p);
}

// ---- 2007 proposal, initiator ----

TEST(Forms, rtr_frame__initiator_sends_it)
{
	for (bool c : {true, false})
		for (bool m : {true, false}) {
			// With policy "preferred", CRCs are used even if the reply has no C.
			Session s(roomy, {{"mpa_rev", "1"},
					  {"crc", m ? "preferred" : "off"},
					  {"markers", m ? "1" : "0"}});
			s.bed.expect_count("tx_rtr_frames");
			s.call([&](const Peer &p) {
				EXPECT_EQ(p.request.rev, 1);
				EXPECT_TRUE(p.request.s);
				return reply_with(1, true, c, m);
			});
			const StartupFrame f = s.p.receive_rtr_frame();
			EXPECT_EQ(f.key, bytes(rtr_key));
			EXPECT_EQ(f.rev, 1);
			EXPECT_EQ(f.c, c); // 2007 proposal 2: as in the reply
			EXPECT_FALSE(f.s || f.r);
			EXPECT_EQ(f.pd_length, 0); // 2007 proposal 3
			s.established();
			s.judge_working();
		}
}

// A request of the victim, with S or without, and a reply without S: plain revision 1.
void plain_revision_1(const Knobs &policy, bool asks_for_it)
{
	Session s(roomy, policy);
	s.call([&](const Peer &p) {
		EXPECT_EQ(p.request.s, asks_for_it);
		EXPECT_EQ(p.request.reserved, 0);
		return reply_with(1, false);
	});
	s.established();
	// the first bytes of the victim are an FPDU, not an Rtr frame
	s.victim_sends(200);
	s.judge_working();
}

// 2007 proposal 5: S of the reply decides whether an Rtr frame follows.
TEST(Forms, rtr_frame__initiator_without_an_answer)
{
	plain_revision_1({{"mpa_rev", "1"}}, true);
}

// RFC 5044 7.1.1: reserved bits, S among them, are zero unless policy p2p has "rtr-frame".
TEST(Forms, rtr_frame__initiator_does_not_ask)
{
	for (const char *policy : {"off", "send write read"})
		plain_revision_1({{"mpa_rev", "1"}, {"p2p", policy}}, false);
}

} // namespace
} // namespace peer
