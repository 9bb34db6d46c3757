// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The two parts of early placement without side effects: the search for an FPDU by markers, in any
// bytes; and the ledger of early FPDUs, compared with a map, anywhere in the sequence space.
#include <bitset>
#include <map>

#include "../unit/model.h"
#include "fuzz.h"

namespace {

void find(Input &in)
{
	const u32 pos = edgy_word(in);
	const size_t step = 1 + in.byte();
	// Only markers matter: use filler, with bytes of the input at the positions of markers.
	Bytes o = filling(in.half() % 5000, 1);
	for (size_t m = (0U - pos) % 512; m + 4 <= o.size(); m += 512)
		for (size_t i = 0; i < 4; i++)
			o[m + i] = in.byte();
	std::vector<size_t> cuts;
	for (size_t c = step; c < o.size(); c += step)
		cuts.push_back(c);
	Pieces pieces(o, cuts);
	auto w = pieces.walk();
	u32 start = 0, marker = 0;
	bool found = kwarp_fpdu_find(&w.r, pos, static_cast<u32>(o.size()), &start, &marker);

	for (size_t m = (0U - pos) % 512; m + 4 <= o.size(); m += 512) {
		size_t back = (o[m + 2] << 8 | o[m + 3]) & ~3U;
		// a marker in front of the length field belongs to the FPDU
		if (back && (pos + m - back) % 512 == 4)
			back += 4;
		if (back > m)
			continue;
		require(found && marker == pos + static_cast<u32>(m) &&
			start == marker - static_cast<u32>(back));
		return;
	}
	require(!found);
}

kwarp_extent extent(Input &in)
{
	kwarp_extent x{};
	for (u32 n = 1 + in.below(KWARP_EXTENT_MAX); n; n--) {
		u64 lo = in.byte();
		kwarp_extent_add(&x, lo, lo + 1 + in.byte());
	}
	return x;
}

std::bitset<512> bytes(const kwarp_extent &x)
{
	std::bitset<512> b;
	for (u32 i = 0; i < x.n; i++)
		for (u64 at = x.piece[i].lo; at < x.piece[i].hi; at++)
			b.set(at);
	return b;
}

void ledger(Input &in)
{
	constexpr u32 max = 12;
	kwarp_early room[max];
	kwarp_ledger l;
	const u32 base = edgy_word(in);
	std::map<u32, kwarp_early> model;
	u32 passed = 0;

	kwarp_ledger_init(&l, room, max);
	while (in.more()) {
		kwarp_early e{};
		u32 at = passed + in.byte() * 4;
		u32 n = 0;
		switch (in.below(5)) {
		case 0:
		case 1: {
			e.pos = base + at;
			e.len = 1 + in.byte();
			e.kind = in.below(3);
			e.mem = extent(in);
			auto next = model.lower_bound(at);
			bool free = model.size() < max &&
				    (next == model.end() || next->first >= at + e.len);
			if (next != model.begin())
				free &= std::prev(next)->first + std::prev(next)->second.len <= at;
			require(kwarp_ledger_add(&l, &e) == free);
			if (free)
				model[at] = e;
			break;
		}
		case 2:
			passed = at;
			kwarp_ledger_drop_before(&l, base + at);
			model.erase(model.begin(), model.lower_bound(at));
			break;
		case 3: {
			const kwarp_extent mem = extent(in);
			for (auto &[pos, m] : model)
				if (pos > at && m.kind == KWARP_EARLY_PLACED &&
				    (bytes(m.mem) & bytes(mem)).any()) {
					m.kind = KWARP_EARLY_UNPLACED;
					n++;
				}
			require(kwarp_ledger_overwrite(&l, base + at, &mem) == n);
			break;
		}
		default: {
			auto found = model.find(at);
			if (found != model.end() && found->second.kind == KWARP_EARLY_PLACED) {
				kwarp_ledger_unplace(&l, kwarp_ledger_find(&l, base + at));
				found->second.kind = KWARP_EARLY_UNPLACED;
			}
		}
		}
		require(kwarp_ledger_empty(&l) == model.empty());
		for (const auto &[pos, m] : model) {
			const kwarp_early *f = kwarp_ledger_find(&l, base + pos);
			require(f && f->len == m.len && f->kind == m.kind);
		}
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);

	if (in.flag())
		find(in);
	else
		ledger(in);
	return 0;
}
