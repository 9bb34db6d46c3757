// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Two peers connected to each other over loopback.
#include "../iwarp/peer.h"

#include <gtest/gtest.h>

using namespace iwarp;

namespace {

struct Pair {
	Peer initiator, responder;
};

Pair make_pair(StartupFrame request, const StartupFrame &reply)
{
	Socket listener = Socket::listen(Address("127.0.0.1", 0));
	Peer i(Socket::connect(listener.local()));
	Peer r(listener.accept(patience));
	i.send_request(request);
	r.receive_request();
	r.send_reply(reply);
	i.receive_reply();
	return {std::move(i), std::move(r)};
}

} // namespace

TEST(peer, startup__all_agreements)
{
	for (int bits = 0; bits < 16; bits++) {
		StartupFrame req = StartupFrame::request(1), rep = StartupFrame::reply(1);
		req.m = bits & 1;
		rep.m = bits & 2;
		req.c = bits & 4;
		rep.c = bits & 8;
		Pair p = make_pair(req, rep);
		for (size_t n : {0, 1, 600, 3000}) {
			p.initiator.send_message(pattern(n));
			EXPECT_EQ(p.responder.receive()->payload, pattern(n));
			p.responder.send_message(pattern(n));
			EXPECT_EQ(p.initiator.receive()->payload, pattern(n));
		}
		EXPECT_EQ(p.responder.markers_received > 0, rep.m);
		EXPECT_EQ(p.initiator.markers_received > 0, req.m);
	}
}

TEST(peer, startup__private_data)
{
	Pair p = make_pair(StartupFrame::request(2, Enhanced{}, pattern(508)),
			   StartupFrame::reply(2, Enhanced{}, pattern(3)));
	EXPECT_EQ(p.responder.request.private_data, pattern(508));
	EXPECT_EQ(p.initiator.reply.private_data, pattern(3));
}

TEST(peer, startup__rtr_is_what_both_named)
{
	Enhanced e{.a = true, .b = true, .c = true};
	Pair p = make_pair(StartupFrame::request(2, e),
			   StartupFrame::reply(2, Enhanced{.a = true, .c = true, .d = true}));
	EXPECT_NO_THROW(p.responder.receive_rtr());
}

TEST(peer, receive_rtr__not_the_kind_agreed_on)
{
	Enhanced e{.a = true, .c = true};
	Pair p = make_pair(StartupFrame::request(2, e), StartupFrame::reply(2, e));
	p.responder.reply.enhanced = Enhanced{.a = true, .b = true};
	EXPECT_THROW(p.responder.receive_rtr(), std::runtime_error);
}

TEST(peer, receive_rtr__none_without_a)
{
	Pair p =
		make_pair(StartupFrame::request(2, Enhanced{}), StartupFrame::reply(2, Enhanced{}));
	EXPECT_NO_THROW(p.responder.receive_rtr(Millis{0}));
}

TEST(peer, end__terminate_and_fin)
{
	Pair p = make_pair(StartupFrame::request(1), StartupFrame::reply(1));
	p.initiator.send_message(bytes("before"));
	p.initiator.send(terminate_segment(mpa::crc));
	p.initiator.socket.finish();
	End e = p.responder.end();
	EXPECT_EQ(e.event, Event::fin);
	ASSERT_TRUE(e.terminate);
	EXPECT_EQ(e.terminate->code, mpa::crc);
	ASSERT_EQ(e.before.size(), 1U);
}

TEST(peer, end__reset)
{
	Pair p = make_pair(StartupFrame::request(1), StartupFrame::reply(1));
	p.initiator.socket.reset();
	EXPECT_EQ(p.responder.end().event, Event::reset);
}

TEST(peer, end__quiet)
{
	Pair p = make_pair(StartupFrame::request(1), StartupFrame::reply(1));
	EXPECT_EQ(p.responder.end(Millis{20}).event, Event::quiet);
}

TEST(peer, receive__wrong_crc_raises)
{
	Pair p = make_pair(StartupFrame::request(1), StartupFrame::reply(1));
	p.initiator.send(send_segment(1, pattern(9)), {.crc_xor = 0x80000000});
	EXPECT_THROW(p.responder.receive(), std::runtime_error);
}
