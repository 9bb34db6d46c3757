// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/terminate.[ch]: the Terminate Message.
#include "proto.h"

namespace {

const Bytes write_hdr = hex("c1 40 01020304 1122334455667788");
const Bytes send_hdr = hex("41 43 00000000 00000000 00000005 00000000");
const Bytes read_hdr = hex("41 41 00000000 00000001 00000001 00000000");
const Bytes read_req = hex("01020304 1112131415161718 21222324 31323334 4142434445464748");
// the message's own DDP header: queue 2, MSN 1, MO 0, Last
const Bytes own = hex("41 47 00000000 00000002 00000001 00000000");

Bytes encode(const kwarp_term_err &err, const Bytes &seg, u32 ulpdu_len, u8 version = 1)
{
	Bytes copy(seg), dst(KWARP_TERM_MAX, 0xee);
	copy.shrink_to_fit();
	dst.resize(kwarp_term_encode(dst.data(), version, &err, seg.empty() ? nullptr : copy.data(),
				     copy.size(), ulpdu_len));
	return dst;
}

kwarp_err parse(const Bytes &o, kwarp_term_msg &msg)
{
	Bytes copy(o);
	copy.shrink_to_fit();
	return kwarp_term_parse(copy.data(), copy.size(), &msg);
}

Bytes encode(kwarp_err err, const Bytes &seg, u32 ulpdu_len)
{
	return encode(*kwarp_err_term(err), seg, ulpdu_len);
}

} // namespace

TEST(terminate, kwarp_term_encode__longest)
{
	auto o = encode(KWARP_ERR_RDMAP_BOUNDS, read_hdr + read_req, 46);
	EXPECT_EQ(o.size(), 70u);
	EXPECT_EQ(static_cast<size_t>(KWARP_TERM_MAX), 70u);
	EXPECT_EQ(o, own + hex("01 01 e0 00 002e") + read_hdr + read_req);
}

TEST(terminate, kwarp_term_encode__version_rdmac)
{
	auto o = encode(*kwarp_err_term(KWARP_ERR_MPA_CRC), {}, 0, 0);
	EXPECT_EQ(o, hex("40 07 00000000 00000002 00000001 00000000 20020000"));
}

TEST(terminate, kwarp_term_encode__llp_returns_nothing)
{
	for (int err = KWARP_ERR_MPA_CLOSED; err <= KWARP_ERR_MPA_LENGTH; err++) {
		auto o = encode(static_cast<kwarp_err>(err), send_hdr, 100);
		u8 code = kwarp_err_term(static_cast<kwarp_err>(err))->code;
		EXPECT_EQ(o, (own + Bytes{0x20, code, 0, 0}));
	}
}

TEST(terminate, kwarp_term_encode__local_catastrophic_returns_nothing)
{
	EXPECT_EQ(encode(KWARP_ERR_RDMAP_LOCAL, send_hdr, 100), own + hex("00000000"));
	EXPECT_EQ(encode(KWARP_ERR_DDP_LOCAL, send_hdr, 100), own + hex("10000000"));
}

TEST(terminate, kwarp_term_encode__ddp_returns_ddp_header)
{
	EXPECT_EQ(encode(KWARP_ERR_TAGGED_BOUNDS, write_hdr + random_bytes(30), 1400),
		  own + hex("11 01 c0 00 0578") + write_hdr);
	EXPECT_EQ(encode(KWARP_ERR_UNTAGGED_TOO_LONG, send_hdr + random_bytes(28), 64768),
		  own + hex("12 05 c0 00 fd00") + send_hdr);
	// also of a Read Request: figure 10 has no RDMAP header for DDP errors
	EXPECT_EQ(encode(KWARP_ERR_UNTAGGED_MSN, read_hdr + read_req, 46),
		  own + hex("12 03 c0 00 002e") + read_hdr);
}

TEST(terminate, kwarp_term_encode__operation_error_returns_ddp_header)
{
	EXPECT_EQ(encode(KWARP_ERR_RDMAP_VERSION, read_hdr + read_req, 46),
		  own + hex("02 05 c0 00 002e") + read_hdr);
}

TEST(terminate, kwarp_term_encode__protection_error_of_invalidate)
{
	auto inval = hex("41 44 cafe0001 00000000 00000001 00000000");
	EXPECT_EQ(encode(KWARP_ERR_RDMAP_INVALIDATE, inval + random_bytes(28), 100),
		  own + hex("01 09 c0 00 0064") + inval);
}

TEST(terminate, kwarp_term_encode__no_segment)
{
	EXPECT_EQ(encode(KWARP_ERR_RDMAP_STREAM, {}, 0), own + hex("02070000"));
}

TEST(terminate, kwarp_term_encode__cut_segment)
{
	auto seg = read_hdr + read_req;
	for (size_t n = 1; n < seg.size(); n++) {
		auto o = encode(KWARP_ERR_RDMAP_STAG, slice(seg, 0, n), n);
		auto want = own + hex("01 00") +
			    Bytes{static_cast<u8>(n < 18 ? 0x80 : 0xc0), 0, 0, static_cast<u8>(n)};
		if (n >= 18)
			want = want + read_hdr;
		ASSERT_EQ(o, want) << n;
	}
}

