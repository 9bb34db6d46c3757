// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The ledger of early FPDUs. What the functions promise: early.h. */
#include "early.h"

static bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

void kwarp_extent_add(struct kwarp_extent *x, u64 lo, u64 hi)
{
	if (x->n) {
		x->lo = min(x->lo, lo);
		x->hi = max(x->hi, hi);
	} else {
		x->lo = lo;
		x->hi = hi;
	}
	if (x->n == KWARP_EXTENT_MAX) {
		u32 last = x->n - 1;

		x->piece[last].lo = min(x->piece[last].lo, lo);
		x->piece[last].hi = max(x->piece[last].hi, hi);
		return;
	}
	x->piece[x->n].lo = lo;
	x->piece[x->n].hi = hi;
	x->n++;
}

/* Do they have an octet in common? */
static bool extents_meet(const struct kwarp_extent *a,
			 const struct kwarp_extent *b)
{
	u32 i, k;

	if (a->lo >= b->hi || b->lo >= a->hi)
		return false;
	for (i = 0; i < a->n; i++)
		for (k = 0; k < b->n; k++)
			if (a->piece[i].lo < b->piece[k].hi &&
			    b->piece[k].lo < a->piece[i].hi)
				return true;
	return false;
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

u32 kwarp_ledger_written(struct kwarp_ledger *l, u32 pos,
			 const struct kwarp_extent *mem)
{
	u32 i, n = 0;

	for (i = lower_bound(l, pos + 1); i < l->tail; i++) {
		struct kwarp_early *e = &l->e[i];

		if (e->kind != KWARP_EARLY_PLACED ||
		    !extents_meet(&e->mem, mem))
			continue;
		e->kind = KWARP_EARLY_LEFT;
		n++;
	}
	return n;
}
