// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/mpa_startup.[ch]: startup frames, byte for byte.
#include "proto.h"

namespace {

const Bytes req_key = hex("4D504120494420526571204672616D65");
const Bytes rep_key = hex("4D504120494420526570204672616D65");
const Bytes rtr_key = hex("4D504120494420527452204672616D65");
const Bytes rtr_key_text = hex("4D504120494420527472204672616D65");

const Bytes &key(kwarp_mpa_type type)
{
	return type == KWARP_MPA_REQ ? req_key : type == KWARP_MPA_REP ? rep_key : rtr_key;
}

int decode(const Bytes &o, kwarp_mpa_type type, kwarp_mpa_frame &f)
{
	Bytes copy(o);
	copy.shrink_to_fit();
	return kwarp_mpa_decode(copy.data(), copy.size(), type, &f);
}

int decode(const Bytes &o, kwarp_mpa_type type)
{
	kwarp_mpa_frame f;
	return decode(o, type, f);
}

Bytes encode(const kwarp_mpa_frame &f)
{
	Bytes o(KWARP_MPA_FRAME_LEN + KWARP_MPA_ENH_LEN, 0xee);
	int n = kwarp_mpa_encode(&f, o.data());
	EXPECT_GT(n, 0);
	o.resize(n);
	return o;
}

// Flags, revision, PD_Length, private data
Bytes frame(const Bytes &k, u32 flags, u32 rev, u32 pd_len, size_t pd)
{
	return k +
	       Bytes{static_cast<u8>(flags), static_cast<u8>(rev), static_cast<u8>(pd_len >> 8),
		     static_cast<u8>(pd_len)} +
	       random_bytes(pd);
}

const kwarp_mpa_type types[] = {KWARP_MPA_REQ, KWARP_MPA_REP, KWARP_MPA_RTR_FRAME};

} // namespace

TEST(mpa_startup, kwarp_mpa_enhanced__which_frames)
{
	for (kwarp_mpa_type type : types)
		for (u8 rev : {0, 1, 2})
			for (bool s : {false, true}) {
				kwarp_mpa_frame f{};
				f.type = type;
				f.rev = rev;
				f.s = s;
				bool want = s && rev == 2 && type != KWARP_MPA_RTR_FRAME;
				EXPECT_EQ(kwarp_mpa_enhanced(&f), want);
				EXPECT_EQ(kwarp_mpa_pd_room(&f), want ? 508u : 512u);
			}
}

TEST(mpa_startup, kwarp_mpa_encode__request_rev1)
{
	kwarp_mpa_frame f{};
	f.type = KWARP_MPA_REQ;
	f.rev = 1;
	f.crc = true;
	f.pd_len = 0x123;
	EXPECT_EQ(encode(f), req_key + hex("40 01 0123"));
}

TEST(mpa_startup, kwarp_mpa_encode__every_flag)
{
	for (u32 bits = 0; bits < 16; bits++)
		for (u8 rev : {0, 1}) {
			kwarp_mpa_frame f{};
			f.type = KWARP_MPA_REP;
			f.rev = rev;
			f.markers = bits & 8;
			f.crc = bits & 4;
			f.reject = bits & 2;
			f.s = bits & 1;
			EXPECT_EQ(encode(f),
				  (rep_key + Bytes{static_cast<u8>(bits << 4), rev, 0, 0}));
		}
}

TEST(mpa_startup, kwarp_mpa_encode__enhanced)
{
	kwarp_mpa_frame f{};
	f.type = KWARP_MPA_REQ;
	f.rev = 2;
	f.s = true;
	f.ird = 0x0102;
	f.ord = 0x3fff;
	f.pd_len = 5;
	EXPECT_EQ(encode(f), req_key + hex("10 02 0009 0102 3fff"));
	f.p2p = true;
	f.rtr = KWARP_RTR_SEND;
	EXPECT_EQ(encode(f), req_key + hex("10 02 0009 c102 3fff"));
	f.rtr = KWARP_RTR_WRITE;
	EXPECT_EQ(encode(f), req_key + hex("10 02 0009 8102 bfff"));
	f.rtr = KWARP_RTR_READ;
	EXPECT_EQ(encode(f), req_key + hex("10 02 0009 8102 7fff"));
	f.rtr = KWARP_RTR_ALL;
	EXPECT_EQ(encode(f), req_key + hex("10 02 0009 c102 ffff"));
}

