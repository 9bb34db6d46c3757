// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../iwarp/terminate.h"

#include <gtest/gtest.h>

using namespace iwarp;

TEST(terminate, decode__tagged_header)
{
	Bytes h = write_segment(1, 2, {}).header();
	Bytes o{0x11, 0x01, 0xC0, 0x00, 0x00, 0x20};
	put(o, h);
	std::optional<Terminate> t = Terminate::decode(o);
	ASSERT_TRUE(t);
	EXPECT_EQ(t->code, ddp::tagged_bounds);
	EXPECT_TRUE(t->m && t->d && !t->r);
	EXPECT_EQ(t->segment_len, 0x20);
	EXPECT_EQ(t->ddp_header, h);
}

TEST(terminate, decode__read_request)
{
	Terminate t = quoting_read(rdmap::prot_access);
	t.rdmap_header = ReadRequest{1, 2, 3, 4, 5}.encode();
	std::optional<Terminate> g = Terminate::decode(t.encode());
	ASSERT_TRUE(g);
	EXPECT_EQ(g->rdmap_header, t.rdmap_header);
	EXPECT_EQ(g->encode(), t.encode());
}

TEST(terminate, decode__mpa_has_no_headers)
{
	std::optional<Terminate> t = Terminate::decode(Bytes{0x20, 0x02, 0, 0});
	ASSERT_TRUE(t);
	EXPECT_EQ(t->code, mpa::crc);
}

TEST(terminate, decode__truncated)
{
	const Bytes o = quoting_read(rdmap::prot_access).encode();
	for (size_t n = 0; n < o.size(); n++)
		EXPECT_FALSE(Terminate::decode(View(o).first(n))) << n;
}
