// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs that are found after a gap and placed early (RFC 5044 Appendix B). The peer holds back an
// FPDU to make the gap.
#include <algorithm>
#include <set>

#include "session.h"

namespace ooo {
namespace {

// Long enough that every FPDU contains a marker.
constexpr size_t len = 1000;

// TCP has separate operations for an IPv6 socket with IPv4-mapped addresses.
enum class Ip { v4, v6, mapped };

class Place : public testing::TestWithParam<Ip> {
protected:
	Terms terms() { return {.ipv6 = GetParam() == Ip::v6, .mapped = GetParam() == Ip::mapped}; }
};

std::string name(const testing::TestParamInfo<Ip> &i)
{
	return i.param == Ip::v4 ? "v4" : i.param == Ip::v6 ? "v6" : "mapped";
}

INSTANTIATE_TEST_SUITE_P(IP, Place, testing::Values(Ip::v4, Ip::v6, Ip::mapped), name);

TEST_P(Place, write)
{
	Session s(terms());
	s.write(0, 40, 1);
	Span later = s.write(5000, len, 2);
	s.send(later);
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	EXPECT_TRUE(s.written(5000, len, 2)) << "a complete FPDU is not placed";
	EXPECT_FALSE(s.written(0, 40, 1));
	s.message(30, 3);
	s.nothing_delivered();
	s.fill();
	s.delivers(30, 3);
	ASSERT_EQ(s.counted(), (Counted{0, 1, 0}));
	EXPECT_TRUE(s.written(0, 40, 1));
	EXPECT_TRUE(s.written(5000, len, 2));
}

// The MSN selects the receive, which completes only in order.
TEST_P(Place, send)
{
	Session s(terms());
	s.message(100, 1);
	Span second = s.message(len, 2), third = s.message(len, 3);
	s.send(third);
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	EXPECT_TRUE(s.slot_has(2, 0, pattern(len, 3)));
	s.send(second);
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	EXPECT_TRUE(s.slot_has(1, 0, pattern(len, 2)));
	s.nothing_delivered();
	s.fill();
	s.delivers(100, 1);
	s.delivers(len, 2);
	s.delivers(len, 3);
	EXPECT_EQ(s.counted(), (Counted{0, 2, 0}));
}

// The second FPDU of a message is placed early, at its offset in the receive that the first FPDU
// has begun to fill.
TEST(PlaceSend, second_half)
{
	Session s;
	const std::vector<Segment> halves =
		cut_every(send_segment(s.send_msn++, pattern(2 * len, 5)), len);
	Span a = s.add(halves[0]), gap = s.write(0, 40, 1), b = s.add(halves[1]);
	s.send(a);
	s.send(b);
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	EXPECT_TRUE(s.slot_has(0, len, halves[1].payload));
	s.nothing_delivered();
	s.send(gap);
	s.delivers(2 * len, 5);
	EXPECT_EQ(s.counted(), (Counted{0, 1, 0}));
}

// A Send is not placed early if the receive comes from a shared queue, because the receive is not
// known yet. A Write next to it is placed.
TEST(PlaceSend, shared_receive_queue)
{
	Session s({.srq = true});
	s.message(100, 1);
	Span second = s.message(len, 2), w = s.write(0, len, 3);
	s.send(second.from, w.to);
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	EXPECT_TRUE(s.written(0, len, 3));
	s.nothing_delivered();
	s.fill();
	s.delivers(100, 1);
	s.delivers(len, 2);
	EXPECT_EQ(s.counted(), (Counted{0, 1, 0}));
}

TEST(PlaceSend, no_receive_is_posted_for_it)
{
	Session s;
	s.write(0, 40, 1);
	for (unsigned i = 0; i <= receives; i++)
		s.message(40, 10 + i);
	Span beyond = s.message(len, 60);
	s.send(beyond);
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
}

// Responses to two reads; the response to the second read arrives first.
TEST(PlaceRead, responses)
{
	Session s;
	// RFC 5044 7.1.2: the responder sends nothing before the initiator's first FPDU
	s.send(s.write(9000, 8, 1));
	s.c().post_read(*s.v.rw, 0, len, 0x1234, 0);
	s.c().post_read(*s.v.rw, 4000, 2 * len, 0x1234, 0);
	std::vector<ReadRequest> r;
	for (int i = 0; i < 2; i++)
		r.push_back(ReadRequest::decode(s.receive().payload));
	s.add(read_response_segment(r[0].sink_stag, r[0].sink_to, pattern(len, 1)));
	const std::vector<Segment> two =
		cut_every(read_response_segment(r[1].sink_stag, r[1].sink_to, pattern(2 * len, 2)),
			  len);
	Span b = s.add(two[0]), c = s.add(two[1]);
	s.send(c);
	s.send(b);
	ASSERT_EQ(s.counted(), (Counted{2, 0, 0}));
	EXPECT_TRUE(s.written(4000, 2 * len, 2));
	s.nothing_delivered();
	s.fill();
	for (int i = 0; i < 2; i++) {
		auto wc = s.v.completion();
		ASSERT_TRUE(wc);
		EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
		EXPECT_EQ(wc->opcode, IBV_WC_RDMA_READ);
	}
	EXPECT_TRUE(s.written(0, len, 1));
	EXPECT_TRUE(s.written(4000, 2 * len, 2));
	EXPECT_EQ(s.counted(), (Counted{0, 2, 0}));
}

TEST(PlaceMixed, tagged_and_untagged)
{
	Session s;
	s.write(0, 40, 1);
	Span from = s.write(1000, len, 2);
	s.message(len, 3);
	s.write(3000, 8, 4);
	s.message(20, 5);
	s.write(5000, len, 6);
	s.message(len, 7);
	s.send(from.from, s.end());
	ASSERT_EQ(s.counted(), (Counted{6, 0, 0}));
	EXPECT_TRUE(s.written(1000, len, 2));
	EXPECT_TRUE(s.written(3000, 8, 4));
	EXPECT_TRUE(s.written(5000, len, 6));
	s.nothing_delivered();
	s.fill();
	s.delivers(len, 3);
	s.delivers(20, 5);
	s.delivers(len, 7);
	EXPECT_EQ(s.counted(), (Counted{0, 6, 0}));
}

// An FPDU in three segments is placed when the last of them arrives, in any order.
TEST(PlaceSegments, three_in_every_order)
{
	std::vector<int> order{0, 1, 2};
	do {
		Session s;
		s.write(0, 40, 1);
		Span f = s.write(4000, 3000, 2);
		uint32_t third = (f.to - f.from) / 3;
		uint32_t cut[] = {f.from, f.from + third, f.from + 2 * third, f.to};
		for (int i : order) {
			EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
			s.send(cut[i], cut[i + 1]);
		}
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
		EXPECT_TRUE(s.written(4000, 3000, 2));
		s.fill();
		ASSERT_EQ(s.counted(), (Counted{0, 1, 0}));
		EXPECT_TRUE(s.written(0, 40, 1));
		EXPECT_TRUE(s.written(4000, 3000, 2));
	} while (std::next_permutation(order.begin(), order.end()));
}

// Sends a run of FPDUs from each byte of the first one on. Placed early are exactly the FPDUs from
// the first one in the run to which a marker points. The stream continues from round to round, so
// that the markers are at varying positions.
void every_split(const Terms &t, std::initializer_list<size_t> lengths)
{
	Session s(t);
	uint64_t placed = 0, delivered = 0;
	for (uint32_t cut = 0;; cut++) {
		std::vector<Span> f;
		s.write(0, 20, cut);
		size_t at = 1000;
		for (size_t n : lengths) {
			f.push_back(s.write(at, n, cut + static_cast<uint32_t>(n)));
			at += n;
		}
		uint32_t from = f[0].from + cut;
		if (from >= f[0].to)
			break;
		// the first FPDU that begins in the run and to which a marker in the run points
		size_t first = f.size();
		for (uint32_t m = (from + 511) / 512 * 512; m + 4 <= s.end() && first == f.size();
		     m += 512) {
			size_t i = 0;
			while (i + 1 < f.size() && f[i + 1].from <= m)
				i++;
			if (f[i].from >= from)
				first = i;
		}
		s.send(from, s.end());
		Counted c = s.counted();
		ASSERT_EQ(c, (Counted{f.size() - first, 0, 0})) << "from byte " << cut;
		placed += c.placed;
		s.fill();
		c = s.counted();
		ASSERT_EQ(c, (Counted{0, f.size() - first, 0})) << "from byte " << cut;
		delivered += c.delivered;
		at = 1000;
		ASSERT_TRUE(s.written(0, 20, cut));
		for (size_t n : lengths) {
			ASSERT_TRUE(s.written(at, n, cut + static_cast<uint32_t>(n)))
				<< "from byte " << cut;
			at += n;
		}
	}
	EXPECT_EQ(placed, delivered);
	EXPECT_GT(placed, 0U);
}

TEST(PlaceSplit, small_fpdus)
{
	every_split({}, {300, 40, 500, 8, 700});
}

TEST(PlaceSplit, fpdus_of_a_segment)
{
	every_split({}, {1200, 1300});
}

TEST(PlaceSplit, sequence_numbers_wrap)
{
	every_split({.isn = 0U - 30000}, {100, 400, 300});
}

// Runs that end at any byte of their last FPDU, which is placed when it is complete.
TEST(PlaceSplit, every_end)
{
	Session s;
	for (uint32_t cut = 1;; cut += 3) {
		s.write(0, 20, cut);
		Span a = s.write(1000, 600, cut + 1), b = s.write(3000, 500, cut + 2);
		if (cut >= b.to - b.from)
			break;
		s.send(a.from, b.to - cut);
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0})) << cut << " bytes are missing";
		s.send(b.to - cut, b.to);
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0})) << cut << " bytes were missing";
		s.fill();
		ASSERT_EQ(s.counted(), (Counted{0, 2, 0}));
		ASSERT_TRUE(s.written(1000, 600, cut + 1));
		ASSERT_TRUE(s.written(3000, 500, cut + 2));
	}
}

