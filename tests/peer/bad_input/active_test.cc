// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The victim connects; the peer that listens answers badly.
#include "../session/frames.h"
#include "../session/traffic.h"

namespace peer {
namespace {

constexpr auto short_timeout = "700"; // ms

struct ReplyCase : Row {
	// What to send for a request; the listener is there for what else comes.
	std::function<void(Peer &)> act;
	// The consumer must be told of failure; else of success or failure.
	bool must_fail = true;
};

class Active : public testing::TestWithParam<ReplyCase> {
protected:
	Address target() const { return listener.address(); }

	// The victim's next attempt, with its request; none if the consumer is told before.
	std::optional<Peer> attempt(Victim &v, Connection &c)
	{
		const auto end = std::chrono::steady_clock::now() + patience;
		while (!told(v, c, Millis{0}) && std::chrono::steady_clock::now() < end)
			try {
				Peer p(listener.accept(Millis{20}));
				p.receive_request();
				return p;
			} catch (const Timeout &) {
				// not yet
			}
		return {};
	}

	// Sends and writes both ways.
	static void expect_works(Victim &v, Connection &c, Peer &p)
	{
		c.post_send(*v.rw, 0, 300);
		const Segment s = p.next();
		EXPECT_TRUE(same(s.payload, v.rw->original(0, 300)));
		expect_success(v);
		p.send_message(pattern(90));
		expect_success(v);
		EXPECT_TRUE(same(c.received(0, 90), pattern(90)));
	}

