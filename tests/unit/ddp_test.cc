// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/ddp.[ch]: headers and the checks of RFC 5041 7.1.
#include "proto.h"

#include <format>

namespace {

Bytes encode(const kwarp_ddp_hdr &h)
{
	Bytes o(KWARP_DDP_HDR_MAX, 0xee);
	o.resize(kwarp_ddp_encode(&h, o.data()));
	return o;
}

// Parses a copy of exact size, so that ASan detects reads beyond it.
kwarp_err parse(const Bytes &o, kwarp_ddp_hdr &h)
{
	Bytes copy(o);
	copy.shrink_to_fit();
	return kwarp_ddp_parse(copy.data(), copy.size(), &h);
}

using big = unsigned __int128;

// Returns a header with random fields of its buffer model.
kwarp_ddp_hdr random_fields()
{
	kwarp_ddp_hdr h{};
	h.tagged = coin();
	h.last = coin();
	h.dv = pick(0, 3);
	h.rv = pick(0, 3);
	h.opcode = pick(0, 15);
	h.len = kwarp_ddp_hdr_len(h.tagged);
	if (h.tagged) {
		h.stag = pick(0, U32_MAX);
		h.to = rng()();
	} else {
		h.inv_stag = pick(0, U32_MAX);
		h.qn = pick(0, U32_MAX);
		h.msn = pick(0, U32_MAX);
		h.mo = pick(0, U32_MAX);
	}
	return h;
}

// Returns such a header as the parser does.
kwarp_ddp_hdr random_header()
{
	kwarp_ddp_hdr parsed;
	parse(encode(random_fields()), parsed);
	return parsed;
}

std::string fields(const kwarp_ddp_hdr &h)
{
	return std::format("{} {} {} {} {} {} {} {} {} {} {} {}", h.tagged, h.last, h.dv, h.rv,
			   h.opcode, h.len, h.stag, h.to, h.inv_stag, h.qn, h.msn, h.mo);
}

} // namespace

TEST(ddp, kwarp_ddp_hdr_len__both)
{
	EXPECT_EQ(kwarp_ddp_hdr_len(true), 14u);
	EXPECT_EQ(kwarp_ddp_hdr_len(false), 18u);
}

TEST(ddp, kwarp_ddp_encode__tagged)
{
	kwarp_ddp_hdr h{};
	h.tagged = h.last = true;
	h.dv = h.rv = 1;
	h.opcode = RDMAP_WRITE;
	h.stag = 0x01020304;
	h.to = 0x1122334455667788;
	// RFC 5041 figure 4
	EXPECT_EQ(encode(h), hex("c1 40 01020304 1122334455667788"));
}

TEST(ddp, kwarp_ddp_encode__untagged)
{
	kwarp_ddp_hdr h{};
	h.dv = h.rv = 1;
	h.opcode = RDMAP_SEND_SE_INVAL;
	h.inv_stag = 0xcafe0001;
	h.qn = 2;
	h.msn = 0xfffffffe;
	h.mo = 0x00010203;
	// RFC 5041 figure 5
	EXPECT_EQ(encode(h), hex("01 46 cafe0001 00000002 fffffffe 00010203"));
	h.last = true;
	EXPECT_EQ(encode(h)[0], 0x41);
}

TEST(ddp, kwarp_ddp_encode__rdmac)
{
	kwarp_ddp_hdr h{};
	h.last = true;
	h.opcode = RDMAP_SEND;
	h.msn = 1;
	// draft-culley-iwarp-mpa-02 figure 5
	EXPECT_EQ(encode(h), hex("40 03 00000000 00000000 00000001 00000000"));
}

