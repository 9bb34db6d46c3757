// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/rdmap.[ch]: opcodes and the checks that need no buffer.
#include <optional>
#include <random>

#include "proto.h"

namespace {

// RFC 5040 figures 4 and 5, RFC 7306 figures 2 and 3
struct Message {
	u8 opcode;
	bool tagged;
	u32 qn;
	bool payload; // "ULP Message allowed"
	u32 header;
};

const Message messages[] = {
	{0, true, 0, true, 0},	 {1, false, 1, false, 28},  {2, true, 0, true, 0},
	{3, false, 0, true, 0},	 {4, false, 0, true, 0},    {5, false, 0, true, 0},
	{6, false, 0, true, 0},	 {7, false, 2, false, 4},   {8, false, 0, false, 8},
	{9, false, 0, false, 8}, {10, false, 1, false, 52}, {11, false, 3, false, 12},
};

std::optional<Message> message(u8 opcode, bool ext)
{
	if (opcode > 11 || (opcode > 7 && !ext))
		return {};
	return messages[opcode];
}

kwarp_ddp_hdr header(u8 opcode, bool tagged, u32 qn = 0)
{
	kwarp_ddp_hdr h{};
	h.tagged = tagged;
	h.last = true;
	h.dv = h.rv = 1;
	h.opcode = opcode;
	h.qn = tagged ? 0 : qn;
	h.len = tagged ? 14 : 18;
	h.msn = tagged ? 0 : 1;
	return h;
}

kwarp_err check(const kwarp_ddp_hdr &h, u32 payload, u8 version = 1, u8 ext = 0)
{
	return kwarp_rdmap_check(&h, h.len + payload, version, ext);
}

} // namespace

TEST(rdmap, kwarp_rdmap_find_op__as_the_rfcs_tables)
{
	for (const Message &m : messages) {
		auto op = kwarp_rdmap_find_op(m.opcode);
		ASSERT_NE(op, nullptr);
		EXPECT_EQ(!!(op->flags & KWARP_RDMAP_F_TAGGED), m.tagged);
		EXPECT_EQ(!!(op->flags & KWARP_RDMAP_F_PAYLOAD), m.payload);
		EXPECT_EQ(!!(op->flags & KWARP_RDMAP_F_EXT), m.opcode > 7);
		EXPECT_EQ(!!(op->flags & KWARP_RDMAP_F_INVAL), m.opcode == 4 || m.opcode == 6);
		EXPECT_EQ(!!(op->flags & KWARP_RDMAP_F_SE),
			  m.opcode == 5 || m.opcode == 6 || m.opcode == 9);
		EXPECT_EQ(op->qn, m.qn);
		EXPECT_EQ(op->hdr_len, m.header);
		EXPECT_GT(strlen(op->name), 2u);
	}
}

TEST(rdmap, kwarp_rdmap_find_op__reserved)
{
	for (u32 opcode = RDMAP_OPCODES; opcode < 256; opcode++)
		EXPECT_EQ(kwarp_rdmap_find_op(opcode), nullptr);
}

// All combinations of opcode, model, queue, version and extensions, compared with the tables.
static void checks_in_order(u8 opcode, bool tagged, u32 qn, u8 version, u32 v, bool ext)
{
	auto h = header(opcode, tagged, qn);
	h.dv = v / 4;
	h.rv = v % 4;
	auto m = message(opcode, ext);
	kwarp_err want = KWARP_ERR_NONE;

	if (h.dv != version)
		want = tagged ? KWARP_ERR_TAGGED_VERSION : KWARP_ERR_UNTAGGED_VERSION;
	else if (!tagged && qn > (ext ? 3 : 2))
		want = KWARP_ERR_UNTAGGED_QN;
	else if (h.rv != version)
		want = KWARP_ERR_RDMAP_VERSION;
	else if (!m || m->tagged != tagged || (!tagged && m->qn != qn))
		want = KWARP_ERR_RDMAP_OPCODE;
	ASSERT_EQ(check(h, m ? m->header : 0, version, ext), want)
		<< +opcode << ' ' << tagged << ' ' << qn;
}