// RFC 6581 9.2: if A is zero, the other bits are zero, too.
TEST(mpa_startup, kwarp_mpa_encode__no_rtr_without_p2p)
{
	kwarp_mpa_frame f{};
	f.type = KWARP_MPA_REP;
	f.rev = 2;
	f.s = true;
	f.rtr = KWARP_RTR_ALL;
	EXPECT_EQ(encode(f), rep_key + hex("10 02 0004 0000 0000"));
}

TEST(mpa_startup, kwarp_mpa_encode__rtr_frame)
{
	kwarp_mpa_frame f{};
	f.type = KWARP_MPA_RTR_FRAME;
	f.rev = 1;
	f.crc = true;
	EXPECT_EQ(encode(f), rtr_key + hex("40 01 0000"));
}

TEST(mpa_startup, kwarp_mpa_encode__private_data_limit)
{
	u8 dst[24];
	kwarp_mpa_frame f{};
	f.rev = 2;
	f.pd_len = 512;
	EXPECT_EQ(kwarp_mpa_encode(&f, dst), 20);
	f.pd_len = 513;
	EXPECT_EQ(kwarp_mpa_encode(&f, dst), -KWARP_MPA_E_PD_LEN);
	f.s = true;
	f.pd_len = 508;
	EXPECT_EQ(kwarp_mpa_encode(&f, dst), 24);
	f.pd_len = 509;
	EXPECT_EQ(kwarp_mpa_encode(&f, dst), -KWARP_MPA_E_PD_LEN);
}

TEST(mpa_startup, kwarp_mpa_need__header_then_all)
{
	auto o = frame(req_key, 0, 1, 300, 300);
	for (u32 n = 0; n < 20; n++)
		EXPECT_EQ(kwarp_mpa_need(o.data(), n), 20u);
	for (u32 n = 20; n <= o.size(); n++)
		EXPECT_EQ(kwarp_mpa_need(o.data(), n), 320u);
}

TEST(mpa_startup, kwarp_mpa_decode__every_flag_byte)
{
	for (kwarp_mpa_type type : types)
		for (u32 rev : {0, 1, 2})
			for (u32 flags = 0; flags < 256; flags++) {
				if (type == KWARP_MPA_RTR_FRAME && rev != 1)
					continue;
				kwarp_mpa_frame f;
				auto o = frame(key(type), flags, rev, 4, 4);
				ASSERT_EQ(decode(o, type, f), 24);
				ASSERT_EQ(f.type, type);
				ASSERT_EQ(f.rev, rev);
				ASSERT_EQ(f.markers, flags / 128 == 1);
				ASSERT_EQ(f.crc, flags / 64 % 2 == 1);
				// RFC 5044 7.1.1: R is not checked in a request
				ASSERT_EQ(f.reject, type == KWARP_MPA_REP && flags / 32 % 2 == 1);
				// 2007 proposal, 2: S is not used in an Rtr frame
				ASSERT_EQ(f.s, type != KWARP_MPA_RTR_FRAME && flags / 16 % 2 == 1);
				bool enh = f.s && rev == 2;
				ASSERT_EQ(f.pd_len, enh ? 0 : 4);
				ASSERT_EQ(f.pd_off, enh ? 24 : 20);
			}
}