// All possible triples: the returned part follows figure 10.
TEST(terminate, kwarp_term_encode__every_triple)
{
	for (u32 layer = 0; layer < 16; layer++)
		for (u32 etype = 0; etype < 16; etype++)
			for (u32 code = 0; code < 256; code += 5) {
				kwarp_term_err err{static_cast<u8>(layer), static_cast<u8>(etype),
						   static_cast<u8>(code)};
				auto o = encode(err, read_hdr + read_req, 46);
				bool segment = layer < 2 && etype != 0;
				bool read = layer == 0 && etype == 1;
				ASSERT_EQ(o.size(), 22 + (segment ? 20u : 0u) + (read ? 28u : 0u));
				ASSERT_EQ(o[18], layer << 4 | etype);
				ASSERT_EQ(o[19], code);
				ASSERT_EQ(o[20], (segment ? 0xc0 : 0) | (read ? 0x20 : 0));
				ASSERT_EQ(o[21], 0);
			}
}

TEST(terminate, kwarp_term_parse__what_was_encoded)
{
	auto o = encode(KWARP_ERR_RDMAP_ACCESS, read_hdr + read_req, 46);
	kwarp_term_msg msg;
	ASSERT_EQ(parse(slice(o, 18, o.size() - 18), msg), KWARP_ERR_NONE);
	EXPECT_EQ(msg.err.layer, 0);
	EXPECT_EQ(msg.err.etype, 1);
	EXPECT_EQ(msg.err.code, 2);
	EXPECT_TRUE(msg.has_seg_len);
	EXPECT_EQ(msg.seg_len, 46);
	EXPECT_TRUE(msg.has_ddp);
	EXPECT_EQ(msg.ddp.opcode, RDMAP_READ_REQUEST);
	EXPECT_EQ(msg.ddp.msn, 1u);
	EXPECT_TRUE(msg.has_rdmap);
	EXPECT_EQ(msg.read.src_stag, 0x31323334u);
}

TEST(terminate, kwarp_term_parse__every_truncation)
{
	auto o = encode(KWARP_ERR_RDMAP_ACCESS, read_hdr + read_req, 46);
	o = slice(o, 18, o.size() - 18);
	for (size_t n = 0; n <= o.size(); n++) {
		kwarp_term_msg msg;
		ASSERT_EQ(parse(slice(o, 0, n), msg), n < 4 ? KWARP_ERR_SEGMENT : KWARP_ERR_NONE);
		ASSERT_EQ(msg.err.code, n < 4 ? 0 : 2);
		ASSERT_EQ(msg.has_seg_len, n >= 6);
		ASSERT_EQ(msg.has_ddp, n >= 6 + 18);
		ASSERT_EQ(msg.has_rdmap, n >= 6 + 18 + 28);
	}
}

TEST(terminate, kwarp_term_parse__tagged_header)
{
	kwarp_term_msg msg;
	ASSERT_EQ(parse(hex("11 00 c0 00 0064") + write_hdr, msg), KWARP_ERR_NONE);
	EXPECT_TRUE(msg.has_ddp);
	EXPECT_TRUE(msg.ddp.tagged);
	EXPECT_EQ(msg.ddp.stag, 0x01020304u);
	EXPECT_FALSE(msg.has_rdmap);
}

TEST(terminate, kwarp_term_parse__header_bits)
{
	auto rest = hex("0064") + read_hdr + read_req;
	for (u32 bits = 0; bits < 8; bits++) {
		kwarp_term_msg msg;
		auto o = Bytes{0x01, 0x00, static_cast<u8>(bits << 5 | 0x1f), 0xff};
		ASSERT_EQ(parse(o + rest, msg), KWARP_ERR_NONE);
		EXPECT_EQ(msg.has_seg_len, bits >= 4);
		EXPECT_EQ(msg.has_ddp, (bits & 2) != 0);
		EXPECT_EQ(msg.has_rdmap, (bits & 3) == 3);
	}
}

TEST(terminate, kwarp_term_parse__only_the_codes)
{
	kwarp_term_msg msg;
	ASSERT_EQ(parse(hex("2f ff 00 00"), msg), KWARP_ERR_NONE);
	EXPECT_EQ(msg.err.layer, 2);
	EXPECT_EQ(msg.err.etype, 15);
	EXPECT_EQ(msg.err.code, 255);
	EXPECT_FALSE(msg.has_seg_len || msg.has_ddp || msg.has_rdmap);
}

TEST(terminate, kwarp_term_parse__garbage)
{
	for (int i = 0; i < 100000; i++) {
		kwarp_term_msg msg;
		auto o = random_bytes(pick(0, 80));
		kwarp_err err = parse(o, msg);
		ASSERT_EQ(err == KWARP_ERR_NONE, o.size() >= 4);
		if (msg.has_rdmap) {
			ASSERT_TRUE(msg.has_ddp);
			ASSERT_GE(o.size(), 6u + msg.ddp.len + 28);
		}
	}
}
