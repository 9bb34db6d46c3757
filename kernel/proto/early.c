// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The ledger of early FPDUs. */
#include "proto/early.h"

static bool pos_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/**
 * kwarp_extent_add() - add a piece
 * @x:		extent, initially all zero
 * @lo:		first address
 * @hi:		end address
 */
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

/* Do the extents overlap? */
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

/* ---- chains ----------------------------------------------------------------- */

enum early_chains {
	PLACED	= KWARP_LEDGER_CHAINS,	/* all placed entries */
	WIDE,				/* entries with more blocks than links */
	NONE	= 0xffff,
};

static_assert(KWARP_LEDGER_MAX * KWARP_LEDGER_LINKS < NONE, "NONE is no link");

static struct kwarp_early *link_entry(const struct kwarp_ledger *l, u32 n)
{
	return &l->e[n / KWARP_LEDGER_LINKS];
}

static struct kwarp_ledger_link *link_of(const struct kwarp_ledger *l, u32 n)
{
	return &link_entry(l, n)->link[n % KWARP_LEDGER_LINKS];
}

static void chain_add(struct kwarp_ledger *l, struct kwarp_early *e, u32 chain)
{
	u32 n = (u32)(e - l->e) * KWARP_LEDGER_LINKS + e->links;
	struct kwarp_ledger_link *k = &e->link[e->links++];

	k->chain = chain;
	k->prev = NONE;
	k->next = l->chain[chain];
	if (k->next != NONE)
		link_of(l, k->next)->prev = n;
	l->chain[chain] = n;
}

/* Remove an entry from all its chains. */
static void chain_del(struct kwarp_ledger *l, struct kwarp_early *e)
{
	while (e->links) {
		const struct kwarp_ledger_link *k = &e->link[--e->links];

		if (k->prev != NONE)
			link_of(l, k->prev)->next = k->next;
		else
			l->chain[k->chain] = k->next;
		if (k->next != NONE)
			link_of(l, k->next)->prev = k->prev;
	}
}

static u32 chain_of(u64 block)
{
	return (block * 0x9e3779b97f4a7c15ULL) >> 54 & (KWARP_LEDGER_CHAINS - 1);
}

static bool has_chain(const u16 *chains, u32 n, u32 chain)
{
	while (n)
		if (chains[--n] == chain)
			return true;
	return false;
}

/* List the chains of the blocks in @mem. Return: their number; @max + 1 if too many. */
static u32 chains_of(const struct kwarp_extent *mem, u16 *chains, u32 max)
{
	u32 i, n = 0;

	for (i = 0; i < mem->n; i++) {
		u64 block = mem->piece[i].lo >> KWARP_LEDGER_SHIFT;
		u64 end = (mem->piece[i].hi - 1) >> KWARP_LEDGER_SHIFT;

		if (mem->piece[i].lo == mem->piece[i].hi)
			continue;
		if (end - block >= max)
			return max + 1;
		for (; block <= end; block++) {
			u32 chain = chain_of(block);

			if (has_chain(chains, n, chain))
				continue;
			if (n == max)
				return max + 1;
			chains[n++] = chain;
		}
	}
	return n;
}

static void chain_up(struct kwarp_ledger *l, struct kwarp_early *e)
{
	u16 chains[KWARP_LEDGER_LINKS - 1];
	u32 i, n;

	chain_add(l, e, PLACED);
	n = chains_of(&e->mem, chains, ARRAY_SIZE(chains));
	if (n > ARRAY_SIZE(chains)) {
		chain_add(l, e, WIDE);
		return;
	}
	for (i = 0; i < n; i++)
		chain_add(l, e, chains[i]);
}

bool kwarp_ledger_none_placed(const struct kwarp_ledger *l)
{
	return l->chain[PLACED] == NONE;
}

/**
 * kwarp_ledger_unplace() - forget the early placement of one FPDU
 * @l:		ledger
 * @e:		an entry of kind KWARP_EARLY_PLACED; becomes KWARP_EARLY_UNPLACED
 */
void kwarp_ledger_unplace(struct kwarp_ledger *l, struct kwarp_early *e)
{
	e->kind = KWARP_EARLY_UNPLACED;
	chain_del(l, e);
}

/* ---- the stream ------------------------------------------------------------- */

/**
 * kwarp_ledger_init() - initialise an empty ledger
 * @l:		ledger
 * @e:		array of entries
 * @max:	its size, from 1 to KWARP_LEDGER_MAX
 */
void kwarp_ledger_init(struct kwarp_ledger *l, struct kwarp_early *e, u32 max)
{
	u32 i;

	l->e = e;
	l->max = max;
	l->head = 0;
	l->tail = 0;
	l->looks = 0;
	for (i = 0; i < max; i++)
		l->free[i] = i;
	for (i = 0; i < ARRAY_SIZE(l->chain); i++)
		l->chain[i] = NONE;
}

static struct kwarp_early *ledger_entry(const struct kwarp_ledger *l, u32 i)
{
	return &l->e[l->order[i]];
}

