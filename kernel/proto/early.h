/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ledger of early FPDUs: what was found behind a gap of the stream and placed
 * before its turn (out-of-order placement, RFC 5044 Appendix B). It remembers
 * where an FPDU lies in the stream and where its payload went; whether that may
 * still be believed is for the caller.
 */
#ifndef _KWARP_PROTO_EARLY_H
#define _KWARP_PROTO_EARLY_H

#include "types.h"

/**
 * enum kwarp_early_kind - what became of an early FPDU
 * @KWARP_EARLY_LEFT:	verified, nothing placed: everything waits for its turn
 * @KWARP_EARLY_PLACED:	its payload is in its buffer
 * @KWARP_EARLY_BAD:	it is wrong; what follows it is not looked for
 */
enum kwarp_early_kind {
	KWARP_EARLY_LEFT = 0,
	KWARP_EARLY_PLACED,
	KWARP_EARLY_BAD,
};

/* Pieces of memory that are told apart: a payload of 9000 octets lies in four pages. */
#define KWARP_EXTENT_MAX	4

/**
 * struct kwarp_extent - which octets of the machine a payload lies in
 * @lo:		the first of all
 * @hi:		behind the last of all
 * @n:		pieces
 * @piece:	the pieces; what lies between them belongs to others. With more of
 *		them than there is room for, the last takes in what lies between, too.
 */
struct kwarp_extent {
	u64 lo;
	u64 hi;
	u32 n;
	struct {
		u64 lo;
		u64 hi;
	} piece[KWARP_EXTENT_MAX];
};

/**
 * kwarp_extent_add() - add a piece
 * @x:		extent, all zero at first
 * @lo:		first address
 * @hi:		behind the last
 */
void kwarp_extent_add(struct kwarp_extent *x, u64 lo, u64 hi);

enum kwarp_ledger_limits {
	KWARP_LEDGER_MAX	= 1024,	/* entries of a ledger */
	KWARP_LEDGER_CHAINS	= 1024,	/* of what lies in certain blocks of memory */
	KWARP_LEDGER_SHIFT	= 12,	/* size of such a block */
	KWARP_LEDGER_LINKS	= 5,	/* of an entry: of all placed, and of blocks */
	KWARP_LEDGER_BLOCKS	= 32,	/* of one look for what has been written to */
	KWARP_LEDGER_LOOKS	= 64,	/* entries that one may look at for nothing */
};

/* An entry's place in a chain; a link is known by a number. */
struct kwarp_ledger_link {
	u16 next;
	u16 prev;
	u16 chain;
};

/**
 * struct kwarp_early - one early FPDU
 * @pos:	stream position
 * @len:	octets of the stream
 * @kind:	enum kwarp_early_kind; the rest holds for PLACED only
 * @payload:	octets placed
 * @gen:	registration of the memory
 * @addr:	address in it
 * @mem:	where that is
 * @skip:	the ledger's: known FPDUs follow each other up to here, none of them bad
 * @links:	the ledger's: how many of @link are in chains
 * @link:	the ledger's
 */
struct kwarp_early {
	u32 pos;
	u32 len;
	u32 kind;
	u32 payload;
	u64 gen;
	u64 addr;
	struct kwarp_extent mem;
	u32 skip;
	u16 links;
	struct kwarp_ledger_link link[KWARP_LEDGER_LINKS];
};

/**
 * struct kwarp_ledger - early FPDUs in the order of the stream, disjoint
 * @e:		room for @max of them, in any order
 * @max:	bound, at most KWARP_LEDGER_MAX
 * @head:	first in @order
 * @tail:	behind the last
 * @looks:	entries that were looked at so far, for tests
 * @order:	indices in @e, from @head to @tail - 1
 * @free:	indices that are not in @order
 * @chain:	the first of each chain: all KWARP_EARLY_PLACED, those of them with more
 *		blocks than links, and those with payload in certain blocks of memory
 *
 * What has to be done for an FPDU does not depend on how many are remembered, but for
 * the logarithm, and a few bytes that are moved for those out of order.
 * Positions are compared modulo 2^32: all must lie within 2^31 octets.
 */
