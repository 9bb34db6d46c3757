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

/**
 * struct kwarp_early - one early FPDU
 * @pos:	stream position
 * @len:	octets of the stream
 * @kind:	enum kwarp_early_kind; the rest holds for PLACED only
 * @payload:	octets placed
 * @gen:	registration of the memory
 * @addr:	address in it
 * @mem:	where that is
 */
struct kwarp_early {
	u32 pos;
	u32 len;
	u32 kind;
	u32 payload;
	u64 gen;
	u64 addr;
	struct kwarp_extent mem;
};

/**
 * struct kwarp_ledger - early FPDUs in the order of the stream, disjoint
 * @e:		room for @max of them; entries @head to @tail - 1 are in use
 * @max:	bound
 * @head:	first
 * @tail:	behind the last
 *
 * Positions are compared modulo 2^32: all must lie within 2^31 octets.
 */
struct kwarp_ledger {
	struct kwarp_early *e;
	u32 max;
	u32 head;
	u32 tail;
};

/**
 * kwarp_ledger_init() - an empty ledger
 * @l:		ledger
 * @e:		room for entries
 * @max:	how many, at least one
 */
static inline void kwarp_ledger_init(struct kwarp_ledger *l,
				     struct kwarp_early *e, u32 max)
{
	l->e = e;
	l->max = max;
	l->head = 0;
	l->tail = 0;
}

static inline bool kwarp_ledger_empty(const struct kwarp_ledger *l)
{
	return l->head == l->tail;
}

/**
 * kwarp_ledger_next() - the first entry at or behind a position
 * @l:		ledger
 * @pos:	stream position
 *
 * Return: entry, valid until the ledger changes, or NULL.
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
 * kwarp_ledger_skip() - go over FPDUs that follow each other
 * @l:		ledger
 * @pos:	in: position of one of them; out: the first position without an
 *		entry, or that of a KWARP_EARLY_BAD one
 *
 * Return: false if it came to a bad one.
 */
bool kwarp_ledger_skip(const struct kwarp_ledger *l, u32 *pos);

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
 * again in its turn: its entry becomes KWARP_EARLY_LEFT.
 *
 * Return: how many there were.
 */
u32 kwarp_ledger_written(struct kwarp_ledger *l, u32 pos,
			 const struct kwarp_extent *mem);

#endif /* _KWARP_PROTO_EARLY_H */
