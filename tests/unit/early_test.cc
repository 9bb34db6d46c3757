// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/early.[ch]: the ledger of early FPDUs, also against a std::map.
#include <map>

#include "proto.h"

namespace {

class Ledger {
public:
	explicit Ledger(u32 max) : room_(max) { kwarp_ledger_init(&l, room_.data(), max); }

	bool add(u32 pos, u32 len, u32 kind = KWARP_EARLY_PLACED, u64 lo = 0, u64 hi = 0)
	{
		kwarp_early e{};
		e.pos = pos;
		e.len = len;
		e.kind = kind;
		kwarp_extent_add(&e.mem, lo, hi);
		return kwarp_ledger_add(&l, &e);
	}
	u32 written(u32 pos, u64 lo, u64 hi)
	{
		kwarp_extent mem{};
		kwarp_extent_add(&mem, lo, hi);
		return kwarp_ledger_written(&l, pos, &mem);
	}
	u32 kind(u32 pos) const { return kwarp_ledger_find(&l, pos)->kind; }
	bool has(u32 pos) const { return kwarp_ledger_find(&l, pos); }
	u32 next(u32 pos) const
	{
		auto e = kwarp_ledger_next(&l, pos);
		return e ? e->pos : ~0U;
	}

	kwarp_ledger l;

private:
	std::vector<kwarp_early> room_;
};

TEST(Early, empty)
{
	Ledger l(4);
	EXPECT_TRUE(kwarp_ledger_empty(&l.l));
	EXPECT_FALSE(l.has(0));
	EXPECT_EQ(kwarp_ledger_next(&l.l, 0), nullptr);
	kwarp_ledger_pass(&l.l, 100);
	EXPECT_EQ(kwarp_ledger_doubt(&l.l), 0U);
	EXPECT_EQ(l.written(0, 0, ~0ULL), 0U);
}

TEST(Early, order_and_disjointness)
{
	Ledger l(8);
	EXPECT_TRUE(l.add(100, 50));
	EXPECT_TRUE(l.add(150, 50)); // behind it
	EXPECT_TRUE(l.add(60, 40));  // before it
	EXPECT_FALSE(l.add(60, 40));
	EXPECT_FALSE(l.add(196, 8));
	EXPECT_FALSE(l.add(52, 12));
	EXPECT_FALSE(l.add(52, 400));
	EXPECT_TRUE(l.add(300, 4));
	EXPECT_EQ(l.next(0), 60U);
	EXPECT_EQ(l.next(60), 60U);
	EXPECT_EQ(l.next(61), 100U);
	EXPECT_EQ(l.next(151), 300U);
	EXPECT_EQ(l.next(301), ~0U);
	EXPECT_TRUE(l.has(150));
	EXPECT_FALSE(l.has(151));
}

TEST(Early, bound)
{
	Ledger l(3);
	EXPECT_TRUE(l.add(0, 4));
	EXPECT_TRUE(l.add(8, 4));
	EXPECT_TRUE(l.add(16, 4));
	EXPECT_FALSE(l.add(24, 4));
	EXPECT_FALSE(l.add(4, 4));
	// what has passed makes room, wherever the new one belongs
	kwarp_ledger_pass(&l.l, 8);
	EXPECT_TRUE(l.add(12, 4));
	EXPECT_FALSE(l.add(24, 4));
	EXPECT_FALSE(l.has(0));
	EXPECT_TRUE(l.has(8) && l.has(12) && l.has(16));
	kwarp_ledger_pass(&l.l, 9);
	EXPECT_TRUE(l.add(24, 4));
	EXPECT_EQ(l.next(9), 12U);
}

TEST(Early, skip)
{
	Ledger l(8);
	u32 pos = 0;

	EXPECT_TRUE(kwarp_ledger_skip(&l.l, &pos));
	EXPECT_EQ(pos, 0U);
	l.add(0, 100, KWARP_EARLY_LEFT);
	l.add(100, 40);
	l.add(144, 40);
	EXPECT_TRUE(kwarp_ledger_skip(&l.l, &pos));
	EXPECT_EQ(pos, 140U);
	l.add(184, 40, KWARP_EARLY_BAD);
	l.add(224, 40);
	pos = 144;
	EXPECT_FALSE(kwarp_ledger_skip(&l.l, &pos));
	EXPECT_EQ(pos, 184U);
}

TEST(Early, doubt)
{
	Ledger l(8);
	l.add(0, 4);
	l.add(4, 4, KWARP_EARLY_LEFT);
	l.add(8, 4, KWARP_EARLY_BAD);
	l.add(12, 4);
	kwarp_ledger_pass(&l.l, 4);
	EXPECT_EQ(kwarp_ledger_doubt(&l.l), 1U);
	EXPECT_EQ(l.kind(4), KWARP_EARLY_LEFT);
	EXPECT_EQ(l.kind(8), KWARP_EARLY_BAD);
	EXPECT_EQ(l.kind(12), KWARP_EARLY_LEFT);
	EXPECT_EQ(kwarp_ledger_doubt(&l.l), 0U);
}

// Only what comes later in the stream, was placed, and has an octet in common.
TEST(Early, written)
{
	Ledger l(8);
	l.add(0, 4, KWARP_EARLY_PLACED, 1000, 1100);
	l.add(4, 4, KWARP_EARLY_PLACED, 1000, 1100);
	l.add(8, 4, KWARP_EARLY_PLACED, 1100, 1200);
	l.add(12, 4, KWARP_EARLY_PLACED, 900, 1000);
	l.add(16, 4, KWARP_EARLY_PLACED, 500, 2000);
	l.add(20, 4, KWARP_EARLY_LEFT, 1000, 1100);
	EXPECT_EQ(l.written(0, 1000, 1100), 2U);
	EXPECT_EQ(l.kind(0), KWARP_EARLY_PLACED);
	EXPECT_EQ(l.kind(4), KWARP_EARLY_LEFT);
	EXPECT_EQ(l.kind(8), KWARP_EARLY_PLACED);
	EXPECT_EQ(l.kind(12), KWARP_EARLY_PLACED);
	EXPECT_EQ(l.kind(16), KWARP_EARLY_LEFT);
	EXPECT_EQ(l.written(0, 1099, 1101), 1U);
	EXPECT_EQ(l.written(0, 999, 1000), 1U);
}

// Two payloads in pages that take turns: neither lies in the other's.
TEST(Early, written_between_pieces)
{
	Ledger l(4);
	kwarp_early e{};
	e.len = 4;
	e.kind = KWARP_EARLY_PLACED;
	kwarp_extent_add(&e.mem, 5000, 6000);
	kwarp_extent_add(&e.mem, 1000, 2000);
	kwarp_extent_add(&e.mem, 9000, 9500);
	ASSERT_TRUE(kwarp_ledger_add(&l.l, &e));
	kwarp_extent between{};
	kwarp_extent_add(&between, 2000, 5000);
	kwarp_extent_add(&between, 6000, 9000);
	kwarp_extent_add(&between, 9500, 9600);
	kwarp_extent_add(&between, 900, 1000);
	EXPECT_EQ(kwarp_ledger_written(&l.l, ~0U, &between), 0U);
	EXPECT_EQ(l.kind(0), KWARP_EARLY_PLACED);
	EXPECT_EQ(l.written(~0U, 9499, 9500), 1U);
}

// Pieces that there is no room for are not forgotten.
TEST(Early, many_pieces)
{
	for (u64 i = 0; i < 8; i++) {
		Ledger l(4);
		kwarp_early e{};
		e.len = 4;
		e.kind = KWARP_EARLY_PLACED;
		for (u64 k = 0; k < 8; k++)
			kwarp_extent_add(&e.mem, 8000 - k * 1000, 8100 - k * 1000);
		ASSERT_TRUE(kwarp_ledger_add(&l.l, &e));
		EXPECT_EQ(l.written(~0U, 900, 1000), 0U);
		EXPECT_EQ(l.written(~0U, 8100, 8200), 0U);
		EXPECT_EQ(l.written(~0U, 8099 - i * 1000, 8100 - i * 1000), 1U) << i;
	}
}

TEST(Early, positions_wrap)
{
	Ledger l(8);
	EXPECT_TRUE(l.add(4, 100));
	EXPECT_TRUE(l.add(0U - 104, 108));
	EXPECT_FALSE(l.add(0U - 4, 4));
	EXPECT_EQ(l.next(0U - 200), 0U - 104);
	EXPECT_EQ(l.next(0U - 100), 4U);
	u32 pos = 0U - 104;
	EXPECT_TRUE(kwarp_ledger_skip(&l.l, &pos));
	EXPECT_EQ(pos, 104U);
	kwarp_ledger_pass(&l.l, 0);
	EXPECT_EQ(l.next(0U - 200), 4U);
}

// Anything in any order, against the obvious container.
TEST(Early, against_a_map)
{
	for (u32 base : {0U, 0U - 3000U}) {
		Ledger l(40);
		std::map<u32, u32> model; // offset from base -> length
		u32 passed = 0;

		for (int i = 0; i < 20000; i++) {
			u32 at = passed + pick(0, 4000), len = pick(1, 300);
			if (pick(0, 9) == 0) {
				passed += pick(0, 200);
				kwarp_ledger_pass(&l.l, base + passed);
				model.erase(model.begin(), model.lower_bound(passed));
			}
			auto n = model.lower_bound(at);
			bool clash = n != model.end() && n->first < at + len;
			if (n != model.begin()) {
				auto p = std::prev(n);
				clash |= p->first + p->second > at;
			}
			bool want = !clash && model.size() < 40;
			ASSERT_EQ(l.add(base + at, len), want);
			if (want)
				model[at] = len;
			u32 from = passed + pick(0, 4000);
			auto m = model.lower_bound(from);
			ASSERT_EQ(l.next(base + from), m == model.end() ? ~0U : base + m->first);
		}
	}
}

} // namespace