TEST(ddp, kwarp_ddp_parse__what_was_encoded)
{
	for (int i = 0; i < 20000; i++) {
		kwarp_ddp_hdr h = random_fields(), got;
		ASSERT_EQ(parse(encode(h), got), KWARP_ERR_NONE);
		ASSERT_EQ(got.tagged, h.tagged);
		ASSERT_EQ(got.last, h.last);
		ASSERT_EQ(got.dv, h.dv);
		ASSERT_EQ(got.rv, h.rv);
		ASSERT_EQ(got.opcode, h.opcode);
		ASSERT_EQ(got.len, h.len);
		ASSERT_EQ(got.stag, h.stag);
		ASSERT_EQ(got.to, h.to);
		ASSERT_EQ(got.inv_stag, h.inv_stag);
		ASSERT_EQ(got.qn, h.qn);
		ASSERT_EQ(got.msn, h.msn);
		ASSERT_EQ(got.mo, h.mo);
	}
}

TEST(ddp, kwarp_ddp_parse__every_control_byte)
{
	for (u32 ctrl = 0; ctrl < 65536; ctrl++) {
		u8 c0 = ctrl >> 8, c1 = ctrl & 0xff;
		kwarp_ddp_hdr h;
		ASSERT_EQ(parse(Bytes{c0, c1} + Bytes(16), h), KWARP_ERR_NONE);
		ASSERT_EQ(h.tagged, c0 >= 128);
		ASSERT_EQ(h.last, c0 / 64 % 2 == 1);
		ASSERT_EQ(h.dv, c0 % 4);
		ASSERT_EQ(h.rv, c1 / 64);
		ASSERT_EQ(h.opcode, c1 % 16);
	}
}

TEST(ddp, kwarp_ddp_parse__too_short)
{
	for (u32 n = 0; n < 18; n++) {
		kwarp_ddp_hdr h;
		Bytes o(n, 0xff);
		if (n)
			o[0] = 0x41;
		EXPECT_EQ(parse(o, h), KWARP_ERR_SEGMENT) << n;
		EXPECT_EQ(h.len, 0);
		if (n)
			o[0] = 0xc1;
		EXPECT_EQ(parse(o, h), n < 14 ? KWARP_ERR_SEGMENT : KWARP_ERR_NONE);
	}
}

// Of all segments that follow one that is not the last of its message, with one byte changed or
// none, exactly those continue the message whose header differs in the L flag only. The header is
// then the one that the parser reads.
TEST(ddp, kwarp_ddp_continues__same_message)
{
	for (int i = 0; i < 2000; i++) {
		kwarp_ddp_hdr previous = random_header();
		previous.last = false;
		kwarp_ddp_advance(&previous, pick(0, 65536));
		kwarp_ddp_hdr next = previous;
		next.last = coin();
		const Bytes right = encode(next);
		for (size_t at = 0; at <= right.size(); at++) {
			kwarp_ddp_hdr got = previous, parsed;
			Bytes o = right;
			u8 change = at < o.size() ? 1 << pick(0, 7) : 0;
			if (change)
				o[at] ^= change;
			o.shrink_to_fit();
			const bool continues = kwarp_ddp_continues(&got, o.data(), o.size());
			ASSERT_EQ(continues, !change || (!at && change == 0x40));
			if (!continues) {
				ASSERT_EQ(fields(got), fields(previous));
				continue;
			}
			ASSERT_EQ(parse(o, parsed), KWARP_ERR_NONE);
			ASSERT_EQ(fields(got), fields(parsed));
		}
	}
}

TEST(ddp, kwarp_ddp_continues__not_after_the_last_segment)
{
	for (bool last : {false, true}) {
		kwarp_ddp_hdr h = random_header();
		h.last = last;
		const Bytes o = encode(h);
		EXPECT_EQ(kwarp_ddp_continues(&h, o.data(), o.size()), !last);
	}
}

TEST(ddp, kwarp_ddp_continues__too_short)
{
	kwarp_ddp_hdr h = random_header();
	h.last = false;
	const Bytes o = encode(h);
	for (u32 n = 2; n < o.size(); n++) {
		const Bytes part(o.begin(), o.begin() + n);
		EXPECT_FALSE(kwarp_ddp_continues(&h, part.data(), n));
	}
	EXPECT_TRUE(kwarp_ddp_continues(&h, o.data(), o.size()));
}