TEST(rdmap, kwarp_rdmap_check__every_combination)
{
	const u32 queues[] = {0, 1, 2, 3, 4, 255, U32_MAX};
	for (u8 opcode = 0; opcode < 16; opcode++)
		for (bool tagged : {false, true})
			for (u32 qn : queues)
				for (u8 version : {0, 1})
					for (u32 v = 0; v < 16; v++)
						for (bool ext : {false, true})
							ASSERT_NO_FATAL_FAILURE(
								checks_in_order(opcode, tagged, qn,
										version, v, ext));
}

TEST(rdmap, kwarp_rdmap_check__payload_of_any_length)
{
	for (const Message &m : messages) {
		if (!m.payload)
			continue;
		auto h = header(m.opcode, m.tagged, m.qn);
		h.mo = m.tagged ? 0 : 1000;
		h.last = false;
		for (u32 n : {0, 1, 28, 64750})
			EXPECT_EQ(check(h, n), KWARP_ERR_NONE);
	}
}

TEST(rdmap, kwarp_rdmap_check__read_request_length)
{
	auto h = header(RDMAP_READ_REQUEST, false, 1);
	for (u32 n = 0; n < 28; n++)
		EXPECT_EQ(check(h, n), KWARP_ERR_SEGMENT);
	EXPECT_EQ(check(h, 28), KWARP_ERR_NONE);
	for (u32 n = 29; n < 200; n++)
		EXPECT_EQ(check(h, n), KWARP_ERR_UNTAGGED_TOO_LONG);
}

TEST(rdmap, kwarp_rdmap_check__read_request_in_segments)
{
	auto h = header(RDMAP_READ_REQUEST, false, 1);
	h.last = false;
	EXPECT_EQ(check(h, 28), KWARP_ERR_UNTAGGED_TOO_LONG);
	EXPECT_EQ(check(h, 14), KWARP_ERR_UNTAGGED_TOO_LONG);
	h.last = true;
	h.mo = 14;
	EXPECT_EQ(check(h, 14), KWARP_ERR_UNTAGGED_MO);
}

TEST(rdmap, kwarp_rdmap_check__atomic_lengths)
{
	auto req = header(RDMAP_ATOMIC_REQUEST, false, 1);
	EXPECT_EQ(check(req, 51, 1, true), KWARP_ERR_SEGMENT);
	EXPECT_EQ(check(req, 52, 1, true), KWARP_ERR_NONE);
	EXPECT_EQ(check(req, 53, 1, true), KWARP_ERR_UNTAGGED_TOO_LONG);
	auto resp = header(RDMAP_ATOMIC_RESPONSE, false, 3);
	EXPECT_EQ(check(resp, 11, 1, true), KWARP_ERR_SEGMENT);
	EXPECT_EQ(check(resp, 12, 1, true), KWARP_ERR_NONE);
	EXPECT_EQ(check(resp, 13, 1, true), KWARP_ERR_UNTAGGED_TOO_LONG);
}

// RFC 7306 6.3: exactly 8 bytes.
TEST(rdmap, kwarp_rdmap_check__immediate_length)
{
	for (u8 opcode : {RDMAP_IMM, RDMAP_IMM_SE}) {
		auto h = header(opcode, false, 0);
		for (u32 n = 0; n < 20; n++)
			EXPECT_EQ(check(h, n, 1, true),
				  n == 8 ? KWARP_ERR_NONE : KWARP_ERR_SEGMENT);
		h.last = false;
		EXPECT_EQ(check(h, 8, 1, true), KWARP_ERR_SEGMENT);
		h.mo = 8;
		EXPECT_EQ(check(h, 8, 1, true), KWARP_ERR_UNTAGGED_MO);
	}
}

TEST(rdmap, kwarp_rdmap_check__terminate_of_any_length)
{
	auto h = header(RDMAP_TERMINATE, false, 2);
	for (u32 n : {0, 3, 4, 6, 52, 1000})
		EXPECT_EQ(check(h, n), KWARP_ERR_NONE);
}

// A Terminate with an MO above zero lacks its beginning, which has the error code.
TEST(rdmap, kwarp_rdmap_check__terminate_offset)
{
	auto h = header(RDMAP_TERMINATE, false, 2);
	for (u32 mo : {1U, 4U, 1000U, U32_MAX}) {
		h.mo = mo;
		EXPECT_EQ(check(h, 52), KWARP_ERR_UNTAGGED_MO);
	}
}