	Listener listener;
};

std::function<void(Peer &)> reply_with(const Change &change)
{
	return [=](Peer &p) { p.socket.try_send(changed(fitting(p), change).encode()); };
}

TEST_P(Active, bad_reply)
{
	const ReplyCase &c = GetParam();
	const uint64_t errors = lab().device.errors();
	Victim v;
	std::optional<PolicyScope> timeout, answer;
	if (c.name == "silence") {
		timeout.emplace(lab().device, "startup_timeout_ms", short_timeout);
		answer.emplace(lab().device, "answer_timeout_ms", short_timeout);
	}
	Connection &con = v.connect(target());
	// The victim may try again with another revision: treat each attempt alike.
	while (std::optional<Peer> p = attempt(v, con)) {
		EXPECT_EQ(p->request.key, bytes(request_key));
		c.act(*p);
		Bytes rest;
		Event e = p->socket ? Event::data : Event::fin;
		while (e == Event::data || (e == Event::quiet && !told(v, con, Millis{0})))
			e = p->socket.receive(rest, Millis{1500});
	}
	ASSERT_TRUE(told(v, con)) << "the consumer was never told";
	if (c.must_fail) {
		EXPECT_NE(*con.happened.connect, RDMA_CM_EVENT_ESTABLISHED)
			<< "a connection on a malformed reply";
	}
	if (*con.happened.connect != RDMA_CM_EVENT_ESTABLISHED) {
		EXPECT_NE(con.happened.status, 0);
		if (lab().device.has_counters()) {
			EXPECT_TRUE(soon([&] { return lab().device.errors() > errors; }))
				<< "no error counter moved";
		}
	}
	EXPECT_EQ(v.ledger_fault(), "");
	for (Region *r : v.all())
		EXPECT_EQ(r->changed(), "");
	timeout.reset();
	answer.reset();
	expect_healthy(v);
}

std::vector<ReplyCase> cases()
{
	const char *key = "RFC 5044 7.1.2 rule 5, 8", *len = "RFC 5044 7.1.1 PD_Length",
		   *rev = "RFC 5044 7.1.1 Rev", *closed = "RFC 5044 8 code 1";
	auto bytes_then_fin = [](size_t n) {
		return [n](Peer &p) {
			StartupFrame f = fitting(p);
			f.private_data = pattern(100);
			Bytes o = f.encode();
			p.socket.send(View(o).first(n));
			p.socket.finish();
		};
	};
	std::vector<ReplyCase> c{
		{"request_instead", "RFC 5044 7.1.2 rule 8: initiator/initiator",
		 reply_with([](StartupFrame &f) { f.key = bytes(request_key); })},
		{"key_wrong", key, reply_with([](StartupFrame &f) { f.key[3] ^= 1; })},
		{"garbage", key, [](Peer &p) { p.socket.try_send(pattern(3000)); }},
		{"byte_too_many_before", key,
		 [](Peer &p) { p.socket.try_send(join({Bytes(1), fitting(p).encode()})); }},
		{"rev_3", rev, reply_with([](StartupFrame &f) { f.rev = 3; })},
		{"rev_255", rev, reply_with([](StartupFrame &f) { f.rev = 255; })},
		{"private_data_513", len, reply_with([](StartupFrame &f) {
			 f.private_data = pattern(f.enhanced ? 509 : 513);
		 })},
		{"private_data_65535_announced", len,
		 reply_with([](StartupFrame &f) { f.pd_length = 65535; })},
		{"enhanced_data_cut_off", "RFC 6581 6", reply_with([](StartupFrame &f) {
			 f.s = true;
			 f.rev = 2;
			 f.enhanced.reset();
			 f.private_data = pattern(3);
		 })},
		{"closed_at_once", closed, [](Peer &p) { p.socket.close(); }},
		{"reset_at_once", closed, [](Peer &p) { p.socket.reset(); }},
		{"silence", "RFC 5044 7.1.2 rule 10", [](Peer &) {}},
		{"reject", "RFC 5044 7.1.1 R", reply_with([](StartupFrame &f) { f.r = true; })},
		{"fpdu_instead", key,
		 [](Peer &p) {
			 p.socket.try_send(
				 FpduEncoder().encode(send_segment(1, pattern(100)).encode()));
		 }},
		{"reply_twice", "RFC 5044 8 code 2: the second is no FPDU",
		 [](Peer &p) {
			 Bytes o = fitting(p).encode();
			 p.socket.try_send(join({o, o, pattern(25000)}));
		 },
		 false},
		{"rev_1_for_rev_2", "RFC 6581 10", reply_with([](StartupFrame &f) {
			 f.rev = 1;
			 f.s = false;
			 f.enhanced.reset();
		 }),
		 false},
		{"peer_to_peer_not_asked_for", "RFC 6581 9.2", reply_with([](StartupFrame &f) {
			 if (f.enhanced)
				 f.enhanced->a = f.enhanced->b = f.enhanced->c = f.enhanced->d =
					 true;
		 }),
		 false},
		{"ord_over_our_ird", "RFC 6581 9.1: insufficient IRD",
		 reply_with([](StartupFrame &f) {
			 if (f.enhanced)
				 f.enhanced->ord = 0x3FFE;
		 }),
		 false},
		{"ird_0", "RFC 6581 9.1", reply_with([](StartupFrame &f) {
			 if (f.enhanced)
				 f.enhanced->ird = 0;
		 }),
		 false},
	};
	for (size_t n : {1, 16, 19, 20, 60})
		c.push_back({"cut_after_" + std::to_string(n), len, bytes_then_fin(n)});
	return c;
}

INSTANTIATE_TEST_SUITE_P(reply, Active, testing::ValuesIn(cases()),
			 [](const auto &info) { return info.param.name; });

TEST_F(Active, good_reply_rev_as_asked)
{
	Victim v({.private_data = pattern(20)});
	Connection &c = v.connect(target());
	Peer p = listener.asked();
	EXPECT_EQ(p.request.private_data, pattern(20));
	StartupFrame f = fitting(p);
	f.private_data = pattern(44);
	p.send_reply(f);
	p.receive_rtr();
	EXPECT_EQ(told(v, c), RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(c.happened.reply_data, pattern(44));
	expect_works(v, c, p);
}

// RFC 5044 7.1.2 rule 3; design.md: a consumer's reject is -ECONNREFUSED with its private data.
TEST_F(Active, reject_reaches_the_consumer)
{
	Victim v;
	Connection &c = v.connect(target());
	Peer p = listener.asked();
	StartupFrame f = fitting(p);
	f.r = true;
	f.private_data = pattern(44);
	p.send_reply(f);
	EXPECT_EQ(told(v, c), RDMA_CM_EVENT_REJECTED);
	EXPECT_EQ(c.happened.status, -ECONNREFUSED);
	EXPECT_EQ(c.happened.reply_data, pattern(44));
}

TEST_F(Active, nobody_listens)
{
	Victim v;
	Address to = target();
	listener.close();
	try {
		Connection &c = v.connect(to);
		EXPECT_EQ(told(v, c), RDMA_CM_EVENT_REJECTED);
	} catch (const std::system_error &e) {
		EXPECT_EQ(e.code().value(), ECONNREFUSED);
	}
}

// RFC 6581 10: a responder that knows rev 1 only closes; the initiator MAY try rev 1.
TEST_F(Active, falls_back_to_rev_1)
{
	Victim v;
	Connection &c = v.connect(target());
	if (listener.asked().request.rev < 2)
		GTEST_SKIP() << "the victim does not begin with rev 2";
	std::optional<Peer> p = attempt(v, c);
	if (!p)
		GTEST_SKIP() << "MAY, and does not";
	EXPECT_EQ(p->request.rev, 1);
	EXPECT_FALSE(p->request.s);
	p->send_reply(StartupFrame::reply(1));
	EXPECT_EQ(told(v, c), RDMA_CM_EVENT_ESTABLISHED);
	expect_works(v, c, *p);
}

// RFC 6581 9.1: the responder's ORD is more than the initiator can serve: Terminate 2/0/6.
TEST_F(Active, insufficient_ird_terminates)
{
	PolicyScope ird(lab().device, "ird", "8");
	if (!ird.holds())
		GTEST_SKIP() << "no such policy";
	Victim v;
	Connection &c = v.connect(target());
	Peer p = listener.asked();
	ASSERT_TRUE(p.request.enhanced);
	StartupFrame f = fitting(p);
	f.enhanced->ord = 9;
	p.send_reply(f);
	End e = p.end();
	ASSERT_TRUE(e.terminate);
	EXPECT_EQ(e.terminate->code, mpa::insufficient_ird);
	ASSERT_TRUE(told(v, c));
	EXPECT_NE(*c.happened.connect, RDMA_CM_EVENT_ESTABLISHED);
}

// RFC 6581 9.2: no RTR kind in common: Terminate 2/0/7. Needs the p2p policy.
TEST_F(Active, rtr_mismatch_terminates)
{
	PolicyScope p2p(lab().device, "p2p", "write");
	if (!p2p.holds())
		GTEST_SKIP() << "no such policy";
	Victim v;
	Connection &c = v.connect(target());
	Peer p = listener.asked();
	ASSERT_TRUE(p.request.enhanced && p.request.enhanced->a);
	StartupFrame f = fitting(p);
	f.enhanced->b = f.enhanced->c = false;
	f.enhanced->d = true;
	p.send_reply(f);
	End e = p.end();
	ASSERT_TRUE(e.terminate);
	EXPECT_EQ(e.terminate->code, mpa::no_rtr);
	ASSERT_TRUE(told(v, c));
	EXPECT_NE(*c.happened.connect, RDMA_CM_EVENT_ESTABLISHED);
}

} // namespace
} // namespace peer