TEST(mpa_startup, kwarp_mpa_decode__enhanced_values)
{
	for (u32 flags = 0; flags < 16; flags++)
		for (u32 ird : {0u, 1u, 0x1234u, 0x3fffu})
			for (u32 ord : {0u, 1u, 0x2345u, 0x3fffu}) {
				u32 a = flags / 8, b = flags / 4 % 2, c = flags / 2 % 2,
				    d = flags % 2;
				Bytes enh(4);
				put_unaligned_be16(a << 15 | b << 14 | ird, &enh[0]);
				put_unaligned_be16(c << 15 | d << 14 | ord, &enh[2]);
				kwarp_mpa_frame f;
				auto o = req_key + hex("10 02 0006") + enh + hex("abcd");
				ASSERT_EQ(decode(o, KWARP_MPA_REQ, f), 26);
				ASSERT_EQ(f.ird, ird);
				ASSERT_EQ(f.ord, ord);
				ASSERT_EQ(f.p2p, a == 1);
				ASSERT_EQ(f.rtr, a ? b + 2 * c + 4 * d : 0);
				ASSERT_EQ(f.pd_len, 2);
				ASSERT_EQ(o[f.pd_off], 0xab);
			}
}

TEST(mpa_startup, kwarp_mpa_decode__what_was_encoded)
{
	for (int i = 0; i < 20000; i++) {
		kwarp_mpa_frame f{}, got;
		f.type = pick(0, 2);
		bool rtr = f.type == KWARP_MPA_RTR_FRAME;
		f.rev = rtr ? 1 : pick(0, 2);
		f.markers = coin();
		f.crc = coin();
		f.reject = f.type == KWARP_MPA_REP && coin();
		f.s = !rtr && coin();
		f.pd_off = 20;
		if (kwarp_mpa_enhanced(&f)) {
			f.ird = pick(0, 0x3fff);
			f.ord = pick(0, 0x3fff);
			f.p2p = coin();
			f.rtr = f.p2p ? pick(0, 7) : 0;
			f.pd_off = 24;
		}
		f.pd_len = pick(0, kwarp_mpa_pd_room(&f));
		auto o = encode(f) + random_bytes(f.pd_len);
		auto type = static_cast<kwarp_mpa_type>(f.type);
		ASSERT_EQ(decode(o, type, got), static_cast<int>(o.size()));
		ASSERT_EQ(memcmp(&got, &f, sizeof(f)), 0);
		// bytes after the frame do not belong to it
		ASSERT_EQ(decode(o + random_bytes(9), type, got), static_cast<int>(o.size()));
		auto part = slice(o, 0, pick(0, o.size() - 1));
		ASSERT_EQ(decode(part, type), 0);
	}
}

TEST(mpa_startup, kwarp_mpa_decode__every_prefix)
{
	for (kwarp_mpa_type type : types)
		for (u32 pd : {0, 1, 4, 511, 512}) {
			auto o = frame(key(type), 0x40, 1, pd, pd);
			for (size_t n = 0; n < o.size(); n++)
				ASSERT_EQ(decode(slice(o, 0, n), type), 0);
			ASSERT_EQ(decode(o, type), static_cast<int>(o.size()));
		}
}

TEST(mpa_startup, kwarp_mpa_decode__rtr_key_both_spellings)
{
	EXPECT_EQ(decode(frame(rtr_key, 0, 1, 0, 0), KWARP_MPA_RTR_FRAME), 20);
	EXPECT_EQ(decode(frame(rtr_key_text, 0, 1, 0, 0), KWARP_MPA_RTR_FRAME), 20);
}

// RFC 5044 7.1.2, 8: both initiator, both responder
TEST(mpa_startup, kwarp_mpa_decode__other_role)
{
	for (kwarp_mpa_type sent : types)
		for (kwarp_mpa_type wanted : types)
			if (sent != wanted) {
				auto o = frame(key(sent), 0, 1, 0, 0);
				EXPECT_EQ(decode(o, wanted), -KWARP_MPA_E_ROLE);
				EXPECT_EQ(decode(slice(o, 0, 16), wanted), -KWARP_MPA_E_ROLE);
				EXPECT_EQ(decode(slice(o, 0, 15), wanted), 0);
			}
	EXPECT_EQ(decode(frame(rtr_key_text, 0, 1, 0, 0), KWARP_MPA_REP), -KWARP_MPA_E_ROLE);
}

