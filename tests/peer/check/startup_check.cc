// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../iwarp/startup.h"

#include <gtest/gtest.h>

using namespace iwarp;

TEST(startup, encode__rev1_request)
{
	StartupFrame f = StartupFrame::request(1, {}, bytes("hi"));
	f.m = true;
	EXPECT_EQ(f.encode(),
		  (Bytes{0x4D, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65, 0x71, 0x20,
			 0x46, 0x72, 0x61, 0x6D, 0x65, 0xC0, 0x01, 0x00, 0x02, 'h',  'i'}));
}

TEST(startup, encode__rev2_reply)
{
	StartupFrame f =
		StartupFrame::reply(2, Enhanced{.ird = 5, .ord = 0x3FFF, .a = true, .d = true});
	f.c = false;
	f.r = true;
	EXPECT_EQ(f.encode(),
		  (Bytes{0x4D, 0x50, 0x41, 0x20, 0x49, 0x44, 0x20, 0x52, 0x65, 0x70, 0x20, 0x46,
			 0x72, 0x61, 0x6D, 0x65, 0x30, 0x02, 0x00, 0x04, 0x80, 0x05, 0x7F, 0xFF}));
}

TEST(startup, encode__length_can_lie)
{
	StartupFrame f = StartupFrame::request(1, {}, Bytes(3));
	f.pd_length = 513;
	EXPECT_EQ(f.encode().size(), 23U);
	EXPECT_EQ(StartupFrame::length(f.encode()), 533U);
}

TEST(startup, decode__undoes_encode)
{
	StartupFrame f = StartupFrame::request(
		2, Enhanced{.ird = 0x3FFF, .ord = 7, .a = true, .b = true, .c = true},
		bytes("private"));
	f.reserved = 9;
	StartupFrame g = StartupFrame::decode(f.encode());
	EXPECT_EQ(g.key, bytes(request_key));
	EXPECT_TRUE(!g.m && g.c && !g.r && g.s);
	EXPECT_EQ(g.reserved, 9);
	EXPECT_EQ(g.rev, 2);
	EXPECT_EQ(g.enhanced->ird, 0x3FFF);
	EXPECT_EQ(g.enhanced->ord, 7);
	EXPECT_TRUE(g.enhanced->a && g.enhanced->b && g.enhanced->c && !g.enhanced->d);
	EXPECT_EQ(g.private_data, bytes("private"));
}

TEST(startup, decode__enhanced_data_cut_off)
{
	StartupFrame f = StartupFrame::request(2, {}, Bytes(3));
	f.s = true;
	EXPECT_FALSE(StartupFrame::decode(f.encode()).enhanced);
}
