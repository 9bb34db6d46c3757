// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../wiregaps/gaps.h"
#include "pcap.h"

using namespace iwarp;
using namespace pcap;

namespace {

std::vector<uint64_t> bytes(const wiregaps::Gaps &g)
{
	std::vector<uint64_t> all;
	for (const wiregaps::Closing &c : g.closings())
		all.push_back(c.bytes);
	return all;
}

} // namespace

TEST(wiregaps, capture__of_headers_only)
{
	Capture c;
	const Bytes data = pattern(1000);
	c.segment(true, syn, 0xFFFFFF00);
	for (uint32_t at : {0U, 2000U, 3000U, 2500U, 1000U, 1000U, 4000U})
		c.segment(true, ack, 0xFFFFFF01 + at, data, 54);
	auto gaps = wiregaps::read_gaps(c.file());
	ASSERT_EQ(gaps.size(), 1U);
	EXPECT_EQ(gaps.begin()->second.bytes(), 5000U);
	EXPECT_EQ(gaps.begin()->second.early(), 2000U);
	const auto &closings = gaps.begin()->second.closings();
	ASSERT_EQ(closings.size(), 1U);
	EXPECT_EQ(closings[0].bytes, 2000U);
	EXPECT_EQ(closings[0].time, 6U);
	EXPECT_EQ(closings[0].until, 7U);
}

TEST(wiregaps, queue__counts_each_byte_once)
{
	wiregaps::Gaps g(7);
	g.arrives(7 + 100, 50);	 // bytes 100 to 150 wait
	g.arrives(7 + 200, 50);	 // bytes 200 to 250 wait
	g.arrives(7 + 100, 50);	 // retransmission
	g.arrives(7 + 120, 100); // joins the two ranges
	g.arrives(7 + 90, 200);	 // covers the joined range and more
	EXPECT_EQ(g.early(), 200U);
	EXPECT_EQ(g.bytes(), 0U);
	g.arrives(7, 95); // overlaps the waiting range
	EXPECT_EQ(g.bytes(), 290U);
	EXPECT_EQ(bytes(g), std::vector<uint64_t>{200});
	g.arrives(7, 290); // retransmission
	g.arrives(7 + 290, 10);
	EXPECT_EQ(g.bytes(), 300U);
	EXPECT_EQ(g.early(), 200U);
	EXPECT_EQ(g.closings().size(), 1U);
}

TEST(wiregaps, queue__one_gap_after_the_other)
{
	wiregaps::Gaps g(0);
	g.arrives(10, 10);
	g.arrives(30, 10);
	g.arrives(0, 10);
	EXPECT_EQ(g.bytes(), 20U);
	g.arrives(20, 10);
	EXPECT_EQ(g.bytes(), 40U);
	EXPECT_EQ(g.early(), 20U);
	EXPECT_EQ(bytes(g), (std::vector<uint64_t>{10, 10}));
}

TEST(wiregaps, closing_times__end_with_the_last_delivery_before_the_next_segment)
{
	const std::vector<wiregaps::Closing> closings{{1, 100, 150}, {1, 200, 210}, {1, 300, 0}};
	EXPECT_EQ(wiregaps::closing_times(closings, {99, 110, 120, 150, 210, 299}),
		  std::vector<uint64_t>{20});
	EXPECT_EQ(wiregaps::closing_times(closings, {305, 330}), std::vector<uint64_t>{30});
	EXPECT_EQ(wiregaps::closing_times(closings, {100, 200}), (std::vector<uint64_t>{0, 0}));
}
