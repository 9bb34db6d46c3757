// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The peer ends the connection, by FIN or by RST (over SCTP: by Session Terminate or by ABORT), at
// every step; half-close; and the victim ends the connection.
#include "../session/cases.h"
#include "../session/reads.h"

namespace peer {
namespace {

struct Leaving : Row {
	bool rst;
	Act before;
	// The counter that moves by one; empty for a graceful end.
	std::string counter;
	bool terminate = false; // the victim sends a Terminate: its direction is still open
	Terms terms{};
};

class Leave : public testing::TestWithParam<Leaving> {};

TEST_P(Leave, is_noticed)
{
	const Leaving &c = GetParam();
	Session s(c.terms);
	c.before(s);
	if (HasFatalFailure())
		return;
	wait_acknowledged(s.p.connection());
	if (c.rst) {
		s.p.reset();
		return s.judge_gone(c.counter);
	}
	s.p.finish();
	Verdict verdict = closes(c.counter);
	if (c.terminate)
		verdict = {Fate::terminates, {mpa::closed}, c.counter};
	s.judge(verdict);
}

// The peer ends the connection after the first bytes of a correct FPDU.
void add_in_fpdu(std::vector<Leaving> &c)
{
	auto add = [&](const std::string &name, bool markers, size_t n) {
		for (bool rst : {false, true})
			c.push_back({{(rst ? "rst_" : "fin_") + name,
				      "RFC 5044 8 code 1; RFC 5040 6.2.1: SHOULD send a Terminate"},
				     rst,
				     [n](Session &s) {
					     first_bytes(write_to(*s.v.rw, 0, pattern(101)), n)(s);
				     },
				     "llp_lost",
				     !rst,
				     {.markers_in = markers}});
	};
	struct Cut {
		const char *name;
		size_t at;
	};
	// Write of 101 bytes: length 0, header 2..15, payload 16..116, pad 117..119, CRC 120..123
	for (const Cut &k : {Cut{"behind_one_byte", 1},
			     {"behind_the_length", 2},
			     {"in_the_control_bytes", 3},
			     {"in_the_stag", 6},
			     {"in_the_to", 12},
			     {"behind_the_header", 16},
			     {"in_the_payload", 70},
			     {"before_the_pad", 117},
			     {"in_the_pad", 118},
			     {"before_the_crc", 120},
			     {"in_the_crc", 122},
			     {"before_the_last_byte", 123}}) {
		add(k.name, false, k.at);
		add(std::string(k.name) + "_marked", true, k.at + 4);
	}
	for (size_t n : {1, 2, 4})
		add(std::format("in_the_first_marker_{}", n), true, n);
}

void add_between(std::vector<Leaving> &c)
{
	auto both = [&](const std::string &name, const char *rfc, const Act &before,
			const std::string &on_fin = "") {
		c.push_back({{"fin_" + name, rfc}, false, before, on_fin});
		c.push_back({{"rst_" + name, "RFC 5044 8 code 1"}, true, before, "llp_lost"});
	};
	const char *graceful = "RFC 5041 6.2.1: graceful", *cut = "RFC 5044 8 code 1: FIN received";
	both("after_the_reply", graceful, [](Session &) {});
	both("after_the_reply_with_a_send_waiting", "RFC 5041 6.2.1",
	     [](Session &s) { s.c().post_send(*s.v.spare, 0, 100); });
	both("after_a_message", graceful, [](Session &s) { s.message(); });
	both("after_a_write", graceful, right_write({.len = 50}));
	both("after_traffic_both_ways", graceful, [](Session &s) {
		s.message();
		s.victim_sends(500);
		right_read({.region = ro, .len = 100})(s);
	});
	// The last segment of the message is missing.
	both(
		"between_two_segments_of_a_send", cut, [](Session &s) { s.begins(pattern(50)); },
		"llp_lost");
	// The Read Response, or its last segment, is missing.
	both("before_a_read_response", cut, [](Session &s) { asked(s); }, "llp_lost");
	both(
		"within_a_read_response", cut,
		[](Session &s) {
			const ReadRequest rr = asked(s);
			s.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(50),
						       false));
			s.may_touch(*s.v.local, {sink_at, 50});
		},
		"llp_lost");
}

INSTANTIATE_TEST_SUITE_P(Ending, Leave, rows(add_between, of_mpa(add_in_fpdu)), RowName());

// ---- after a Terminate

class LeaveAfterTerminate : public testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(LeaveAfterTerminate, adds_nothing)
{
	auto [rst, ours] = GetParam();
	Session s((Terms()));
	if (ours) {
		s.p.send(terminate_segment(mpa::crc));
		s.bed.expect_count("rx_terminate");
	} else {
		s.p.send(write_to(*s.v.ro, 0, pattern(40)));
		s.bed.expect_count("ddp_tagged_errors");
		s.bed.expect_count("access_errors");
		s.bed.expect_count("tx_terminate");
		ASSERT_TRUE(s.p.end().terminate);
	}
	ASSERT_TRUE(eventually([&] { return s.c().state() == IBV_QPS_ERR; }));
	if (rst)
		s.p.reset();
	else
		s.p.finish();
	s.judge_gone("");
}

