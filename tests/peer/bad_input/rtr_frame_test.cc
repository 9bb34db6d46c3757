// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Rtr frame of the 2007 proposal, in either role.
#include "forms.h"

namespace peer {
namespace {

// Where the Rtr frame's initiator is the peer.
struct FrameForm {
	bool request_c, markers_to_victim, markers_to_peer;
	std::string_view key;
	size_t private_data;
};

const FrameForm frame_forms[] = {
	{true, false, false, rtr_key, 0},
	{false, false, false, rtr_key, 0},
	{true, true, true, rtr_key, 0},
	{false, true, true, rtr_key, 0},
	{true, false, false, rtr_key_of_the_text, 0},
	{true, true, false, rtr_key, 1},
	{true, false, true, rtr_key, 512},
};

} // namespace

// ---- 2007 proposal, responder ----

TEST_F(Forms, rtr_frame__responder_may_speak_first)
{
	for (const FrameForm &f : frame_forms) {
		SCOPED_TRACE(&f - frame_forms);
		PolicyScope markers(lab().device, "markers", f.markers_to_victim ? "1" : "0");
		PolicyScope crc(lab().device, "crc", "off");
		Victim v(roomy());
		uint64_t before = counter("rx_rtr_frames");
		Peer p = ask(v, request_with(1, true, f.request_c, f.markers_to_peer));
		EXPECT_EQ(p.reply.rev, 1);
		EXPECT_TRUE(p.reply.s);
		EXPECT_EQ(p.reply.c, f.request_c);
		EXPECT_EQ(p.reply.m, f.markers_to_victim);
		Connection &c = v.connection(0);
		EXPECT_FALSE(told(v, c, moment)) << "established before the initiator is ready";
		p.socket.send(
			StartupFrame::rtr(p.reply.c, f.key, pattern(f.private_data)).encode());
		expect_established(v, c);
		// FPDUs and markers count from behind the frame
		expect_victim_sends(v, c, p, 3000);
		expect_data_both_ways(v, c, p);
		expect_moves("rx_rtr_frames", before);
	}
}

TEST_F(Forms, rtr_frame__in_pieces_and_with_what_follows)
{
	PolicyScope markers(lab().device, "markers", "1");
	for (bool pieces : {false, true}) {
		Victim v(roomy());
		Peer p = ask(v, request_with(1, true));
		Bytes data = pattern(700);
		Bytes all = join({StartupFrame::rtr(true, rtr_key, pattern(30)).encode(),
				  p.out.encode(send_segment(p.send_msn++, data).encode())});
		if (pieces)
			for (uint8_t o : all)
				p.socket.send(View(&o, 1));
		else
			p.socket.send(all);
		Connection &c = v.connection(0);
		expect_established(v, c);
		expect_received(v, c, data);
		expect_data_both_ways(v, c, p);
	}
}

// 2007 proposal 2: S zero in the reply: not supported, plain revision 1.
TEST_F(Forms, rtr_frame__responder_without_it)
{
	for (const char *policy : {"off", "send write read"}) {
		PolicyScope p2p(lab().device, "p2p", policy);
		Victim v(roomy());
		Peer p = ask(v, request_with(1, true));
		EXPECT_FALSE(p.reply.s);
		expect_established(v, v.connection(0));
		expect_data_both_ways(v, v.connection(0), p);
	}
}

// 2007 proposal 2: S zero in the request: plain revision 1.
TEST_F(Forms, rtr_frame__not_asked_for)
{
	Victim v(roomy());
	Peer p = ask(v, request_with(1, false));
	EXPECT_FALSE(p.reply.s);
	expect_data_both_ways(v, v.connection(0), p);
}

// RFC 5044 7.1.2 rule 5: another key ends the connection.
TEST_F(Forms, rtr_frame__something_else_comes)
{
	const Bytes others[] = {
		StartupFrame::request(1).encode(),
		StartupFrame::reply(1).encode(),
		FpduEncoder().encode(send_segment(1, pattern(60)).encode()),
		bytes("MPA ID RTR Frame0000"),
	};
	for (const Bytes &o : others) {
		SCOPED_TRACE(&o - others);
		uint64_t before = counter("startup_key_errors");
		Victim v;
		Peer p = ask(v, request_with(1, true));
		Connection &c = v.connection(0);
		p.socket.try_send(o);
		expect_closed(p);
		expect_failed(v, c);
		expect_moves("startup_key_errors", before);
		p.socket.close();
		expect_healthy(v);
	}
}

TEST_F(Forms, rtr_frame__never_comes)
{
	uint64_t before = counter("startup_timeouts");
	Victim v({.answer = Answer::hold});
	Peer p(Socket::connect(v.address(), lab().peer_socket()));
	p.send_request(request_with(1, true));
	Connection &c = v.connection(0);
	{
		PolicyScope quick(lab().device, "startup_timeout_ms", "500");
		c.accept();
		expect_failed(v, c);
	}
	expect_moves("startup_timeouts", before);
	p.receive_reply();
	expect_closed(p);
	v.answers(Answer::accept);
	expect_healthy(v);
}

TEST_F(Forms, rtr_frame__end_of_stream_instead)
{
	for (size_t n : {0, 1, 19}) {
		uint64_t before = counter("startup_closed");
		Victim v;
		Peer p = ask(v, request_with(1, true));
		p.socket.send(View(StartupFrame::rtr().encode()).first(n));
		p.socket.finish();
		expect_failed(v, v.connection(0));
		expect_moves("startup_closed", before);
	}
	uint64_t before = counter("startup_closed");
	Victim v;
	Peer p = ask(v, request_with(1, true));
	p.socket.reset();
	expect_failed(v, v.connection(0));
	expect_moves("startup_closed", before);
	expect_healthy(v);
}

TEST_F(Forms, rtr_frame__qp_destroyed_before_it)
{
	Victim v;
	Peer p = ask(v, request_with(1, true));
	Connection &c = v.connection(0);
	EXPECT_FALSE(told(v, c, Millis{20}));
	rdma_destroy_qp(c.id());
	expect_closed(p);
	p.socket.close();
}

// ---- 2007 proposal, initiator ----

TEST_F(Forms, rtr_frame__initiator_sends_it)
{
	PolicyScope rev(lab().device, "mpa_rev", "1"), crc(lab().device, "crc", "off");
	for (bool c_bit : {true, false})
		for (bool m : {true, false}) {
			PolicyScope markers(lab().device, "markers", m ? "1" : "0");
			uint64_t before = counter("tx_rtr_frames");
			Victim v(roomy());
			Connection &c = v.connect(target());
			Peer p = asked();
			EXPECT_EQ(p.request.rev, 1);
			EXPECT_TRUE(p.request.s);
			p.send_reply(reply_with_flags(1, true, c_bit, m));
			const StartupFrame f = p.receive_rtr_frame();
			EXPECT_EQ(f.key, bytes(rtr_key));
			EXPECT_EQ(f.rev, 1);
			EXPECT_EQ(f.c, c_bit); // 2: as in the reply
			EXPECT_FALSE(f.s || f.r);
			EXPECT_EQ(f.pd_length, 0); // 3
			expect_established(v, c);
			expect_moves("tx_rtr_frames", before);
			expect_data_both_ways(v, c, p);
		}
}

// 2007 proposal 5: the reply's S decides.
TEST_F(Forms, rtr_frame__initiator_without_an_answer)
{
	PolicyScope rev(lab().device, "mpa_rev", "1");
	Victim v(roomy());
	Connection &c = v.connect(target());
	Peer p = asked();
	EXPECT_TRUE(p.request.s);
	p.send_reply(reply_with_flags(1, false));
	expect_established(v, c);
	// the first bytes are those of an FPDU
	expect_victim_sends(v, c, p, 200);
	expect_data_both_ways(v, c, p);
}

// RFC 5044 7.1.1: reserved bits are zero, unless the proposal is wanted.
TEST_F(Forms, rtr_frame__initiator_does_not_ask)
{
	PolicyScope rev(lab().device, "mpa_rev", "1");
	for (const char *policy : {"off", "send write read"}) {
		PolicyScope p2p(lab().device, "p2p", policy);
		Victim v(roomy());
		Connection &c = v.connect(target());
		Peer p = asked();
		EXPECT_FALSE(p.request.s);
		EXPECT_EQ(p.request.reserved, 0);
		p.send_reply(reply_with_flags(1, false));
		expect_established(v, c);
		expect_data_both_ways(v, c, p);
	}
}

} // namespace peer
