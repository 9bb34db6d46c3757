// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Requests to the listening victim: private data of every length, frames cut in two anywhere,
// malformed ones, rejection.
#include "../session/frames.h"
#include "../session/traffic.h"

namespace peer {
namespace {

StartupFrame with_data(uint8_t rev, size_t n)
{
	StartupFrame f = request(rev, false, true, false, rev == 2);
	f.private_data = pattern(n, 11);
	return f;
}

// ---- accepted ----------------------------------------------------------------------------------

struct Accepted : Row {
	uint8_t rev;
	size_t len;
	size_t cut;
};

class PrivateData : public testing::TestWithParam<Accepted> {};

TEST_P(PrivateData, reaches_the_consumer)
{
	const Accepted &c = GetParam();
	Session s;
	apply(s.bed.policy, {});
	s.dial(with_data(c.rev, c.len), c.cut);
	EXPECT_FALSE(s.p.reply.r);
	EXPECT_EQ(s.c().happened.request_data, pattern(c.len, 11));
	s.judge(lives());
}

std::vector<Accepted> accepted()
{
	const char *rfc = "RFC 5044 7.1.1 PD_Length, 7.1.2 rule 2";
	std::vector<Accepted> c;
	for (uint8_t rev : {1, 2}) {
		const std::string r = "rev_" + std::to_string(rev);
		for (size_t n : {0, 1, 2, 3, 4, 5, 16, 127, 128, 254, 255})
			c.push_back({r + "_of_" + std::to_string(n), rfc, rev, n, 0});
		const size_t all = with_data(rev, 16).encode().size();
		for (size_t cut = 1; cut < all && !lab().sctp; cut++)
			c.push_back({r + "_cut_after_" + std::to_string(cut), rfc, rev, 16, cut});
	}
	return c;
}

INSTANTIATE_TEST_SUITE_P(Startup, PrivateData, testing::ValuesIn(accepted()), RowName());

// The consumer's own, in the reply.
class ReplyData : public testing::TestWithParam<std::tuple<uint8_t, size_t>> {};

TEST_P(ReplyData, reaches_the_peer)
{
	auto [rev, n] = GetParam();
	Session s;
	apply(s.bed.policy, {});
	s.v.answers(Answer::accept, pattern(n, 12));
	s.dial(with_data(rev, 3));
	s.v.answers(Answer::accept);
	EXPECT_EQ(s.p.reply.private_data, pattern(n, 12));
	s.judge(lives());
}

auto name_of = [](const auto &info) {
	return "rev_" + std::to_string(std::get<0>(info.param)) + "_of_" +
	       std::to_string(std::get<1>(info.param));
};

INSTANTIATE_TEST_SUITE_P(Startup, ReplyData,
			 testing::Combine(testing::Values<uint8_t>(1, 2),
					  testing::Values<size_t>(0, 1, 2, 3, 4, 127, 251, 252,
								  255)),
			 name_of);

// ---- rejected ----------------------------------------------------------------------------------

// The reply has R and then the victim has left MPA: no FPDU comes (RFC 5044 7.1.2 rule 2). Over
// SCTP a Session Terminate is the answer, unless the consumer rejects (RFC 5043 6.3, 6.4).
void expect_reject(const StartupFrame &f, const Bytes &data, bool consumer_asked)
{
	Testbed &bed = Testbed::the();
	bed.begin();
	apply(bed.policy, {});
	const unsigned before = bed.v.connections();
	Peer p = Peer::reach(bed.v.address(), lab().peer_socket());
	p.send_request(f);
	if (consumer_asked || !lab().sctp) {
		p.receive_reply();
		EXPECT_TRUE(p.reply.r);
		EXPECT_EQ(p.reply.rev, f.rev);
		EXPECT_EQ(p.reply.s, f.s);
		EXPECT_EQ(p.reply.private_data, data);
	}
	expect_silent_end(p);
	EXPECT_TRUE(!lab().sctp || p.last_event == Event::fin) << "no Session Terminate";
	p.close();
	bed.expect_count("tx_rejects");
	if (consumer_asked) {
		EXPECT_EQ(bed.v.connections(), before + 1);
		bed.v.connection(before);
		bed.v.drop(before);
	} else {
		EXPECT_EQ(bed.v.connections(), before);
		bed.expect_count("startup_length_errors");
	}
	bed.finish();
}

class Reject : public ReplyData {};

TEST_P(Reject, carries_the_consumers_data)
{
	auto [rev, n] = GetParam();
	Testbed::the().v.answers(Answer::reject, pattern(n, 13));
	expect_reject(with_data(rev, 5), pattern(n, 13), true);
	Testbed::the().v.answers(Answer::accept);
}

INSTANTIATE_TEST_SUITE_P(Startup, Reject,
			 testing::Combine(testing::Values<uint8_t>(1, 2),
					  testing::Values<size_t>(0, 1, 3, 4, 251, 255)),
			 name_of);

// rdma_cm counts private data in a byte: "not acceptable" (RFC 5044 7.1.2 rule 2) is the honest
// answer.
class TooMuchForTheConsumer : public ReplyData {};

TEST_P(TooMuchForTheConsumer, is_rejected)
{
	auto [rev, n] = GetParam();
	expect_reject(with_data(rev, n), {}, false);
}

INSTANTIATE_TEST_SUITE_P(Startup, TooMuchForTheConsumer,
			 testing::Combine(testing::Values<uint8_t>(1, 2),
					  testing::Values<size_t>(256, 257, 300, 507, 508)),
			 name_of);
INSTANTIATE_TEST_SUITE_P(StartupRev1, TooMuchForTheConsumer,
			 testing::Combine(testing::Values<uint8_t>(1),
					  testing::Values<size_t>(509, 511, 512)),
			 name_of);

// ---- not answered ------------------------------------------------------------------------------

struct Malformed : Row {
	const char *counter;
	Bytes bytes;
	bool fin = false;
};

class MalformedRequest : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedRequest, is_not_answered)
{
	const Malformed &c = GetParam();
	apply(Testbed::the().policy, {});
	expect_no_answer(c.bytes, c.fin ? Then::fin : Then::waits, c.counter);
}

Bytes with(const StartupFrame &right, const Change &change)
{
	return changed(right, change).encode();
}

void add_keys(std::vector<Malformed> &c)
{
	const char *rfc = "RFC 5044 7.1.1 Key, 7.1.2 rule 5";
	for (size_t i = 0; i < 16; i++)
		for (uint8_t mask : {0x20, 0x01})
			c.push_back({"key_byte_" + std::to_string(i) + "_xor_" + hex(mask), rfc,
				     "startup_key_errors",
				     with(with_data(1, 0),
					  [=](StartupFrame &f) { f.key[i] ^= mask; })});
	c.push_back({"reply_instead", "RFC 5044 7.1.2 rule 8", "startup_key_errors",
		     with(with_data(1, 0), [](StartupFrame &f) { f.key = bytes(reply_key); })});
	c.push_back({"rtr_frame_instead", rfc, "startup_key_errors",
		     with(with_data(1, 0),
			  [](StartupFrame &f) { f.key = bytes(rtr_key_of_the_text); })});
	c.push_back({"byte_in_front", rfc, "startup_key_errors",
		     join({Bytes(1), with_data(1, 0).encode()})});
	c.push_back({"fpdu_instead", rfc, "startup_key_errors",
		     FpduEncoder().encode(send_segment(1, pattern(40)).encode())});
}

void add_lengths(std::vector<Malformed> &c)
{
	const char *rfc = "RFC 5044 7.1.1 PD_Length, 7.1.2 rule 9";
	for (uint8_t rev : {1, 2}) {
		const std::string r = "rev_" + std::to_string(rev) + "_";
		const size_t enhanced = rev == 2 ? 4 : 0;
		for (size_t n : {513, 514, 516, 1024, 32768, 65535})
			c.push_back({r + "private_data_of_" + std::to_string(n), rfc,
				     "startup_length_errors",
				     with_data(rev, n - enhanced).encode()});
		c.push_back({r + "513_announced", rfc, "startup_length_errors",
			     with(with_data(rev, 10), [](StartupFrame &f) { f.pd_length = 513; })});
		c.push_back({r + "65535_announced", rfc, "startup_length_errors",
			     with(with_data(rev, 10),
				  [](StartupFrame &f) { f.pd_length = 65535; })});
		for (uint16_t less : {1, 4})
			c.push_back({r + std::to_string(less) + "_fewer_announced", rfc,
				     "startup_length_errors",
				     with(with_data(rev, 10), [=](StartupFrame &f) {
					     f.pd_length =
						     static_cast<uint16_t>(10 + enhanced - less);
				     })});
		c.push_back({r + "one_more_announced_then_fin", rfc, "startup_closed",
			     with(with_data(rev, 10),
				  [=](StartupFrame &f) {
					  f.pd_length = static_cast<uint16_t>(11 + enhanced);
				  }),
			     true});
	}
	for (size_t n : {0, 1, 2, 3})
		c.push_back({"enhanced_data_of_" + std::to_string(n),
			     "RFC 6581 6: MUST begin with 4 bytes of it", "startup_length_errors",
			     with(with_data(2, 0), [=](StartupFrame &f) {
				     f.enhanced.reset();
				     f.private_data = pattern(n);
			     })});
}

void add_revisions(std::vector<Malformed> &c)
{
	for (uint8_t rev : {3, 4, 15, 127, 128, 254, 255})
		for (bool s : {false, true})
			c.push_back({"rev_" + std::to_string(rev) + (s ? "_S" : ""),
				     "RFC 5044 7.1.1 Rev", "startup_revision_errors",
				     with(with_data(1, 4), [=](StartupFrame &f) {
					     f.rev = rev;
					     f.s = s;
				     })});
}

INSTANTIATE_TEST_SUITE_P(Startup, MalformedRequest, rows(add_keys, add_lengths, add_revisions),
			 RowName());

} // namespace
} // namespace peer
