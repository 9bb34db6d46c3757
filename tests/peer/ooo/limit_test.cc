// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A pass of the receive engine has limits (enum kwarp_rx_limits). If a gap closes and more data
// become readable at once, several passes process them, with the result that one pass would have.
#include "session.h"

namespace ooo {
namespace {

constexpr unsigned per_pass = 1024; // FPDUs
constexpr size_t pass_bytes = 256 * 1024;

class Limit : public testing::TestWithParam<bool> {
protected:
	Terms terms() { return {.ooo = GetParam()}; }
};

INSTANTIATE_TEST_SUITE_P(Ooo, Limit, testing::Bool(),
			 [](const auto &i) { return i.param ? "on" : "off"; });

// Appends more FPDUs than one pass processes, and a message after them. RDMA Writes of length zero
// are the shortest FPDUs.
void add_many(Session &s, uint32_t seed)
{
	for (unsigned i = 0; i < per_pass + 100; i++)
		s.add(write_segment(0, 0, {}));
	s.message(30 + seed, seed);
}

constexpr unsigned rounds = 4;

// Sends FPDUs for several passes after a gap. Returns the first FPDU of the stream, which is the
// gap.
Span fill_the_queue(Session &s)
{
	Span first = s.write(0, 40, 1);
	for (uint32_t i = 0; i < rounds; i++)
		add_many(s, i);
	s.write(5000, 100, 2);
	s.send(first.to, s.end());
	s.nothing_delivered();
	return first;
}

void delivers_all(Session &s)
{
	for (uint32_t i = 0; i < rounds; i++)
		s.delivers(30 + i, i);
}

bool disconnected(Session &s)
{
	Connection &c = s.c();
	return s.v.wait([&] { return c.happened.disconnected; });
}

TEST_P(Limit, fpdus)
{
	Session s(terms());
	const uint64_t before = s.counter("rx_continued");
	s.send(fill_the_queue(s));
	delivers_all(s);
	EXPECT_TRUE(soon([&] { return s.written(5000, 100, 2); }));
	EXPECT_TRUE(s.written(0, 40, 1));
	EXPECT_GE(s.counter("rx_continued") - before, rounds);
	// The connection still works.
	s.message(50, 9);
	s.fill();
	s.delivers(50, 9);
}

TEST_P(Limit, bytes)
{
	Session s(terms());
	const uint64_t before = s.counter("rx_continued");
	Span first = s.write(0, 40, 1);
	size_t n = 0;
	for (; s.end() < pass_bytes + 20000; n++)
		s.write(1000 + n * 1000 % 100000, 1000, static_cast<uint32_t>(n));
	s.message(30, 3);
	s.send(first.to, s.end());
	s.send(first);
	s.delivers(30, 3);
	for (size_t i = n - 100; i < n; i++)
		EXPECT_TRUE(s.written(1000 + i * 1000 % 100000, 1000, static_cast<uint32_t>(i)))
			<< i;
	EXPECT_GE(s.counter("rx_continued") - before, 1U);
}

// A FIN after all FPDUs ends the connection only when all of them were processed.
TEST_P(Limit, end_comes_last)
{
	Session s(terms());
	const uint64_t before = s.counter("rx_continued"), lost = s.counter("llp_lost");
	Span first = fill_the_queue(s);
	s.finish();
	s.send(first);
	delivers_all(s);
	ASSERT_TRUE(disconnected(s));
	EXPECT_TRUE(s.written(5000, 100, 2));
	EXPECT_GE(s.counter("rx_continued") - before, rounds);
	EXPECT_EQ(s.counter("llp_lost"), lost)
		<< "the end of the stream was processed before the FPDUs";
}

// The same with a reset, which arrives when nearly all FPDUs are still unread.
TEST_P(Limit, reset_comes_last)
{
	Session s(terms());
	Span first = fill_the_queue(s);
	s.send(first);
	s.abort();
	delivers_all(s);
	ASSERT_TRUE(disconnected(s));
	EXPECT_TRUE(s.written(5000, 100, 2));
}

// The same with a FIN inside an FPDU, which is an error.
TEST_P(Limit, early_end_comes_last)
{
	Session s(terms());
	const uint64_t lost = s.counter("llp_lost");
	Span first = fill_the_queue(s);
	Span cut = s.message(40, 8);
	s.send(cut.from, cut.to - 10);
	s.stream.resize(cut.to - 10);
	s.finish();
	s.send(first);
	delivers_all(s);
	EXPECT_TRUE(s.terminate());
	EXPECT_TRUE(disconnected(s));
	EXPECT_EQ(s.counter("llp_lost"), lost + 1);
}

// An error is raised when all FPDUs before it were processed; FPDUs after it are not processed.
TEST_P(Limit, error_has_its_turn)
{
	Session s(terms());
	Span first = fill_the_queue(s);
	const uint32_t from = s.end();
	s.add(write_segment(s.v.ro->rkey(), s.v.ro->base(), pattern(8, 1)));
	add_many(s, rounds);
	s.send(from, s.end());
	s.send(first);
	delivers_all(s);
	EXPECT_TRUE(s.terminate());
	ASSERT_TRUE(disconnected(s));
	EXPECT_TRUE(s.written(5000, 100, 2));
}

// Meanwhile other connections progress.
TEST_P(Limit, others_go_on)
{
	Session s(terms());
	Span first = fill_the_queue(s);
	{
		Session other(terms());
		s.send(first);
		for (uint32_t i = 0; i < 20; i++) {
			other.write(20000, 500, i);
			other.fill();
			EXPECT_TRUE(soon([&] { return other.written(20000, 500, i); }));
		}
	}
	delivers_all(s);
}

} // namespace
} // namespace ooo