TEST(mpa_startup, kwarp_mpa_decode__key_wrong_at_every_byte)
{
	for (kwarp_mpa_type type : types)
		for (size_t at = 0; at < 16; at++)
			for (u32 value = 0; value < 256; value++) {
				auto o = frame(key(type), 0, 1, 0, 0);
				o[at] = value;
				auto k = slice(o, 0, 16);
				int want = -KWARP_MPA_E_KEY;
				if (k == key(type) ||
				    (type == KWARP_MPA_RTR_FRAME && k == rtr_key_text))
					want = 20;
				else if (k == req_key || k == rep_key || k == rtr_key ||
					 k == rtr_key_text)
					want = -KWARP_MPA_E_ROLE;
				ASSERT_EQ(decode(o, type), want);
				// detected at once, not after 20 bytes
				if (want == -KWARP_MPA_E_KEY) {
					int early = decode(slice(o, 0, at + 1), type);
					ASSERT_TRUE(early == want || (early == 0 && at >= 8));
				}
			}
}

TEST(mpa_startup, kwarp_mpa_decode__garbage_before_request)
{
	EXPECT_EQ(decode(hex("00"), KWARP_MPA_REQ), -KWARP_MPA_E_KEY);
	Bytes http{'G', 'E', 'T', ' ', '/'};
	EXPECT_EQ(decode(http, KWARP_MPA_REQ), -KWARP_MPA_E_KEY);
	EXPECT_EQ(decode(Bytes{0} + frame(req_key, 0, 1, 0, 0), KWARP_MPA_REQ), -KWARP_MPA_E_KEY);
}

TEST(mpa_startup, kwarp_mpa_decode__every_revision)
{
	for (kwarp_mpa_type type : types)
		for (u32 rev = 0; rev < 256; rev++) {
			bool ok = type == KWARP_MPA_RTR_FRAME ? rev == 1 : rev <= 2;
			EXPECT_EQ(decode(frame(key(type), 0, rev, 0, 0), type),
				  ok ? 20 : -KWARP_MPA_E_REV);
		}
}

TEST(mpa_startup, kwarp_mpa_decode__every_pd_length)
{
	for (u32 pd = 0; pd < 65536; pd += pd < 600 ? 1 : 97) {
		auto o = frame(req_key, 0, 1, pd, pd);
		// reported before the bytes arrive
		ASSERT_EQ(decode(slice(o, 0, 20), KWARP_MPA_REQ), pd > 512 ? -KWARP_MPA_E_PD_LEN :
								  pd	   ? 0 :
									     20);
		ASSERT_EQ(decode(o, KWARP_MPA_REQ),
			  pd > 512 ? -KWARP_MPA_E_PD_LEN : 20 + static_cast<int>(pd));
	}
}

TEST(mpa_startup, kwarp_mpa_decode__enhanced_data_missing)
{
	for (kwarp_mpa_type type : {KWARP_MPA_REQ, KWARP_MPA_REP})
		for (u32 pd = 0; pd < 8; pd++) {
			int want = pd < 4 ? -KWARP_MPA_E_ENHANCED : 20 + (int)pd;
			EXPECT_EQ(decode(frame(key(type), 0x10, 2, pd, pd), type), want);
			// without S, or in revision 1, all bytes are private data
			EXPECT_EQ(decode(frame(key(type), 0, 2, pd, pd), type), 20 + (int)pd);
			EXPECT_EQ(decode(frame(key(type), 0x10, 1, pd, pd), type), 20 + (int)pd);
		}
}

// The verdict does not depend on how the bytes arrive.
TEST(mpa_startup, kwarp_mpa_decode__same_verdict_for_every_segmentation)
{
	for (int i = 0; i < 20000; i++) {
		auto type = types[pick(0, 2)];
		auto o = frame(key(types[pick(0, 2)]), pick(0, 255), pick(0, 3),
			       coin() ? pick(0, 20) : pick(505, 520), 600);
		if (coin())
			o[pick(0, 19)] ^= 1 << pick(0, 7);
		int whole = decode(o, type);
		ASSERT_NE(whole, 0);
		bool decided = false;
		for (size_t n = 0; n <= o.size(); n += n < 30 ? 1 : 10) {
			int now = decode(slice(o, 0, n), type);
			// no verdict yet, or the final one
			ASSERT_TRUE(now == whole || (now == 0 && !decided));
			decided = now;
		}
	}
}