struct kwarp_ledger {
	struct kwarp_early *e;
	u32 max;
	u32 head;
	u32 tail;
	u32 looks;
	u16 order[KWARP_LEDGER_MAX];
	u16 free[KWARP_LEDGER_MAX];
	u16 chain[KWARP_LEDGER_CHAINS + 2];
};

/**
 * kwarp_ledger_init() - an empty ledger
 * @l:		ledger
 * @e:		room for entries
 * @max:	how many, from 1 to KWARP_LEDGER_MAX
 */
void kwarp_ledger_init(struct kwarp_ledger *l, struct kwarp_early *e, u32 max);

static inline bool kwarp_ledger_empty(const struct kwarp_ledger *l)
{
	return l->head == l->tail;
}

/**
 * kwarp_ledger_next() - the first entry at or behind a position
 * @l:		ledger
 * @pos:	stream position
 *
 * Return: entry, valid until it is passed, or NULL.
 */
struct kwarp_early *kwarp_ledger_next(const struct kwarp_ledger *l, u32 pos);

/**
 * kwarp_ledger_find() - the entry at a position
 * @l:		ledger
 * @pos:	stream position
 *
 * Return: as above.
 */
static inline struct kwarp_early *
kwarp_ledger_find(const struct kwarp_ledger *l, u32 pos)
{
	struct kwarp_early *e = kwarp_ledger_next(l, pos);

	return e && e->pos == pos ? e : NULL;
}

/**
 * kwarp_ledger_full() - is there no room for another one?
 * @l:		ledger
 */
static inline bool kwarp_ledger_full(const struct kwarp_ledger *l)
{
	return l->tail - l->head == l->max;
}

/* Is nothing placed early that is believed? */
bool kwarp_ledger_sober(const struct kwarp_ledger *l);

/**
 * kwarp_ledger_leave() - one FPDU is not believed to be in its place any more
 * @l:		ledger
 * @e:		an entry of kind KWARP_EARLY_PLACED: becomes KWARP_EARLY_LEFT
 */
void kwarp_ledger_leave(struct kwarp_ledger *l, struct kwarp_early *e);

/**
 * kwarp_ledger_skip() - go over FPDUs that follow each other
 * @l:		ledger
 * @pos:	in: position of one of them; out: the first position without an
 *		entry, or that of a KWARP_EARLY_BAD one
 *
 * Return: false if it came to a bad one.
 */
bool kwarp_ledger_skip(struct kwarp_ledger *l, u32 *pos);

/**
 * kwarp_ledger_add() - remember an FPDU
 * @l:		ledger
 * @e:		entry, copied
 *
 * Return: false if there is no room, or if another entry has octets in common
 * with it.
 */
bool kwarp_ledger_add(struct kwarp_ledger *l, const struct kwarp_early *e);

/**
 * kwarp_ledger_pass() - forget what begins before a position
 * @l:		ledger
 * @pos:	the stream has been processed up to here
 */
void kwarp_ledger_pass(struct kwarp_ledger *l, u32 pos);

/**
 * kwarp_ledger_doubt() - the stream's octets may have changed
 * @l:		ledger
 *
 * What was placed must be verified and placed again, in its turn: each entry becomes
 * KWARP_EARLY_LEFT. They are not removed, so that nobody can have the same octets
 * verified early again and again.
 *
 * Return: how many had been placed.
 */
u32 kwarp_ledger_doubt(struct kwarp_ledger *l);

/**
 * kwarp_ledger_written() - memory has been written to by an FPDU of the stream
 * @l:		ledger
 * @pos:	its position
 * @mem:	where
 *
 * Whatever comes later in the stream and was placed there before must be placed
 * again in its turn: its entry becomes KWARP_EARLY_LEFT. Others lie near it; when too
 * many have been looked at for nothing, those that remain become so, too: it is always
 * right, if not always needed.
 *
 * Return: how many there were.
 */
u32 kwarp_ledger_written(struct kwarp_ledger *l, u32 pos,
			 const struct kwarp_extent *mem);

#endif /* _KWARP_PROTO_EARLY_H */
