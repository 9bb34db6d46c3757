/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ledger of early FPDUs: FPDUs that were found after a gap in the stream and placed
 * before the gap closed (out-of-order placement, RFC 5044 Appendix B). An entry records
 * the stream position of an FPDU (over SCTP: the message number), the data that identify
 * the FPDU, and the memory that received its payload.
 */
#ifndef _KWARP_PROTO_EARLY_H
#define _KWARP_PROTO_EARLY_H

#include "proto/types.h"

/**
 * enum kwarp_early_kind - state of an early FPDU
 * @KWARP_EARLY_UNPLACED:	verified, but not placed, or overwritten since: placed in order
 * @KWARP_EARLY_PLACED:	the payload is in its buffer
 * @KWARP_EARLY_BAD:	invalid: the search for FPDUs ends here
 */
enum kwarp_early_kind {
	KWARP_EARLY_UNPLACED = 0,
	KWARP_EARLY_PLACED,
	KWARP_EARLY_BAD,
};

/* Longest DDP header of a payload that can be placed early. */
#define KWARP_EARLY_HDR_MAX	18

/* Pieces of memory in an extent: a payload of 9000 bytes lies in up to four pages. */
#define KWARP_EXTENT_MAX	4

/**
 * struct kwarp_extent - kernel addresses that a payload occupies
 * @lo:		lowest address of all pieces
 * @hi:		end of all pieces
 * @n:		number of pieces
 * @piece:	the pieces. If there are more than KWARP_EXTENT_MAX, the last one spans
 *		all the others, and the memory between them, too
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
	KWARP_LEDGER_CHAINS	= 1024,	/* hash chains of memory blocks */
	KWARP_LEDGER_SHIFT	= 12,	/* log2 of the size of a block */
	KWARP_LEDGER_LINKS	= 5,	/* links of an entry: all placed, and four blocks */
	KWARP_LEDGER_BLOCKS	= 32,	/* blocks of a write; if more, check all placed */
	KWARP_LEDGER_LOOKS	= 64,	/* entries without overlap that a check examines */
};

/*
 * The place of an entry in one hash chain. @next and @prev are numbers of links: index of
 * the entry * KWARP_LEDGER_LINKS + index of the link.
 */
struct kwarp_ledger_link {
	u16 next;
	u16 prev;
	u16 chain;
};

/**
 * struct kwarp_early - one early FPDU
 * @pos:	stream position
 * @len:	bytes of the stream
 * @kind:	enum kwarp_early_kind
 * @crc:	PLACED: the CRC field
 * @hdr:	PLACED: the DDP header, with RDMAP's control byte
 * @hdr_len:	PLACED: bytes of @hdr
 * @payload:	PLACED: bytes of payload
 * @gen:	PLACED: kwarp_mr.gen of the registration that received the payload
 * @addr:	PLACED: address in that registration
 * @mem:	PLACED: kernel addresses of the payload
 * @skip:	private: stream position up to which valid entries follow without a gap
 * @links:	private: number of entries of @link in use
 * @link:	private: membership in chains
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
 * @head:	first valid index of @order
 * @tail:	last valid index of @order plus one
 * @looks:	number of entries examined so far, for tests
 * @order:	indices into @e, sorted by stream position
 * @free:	indices into @e that are not in @order
 * @chain:	first link of each hash chain of memory blocks, then of the chain of all
 *		PLACED entries, then of those whose payload has more blocks than links
 *
 * Adding an FPDU costs a binary search, and moving entries of @order, of two bytes each.
 * Positions are compared modulo 2^32: all must lie within 2^31 of each other.
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
struct kwarp_early *kwarp_ledger_find(const struct kwarp_ledger *l, u32 pos);
bool kwarp_ledger_full(const struct kwarp_ledger *l);

/* Return: true if no entry is in state KWARP_EARLY_PLACED. */
bool kwarp_ledger_none_placed(const struct kwarp_ledger *l);
void kwarp_ledger_unplace(struct kwarp_ledger *l, struct kwarp_early *e);
bool kwarp_ledger_skip(struct kwarp_ledger *l, u32 *pos);
bool kwarp_ledger_add(struct kwarp_ledger *l, const struct kwarp_early *e);
void kwarp_ledger_drop_before(struct kwarp_ledger *l, u32 pos);
u32 kwarp_ledger_overwrite(struct kwarp_ledger *l, u32 pos,
			   const struct kwarp_extent *mem);

#endif /* _KWARP_PROTO_EARLY_H */