// Several gaps, which are closed from the last to the first.
TEST(PlaceGaps, five)
{
	Session s;
	std::vector<Span> f;
	for (uint32_t i = 0; i < 11; i++)
		f.push_back(s.write(i * len, len, i));
	for (size_t i = 1; i < f.size(); i += 2)
		s.send(f[i]);
	EXPECT_EQ(s.counted(), (Counted{5, 0, 0}));
	for (size_t i = 10; i > 0; i -= 2)
		s.send(f[i]);
	EXPECT_EQ(s.counted(), (Counted{5, 0, 0}));
	// exactly the gap: SACK reports only some of so many ranges, which fill() needs
	s.send(f[0]);
	s.fill();
	EXPECT_EQ(s.counted(), (Counted{0, 10, 0}));
	for (uint32_t i = 0; i < 11; i++)
		EXPECT_TRUE(s.written(i * len, len, i));
}

// Checks that under these terms nothing is placed early, and that all FPDUs are delivered.
void waits(const Terms &t)
{
	Session s(t);
	s.write(0, 40, 1);
	Span later = s.write(5000, len, 2);
	s.message(30, 3);
	s.send(later.from, s.end());
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	EXPECT_FALSE(s.written(5000, len, 2));
	s.fill();
	s.delivers(30, 3);
	EXPECT_TRUE(s.written(0, 40, 1));
	EXPECT_TRUE(s.written(5000, len, 2));
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
}

TEST(PlaceNot, policy_off)
{
	waits({.ooo = false});
}
TEST(PlaceNot, without_markers)
{
	waits({.markers = false});
}
TEST(PlaceNot, without_crc)
{
	waits({.crc = false});
}
TEST(PlaceNot, without_sack)
{
	waits({.sack = false});
}

} // namespace
} // namespace ooo