// Exactly the segments with the same control bytes, except the L flag, and the same queue resemble
// the previous one, and they then have the header that the parser reads.
TEST(ddp, kwarp_ddp_resembles__same_kind)
{
	for (int i = 0; i < 20000; i++) {
		const kwarp_ddp_hdr previous = random_header();
		kwarp_ddp_hdr other = random_header(), got = previous, parsed;
		if (coin()) {
			other.tagged = previous.tagged;
			other.dv = previous.dv;
			other.rv = previous.rv;
			other.opcode = previous.opcode;
			other.qn = coin() ? previous.qn : other.qn;
		}
		const Bytes o = encode(other);
		const bool same = other.tagged == previous.tagged && other.dv == previous.dv &&
				  other.rv == previous.rv && other.opcode == previous.opcode &&
				  (other.tagged || other.qn == previous.qn);
		ASSERT_EQ(kwarp_ddp_resembles(&got, o.data(), o.size()), same);
		ASSERT_EQ(parse(o, parsed), KWARP_ERR_NONE);
		ASSERT_EQ(fields(got), fields(same ? parsed : previous));
	}
}

TEST(ddp, kwarp_ddp_resembles__not)
{
	kwarp_ddp_hdr h = random_header();
	const Bytes o = encode(h);
	for (u32 n = 2; n < o.size(); n++) {
		const Bytes part(o.begin(), o.begin() + n);
		EXPECT_FALSE(kwarp_ddp_resembles(&h, part.data(), n));
	}
	EXPECT_TRUE(kwarp_ddp_resembles(&h, o.data(), o.size()));
	h.ctl = KWARP_DDP_CTL_NONE;
	for (u32 ctl = 0; ctl < 65536; ctl++) {
		Bytes any = o;
		any[0] = ctl >> 8;
		any[1] = ctl & 0xff;
		ASSERT_FALSE(kwarp_ddp_resembles(&h, any.data(), any.size()));
		ASSERT_FALSE(kwarp_ddp_continues(&h, any.data(), any.size()));
	}
}

TEST(ddp, kwarp_ddp_encode_next__as_encoded)
{
	for (int i = 0; i < 2000; i++) {
		kwarp_ddp_hdr h = random_header();
		Bytes previous(KWARP_DDP_HDR_MAX, 0xee), next(KWARP_DDP_HDR_MAX, 0x11);
		kwarp_ddp_encode(&h, previous.data());
		kwarp_ddp_advance(&h, pick(0, 65536));
		kwarp_ddp_encode_next(&h, previous.data(), next.data());
		next.resize(h.len);
		ASSERT_EQ(next, encode(h));
	}
}

TEST(ddp, kwarp_ddp_check_msn__window)
{
	for (u32 first : {1u, 0u, 0xfffffff0u, U32_MAX, 0x80000000u})
		for (u32 count : {0u, 1u, 7u, 4096u}) {
			for (u32 i = 0; i < count; i++)
				ASSERT_EQ(kwarp_ddp_check_msn(first + i, first, count),
					  KWARP_ERR_NONE);
			EXPECT_EQ(kwarp_ddp_check_msn(first + count, first, count),
				  KWARP_ERR_UNTAGGED_NO_BUFFER);
			for (u32 off : {1u, 2u, 100u, 0x7fffffffu})
				EXPECT_EQ(kwarp_ddp_check_msn(first + count + off, first, count),
					  KWARP_ERR_UNTAGGED_MSN);
			EXPECT_EQ(kwarp_ddp_check_msn(first - 1, first, count),
				  KWARP_ERR_UNTAGGED_MSN);
		}
}

