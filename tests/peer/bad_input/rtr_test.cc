// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RTR messages of RFC 6581 9.2, and the Terminates of its startup errors.
#include "../session/session.h"

namespace peer {
namespace {

enum Kind { none, by_send, by_write, by_read, end_at_once };

// The initiator's first message, and the kind of RTR message that it is.
struct First {
	std::string name;
	Kind kind;
	std::function<void(Peer &, Victim &)> send;
};

void send_empty(Peer &p, uint8_t opcode, uint32_t inv_stag = 0)
{
	Segment s = send_segment(p.send_msn++, {});
	s.opcode = opcode;
	s.inv_stag = inv_stag;
	p.send(s);
}

const std::vector<First> firsts{
	{"send", by_send, [](Peer &p, Victim &) { p.send_message({}); }},
	{"write", by_write, [](Peer &p, Victim &) { p.send(write_segment(0, 0, {})); }},
	{"read", by_read, [](Peer &p, Victim &) { p.read({}); }},
	{"send_of_40", none, [](Peer &p, Victim &) { p.send_message(pattern(40)); }},
	{"send_with_invalidate", none,
	 [](Peer &p, Victim &v) { send_empty(p, op_send_inv, v.rw->rkey()); }},
	{"send_solicited", none, [](Peer &p, Victim &) { send_empty(p, op_send_se); }},
	{"write_of_40", none, [](Peer &p, Victim &v) { p.send(write_to(*v.rw, 0, pattern(40))); }},
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

// Starts up with a request with @e, without the RTR message that Peer would send by itself.
void dial_silently(Session &s, const Enhanced &e)
{
	s.p = Peer::reach(s.v.address(), lab().peer_socket());
	s.p.send_request(StartupFrame::request(2, e));
	s.p.request.enhanced->b = s.p.request.enhanced->c = s.p.request.enhanced->d = false;
	s.replied();
}

void expect_ready(Session &s, Kind kind)
{
	s.established();
	if (kind == by_read) {
		const Segment g = s.p.next();
		EXPECT_EQ(g.opcode, op_read_response);
		EXPECT_TRUE(g.payload.empty());
	}
	// the RTR message completes nothing and takes no receive
	EXPECT_FALSE(s.v.completion(moment));
	s.message(50);
	s.judge_working();
}

void expect_terminated(Session &s)
{
	const End end = s.p.end();
	ASSERT_TRUE(end.terminate);
	EXPECT_EQ(end.terminate->code, mpa::no_rtr);
	for (const char *name : {"tx_terminate", "startup_rtr_errors", "mpa_errors"})
		s.bed.expect_count(name);
	s.judge_gone("");
}

// RFC 6581 9.2: the initiator MUST begin with one of the negotiated RTR messages.
TEST_P(Rtr, first_message)
{
	const RtrCase &param = GetParam();
	Session s(roomy, {{"p2p", words[param.agreed]}});
	dial_silently(s, {.ird = 4, .ord = 4, .a = true, .b = true, .c = true, .d = true});
	const Enhanced &e = *s.p.reply.enhanced;
	EXPECT_TRUE(e.a);
	EXPECT_EQ(e.b, param.agreed == by_send);
	EXPECT_EQ(e.c, param.agreed == by_write);
	EXPECT_EQ(e.d, param.agreed == by_read);
	EXPECT_FALSE(s.cm_event(Millis{20})) << "established before the initiator is ready";
	param.first.send(s.p, s.v);
	if (param.first.kind == param.agreed)
		expect_ready(s, param.agreed);
	else if (param.first.kind == end_at_once)
		s.judge(closes("rx_terminate")); // a Terminate is not answered
	else
		expect_terminated(s);
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

// A = 0, the client-server model: any first message is allowed, and handled like a later one.
TEST(RtrNone, any_message_may_be_first)
{
	for (const First &f : firsts) {
		if (f.kind == end_at_once || f.name == "send_with_invalidate")
			continue;
		SCOPED_TRACE(f.name);
		Session s;
		dial_silently(s, {.ird = 4, .ord = 4, .b = true, .c = true, .d = true});
		const Enhanced &e = *s.p.reply.enhanced;
		EXPECT_FALSE(e.a || e.b || e.c || e.d);
		f.send(s.p, s.v);
		if (f.name.starts_with("send"))
			s.delivers(f.name == "send_of_40" ? pattern(40) : Bytes{});
		s.message(60);
	}
}

// ---- the initiator's Terminates ----

struct ReplyCase : Row {
	Code code;
	const char *counter;
	Change change;
};

class RtrReply : public testing::TestWithParam<ReplyCase> {};

TEST_P(RtrReply, is_terminated)
{
	const ReplyCase &param = GetParam();
	Session s(Knobs{{"p2p", "write"}});
	s.call_fitting(param.change);
	const Enhanced &asked = *s.p.request.enhanced;
	EXPECT_TRUE(asked.a && asked.c);
	EXPECT_FALSE(asked.b || asked.d);
	s.reply_terminated(param.code, param.counter);
}

constexpr const char *ird = "startup_ird_errors", *rtr = "startup_rtr_errors";

const ReplyCase replies[] = {
	{{"ord_over_the_limit", "RFC 6581 9.1"},
	 mpa::insufficient_ird,
	 ird,
	 [](StartupFrame &f) { f.enhanced->ord = 0x3FFE; }},
	{{"ord_129", "RFC 6581 9.1"},
	 mpa::insufficient_ird,
	 ird,
	 [](StartupFrame &f) { f.enhanced->ord = 129; }},
	{{"other_kinds", "RFC 6581 9.2"},
	 mpa::no_rtr,
	 rtr,
	 [](StartupFrame &f) {
		 f.enhanced->c = false;
		 f.enhanced->b = f.enhanced->d = true;
	 }},
	{{"no_kind", "RFC 6581 9.2"},
	 mpa::no_rtr,
	 rtr,
	 [](StartupFrame &f) { f.enhanced->c = false; }},
	{{"a_not_matched", "RFC 6581 9.2"},
	 mpa::no_rtr,
	 rtr,
	 [](StartupFrame &f) { f.enhanced->a = false; }},
	// an rdma_cm event carries at most 255 bytes of private data
	{{"private_data_256", "RFC 6581 9.3"},
	 mpa::local_catastrophic,
	 "startup_length_errors",
	 [](StartupFrame &f) { f.private_data = pattern(256); }},
};

INSTANTIATE_TEST_SUITE_P(reply, RtrReply, testing::ValuesIn(replies), RowName());

// RFC 6581 9.1: 0x3FFF leaves a depth to the ULPs. The reply has 0x3FFF in the corresponding field:
// ORD for the request's IRD, IRD for its ORD.
TEST(RtrDepths, no_negotiation)
{
	constexpr uint16_t none = 0x3FFF;
	for (auto [ird, ord] : {std::pair<uint16_t, uint16_t>{none, none}, {none, 2}, {3, none}}) {
		Session s(roomy);
		s.dial(StartupFrame::request(2, Enhanced{.ird = ird, .ord = ord}));
		EXPECT_EQ(s.p.reply.enhanced.value().ord == none, ird == none);
		EXPECT_EQ(s.p.reply.enhanced->ird == none, ord == none);
		if (ird == ord)
			s.judge_working();
	}
}

TEST(RtrDepths, no_negotiation_in_the_reply)
{
	Session s(roomy, {{"p2p", "off"}});
	s.call([](const Peer &) {
		return StartupFrame::reply(2, Enhanced{.ird = 0x3FFF, .ord = 0x3FFF});
	});
	s.established();
	// the initiator keeps its own depths
	EXPECT_EQ(s.c().happened.ird + s.c().happened.ord, roomy.ird + roomy.ord);
	s.judge_working();
}

} // namespace
} // namespace peer
