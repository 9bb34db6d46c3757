/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ledger of early FPDUs: FPDUs that were found after a gap in the stream and placed
 * before their turn (out-of-order placement, RFC 5044 Appendix B). It records the
 * position of an FPDU in the stream, the data that identify it, and the location of its
 * payload.
 */
#ifndef _KWARP_PROTO_EARLY_H
#define _KWARP_PROTO_EARLY_H

#include "proto/types.h"

/**
 * enum kwarp_early_kind - state of an early FPDU
 * @KWARP_EARLY_LEFT:	verified, but nothing was placed: processed in its turn
 * @KWARP_EARLY_PLACED:	its payload is in its buffer
 * @KWARP_EARLY_BAD:	invalid; the search does not continue after it
 */
enum kwarp_early_kind {
	KWARP_EARLY_LEFT = 0,
	KWARP_EARLY_PLACED,
	KWARP_EARLY_BAD,
};

/* DDP and RDMAP headers of a payload that can be placed early. */
#define KWARP_EARLY_HDR_MAX	18

/* Separate pieces of memory: a payload of 9000 bytes lies in up to four pages. */
#define KWARP_EXTENT_MAX	4

/**
 * struct kwarp_extent - kernel addresses that a payload occupies
 * @lo:		lowest address of all pieces
 * @hi:		end of all pieces
 * @n:		number of pieces
 * @piece:	the pieces; the memory between them is not part of the payload. If there
 *		are too many, the last piece also covers the memory between the rest.
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

void kwarp_extent_add(struct kwarp_extent *x, u64 lo, u64 hi);

enum kwarp_ledger_limits {
	KWARP_LEDGER_MAX	= 1024,	/* entries of a ledger */
	KWARP_LEDGER_CHAINS	= 1024,	/* chains by blocks of memory */
	KWARP_LEDGER_SHIFT	= 12,	/* log2 of the size of such a block */
	KWARP_LEDGER_LINKS	= 5,	/* links of an entry: all placed entries, and blocks */
	KWARP_LEDGER_BLOCKS	= 32,	/* maximum number of blocks of one check for
					 * overwritten payload
					 */
	KWARP_LEDGER_LOOKS	= 64,	/* entries that one such check may examine in vain */
};

/* An entry's position in a chain; links are identified by numbers. */
struct kwarp_ledger_link {
	u16 next;
	u16 prev;
	u16 chain;
};

/**
 * struct kwarp_early - one early FPDU
 * @pos:	stream position
 * @len:	bytes of the stream
 * @kind:	enum kwarp_early_kind; the fields below are valid for PLACED only
 * @crc:	its CRC field
 * @hdr:	the header before the payload
 * @hdr_len:	bytes of @hdr
 * @payload:	bytes placed
 * @gen:	registration number of the memory
 * @addr:	address in the registration
 * @mem:	kernel addresses of the payload
 * @skip:	private: end of a run of adjacent entries from here, none of them bad
 * @links:	private: number of entries of @link that are in chains
 * @link:	private
 */
struct kwarp_early {
	u32 pos;
	u32 len;
	u32 kind;
	u32 crc;
	u8 hdr[KWARP_EARLY_HDR_MAX];
	u8 hdr_len;
	u32 payload;
	u64 gen;
	u64 addr;
	struct kwarp_extent mem;
	u32 skip;
	u16 links;
	struct kwarp_ledger_link link[KWARP_LEDGER_LINKS];
};

/**
 * struct kwarp_ledger - early FPDUs in stream order, without overlaps
 * @e:		array of @max entries, in any order
 * @max:	limit, at most KWARP_LEDGER_MAX
 * @head:	first index of @order
 * @tail:	last index of @order plus one
 * @looks:	number of entries examined so far, for tests
 * @order:	indices into @e, from @head to @tail - 1
 * @free:	indices not in @order
 * @chain:	first link of each chain: all KWARP_EARLY_PLACED entries, those with more
 *		blocks than links, and those with payload in certain blocks of memory
 *
 * The cost of an FPDU does not depend on the number of entries, except for a logarithm,
 * and a few bytes that are moved for entries added out of order.
 * Positions are compared modulo 2^32: all must lie within 2^31 bytes.
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

void kwarp_ledger_init(struct kwarp_ledger *l, struct kwarp_early *e, u32 max);

static inline bool kwarp_ledger_empty(const struct kwarp_ledger *l)
{
	return l->head == l->tail;
}

struct kwarp_early *kwarp_ledger_next(const struct kwarp_ledger *l, u32 pos);

/**
 * kwarp_ledger_find() - find the entry at a position
 * @l:		ledger
 * @pos:	stream position
 *
 * Return: as kwarp_ledger_next().
 */
static inline struct kwarp_early *
kwarp_ledger_find(const struct kwarp_ledger *l, u32 pos)
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
static inline bool kwarp_ledger_full(const struct kwarp_ledger *l)
{
	return l->tail - l->head == l->max;
}

/* Return: true if no entry is in state KWARP_EARLY_PLACED. */
bool kwarp_ledger_sober(const struct kwarp_ledger *l);
void kwarp_ledger_leave(struct kwarp_ledger *l, struct kwarp_early *e);
bool kwarp_ledger_skip(struct kwarp_ledger *l, u32 *pos);
bool kwarp_ledger_add(struct kwarp_ledger *l, const struct kwarp_early *e);
void kwarp_ledger_pass(struct kwarp_ledger *l, u32 pos);
u32 kwarp_ledger_written(struct kwarp_ledger *l, u32 pos,
			 const struct kwarp_extent *mem);

#endif /* _KWARP_PROTO_EARLY_H */
