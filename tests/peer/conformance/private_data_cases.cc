// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Requests to the listening victim: private data of many lengths, frames split in two TCP segments
// after every byte, malformed frames, rejection.
#include "../session/session.h"

namespace peer {
namespace {

StartupFrame with_data(uint8_t rev, size_t n)
{
	StartupFrame f = request_with(rev, rev == 2);
	f.private_data = pattern(n, 11);
	return f;
}

// ---- accepted

struct Accepted : Row {
	uint8_t rev;
	size_t len;
	size_t cut;
};

class PrivateData : public testing::TestWithParam<Accepted> {};

TEST_P(PrivateData, reaches_the_consumer)
{
	const Accepted &c = GetParam();
	Session s(Wishes{});
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
		for (size_t n : {0, 1, 2, 3, 4, 5, 16, 127, 128, 254, 255})
			c.push_back({{std::format("rev_{}_of_{}", rev, n), rfc}, rev, n, 0});
		const size_t all = with_data(rev, 16).encode().size();
		for (size_t cut = 1; cut < all && !lab().sctp; cut++)
			c.push_back({{std::format("rev_{}_cut_after_{}", rev, cut), rfc},
				     rev,
				     16,
				     cut});
	}
	return c;
}

INSTANTIATE_TEST_SUITE_P(Startup, PrivateData, testing::ValuesIn(accepted()), RowName());

// The private data of the victim's consumer, in the reply.
class ReplyData : public testing::TestWithParam<std::tuple<uint8_t, size_t>> {};

TEST_P(ReplyData, reaches_the_peer)
{
	auto [rev, n] = GetParam();
	Session s(Wishes{});
	s.v.answers(Answer::accept, pattern(n, 12));
	s.dial(with_data(rev, 3));
	s.v.answers(Answer::accept);
	EXPECT_EQ(s.p.reply.private_data, pattern(n, 12));
	s.judge(lives());
}

auto name_of = [](const auto &info) {
	return std::format("rev_{}_of_{}", std::get<0>(info.param), std::get<1>(info.param));
};

INSTANTIATE_TEST_SUITE_P(Startup, ReplyData,
			 testing::Combine(testing::Values<uint8_t>(1, 2),
					  testing::Values<size_t>(0, 1, 2, 3, 4, 127, 251, 252,
								  255)),
			 name_of);

// ---- rejected

class Reject : public ReplyData {};

TEST_P(Reject, carries_the_consumers_data)
{
	auto [rev, n] = GetParam();
	Session s(Wishes{});
	s.v.answers(Answer::reject, pattern(n, 13));
	s.rejected(with_data(rev, 5), pattern(n, 13), true);
	s.v.answers(Answer::accept);
}

INSTANTIATE_TEST_SUITE_P(Startup, Reject,
			 testing::Combine(testing::Values<uint8_t>(1, 2),
					  testing::Values<size_t>(0, 1, 3, 4, 251, 255)),
			 name_of);

// rdma_cm has one byte for the length of private data, so the device rejects longer private data as
// "not acceptable" (RFC 5044 7.1.2 rule 2).
class TooMuchForTheConsumer : public ReplyData {};

TEST_P(TooMuchForTheConsumer, is_rejected)
{
	auto [rev, n] = GetParam();
	Session(Wishes{}).rejected(with_data(rev, n), {}, false);
}

INSTANTIATE_TEST_SUITE_P(Startup, TooMuchForTheConsumer,
			 testing::Combine(testing::Values<uint8_t>(1, 2),
					  testing::Values<size_t>(256, 257, 300, 507, 508)),
			 name_of);
INSTANTIATE_TEST_SUITE_P(StartupRev1, TooMuchForTheConsumer,
			 testing::Combine(testing::Values<uint8_t>(1),
					  testing::Values<size_t>(509, 511, 512)),
			 name_of);

// ---- not answered

struct Malformed : Row {
	const char *counter;
	Bytes bytes;
	bool fin = false;
};

class MalformedRequest : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedRequest, is_not_answered)
{
	const Malformed &c = GetParam();
	Session(Wishes{}).unanswered(c.bytes, c.fin ? Then::fin : Then::waits, c.counter);
}

