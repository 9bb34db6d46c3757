// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Ready-to-receive indications of RFC 6581 9.2, and the Terminates of its startup errors.
#include "forms.h"

namespace peer {
namespace {

enum Kind { none, by_send, by_write, by_read, end_at_once };

// What the initiator sends first, and which indication it is.
struct First {
	std::string name;
	Kind kind;
	std::function<void(Peer &, Victim &)> send;
};

const std::vector<First> firsts{
	{"send", by_send, [](Peer &p, Victim &) { p.send_message({}); }},
	{"write", by_write, [](Peer &p, Victim &) { p.send(write_segment(0, 0, {})); }},
	{"read", by_read, [](Peer &p, Victim &) { p.read({}); }},
	{"send_of_40", none, [](Peer &p, Victim &) { p.send_message(pattern(40)); }},
	{"send_with_invalidate", none,
	 [](Peer &p, Victim &v) {
		 Segment s = send_segment(p.send_msn++, {});
		 s.opcode = op_send_inv;
		 s.inv_stag = v.rw->rkey();
		 p.send(s);
	 }},
	{"send_solicited", none,
	 [](Peer &p, Victim &) {
		 Segment s = send_segment(p.send_msn++, {});
		 s.opcode = op_send_se;
		 p.send(s);
	 }},
	{"write_of_40", none,
	 [](Peer &p, Victim &v) {
		 p.send(write_segment(v.rw->rkey(), v.rw->base(), pattern(40)));
	 }},
	{"read_of_40", none,
	 [](Peer &p, Victim &v) { p.read({1, 0, 40, v.rw->rkey(), v.rw->base()}); }},
	{"terminate", end_at_once,
	 [](Peer &p, Victim &) { p.send(terminate_segment(mpa::no_rtr)); }},
};

struct RtrCase {
	Kind agreed;
	First first;
};

const char *const words[] = {"", "send", "write", "read"};

void PrintTo(const RtrCase &c, std::ostream *os)
{
	*os << "agreed on " << words[c.agreed] << ", first comes " << c.first.name;
}

class Rtr : public testing::TestWithParam<RtrCase> {};

// With its consumer asking for nothing; what Peer would send by itself is left out.
Peer connect_silently(Victim &v, const Enhanced &e)
{
	Peer p = Peer::reach(v.address(), lab().peer_socket());
	p.send_request(StartupFrame::request(2, e));
	p.request.enhanced->b = p.request.enhanced->c = p.request.enhanced->d = false;
	p.receive_reply();
	return p;
}

void expect_ready(Victim &v, Connection &c, Peer &p, Kind kind)
{
	EXPECT_EQ(told(v, c), RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(c.happened.status, 0);
	if (kind == by_read) {
		const Segment s = p.next();
		EXPECT_EQ(s.opcode, op_read_response);
		EXPECT_TRUE(s.payload.empty());
	}
	// nothing of it for the consumer: its first receive is for the first message
	EXPECT_FALSE(v.completion(moment));
	p.send_message(pattern(50));
	EXPECT_EQ(Victim::index_of(expect_success(v).wr_id), 0U);
	EXPECT_TRUE(same(c.received(0, 50), pattern(50)));
	c.post_receive(0);
	expect_data_both_ways(v, c, p);
}

// RFC 6581 9.2: the initiator MUST generate one of the negotiated indications.
TEST_P(Rtr, first_message)
{
	const RtrCase &param = GetParam();
	PolicyScope p2p(lab().device, "p2p", words[param.agreed]);
	if (!p2p.holds())
		GTEST_SKIP() << "kwarp only";
	uint64_t before = counter("startup_rtr_errors");
	Victim v(roomy());
	Peer p = connect_silently(v,
				  {.ird = 4, .ord = 4, .a = true, .b = true, .c = true, .d = true});
	const Enhanced &e = *p.reply.enhanced;
	EXPECT_TRUE(e.a);
	EXPECT_EQ(e.b, param.agreed == by_send);
	EXPECT_EQ(e.c, param.agreed == by_write);
	EXPECT_EQ(e.d, param.agreed == by_read);
	Connection &c = v.connection(0);
	EXPECT_FALSE(told(v, c, Millis{20})) << "established before the initiator is ready";
	param.first.send(p, v);
	if (param.first.kind == param.agreed) {
		expect_ready(v, c, p, param.agreed);
		EXPECT_EQ(counter("startup_rtr_errors"), before);
		return;
	}
	End end = p.end(patience);
	EXPECT_TRUE(end.closed());
	if (param.first.kind == end_at_once) {
		EXPECT_FALSE(end.terminate) << "a Terminate is not answered";
	} else {
		ASSERT_TRUE(end.terminate);
		EXPECT_EQ(end.terminate->code, mpa::no_rtr);
		EXPECT_TRUE(soon([&] { return counter("startup_rtr_errors") > before; }));
	}
	p.close();
	EXPECT_TRUE(v.settled(0)) << "a posted receive never completed";
	for (const ibv_wc &wc : v.history())
		EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(v.rw->changed(), "");
	expect_healthy(v);
}

std::vector<RtrCase> cases()
{
	std::vector<RtrCase> all;
	for (Kind agreed : {by_send, by_write, by_read})
		for (const First &f : firsts)
			all.push_back({agreed, f});
	return all;
}

INSTANTIATE_TEST_SUITE_P(first, Rtr, testing::ValuesIn(cases()), [](const auto &info) {
	return std::string(words[info.param.agreed]) + "_agreed_" + info.param.first.name +
	       "_comes";
});

// A zero: client-server model, any first message will do, and none is special.
TEST(RtrNone, any_message_may_be_first)
{
	for (const First &f : firsts) {
		if (f.kind == end_at_once || f.name == "send_with_invalidate")
			continue;
		SCOPED_TRACE(f.name);
		Victim v(roomy());
		Peer p = connect_silently(v, {.ird = 4, .ord = 4, .b = true, .c = true, .d = true});
		const Enhanced &e = *p.reply.enhanced;
		EXPECT_FALSE(e.a || e.b || e.c || e.d);
		f.send(p, v);
		p.send_message(pattern(60));
		bool takes_a_receive = f.name.starts_with("send");
		for (int i = 0; i < 1 + takes_a_receive; i++)
			expect_success(v);
		EXPECT_TRUE(same(v.connection(0).received(takes_a_receive, 60), pattern(60)));
	}
}

// ---- the initiator's Terminates ----

struct ReplyCase {
	std::string name;
	Code code;
	const char *counter;
	std::function<void(StartupFrame &)> change;
};

void PrintTo(const ReplyCase &c, std::ostream *os)
{
	*os << c.name;
}

class RtrReply : public testing::TestWithParam<ReplyCase> {};

TEST_P(RtrReply, is_terminated)
{
	const ReplyCase &param = GetParam();
	PolicyScope p2p(lab().device, "p2p", "write");
	if (!p2p.holds())
		GTEST_SKIP() << "kwarp only";
	uint64_t before = counter(param.counter);
	Victim v;
	Listener listener;
	Connection &c = v.connect(listener.address());
	Peer p = listener.asked();
	const Enhanced &asked = *p.request.enhanced;
	EXPECT_TRUE(asked.a && asked.c);
	EXPECT_FALSE(asked.b || asked.d);
	StartupFrame reply = StartupFrame::reply(
		2, Enhanced{.ird = asked.ord, .ord = asked.ird, .a = true, .c = true});
	param.change(reply);
	p.send_reply(reply);
	End end = p.end(patience);
	EXPECT_TRUE(end.closed());
	EXPECT_TRUE(end.before.empty()) << "something before the Terminate";
	ASSERT_TRUE(end.terminate);
	EXPECT_EQ(end.terminate->code, param.code);
	ASSERT_TRUE(told(v, c));
	EXPECT_NE(*c.happened.connect, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_NE(c.happened.status, 0);
	EXPECT_TRUE(soon([&] { return counter(param.counter) > before; })) << param.counter;
}

const ReplyCase replies[] = {
	// RFC 6581 9.1
	{"ord_over_the_limit", mpa::insufficient_ird, "startup_ird_errors",
	 [](StartupFrame &f) { f.enhanced->ord = 0x3FFE; }},
	{"ord_129", mpa::insufficient_ird, "startup_ird_errors",
	 [](StartupFrame &f) { f.enhanced->ord = 129; }},
	// RFC 6581 9.2
	{"other_kinds", mpa::no_rtr, "startup_rtr_errors",
	 [](StartupFrame &f) {
		 f.enhanced->c = false;
		 f.enhanced->b = f.enhanced->d = true;
	 }},
	{"no_kind", mpa::no_rtr, "startup_rtr_errors",
	 [](StartupFrame &f) { f.enhanced->c = false; }},
	{"a_not_matched", mpa::no_rtr, "startup_rtr_errors",
	 [](StartupFrame &f) { f.enhanced->a = false; }},
	// RFC 6581 9.3: more private data than the consumer's interface can carry
	{"private_data_256", mpa::local_catastrophic, "startup_length_errors",
	 [](StartupFrame &f) { f.private_data = pattern(256); }},
};

INSTANTIATE_TEST_SUITE_P(reply, RtrReply, testing::ValuesIn(replies),
			 [](const auto &info) { return info.param.name; });

// RFC 6581 9.1: 0x3FFF leaves depths to the ULPs.
TEST(RtrDepths, no_negotiation)
{
	Victim v(roomy());
	Peer p = Peer::connect(v.address(),
			       StartupFrame::request(2, Enhanced{.ird = 0x3FFF, .ord = 0x3FFF}),
			       lab().peer_socket());
	ASSERT_TRUE(p.reply.enhanced);
	EXPECT_EQ(p.reply.enhanced->ird, 0x3FFF);
	EXPECT_EQ(p.reply.enhanced->ord, 0x3FFF);
	expect_data_both_ways(v, v.connection(0), p);
	for (bool ird : {true, false}) {
		Peer q = Peer::connect(
			v.address(),
			StartupFrame::request(2, Enhanced{.ird = uint16_t(ird ? 0x3FFF : 3),
							  .ord = uint16_t(ird ? 2 : 0x3FFF)}),
			lab().peer_socket());
		EXPECT_EQ(q.reply.enhanced->ord == 0x3FFF, ird);
		EXPECT_EQ(q.reply.enhanced->ird == 0x3FFF, !ird);
	}
}

TEST(RtrDepths, no_negotiation_in_the_reply)
{
	Victim v(roomy());
	Listener listener;
	PolicyScope p2p(lab().device, "p2p", "off");
	Connection &c = v.connect(listener.address());
	Peer p = listener.asked();
	p.send_reply(StartupFrame::reply(2, Enhanced{.ird = 0x3FFF, .ord = 0x3FFF}));
	EXPECT_EQ(told(v, c), RDMA_CM_EVENT_ESTABLISHED);
	// the initiator's own depths, unchanged
	EXPECT_EQ(c.happened.ird + c.happened.ord, v.options().ird + v.options().ord);
	expect_data_both_ways(v, c, p);
}

} // namespace
} // namespace peer
