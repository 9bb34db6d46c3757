// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The victim connects; the listening peer sends invalid replies.
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

#include "../session/session.h"

namespace peer {
namespace {

constexpr auto short_timeout = "700"; // ms

using PeerAct = std::function<void(Peer &)>;

struct ReplyCase : Row {
	// Sends the reply to a request.
	PeerAct act;
	// The consumer's event must report a failure; otherwise either result is allowed.
	bool must_fail = true;
};

class Active : public testing::TestWithParam<ReplyCase> {};

// Accepts the victim's next attempt as s.p. Returns false if the consumer receives its event
// before.
bool tries_again(Session &s)
{
	bool again = false;
	EXPECT_TRUE(soon([&] {
		try {
			s.p = s.asked(Millis{20});
			again = true;
		} catch (const Timeout &) {
			// not yet
		}
		return again || s.cm_event(Millis{0});
	}));
	return again;
}

// Waits until the victim ends its direction. Returns false if its consumer gets a connection first,
// or if neither happens.
bool closes(Session &s)
{
	Bytes rest;
	Event e = Event::quiet;
	eventually([&] {
		e = s.p.socket.receive(rest, Millis{20});
		return e == Event::fin || e == Event::reset ||
		       s.cm_event(Millis{0}) == RDMA_CM_EVENT_ESTABLISHED;
	});
	return e == Event::fin || e == Event::reset;
}

TEST_P(Active, bad_reply)
{
	const ReplyCase &c = GetParam();
	Knobs policy;
	if (c.name == "silence")
		policy = {{"startup_timeout_ms", short_timeout},
			  {"answer_timeout_ms", short_timeout}};
	Session s(policy);
	s.bed.expect_anything();
	s.p = s.attempt();
	// The victim may retry with another revision; each attempt gets the same reply.
	do {
		c.act(s.p);
		const bool closed = !s.p || closes(s);
		EXPECT_TRUE(closed || !c.must_fail) << "not closed";
	} while (tries_again(s));
	ASSERT_TRUE(s.cm_event()) << "the consumer received no event";
	if (c.must_fail) {
		EXPECT_NE(s.cm_event(), RDMA_CM_EVENT_ESTABLISHED)
			<< "established although the reply is malformed";
	}
	if (s.cm_event() != RDMA_CM_EVENT_ESTABLISHED) {
		EXPECT_NE(s.c().happened.status, 0);
		EXPECT_TRUE(eventually([&] { return s.bed.any_error(); }))
			<< "no error counter moved";
	}
	s.give_up();
	expect_healthy(s.v);
}

PeerAct reply_with(const Change &change)
{
	return [=](Peer &p) { p.socket.try_send(changed(fitting(p), change).encode()); };
}

PeerAct bytes_then_fin(size_t n)
{
	return [n](Peer &p) {
		StartupFrame f = fitting(p);
		f.private_data = pattern(100);
		p.socket.send(View(f.encode()).first(n));
		p.socket.finish();
	};
}

void add_failures(std::vector<ReplyCase> &c)
{
	const char *key = "RFC 5044 7.1.2 rule 5, 8", *len = "RFC 5044 7.1.1 PD_Length",
		   *rev = "RFC 5044 7.1.1 Rev", *closed = "RFC 5044 8 code 1";
	auto add = [&](std::string name, const char *rfc, const PeerAct &act) {
		c.push_back({{std::move(name), rfc}, act});
	};
	auto frame = [&](const char *name, const char *rfc, const Change &change) {
		add(name, rfc, reply_with(change));
	};
	frame("request_instead", "RFC 5044 7.1.2 rule 8: initiator/initiator",
	      [](StartupFrame &f) { f.key = bytes(request_key); });
	frame("key_wrong", key, [](StartupFrame &f) { f.key[3] ^= 1; });
	frame("rev_3", rev, [](StartupFrame &f) { f.rev = 3; });
	frame("rev_255", rev, [](StartupFrame &f) { f.rev = 255; });
	frame("private_data_513", len,
	      [](StartupFrame &f) { f.private_data = pattern(f.enhanced ? 509 : 513); });
	frame("private_data_65535_announced", len, [](StartupFrame &f) { f.pd_length = 65535; });
	frame("enhanced_data_cut_off", "RFC 6581 6", [](StartupFrame &f) {
		f.s = true;
		f.rev = 2;
		f.enhanced.reset();
		f.private_data = pattern(3);
	});
	frame("reject", "RFC 5044 7.1.1 R", [](StartupFrame &f) { f.r = true; });
	add("garbage", key, [](Peer &p) { p.socket.try_send(pattern(3000)); });
	add("byte_too_many_before", key,
	    [](Peer &p) { p.socket.try_send(join({Bytes(1), fitting(p).encode()})); });
	add("fpdu_instead", key, [](Peer &p) {
		p.socket.try_send(FpduEncoder().encode(send_segment(1, pattern(100)).encode()));
	});
	add("closed_at_once", closed, [](Peer &p) { p.socket.close(); });
	add("reset_at_once", closed, [](Peer &p) { p.socket.reset(); });
	add("silence", "RFC 5044 7.1.2 rule 10", [](Peer &) {});
	for (size_t n : {1, 16, 19, 20, 60})
		add(std::format("cut_after_{}", n), len, bytes_then_fin(n));
}

void add_either(std::vector<ReplyCase> &c)
{
	auto add = [&](const char *name, const char *rfc, const PeerAct &act) {
		c.push_back({{name, rfc}, act, false});
	};
	auto enhanced = [&](const char *name, const char *rfc, void (*change)(Enhanced &)) {
		add(name, rfc, reply_with([=](StartupFrame &f) {
			    if (f.enhanced)
				    change(*f.enhanced);
		    }));
	};
	add("reply_twice", "RFC 5044 8 code 2: the second reply is no valid FPDU", [](Peer &p) {
		const Bytes o = fitting(p).encode();
		p.socket.try_send(join({o, o, pattern(25000)}));
	});
	add("rev_1_for_rev_2", "RFC 6581 10", reply_with([](StartupFrame &f) {
		    f.rev = 1;
		    f.s = false;
		    f.enhanced.reset();
	    }));
	enhanced("peer_to_peer_not_asked_for", "RFC 6581 9.2",
		 [](Enhanced &e) { e.a = e.b = e.c = e.d = true; });
	enhanced("ord_over_our_ird", "RFC 6581 9.1: insufficient IRD",
		 [](Enhanced &e) { e.ord = 0x3FFE; });
	enhanced("ird_0", "RFC 6581 9.1", [](Enhanced &e) { e.ird = 0; });
}

INSTANTIATE_TEST_SUITE_P(reply, Active, rows(add_failures, add_either), RowName());

TEST_F(Active, good_reply_rev_as_asked)
{
	Session s(Options{.private_data = pattern(20)});
	s.call_fitting([](StartupFrame &f) { f.private_data = pattern(44); });
	EXPECT_EQ(s.p.request.private_data, pattern(20));
	s.p.receive_rtr();
	s.established();
	EXPECT_EQ(s.c().happened.reply_data, pattern(44));
	s.judge(lives());
}

// RFC 5044 7.1.2 rule 3. A rejection by the peer's consumer is a REJECTED event with status
// -ECONNREFUSED and the private data.
TEST_F(Active, reject_reaches_the_consumer)
{
	Session s;
	s.call_fitting([](StartupFrame &f) {
		f.r = true;
		f.private_data = pattern(44);
	});
	s.reply_rejected(pattern(44));
}

TEST_F(Active, nobody_listens)
{
	Session s;
	const Address to = s.listener.address();
	s.listener.close();
	try {
		s.v.connect(to);
		EXPECT_EQ(s.cm_event(), RDMA_CM_EVENT_REJECTED);
	} catch (const std::system_error &e) {
		EXPECT_EQ(e.code().value(), ECONNREFUSED);
	}
}

// RFC 6581 10: a responder without revision 2 closes; the initiator MAY retry with revision 1.
TEST_F(Active, falls_back_to_rev_1)
{
	Session s;
	EXPECT_EQ(s.attempt().request.rev, 2);
	ASSERT_TRUE(tries_again(s));
	EXPECT_EQ(s.p.request.rev, 1);
	EXPECT_FALSE(s.p.request.s);
	s.p.send_reply(StartupFrame::reply(1));
	s.established();
	s.bed.expect_count("revision_fallbacks");
	s.judge(lives());
}

// RFC 6581 9.1: the responder's ORD exceeds the initiator's IRD: Terminate 2/0/6.
TEST_F(Active, insufficient_ird_terminates)
{
	Session s(Knobs{{"ird", "8"}});
	s.call_fitting([](StartupFrame &f) { f.enhanced.value().ord = 9; });
	s.reply_terminated(mpa::insufficient_ird, "startup_ird_errors");
}

// RFC 6581 9.2: no kind of RTR message in common: Terminate 2/0/7.
TEST_F(Active, rtr_mismatch_terminates)
{
	Session s(Knobs{{"p2p", "write"}});
	s.call_fitting([](StartupFrame &f) {
		EXPECT_TRUE(f.enhanced.value().a);
		f.enhanced->b = f.enhanced->c = false;
		f.enhanced->d = true;
	});
	s.reply_terminated(mpa::no_rtr, "startup_rtr_errors");
}

// RFC 6581 9.3: for an error without a code of its own, Terminate 2/0/5. The reply accepts, but is
// not enhanced as section 10 requires.
TEST_F(Active, unenhanced_reply_terminates)
{
	Session s;
	s.call_fitting([](StartupFrame &f) {
		f.s = false;
		f.enhanced.reset();
	});
	s.reply_terminated(mpa::local_catastrophic, "startup_length_errors");
}

// While this exists, the next allocation of the kernel below this function of the driver fails.
class Fault {
public:
	static bool supported() { return access(of("times").c_str(), W_OK) == 0; }