TEST(ddp, kwarp_ddp_check_mo__edges)
{
	EXPECT_EQ(kwarp_ddp_check_mo(0, 0, 0), KWARP_ERR_NONE);
	EXPECT_EQ(kwarp_ddp_check_mo(0, 1, 0), KWARP_ERR_UNTAGGED_TOO_LONG);
	EXPECT_EQ(kwarp_ddp_check_mo(1, 0, 0), KWARP_ERR_UNTAGGED_MO);
	EXPECT_EQ(kwarp_ddp_check_mo(10, 90, 100), KWARP_ERR_NONE);
	EXPECT_EQ(kwarp_ddp_check_mo(10, 91, 100), KWARP_ERR_UNTAGGED_TOO_LONG);
	EXPECT_EQ(kwarp_ddp_check_mo(100, 0, 100), KWARP_ERR_NONE);
	EXPECT_EQ(kwarp_ddp_check_mo(100, 1, 100), KWARP_ERR_UNTAGGED_TOO_LONG);
	EXPECT_EQ(kwarp_ddp_check_mo(101, 1, 100), KWARP_ERR_UNTAGGED_MO);
	EXPECT_EQ(kwarp_ddp_check_mo(U32_MAX, 64768, U32_MAX), KWARP_ERR_UNTAGGED_TOO_LONG);
	EXPECT_EQ(kwarp_ddp_check_mo(U32_MAX, 64768, 1ull << 33), KWARP_ERR_NONE);
}

TEST(ddp, kwarp_ddp_check_to__edges)
{
	EXPECT_EQ(kwarp_ddp_check_to(100, 50, 100, 50), KWARP_ERR_NONE);
	EXPECT_EQ(kwarp_ddp_check_to(100, 51, 100, 50), KWARP_ERR_TAGGED_BOUNDS);
	EXPECT_EQ(kwarp_ddp_check_to(99, 1, 100, 50), KWARP_ERR_TAGGED_BOUNDS);
	EXPECT_EQ(kwarp_ddp_check_to(150, 1, 100, 50), KWARP_ERR_TAGGED_BOUNDS);
	EXPECT_EQ(kwarp_ddp_check_to(151, 1, 100, 50), KWARP_ERR_TAGGED_BOUNDS);
	EXPECT_EQ(kwarp_ddp_check_to(~0ull, 1, 0, ~0ull), KWARP_ERR_TAGGED_WRAP);
	EXPECT_EQ(kwarp_ddp_check_to(~0ull - 9, 9, ~0ull - 9, 9), KWARP_ERR_NONE);
	EXPECT_EQ(kwarp_ddp_check_to(~0ull - 9, 11, 0, 10), KWARP_ERR_TAGGED_WRAP);
}

// RFC 5041 5.2: STag and TO of a zero-length segment are not checked.
TEST(ddp, kwarp_ddp_check_to__zero_length)
{
	EXPECT_EQ(kwarp_ddp_check_to(~0ull, 0, 100, 50), KWARP_ERR_NONE);
	EXPECT_EQ(kwarp_ddp_check_to(0, 0, 100, 50), KWARP_ERR_NONE);
}

TEST(ddp, kwarp_ddp_check_to__against_wide_arithmetic)
{
	const u64 marks[] = {0, 1, 4096, 1ull << 32, 1ull << 63, ~0ull - 70000, ~0ull};
	for (int i = 0; i < 300000; i++) {
		u64 base = marks[pick(0, 6)] + pick(0, 70000);
		u64 size = coin() ? pick(0, 70000) : marks[pick(0, 6)];
		u64 to = (coin() ? base : marks[pick(0, 6)]) + pick(0, 70000) -
			 (coin() ? pick(0, 70000) : 0);
		u32 len = pick(1, 65000);
		if ((big(base) + size) >> 64)
			continue;
		kwarp_err want = KWARP_ERR_NONE;
		if ((big(to) + len) >> 64)
			want = KWARP_ERR_TAGGED_WRAP;
		else if (to < base || big(to) + len > big(base) + size)
			want = KWARP_ERR_TAGGED_BOUNDS;
		ASSERT_EQ(kwarp_ddp_check_to(to, len, base, size), want)
			<< to << ' ' << len << ' ' << base << ' ' << size;
	}
}