TEST(rdmap, kwarp_rdmap_read_encode__figure6)
{
	kwarp_rdmap_read rd{0x01020304, 0x1112131415161718, 0x21222324, 0x31323334,
			    0x4142434445464748};
	Bytes o(28);
	EXPECT_EQ(kwarp_rdmap_read_encode(&rd, o.data()), 28u);
	EXPECT_EQ(o, hex("01020304 1112131415161718 21222324 31323334 4142434445464748"));
}

TEST(rdmap, kwarp_rdmap_read_parse__what_was_encoded)
{
	for (int i = 0; i < 1000; i++) {
		auto o = random_bytes(28);
		Bytes again(28);
		kwarp_rdmap_read rd;
		kwarp_rdmap_read_parse(o.data(), &rd);
		kwarp_rdmap_read_encode(&rd, again.data());
		ASSERT_EQ(again, o);
	}
}

TEST(rdmap, kwarp_rdmap_check_src__edges)
{
	EXPECT_EQ(kwarp_rdmap_check_src(100, 50, 100, 50), KWARP_ERR_NONE);
	EXPECT_EQ(kwarp_rdmap_check_src(100, 51, 100, 50), KWARP_ERR_RDMAP_BOUNDS);
	EXPECT_EQ(kwarp_rdmap_check_src(99, 1, 100, 50), KWARP_ERR_RDMAP_BOUNDS);
	EXPECT_EQ(kwarp_rdmap_check_src(~0ull, 1, 0, 50), KWARP_ERR_RDMAP_WRAP);
	EXPECT_EQ(kwarp_rdmap_check_src(0, U32_MAX, 0, U32_MAX), KWARP_ERR_NONE);
	// RFC 5040 7.2, 4: only non-zero length requests are checked
	EXPECT_EQ(kwarp_rdmap_check_src(~0ull, 0, 100, 50), KWARP_ERR_NONE);
}

TEST(rdmap, kwarp_rdmap_check__own_opcodes_only_if_enabled)
{
	for (u8 opcode : {RDMAP_SEND_IMM, RDMAP_SEND_SE_IMM}) {
		kwarp_ddp_hdr h = header(opcode, false, 0);
		EXPECT_EQ(check(h, 100), KWARP_ERR_RDMAP_OPCODE);
		EXPECT_EQ(check(h, 100, 1, KWARP_RDMAP_EXT_7306), KWARP_ERR_RDMAP_OPCODE);
		EXPECT_EQ(check(h, 100, 1, KWARP_RDMAP_EXT_OWN), KWARP_ERR_NONE);
		h.qn = 1;
		EXPECT_EQ(check(h, 100, 1, KWARP_RDMAP_EXT_OWN), KWARP_ERR_RDMAP_OPCODE);
	}
}

TEST(rdmap, kwarp_rdmap_atomic_encode__fetch_add)
{
	// RFC 7306 figure 4; unused fields as 5.2.1 requires
	kwarp_rdmap_atomic a{};
	a.aop = KWARP_AOP_FETCH_ADD;
	a.req_id = 0x01020304;
	a.stag = 0x11121314;
	a.to = 0x2122232425262728;
	a.data = 0x3132333435363738;
	a.mask = 0x4142434445464748;
	a.compare = 5;
	// clang-format off
	const u8 want[KWARP_RDMAP_ATOMIC_REQ_LEN] = {
		0, 0, 0, 0, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14,
		0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,
		0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,
		0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
		0, 0, 0, 0, 0, 0, 0, 0,
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	};
	// clang-format on
	u8 got[KWARP_RDMAP_ATOMIC_REQ_LEN];
	EXPECT_EQ(kwarp_rdmap_atomic_encode(&a, got), sizeof(got));
	EXPECT_EQ(memcmp(got, want, sizeof(got)), 0);
}

TEST(rdmap, kwarp_rdmap_atomic_parse__what_was_encoded)
{
	kwarp_rdmap_atomic a{}, b{};
	u8 bytes[KWARP_RDMAP_ATOMIC_REQ_LEN];
	a = {KWARP_AOP_CMP_SWAP, 1, 2, 3, 4, 5, 6, 7};
	kwarp_rdmap_atomic_encode(&a, bytes);
	ASSERT_TRUE(kwarp_rdmap_atomic_parse(bytes, &b));
	EXPECT_EQ(b.aop, a.aop);
	EXPECT_EQ(b.req_id, a.req_id);
	EXPECT_EQ(b.stag, a.stag);
	EXPECT_EQ(b.to, a.to);
	EXPECT_EQ(b.data, a.data);
	EXPECT_EQ(b.mask, a.mask);
	EXPECT_EQ(b.compare, a.compare);
	EXPECT_EQ(b.compare_mask, a.compare_mask);
}

