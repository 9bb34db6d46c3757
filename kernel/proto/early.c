// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The ledger of early FPDUs. What the functions promise: early.h. */
#include "early.h"

static bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* Index of the first entry at or behind @pos. */
static u32 lower_bound(const struct kwarp_ledger *l, u32 pos)
{
	u32 lo = l->head, hi = l->tail;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (before(l->e[mid].pos, pos))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct kwarp_early *kwarp_ledger_next(const struct kwarp_ledger *l, u32 pos)
{
	u32 i = lower_bound(l, pos);

	return i < l->tail ? &l->e[i] : NULL;
}

bool kwarp_ledger_skip(const struct kwarp_ledger *l, u32 *pos)
{
	u32 i = lower_bound(l, *pos);

	for (; i < l->tail && l->e[i].pos == *pos; i++) {
		if (l->e[i].kind == KWARP_EARLY_BAD)
			return false;
		*pos += l->e[i].len;
	}
	return true;
}

bool kwarp_ledger_add(struct kwarp_ledger *l, const struct kwarp_early *e)
{
	u32 i = lower_bound(l, e->pos);
	const struct kwarp_early *prev = i > l->head ? &l->e[i - 1] : NULL;

	if (prev && before(e->pos, prev->pos + prev->len))
		return false;
	if (i < l->tail && before(l->e[i].pos, e->pos + e->len))
		return false;
	if (l->tail == l->max) {
		if (!l->head)
			return false;
		/* Move down to where others have left. */
		memmove(l->e, l->e + l->head,
			(l->tail - l->head) * sizeof(*l->e));
		i -= l->head;
		l->tail -= l->head;
		l->head = 0;
	}
	memmove(l->e + i + 1, l->e + i, (l->tail - i) * sizeof(*l->e));
	l->e[i] = *e;
	l->tail++;
	return true;
}

void kwarp_ledger_pass(struct kwarp_ledger *l, u32 pos)
{
	while (l->head < l->tail && before(l->e[l->head].pos, pos))
		l->head++;
	if (l->head == l->tail) {
		l->head = 0;
		l->tail = 0;
	}
}

u32 kwarp_ledger_doubt(struct kwarp_ledger *l)
{
	u32 i, n = 0;

	for (i = l->head; i < l->tail; i++) {
		if (l->e[i].kind != KWARP_EARLY_PLACED)
			continue;
		l->e[i].kind = KWARP_EARLY_LEFT;
		n++;
	}
	return n;
}

u32 kwarp_ledger_written(struct kwarp_ledger *l, u32 pos, u64 lo, u64 hi)
{
	u32 i, n = 0;

	for (i = lower_bound(l, pos + 1); i < l->tail; i++) {
		struct kwarp_early *e = &l->e[i];

		if (e->kind != KWARP_EARLY_PLACED || e->lo >= hi ||
		    lo >= e->hi)
			continue;
		e->kind = KWARP_EARLY_LEFT;
		n++;
	}
	return n;
}