Bytes with(const StartupFrame &right, const Change &change)
{
	return changed(right, change).encode();
}

void add_keys(std::vector<Malformed> &c)
{
	auto add = [&](std::string name, const Bytes &o,
		       const char *rfc = "RFC 5044 7.1.1 Key, 7.1.2 rule 5") {
		c.push_back({{std::move(name), rfc}, "startup_key_errors", o});
	};
	const StartupFrame right = with_data(1, 0);
	auto key = [&](std::string_view k) {
		return with(right, [k](StartupFrame &f) { f.key = bytes(k); });
	};
	for (size_t i = 0; i < 16; i++)
		for (uint8_t mask : {0x20, 0x01}) {
			const Bytes frame = with(right, [=](StartupFrame &f) { f.key[i] ^= mask; });
			add(std::format("key_byte_{}_xor_{:x}", i, mask), frame);
			if (slice(frame, 0, 16) == bytes(reply_key)) // one bit differs
				c.back().counter = "startup_role_errors";
		}
	add("reply_instead", key(reply_key), "RFC 5044 7.1.2 rule 8");
	c.back().counter = "startup_role_errors";
	add("rtr_frame_instead", key(rtr_key_of_the_text));
	c.back().counter = "startup_role_errors";
	add("byte_in_front", join({Bytes(1), right.encode()}));
	add("fpdu_instead", FpduEncoder().encode(send_segment(1, pattern(40)).encode()));
}

void add_lengths(std::vector<Malformed> &c)
{
	auto add = [&](std::string name, const Bytes &o,
		       const char *rfc = "RFC 5044 7.1.1 PD_Length, 7.1.2 rule 9") {
		c.push_back({{std::move(name), rfc}, "startup_length_errors", o});
	};
	for (uint8_t rev : {1, 2}) {
		const size_t enhanced = rev == 2 ? 4 : 0;
		auto announced = [=](size_t n) {
			return with(with_data(rev, 10), [n](StartupFrame &f) {
				f.pd_length = static_cast<uint16_t>(n);
			});
		};
		for (size_t n : {513, 514, 516, 1024, 32768, 65535})
			add(std::format("rev_{}_private_data_of_{}", rev, n),
			    with_data(rev, n - enhanced).encode());
		for (size_t n : {513, 65535})
			add(std::format("rev_{}_{}_announced", rev, n), announced(n));
		for (size_t less : {1, 4})
			add(std::format("rev_{}_{}_fewer_announced", rev, less),
			    announced(10 + enhanced - less));
		add(std::format("rev_{}_one_more_announced_then_fin", rev),
		    announced(11 + enhanced));
		c.back().counter = "startup_closed";
		c.back().fin = true;
	}
	for (size_t n : {0, 1, 2, 3})
		add(std::format("enhanced_data_of_{}", n),
		    with(with_data(2, 0),
			 [=](StartupFrame &f) {
				 f.enhanced.reset();
				 f.private_data = pattern(n);
			 }),
		    "RFC 6581 6: MUST begin with 4 bytes of enhanced data");
}

void add_revisions(std::vector<Malformed> &c)
{
	for (uint8_t rev : {3, 4, 15, 127, 128, 254, 255})
		for (bool s : {false, true})
			c.push_back({{std::format("rev_{}{}", rev, s ? "_S" : ""),
				      "RFC 5044 7.1.1 Rev"},
				     "startup_revision_errors",
				     with(with_data(1, 4), [=](StartupFrame &f) {
					     f.rev = rev;
					     f.s = s;
				     })});
}

INSTANTIATE_TEST_SUITE_P(Startup, MalformedRequest, rows(add_keys, add_lengths, add_revisions),
			 RowName());

} // namespace
} // namespace peer