TEST(rdmap, kwarp_rdmap_atomic_parse__operations)
{
	// figure 5: two operations; the 28 bits before are reserved and ignored
	kwarp_rdmap_atomic a;
	u8 bytes[KWARP_RDMAP_ATOMIC_REQ_LEN] = {0xff, 0xff, 0xff};
	for (unsigned aop = 0; aop < 16; aop++) {
		bytes[3] = 0xf0 | aop;
		EXPECT_EQ(kwarp_rdmap_atomic_parse(bytes, &a), aop == 0 || aop == 2) << aop;
	}
}

namespace {

// RFC 7306 5.1.1, bit by bit
u64 naive_add(u64 old, u64 add, u64 mask)
{
	u64 result = 0;
	unsigned carry = 0;
	for (int bit = 0; bit < 64; bit++) {
		unsigned sum = carry + (old >> bit & 1) + (add >> bit & 1);
		result |= u64(sum & 1) << bit;
		carry = (sum >> 1) && !(mask >> bit & 1);
	}
	return result;
}

u64 fetch_add(u64 old, u64 add, u64 mask)
{
	kwarp_rdmap_atomic a{};
	a.aop = KWARP_AOP_FETCH_ADD;
	a.data = add;
	a.mask = mask;
	return kwarp_rdmap_atomic_value(&a, old);
}

u64 cmp_swap(u64 old, u64 compare, u64 compare_mask, u64 swap, u64 swap_mask)
{
	kwarp_rdmap_atomic a{};
	a.aop = KWARP_AOP_CMP_SWAP;
	a.data = swap;
	a.mask = swap_mask;
	a.compare = compare;
	a.compare_mask = compare_mask;
	return kwarp_rdmap_atomic_value(&a, old);
}

} // namespace

TEST(rdmap, kwarp_rdmap_atomic_value__fetch_add)
{
	std::mt19937_64 random(7306);
	EXPECT_EQ(fetch_add(5, 7, 0), 12u);
	EXPECT_EQ(fetch_add(~0ULL, 1, 0), 0u);
	EXPECT_EQ(fetch_add(0x00000000ffffffff, 1, 0x80000000), 0u);
	for (int i = 0; i < 20000; i++) {
		u64 old = random(), add = random();
		// sparse and dense boundaries, and none
		u64 mask = i % 3 == 0 ? 0 : i % 3 == 1 ? random() & random() & random() : random();
		ASSERT_EQ(fetch_add(old, add, mask), naive_add(old, add, mask))
			<< std::hex << old << " + " << add << ", " << mask;
	}
}

TEST(rdmap, kwarp_rdmap_atomic_value__cmp_swap)
{
	EXPECT_EQ(cmp_swap(5, 5, ~0ULL, 9, ~0ULL), 9u);
	EXPECT_EQ(cmp_swap(6, 5, ~0ULL, 9, ~0ULL), 6u);
	EXPECT_EQ(cmp_swap(0x1205, 0x05, 0xff, 0x3400, 0xff00), 0x3405u); // bits of the masks only
	EXPECT_EQ(cmp_swap(0x1206, 0x05, 0xff, 0x3400, 0xff00), 0x1206u);
	EXPECT_EQ(cmp_swap(77, 0, 0, 3, ~0ULL), 3u); // plain swap
}

TEST(rdmap, kwarp_rdmap_atomic_reply__both_ways)
{
	u8 bytes[KWARP_RDMAP_ATOMIC_RESP_LEN];
	EXPECT_EQ(kwarp_rdmap_atomic_reply_encode(0x01020304, 0x1112131415161718, bytes), 12u);
	const u8 want[] = {1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18};
	EXPECT_EQ(memcmp(bytes, want, sizeof(want)), 0);
	u32 id;
	u64 value;
	kwarp_rdmap_atomic_reply_parse(bytes, &id, &value);
	EXPECT_EQ(id, 0x01020304u);
	EXPECT_EQ(value, 0x1112131415161718u);
}
