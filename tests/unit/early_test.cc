// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kernel/proto/early.[ch]: the ledger of early FPDUs, also compared with a std::map.
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
		return kwarp_ledger_overwrite(&l, pos, &mem);
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
	kwarp_ledger_drop_before(&l.l, 100);
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
	// Entries that were delivered make room, wherever the new entry belongs.
	kwarp_ledger_drop_before(&l.l, 8);
	EXPECT_TRUE(l.add(12, 4));
	EXPECT_FALSE(l.add(24, 4));
	EXPECT_FALSE(l.has(0));
	EXPECT_TRUE(l.has(8) && l.has(12) && l.has(16));
	kwarp_ledger_drop_before(&l.l, 9);
	EXPECT_TRUE(l.add(24, 4));
	EXPECT_EQ(l.next(9), 12U);
}

TEST(Early, skip)
{
	Ledger l(8);
	u32 pos = 0;

	EXPECT_TRUE(kwarp_ledger_skip(&l.l, &pos));
	EXPECT_EQ(pos, 0U);
	l.add(0, 100, KWARP_EARLY_UNPLACED);
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

TEST(Early, leave)
{
	Ledger l(8);
	l.add(0, 4);
	l.add(4, 4);
	EXPECT_FALSE(kwarp_ledger_none_placed(&l.l));
	kwarp_ledger_unplace(&l.l, kwarp_ledger_find(&l.l, 4));
	EXPECT_EQ(l.kind(4), KWARP_EARLY_UNPLACED);
	EXPECT_EQ(l.kind(0), KWARP_EARLY_PLACED);
	kwarp_ledger_unplace(&l.l, kwarp_ledger_find(&l.l, 0));
	EXPECT_TRUE(kwarp_ledger_none_placed(&l.l));
	EXPECT_EQ(l.written(0, 0, ~0ULL), 0U);
}

// Overwriting makes only entries unplaced that are later in the stream, placed, and share a byte.
TEST(Early, written)
{
	Ledger l(8);
	l.add(0, 4, KWARP_EARLY_PLACED, 1000, 1100);
	l.add(4, 4, KWARP_EARLY_PLACED, 1000, 1100);
	l.add(8, 4, KWARP_EARLY_PLACED, 1100, 1200);
	l.add(12, 4, KWARP_EARLY_PLACED, 900, 1000);
	l.add(16, 4, KWARP_EARLY_PLACED, 500, 2000);
	l.add(20, 4, KWARP_EARLY_UNPLACED, 1000, 1100);
	EXPECT_EQ(l.written(0, 1000, 1100), 2U);
	EXPECT_EQ(l.kind(0), KWARP_EARLY_PLACED);
	EXPECT_EQ(l.kind(4), KWARP_EARLY_UNPLACED);
	EXPECT_EQ(l.kind(8), KWARP_EARLY_PLACED);
	EXPECT_EQ(l.kind(12), KWARP_EARLY_PLACED);
	EXPECT_EQ(l.kind(16), KWARP_EARLY_UNPLACED);
	EXPECT_EQ(l.written(0, 1099, 1101), 1U);
	EXPECT_EQ(l.written(0, 999, 1000), 1U);
}

// Two payloads in alternating pages, which do not overlap.
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
	EXPECT_EQ(kwarp_ledger_overwrite(&l.l, ~0U, &between), 0U);
	EXPECT_EQ(l.kind(0), KWARP_EARLY_PLACED);
	EXPECT_EQ(l.written(~0U, 9499, 9500), 1U);
}

// Pieces of a payload for which there is no room are still taken into account.
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
	kwarp_ledger_drop_before(&l.l, 0);
	EXPECT_EQ(l.next(0U - 200), 4U);
}

// ---- number of entries inspected ----

constexpr u32 many = KWARP_LEDGER_MAX;

// Many FPDUs of a page each, one after the other.
void pages(Ledger &l, u32 len = 100)
{
	for (u32 i = 0; i < many; i++)
		ASSERT_TRUE(l.add(1000 + i * len, len, KWARP_EARLY_PLACED, i * 4096ULL,
				  (i + 1) * 4096ULL));
}

u32 looks(Ledger &l)
{
	u32 n = l.l.looks;
	l.l.looks = 0;
	return n;
}

TEST(EarlyCost, written_elsewhere)
{
	Ledger l(many);
	pages(l);
	looks(l);
	for (u32 i = 0; i < 1000; i++)
		EXPECT_EQ(l.written(i, (1ULL << 30) + i * 100, (1ULL << 30) + i * 100 + 100), 0U);
	// Some entries share a hash chain by chance; there are as many chains as entries.
	EXPECT_LT(looks(l), 10 * 1000U);
}