INSTANTIATE_TEST_SUITE_P(Ending, LeaveAfterTerminate,
			 testing::Combine(testing::Bool(), testing::Bool()), [](const auto &info) {
				 return std::string(std::get<0>(info.param) ? "rst" : "fin") +
					(std::get<1>(info.param) ? "_after_ours" :
								   "_after_the_victims");
			 });

// ---- half-close

// After its own FIN the victim still receives data until the peer's FIN: RFC 5041 6.2.1 "SHOULD
// keep data reception enabled".
TEST(EndingHalfClose, victim_receives_after_its_own_fin)
{
	Session s((Terms()));
	s.message();
	s.c().disconnect();
	ASSERT_FALSE(s.p.receive());
	ASSERT_EQ(s.p.last_event, Event::fin);
	s.message();
	s.writes(*s.v.rw, 0, pattern(50));
	s.p.finish();
	s.judge_gone("");
}

TEST(EndingHalfClose, victim_finishes_its_sends_before_its_fin)
{
	Session s((Terms()));
	s.message();
	for (unsigned i = 0; i < 5; i++)
		s.c().post_send(*s.v.spare, 0, 3000);
	s.c().disconnect();
	unsigned bytes = 0;
	while (std::optional<Segment> g = s.p.receive())
		bytes += static_cast<unsigned>(g->payload.size());
	EXPECT_EQ(s.p.last_event, Event::fin);
	EXPECT_EQ(bytes, 5 * 3000U);
	for (unsigned i = 0; i < 5; i++)
		s.completes(IBV_WC_SEND);
	s.p.finish();
	s.judge_gone("");
}

// RFC 5041 6.2.1: requests after the teardown fail. An older RDMA Read delays the FIN.
TEST(EndingHalfClose, victim_sends_nothing_that_is_posted_later)
{
	Session s((Terms()));
	s.message();
	const ReadRequest rr = asked(s);
	s.c().disconnect();
	for (unsigned i = 0; i < 3; i++)
		s.c().post_send(*s.v.spare, 0, 100);
	s.p.send(answer(rr));
	done(s);
	ASSERT_FALSE(s.p.receive());
	EXPECT_EQ(s.p.last_event, Event::fin);
	s.p.finish();
	unsigned flushed = 0;
	while (std::optional<ibv_wc> wc = s.v.completion(Millis{2000})) {
		EXPECT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR);
		flushed += Victim::is_send(wc->wr_id);
		if (flushed == 3)
			break;
	}
	EXPECT_EQ(flushed, 3U);
	s.judge_gone("");
}

// ---- during startup

class LeaveEarly : public testing::TestWithParam<std::tuple<bool, size_t>> {};

StartupFrame whole_request()
{
	StartupFrame f = request_with(2, true);
	f.private_data = pattern(16);
	return f;
}

// RFC 5044 8 code 1, 7.1.1 PD_Length
TEST_P(LeaveEarly, is_no_connection)
{
	auto [rst, n] = GetParam();
	Session(Wishes{}).unanswered(View(whole_request().encode()).first(n),
				     rst ? Then::rst : Then::fin, "startup_closed");
}

std::string early_name(const testing::TestParamInfo<std::tuple<bool, size_t>> &info)
{
	return std::format("{}_after_{}", std::get<0>(info.param) ? "rst" : "fin",
			   std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Ending, LeaveEarly,
			 testing::Combine(testing::Bool(), testing::Range<size_t>(0, 40)),
			 early_name);

// The peer closes while the consumer holds the connection request. The device must count the lost
// startup once, and the consumer's accept must fail.
class LeaveUnanswered : public testing::TestWithParam<bool> {};

TEST_P(LeaveUnanswered, is_noticed)
{
	Session s(Wishes{});
	s.v.answers(Answer::hold);
	s.p = Peer::reach(s.v.address(), lab().peer_socket());
	s.p.send_request(whole_request());
	Connection &c = s.c();
	s.v.answers(Answer::accept);
	if (GetParam())
		s.p.reset();
	else
		s.p.close();
	s.bed.expect_count("startup_closed");
	// Wait until the device has detected the end: from then on an accept must fail.
	EXPECT_TRUE(eventually([&] { return s.bed.all_counted(); }));
	EXPECT_THROW(
		{
			c.accept();
			// Or rdma_accept() succeeds and an event reports the failure.
			if (s.cm_event() && *s.cm_event() != RDMA_CM_EVENT_ESTABLISHED)
				throw std::runtime_error("no connection");
		},
		std::runtime_error);
	s.give_up();
}

INSTANTIATE_TEST_SUITE_P(Ending, LeaveUnanswered, testing::Bool(),
			 [](const auto &info) { return info.param ? "rst" : "fin"; });

} // namespace
} // namespace peer
