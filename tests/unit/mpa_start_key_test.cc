// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/mpa_start_key.[ch]: draft-culley-iwarp-mpa-03, 8.1 and 8.1.1.
#include "proto.h"

extern "C" {
#include "mpa_start_key.h"
}

namespace {

// 8.1.1 prints these bytes.
const Bytes key_text = hex("4D 50 41 20 69 64 65 6E 74 20 66 72 61 6D 65");

Bytes encode(bool markers, bool crc)
{
	Bytes o(KWARP_START_KEY_LEN, 0xee);
	kwarp_start_key k{markers, crc};
	kwarp_start_key_encode(&k, o.data());
	return o;
}

// A copy of exact size, so that ASan detects reads beyond it.
int decode(const Bytes &o, kwarp_start_key &k)
{
	Bytes copy(o);
	copy.shrink_to_fit();
	return kwarp_start_key_decode(copy.data(), static_cast<u32>(copy.size()), &k);
}

int decode(const Bytes &o)
{
	kwarp_start_key k;
	return decode(o, k);
}

} // namespace

TEST(mpa_start_key, kwarp_start_key_encode__bytes)
{
	EXPECT_EQ(encode(false, false), key_text + Bytes{0x00});
	EXPECT_EQ(encode(true, false), key_text + Bytes{0x80});
	EXPECT_EQ(encode(false, true), key_text + Bytes{0x40});
	EXPECT_EQ(encode(true, true), key_text + Bytes{0xc0});
}

TEST(mpa_start_key, kwarp_start_key_decode__reads_what_encode_writes)
{
	for (bool m : {false, true})
		for (bool c : {false, true}) {
			kwarp_start_key k{!m, !c};
			EXPECT_EQ(decode(encode(m, c), k), KWARP_START_KEY_LEN);
			EXPECT_EQ(k.markers, m);
			EXPECT_EQ(k.crc, c);
		}
}

TEST(mpa_start_key, kwarp_start_key_decode__waits_for_every_byte)
{
	for (size_t n = 0; n < KWARP_START_KEY_LEN; n++)
		EXPECT_EQ(decode(slice(encode(true, true), 0, n)), 0) << n;
}

TEST(mpa_start_key, kwarp_start_key_decode__leaves_what_follows_alone)
{
	EXPECT_EQ(decode(encode(true, true) + random_bytes(100)), KWARP_START_KEY_LEN);
}

// 8.1.1: "MUST check this field", and the first byte that differs is enough.
TEST(mpa_start_key, kwarp_start_key_decode__wrong_key)
{
	for (size_t at = 0; at < key_text.size(); at++)
		for (u8 flip : {0x01, 0x20, 0x80}) {
			Bytes o = encode(true, true);
			o[at] ^= flip;
			EXPECT_EQ(decode(o), -KWARP_MPA_E_KEY) << at;
			EXPECT_EQ(decode(slice(o, 0, at + 1)), -KWARP_MPA_E_KEY) << at;
			EXPECT_EQ(decode(slice(o, 0, at)), 0) << at;
		}
	EXPECT_EQ(decode(hex("4D504120494420526571204672616D65 00010000")), -KWARP_MPA_E_KEY);
}

// 8.1.1: Rev "MUST check this field for zero", Res "not checked on reception".
TEST(mpa_start_key, kwarp_start_key_decode__rev_and_res)
{
	for (u32 flags = 0; flags < 256; flags++) {
		int want = flags & 0x0f ? -KWARP_MPA_E_REV : KWARP_START_KEY_LEN;
		EXPECT_EQ(decode(key_text + Bytes{static_cast<u8>(flags)}), want) << flags;
	}
}

// 8.1.1, M and C; 8.1, 4 and 5.
TEST(mpa_start_key, kwarp_start_key_agree__all)
{
	for (u32 bits = 0; bits < 32; bits++) {
		kwarp_start_key mine{(bits & 1) != 0, (bits & 2) != 0};
		kwarp_start_key peers{(bits & 4) != 0, (bits & 8) != 0};
		kwarp_mpa_role role = bits & 16 ? KWARP_MPA_INITIATOR : KWARP_MPA_RESPONDER;
		kwarp_mpa_params p;
		memset(&p, 0xff, sizeof(p));
		kwarp_start_key_agree(&mine, &peers, role, &p);
		EXPECT_EQ(p.rx_markers, mine.markers);
		EXPECT_EQ(p.tx_markers, peers.markers);
		EXPECT_EQ(p.crc, mine.crc || peers.crc);
		EXPECT_EQ(p.wait, bits & 16 ? KWARP_MPA_WAIT_NONE : KWARP_MPA_WAIT_FPDU);
		EXPECT_EQ(p.rtr, 0);
		// the dumps of the draft's figures 5 and 6 have DDP and RDMAP version 0: 40 03
		EXPECT_EQ(p.ddp_version, KWARP_DDP_V_RDMAC);
		EXPECT_EQ(p.ird, 0);
		EXPECT_EQ(p.ord, 0);
	}
}
