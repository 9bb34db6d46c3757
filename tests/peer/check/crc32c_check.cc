// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "../iwarp/crc32c.h"

#include <gtest/gtest.h>

using namespace iwarp;

// RFC 3720 B.4
TEST(crc32c, crc_field__zeros)
{
	EXPECT_EQ(crc_field(Bytes(32, 0x00)), (Bytes{0xaa, 0x36, 0x91, 0x8a}));
}

TEST(crc32c, crc_field__ones)
{
	EXPECT_EQ(crc_field(Bytes(32, 0xff)), (Bytes{0x43, 0xab, 0xa8, 0x62}));
}

TEST(crc32c, crc_field__incrementing)
{
	Bytes o;
	for (uint8_t i = 0; i < 32; i++)
		put8(o, i);
	EXPECT_EQ(crc_field(o), (Bytes{0x4e, 0x79, 0xdd, 0x46}));
}

TEST(crc32c, crc32c__check_value)
{
	EXPECT_EQ(crc32c(bytes("123456789")), 0xE3069283U);
	EXPECT_EQ(crc32c({}), 0U);
}