/* Return: index in @order of the first entry at or after @pos. */
static u32 lower_bound(const struct kwarp_ledger *l, u32 pos)
{
	u32 lo = l->head, hi = l->tail;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (pos_before(ledger_entry(l, mid)->pos, pos))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/**
 * kwarp_ledger_next() - find the first entry at or after a position
 * @l:		ledger
 * @pos:	stream position
 *
 * Return: entry, valid until it is removed, or NULL.
 */
struct kwarp_early *kwarp_ledger_next(const struct kwarp_ledger *l, u32 pos)
{
	u32 i = lower_bound(l, pos);

	return i < l->tail ? ledger_entry(l, i) : NULL;
}

/**
 * kwarp_ledger_skip() - skip adjacent FPDUs
 * @l:		ledger
 * @pos:	in: stream position; out: the first position from there on that has no
 *		entry, or one of kind KWARP_EARLY_BAD
 *
 * Return: false if @pos is that of a bad entry.
 */
bool kwarp_ledger_skip(struct kwarp_ledger *l, u32 *pos)
{
	struct kwarp_early *first = kwarp_ledger_find(l, *pos);
	struct kwarp_early *e = first;

	for (; e && e->kind != KWARP_EARLY_BAD; e = kwarp_ledger_find(l, *pos)) {
		l->looks++;
		*pos = e->skip;
	}
	/* The next call skips the whole run in one step. */
	if (first && first->kind != KWARP_EARLY_BAD)
		first->skip = *pos;
	return !e;
}

/**
 * kwarp_ledger_add() - add an FPDU
 * @l:		ledger
 * @e:		entry, to be copied
 *
 * Return: false if there is no room, or if it overlaps another entry.
 */
bool kwarp_ledger_add(struct kwarp_ledger *l, const struct kwarp_early *e)
{
	u32 i = lower_bound(l, e->pos);
	const struct kwarp_early *prev = i > l->head ? ledger_entry(l, i - 1) : NULL;
	struct kwarp_early *new;
	u16 slot;

	if (prev && pos_before(e->pos, prev->pos + prev->len))
		return false;
	if (i < l->tail && pos_before(ledger_entry(l, i)->pos, e->pos + e->len))
		return false;
	if (kwarp_ledger_full(l))
		return false;
	slot = l->free[l->max - (l->tail - l->head) - 1];
	if (l->tail == l->max) {
		/* Reuse the space that removed entries left at the front. */
		memmove(l->order, l->order + l->head,
			(l->tail - l->head) * sizeof(l->order[0]));
		i -= l->head;
		l->tail -= l->head;
		l->head = 0;
	}
	memmove(l->order + i + 1, l->order + i,
		(l->tail - i) * sizeof(l->order[0]));
	l->order[i] = slot;
	l->tail++;
	new = &l->e[slot];
	*new = *e;
	new->skip = e->pos + e->len;
	new->links = 0;
	if (e->kind == KWARP_EARLY_PLACED)
		chain_up(l, new);
	return true;
}

/**
 * kwarp_ledger_drop_before() - remove the entries that begin before a position
 * @l:		ledger
 * @pos:	the stream has been processed up to this position
 */
void kwarp_ledger_drop_before(struct kwarp_ledger *l, u32 pos)
{
	while (l->head < l->tail && pos_before(ledger_entry(l, l->head)->pos, pos)) {
		chain_del(l, ledger_entry(l, l->head));
		l->free[l->max - (l->tail - l->head)] = l->order[l->head];
		l->head++;
	}
	if (l->head == l->tail) {
		l->head = 0;
		l->tail = 0;
	}
}

/* ---- overwritten payload ---------------------------------------------------- */

/*
 * Set the entries of a chain to LEFT that come after @pos and overlap @mem, and all others
 * once @spare entries without overlap were seen. Return: number of entries changed.
 */
static u32 chain_written(struct kwarp_ledger *l, u32 chain, u32 pos,
			 const struct kwarp_extent *mem, u32 *spare)
{
	u32 link = l->chain[chain], n = 0;

	while (link != NONE) {
		struct kwarp_early *e = link_entry(l, link);

		link = link_of(l, link)->next;
		l->looks++;
		if (!pos_before(pos, e->pos) || !extents_meet(&e->mem, mem)) {
			if (*spare) {
				(*spare)--;
				continue;
			}
		}
		kwarp_ledger_unplace(l, e);
		n++;
	}
	return n;
}

/**
 * kwarp_ledger_overwrite() - an FPDU of the stream overwrites memory
 * @l:		ledger
 * @pos:	position of the FPDU
 * @mem:	memory that is written
 *
 * Payload of later FPDUs in that memory must be placed again, in order: their entries
 * become KWARP_EARLY_UNPLACED. The chains also contain entries that do not overlap. After
 * KWARP_LEDGER_LOOKS of those the remaining entries become KWARP_EARLY_UNPLACED, too, which
 * is always correct, though not always necessary.
 *
 * Return: number of entries changed.
 */
u32 kwarp_ledger_overwrite(struct kwarp_ledger *l, u32 pos,
			   const struct kwarp_extent *mem)
{
	u32 spare = KWARP_LEDGER_LOOKS, n = 0;
	u16 chains[KWARP_LEDGER_BLOCKS];
	u32 i, nr;

	if (kwarp_ledger_none_placed(l))
		return 0;
	nr = chains_of(mem, chains, ARRAY_SIZE(chains));
	if (nr > ARRAY_SIZE(chains))
		return chain_written(l, PLACED, pos, mem, &spare);
	for (i = 0; i < nr; i++)
		n += chain_written(l, chains[i], pos, mem, &spare);
	return n + chain_written(l, WIDE, pos, mem, &spare);
}

/**
 * kwarp_ledger_find() - find the entry at a position
 * @l:		ledger
 * @pos:	stream position
 *
 * Return: entry, valid until it is removed, or NULL.
 */
struct kwarp_early *kwarp_ledger_find(const struct kwarp_ledger *l, u32 pos)
{
	struct kwarp_early *e = kwarp_ledger_next(l, pos);

	return e && e->pos == pos ? e : NULL;
}

/**
 * kwarp_ledger_full() - is the ledger full?
 * @l:		ledger
 *
 * Return: true if so.
 */
bool kwarp_ledger_full(const struct kwarp_ledger *l)
{
	return l->tail - l->head == l->max;
}