// In the middle of all entries, only neighbours are inspected.
TEST(EarlyCost, written_among_them)
{
	Ledger l(many);
	for (u32 i = 0; i < many; i++)
		ASSERT_TRUE(l.add(1000 + i, 1, KWARP_EARLY_PLACED, i * 4096ULL,
				  i * 4096ULL + 2000));
	looks(l);
	for (u32 i = 0; i < many; i++)
		EXPECT_EQ(l.written(i, i * 4096ULL + 2000, (i + 1) * 4096ULL), 0U);
	EXPECT_LT(looks(l), 10 * many);
	for (u32 i = 0; i < many; i++)
		ASSERT_EQ(l.kind(1000 + i), KWARP_EARLY_PLACED) << i;
}

// All entries are in one page, or in memory that is too scattered for links: the number of useless
// inspections is limited; entries beyond the limit become unplaced, and are not inspected again.
void crowded(bool wide)
{
	Ledger l(many);
	for (u32 i = 0; i < many; i++) {
		kwarp_early e{};
		e.pos = 1000 + i;
		e.len = 1;
		e.kind = KWARP_EARLY_PLACED;
		kwarp_extent_add(&e.mem, i * 2, i * 2 + 1);
		if (wide)
			for (u64 k = 1; k < 20; k++)
				kwarp_extent_add(&e.mem, k << 20, (k << 20) + 1);
		ASSERT_TRUE(kwarp_ledger_add(&l.l, &e));
	}
	looks(l);
	u32 left = 0, looked = 0;
	for (u32 i = 0; i < many; i++) {
		left += l.written(i % 900, 3000, 3001);
		u32 n = looks(l);
		EXPECT_LE(n, many);
		looked += n;
	}
	EXPECT_EQ(left, many - KWARP_LEDGER_LOOKS);
	EXPECT_LE(looked, many + many * KWARP_LEDGER_LOOKS);
}

TEST(EarlyCost, all_in_one_page)
{
	crowded(false);
}
TEST(EarlyCost, all_scattered)
{
	crowded(true);
}

// Each new FPDU is after, or before, all known ones.
TEST(EarlyCost, skip)
{
	for (bool forward : {true, false}) {
		Ledger l(many);
		for (u32 i = 0; i < many; i++) {
			u32 at = forward ? i : many - 1 - i, pos = forward ? 0 : at;
			ASSERT_TRUE(l.add(at, 1));
			EXPECT_TRUE(kwarp_ledger_skip(&l.l, &pos));
			EXPECT_EQ(pos, forward ? i + 1 : many);
		}
		EXPECT_LT(looks(l), 4 * many);
	}
}

// FPDUs are placed anywhere, overwritten anywhere, and delivered in order. Entries that share a
// byte become unplaced, and no others as long as the limit of inspections is not reached.
TEST(Early, against_all_pairs)
{
	for (u64 room : {1ULL << 12, 1ULL << 16, 1ULL << 22}) {
		Ledger l(200);
		std::map<u32, kwarp_early> model;
		u32 passed = 0, kept = 0;

		for (int i = 0; i < 20000; i++) {
			kwarp_early e{};
			e.pos = passed + pick(1, 3000);
			e.len = 4;
			e.kind = KWARP_EARLY_PLACED;
			for (u32 k = pick(1, 6); k; k--) {
				u64 lo = pick(0, static_cast<u32>(room));
				kwarp_extent_add(&e.mem, lo, lo + pick(1, 3000));
			}
			if (kwarp_ledger_add(&l.l, &e))
				model[e.pos] = e;
			if (pick(0, 3) == 0) {
				passed += pick(0, 100);
				kwarp_ledger_drop_before(&l.l, passed);
				model.erase(model.begin(), model.lower_bound(passed));
			}
			u32 at = passed + pick(0, 3000);
			kwarp_extent mem{};
			for (u32 k = pick(1, 3); k; k--) {
				u64 lo = pick(0, static_cast<u32>(room));
				kwarp_extent_add(&mem, lo, lo + pick(1, 300));
			}
			looks(l);
			u32 n = kwarp_ledger_overwrite(&l.l, at, &mem), must = 0;
			for (auto &[pos, m] : model) {
				if (m.kind != KWARP_EARLY_PLACED)
					continue;
				bool meets = false;
				for (u32 a = 0; a < m.mem.n; a++)
					for (u32 b = 0; b < mem.n; b++)
						meets |= m.mem.piece[a].lo < mem.piece[b].hi &&
							 mem.piece[b].lo < m.mem.piece[a].hi;
				if (pos > at && meets) {
					ASSERT_EQ(l.kind(pos), KWARP_EARLY_UNPLACED);
					must++;
				}
				m.kind = l.kind(pos);
				kept += m.kind == KWARP_EARLY_PLACED;
			}
			if (looks(l) <= KWARP_LEDGER_LOOKS) {
				ASSERT_EQ(n, must);
			}
			ASSERT_GE(n, must);
		}
		EXPECT_GT(kept, 0U);
	}
}

// Random entries in random order, compared with a std::map.
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
				kwarp_ledger_drop_before(&l.l, base + passed);
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