	explicit Fault(const std::string &function)
	{
		const auto [start, end] = text(function);
		set("verbose", "0");
		set("ignore-gfp-wait", "N");
		set("require-start", std::to_string(start));
		set("require-end", std::to_string(end));
		set("times", "1");
		set("probability", "100");
	}
	~Fault()
	{
		set("probability", "0");
		set("require-start", "0");
		set("require-end", std::to_string(~0UL));
	}
	Fault(const Fault &) = delete;
	Fault &operator=(const Fault &) = delete;

	// Whether the allocation has failed.
	bool happened() const
	{
		int left = -1;
		std::ifstream(of("times")) >> left;
		return left == 0;
	}

private:
	static std::string of(const std::string &knob)
	{
		return "/sys/kernel/debug/failslab/" + knob;
	}
	static void set(const std::string &knob, const std::string &value)
	{
		std::ofstream(of(knob)) << value << std::flush;
	}
	// The function's address, and that of the next one.
	static std::pair<uint64_t, uint64_t> text(const std::string &function)
	{
		std::ifstream in("/proc/kallsyms");
		std::set<uint64_t> all;
		uint64_t start = 0;
		for (std::string line; std::getline(in, line);) {
			std::istringstream words(line);
			std::string address, type, name, module;
			words >> address >> type >> name >> module;
			if (module != "[kwarp]" || (type != "t" && type != "T"))
				continue;
			all.insert(std::stoull(address, nullptr, 16));
			if (name == function)
				start = std::stoull(address, nullptr, 16);
		}
		return {start, *all.upper_bound(start)};
	}
};

// RFC 6581 9.3: the private data of the accepting reply find no memory on their way to the
// consumer.
TEST_F(Active, reply_without_memory_for_the_consumer_terminates)
{
	if (!Fault::supported())
		GTEST_SKIP() << "the kernel has no fault injection";
	Session s;
	Fault fault("kwarp_up_reply");
	s.call_fitting([](StartupFrame &f) { f.private_data = pattern(44); });
	ASSERT_TRUE(s.cm_event());
	ASSERT_TRUE(fault.happened());
	s.reply_terminated(mpa::local_catastrophic, "");
}

// RFC 6581 9.1: no memory for the IRD that the reply requires, more than the consumer's.
TEST_F(Active, reply_without_memory_for_the_ird_terminates)
{
	if (!Fault::supported())
		GTEST_SKIP() << "the kernel has no fault injection";
	Session s;
	std::optional<Fault> fault;
	s.call([&](const Peer &p) {
		fault.emplace("kwarp_rx_alloc");
		return changed(fitting(p), [](StartupFrame &f) { f.enhanced.value().ord = 32; });
	});
	ASSERT_TRUE(s.cm_event());
	ASSERT_TRUE(fault->happened());
	s.reply_terminated(mpa::insufficient_ird, "");
}

} // namespace
} // namespace peer
