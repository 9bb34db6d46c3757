// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../iwarp/segment.h"

#include <gtest/gtest.h>

using namespace iwarp;

TEST(segment, encode__tagged_header)
{
	Segment s = write_segment(0x11223344, 0x0102030405060708, bytes("x"), false);
	s.ddp_reserved = 0xF;
	s.rdmap_reserved = 3;
	EXPECT_EQ(s.encode(),
		  (Bytes{0xBD, 0x70, 0x11, 0x22, 0x33, 0x44, 1, 2, 3, 4, 5, 6, 7, 8, 'x'}));
}

TEST(segment, encode__untagged_header)
{
	Segment s = send_segment(7, {}, 9);
	s.opcode = op_send_se_inv;
	s.inv_stag = 0xAABBCCDD;
	EXPECT_EQ(s.encode(),
		  (Bytes{0x41, 0x46, 0xAA, 0xBB, 0xCC, 0xDD, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9}));
}

TEST(segment, decode__undoes_encode)
{
	for (uint8_t op = 0; op < 16; op++)
		for (bool tagged : {false, true})
			for (uint8_t v = 0; v < 4; v++) {
				Segment s = send_segment(3, pattern(40), 5);
				s.tagged = tagged;
				s.opcode = op;
				s.dv = v;
				s.rv = static_cast<uint8_t>(3 - v);
				std::optional<Segment> g = Segment::decode(s.encode());
				ASSERT_TRUE(g);
				EXPECT_EQ(g->encode(), s.encode());
			}
}

TEST(segment, decode__too_short)
{
	Bytes tagged = write_segment(1, 2, {}).encode(), untagged = send_segment(1, {}).encode();
	EXPECT_FALSE(Segment::decode({}));
	EXPECT_FALSE(Segment::decode(View(tagged).first(tagged_header_len - 1)));
	EXPECT_FALSE(Segment::decode(View(untagged).first(untagged_header_len - 1)));
	EXPECT_TRUE(Segment::decode(tagged));
	EXPECT_TRUE(Segment::decode(untagged));
}

TEST(segment, read_request__undoes_encode)
{
	ReadRequest r{1, 2, 3, 4, 5};
	EXPECT_EQ(r.encode().size(), ReadRequest::len);
	EXPECT_EQ(ReadRequest::decode(r.encode()).encode(), r.encode());
}
