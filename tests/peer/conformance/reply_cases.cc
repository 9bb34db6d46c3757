// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The victim as initiator: every combination of a reply's flags, many values of IRD and ORD,
// malformed replies, fallback to revision 1.
#include "../session/session.h"

namespace peer {
namespace {

struct ReplyCase : Row {
	Change change;
	Verdict verdict{};
	Wishes wishes{};
};

class Reply : public testing::TestWithParam<ReplyCase> {};

// Checks the fields of the victim's request: RFC 5044 7.1.1, RFC 6581 6 and 9.
void check_request(const StartupFrame &req, const Wishes &w)
{
	EXPECT_EQ(req.key, bytes(request_key));
	EXPECT_EQ(req.rev, w.rev);
	EXPECT_EQ(req.m, w.markers && !lab().sctp);
	EXPECT_EQ(req.c, w.crc && !lab().sctp);
	EXPECT_FALSE(req.r);
	EXPECT_EQ(req.reserved, 0);
	EXPECT_EQ(req.private_data, Bytes{});
	if (w.rev < 2)
		return;
	ASSERT_TRUE(req.enhanced);
	EXPECT_EQ(req.enhanced->ird, depth);
	EXPECT_EQ(req.enhanced->ord, depth);
	// Over SCTP either side may send first (RFC 6581 7).
	const bool p2p = w.p2p && !lab().sctp;
	EXPECT_EQ(req.enhanced->a, p2p);
	EXPECT_EQ(req.enhanced->b || req.enhanced->c || req.enhanced->d, p2p);
}

TEST_P(Reply, is_taken_as_the_rfc_says)
{
	const ReplyCase &c = GetParam();
	Session s(c.wishes);
	s.call_fitting(c.change);
	check_request(s.p.request, c.wishes);
	if (c.verdict.fate == Fate::terminates)
		return s.reply_terminated(c.verdict.codes.front(),
					  c.verdict.counters_for(c.verdict.codes.front()).back());
	s.p.receive_rtr(); // throws if the RTR message is not of a negotiated kind
	// If the RTR message is a Send, its MSN is 1. The peer does not check this MSN.
	s.established();
	s.judge(lives());
}

constexpr std::initializer_list<const char *> mcr{"M", "C", "reserved"};

Change set_mcr(unsigned bits)
{
	return [=](StartupFrame &f) {
		f.m = bits & 1;
		f.c = bits & 2;
		f.reserved = bits & 4 ? 15 : 0;
	};
}

void add_flags(std::vector<ReplyCase> &c)
{
	for (unsigned bits = 0; bits < 8; bits++)
		for (bool crc : {true, false})
			for (bool markers : {false, true}) {
				auto add = [&](uint8_t rev, bool p2p) {
					c.push_back({{std::format("rev_{}{}{}{}{}", rev,
								  named_bits(bits, mcr),
								  crc ? "" : "_victim_no_crc",
								  markers ? "_victim_markers" : "",
								  p2p ? "_peer_to_peer" : ""),
						      "RFC 5044 7.1.1"},
						     set_mcr(bits),
						     lives(),
						     {.rev = rev,
						      .crc = crc,
						      .markers = markers,
						      .p2p = p2p}});
				};
				add(1, false); // true: the 2007 proposal, in early_forms_cases.cc
				add(2, false);
				add(2, true);
			}
}

void add_model(std::vector<ReplyCase> &c)
{
	for (unsigned bits = 0; bits < 16; bits++)
		for (bool p2p : {true, false}) {
			const bool a = bits & 1;
			if (p2p && lab().sctp)
				continue; // the victim does not set A
			// A reply without A to a request with A, or with A and without an RTR
			// message, leaves no common model (code 7). A reply with A to a request
			// without A is to be obeyed: "upon receiving A set to 1".
			Verdict o = lives();
			if ((p2p && !a) || (a && !(bits & 14)))
				o = terminates(mpa::no_rtr);
			c.push_back({{(p2p ? "asked" : "not_asked") + kinds_name(bits),
				      "RFC 6581 9.2"},
				     [=](StartupFrame &f) {
					     f.enhanced = enhanced_with(bits, f.enhanced->ird,
									f.enhanced->ord);
				     },
				     o,
				     {.p2p = p2p}});
		}
}

// The initiator's IRD must be at least the responder's ORD. The device's limit of IRD is 32; the
// consumer requests 4.
void add_depths(std::vector<ReplyCase> &c)
{
	for (uint16_t ord : {0, 1, 3, 4, 5, 31, 32, 33, 0x100, 0x3FFE, 0x3FFF})
		c.push_back({std::format("ord_{:x}", ord), "RFC 6581 9.1, 8 code 6",
			     [=](StartupFrame &f) { f.enhanced->ord = ord; },
			     ord > 32 && ord != 0x3FFF ? terminates(mpa::insufficient_ird) :
							 lives()});
	for (uint16_t ird : {0, 1, 4, 5, 33, 0x3FFE, 0x3FFF})
		c.push_back({std::format("ird_{:x}", ird), "RFC 6581 9.1",
			     [=](StartupFrame &f) { f.enhanced->ird = ird; }});
}

INSTANTIATE_TEST_SUITE_P(Startup, Reply, rows(add_model, add_depths, of_mpa(add_flags)), RowName());

// ---- refused

struct Refusal : Row {
	const char *counter;
	std::function<void(Peer &)> act;
};

class BadReply : public testing::TestWithParam<Refusal> {};

// RFC 5044 7.1.2 rule 3: close and exit MPA. The request has revision 1, so there is no fallback.
TEST_P(BadReply, ends_the_attempt)
{
	const Refusal &c = GetParam();
	Session s(Wishes{.rev = 1, .p2p = false});
	s.p = s.attempt();
	c.act(s.p);
	s.reply_refused(c.counter);
}

std::vector<Refusal> refusals()
{
	std::vector<Refusal> c;
	auto frame = [&](std::string name, const char *rfc, const char *counter, Change change) {
		c.push_back({std::move(name), rfc, counter, [=](Peer &p) {
				     p.socket.try_send(changed(fitting(p), change).encode());
			     }});
	};
	const char *key = "RFC 5044 7.1.1 Key, 7.1.2 rule 5", *len = "RFC 5044 7.1.1 PD_Length",
		   *closed = "RFC 5044 8 code 1";
	for (size_t i = 0; i < 16; i++) {
		Bytes wrong = bytes(reply_key);
		wrong[i] ^= 1;
		const bool role = wrong == bytes(request_key); // one bit differs
		frame(std::format("key_byte_{}", i), key,
		      role ? "startup_role_errors" : "startup_key_errors",
		      [wrong](StartupFrame &f) { f.key = wrong; });
	}
	frame("request_instead", "RFC 5044 7.1.2 rule 8: initiator/initiator",
	      "startup_role_errors", [](StartupFrame &f) { f.key = bytes(request_key); });
	for (uint8_t rev : {3, 4, 128, 255})
		frame(std::format("rev_{}", rev), "RFC 5044 7.1.1 Rev", "startup_revision_errors",
		      [rev](StartupFrame &f) { f.rev = rev; });
	for (size_t n : {513, 1024, 65535})
		frame(std::format("private_data_of_{}", n), len, "startup_length_errors",
		      [n](StartupFrame &f) { f.private_data = pattern(n); });
	for (size_t n : {256, 511, 512})
		frame(std::format("private_data_of_{}_for_a_consumer_of_255", n),
		      "RFC 5044 7.1.2 rule 3: not acceptable", "startup_length_errors",
		      [n](StartupFrame &f) { f.private_data = pattern(n); });
	for (size_t n : {0, 1, 196, 255})
		frame(std::format("rejected_with_{}", n), "RFC 5044 7.1.1 R, 7.1.2 rule 3",
		      "rx_rejects", [n](StartupFrame &f) {
			      f.r = true;
			      f.private_data = pattern(n);
		      });
	for (unsigned bits = 1; bits < 8; bits++)
		frame("rejected" + named_bits(bits, mcr), "RFC 5044 7.1.1 R", "rx_rejects",
		      [bits](StartupFrame &f) {
			      f.r = true;
			      set_mcr(bits)(f);
		      });
	for (bool rst : {false, true})
		for (size_t n : {0, 1, 15, 16, 17, 19, 20, 21, 119})
			c.push_back({{std::format("{}_after_{}", rst ? "rst" : "fin", n), closed},
				     "startup_closed",
				     [=](Peer &p) {
					     StartupFrame f = fitting(p);
					     f.private_data = pattern(100);
					     p.socket.send(View(f.encode()).first(n));
					     wait_acknowledged(p.socket);
					     rst ? p.socket.reset() : p.socket.close();
				     }});
	return c;
}

INSTANTIATE_TEST_SUITE_P(Startup, BadReply, testing::ValuesIn(refusals()), RowName());

// The consumer receives the private data of a reply with R (RFC 5044 7.1.2 rule 3).
TEST(StartupReject, private_data_reach_the_consumer)
{
	for (uint8_t rev : {1, 2}) {
		Session s(Wishes{.rev = rev, .p2p = false});
		s.call_fitting([](StartupFrame &f) {
			f.r = true;
			f.private_data = pattern(77);
		});
		s.reply_rejected(pattern(77));
	}
}

// RFC 6581 10: a responder without support of enhanced frames closes the connection. The initiator
// MAY then try revision 1.
class Fallback : public testing::TestWithParam<int> {};

TEST_P(Fallback, to_revision_1)
{
	Session s(Wishes{});
	Peer p = s.attempt();
	EXPECT_EQ(p.request.rev, 2);
	if (GetParam() == 0) {
		p.close();
	} else { // a responder of revision 1 took the enhanced data for private data
		p.send_reply(StartupFrame::reply(1));
		p.end();
	}
	s.p = s.asked();
	EXPECT_EQ(s.p.request.rev, 1);
	EXPECT_TRUE(s.p.request.private_data.empty());
	s.p.send_reply(StartupFrame::reply(1));
	s.established();
	s.bed.expect_count("revision_fallbacks");
	s.judge(lives());
}

// A reset does not mean that the revision is unsupported: an overloaded host resets, too.
TEST(Startup, no_fallback__after_rst)
{
	Session s(Wishes{});
	Peer p = s.attempt();
	EXPECT_EQ(p.request.rev, 2);
	p.reset();
	EXPECT_EQ(s.cm_event(), RDMA_CM_EVENT_REJECTED);
	EXPECT_EQ(s.c().happened.status, -ECONNRESET);
	s.bed.expect_count("startup_closed");
	s.give_up();
}

constexpr const char *fallback_names[] = {"after_fin", "after_a_reply_of_revision_1"};

// Over SCTP no other reply than an enhanced one is legal (RFC 6581 7).
INSTANTIATE_TEST_SUITE_P(Startup, Fallback, testing::Range(0, lab().sctp ? 1 : 2),
			 [](const auto &info) { return fallback_names[info.param]; });

} // namespace
} // namespace peer
