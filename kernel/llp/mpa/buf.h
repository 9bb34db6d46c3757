/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The batch of FPDUs being built: its memory, and the pieces and runs that are passed to
 * TCP. The socket lock guards a batch; functions that add bytes to it run between
 * kwarp_tx_pages_begin() and kwarp_tx_pages_end().
 */
#ifndef _KWARP_LLP_MPA_BUF_H
#define _KWARP_LLP_MPA_BUF_H

#include <linux/bvec.h>
#include <linux/mm.h>

#include "llp/mpa/pages.h"

enum kwarp_tx_buf_limits {
	KWARP_TX_BATCH		= 64 * 1024,	/* bytes built per call to TCP */
	KWARP_TX_REST		= 4096,		/* rest of a message that a batch exceeds this by */
	KWARP_TX_BVECS		= 96,		/* pieces of a batch */
	/* Contiguous bytes, enough for each part of an FPDU that must not be split. */
	KWARP_TX_MIN_ROOM	= 64,
};

/* A run of pieces, which is passed to TCP in one call (tx.c). */
struct kwarp_tx_run {
	u16 bv_end;	/* index after its last bio_vec */
	u16 flags;	/* MSG_EOR: a TCP segment must end with the run; or 0 */
};

/**
 * struct kwarp_tx_buf - built FPDUs that TCP has not accepted yet
 * @bv:		pieces, one page reference each
 * @nr:		pieces in use
 * @first:	first piece that TCP has not accepted
 * @runs:	closed runs
 * @nr_runs:	runs in use
 * @first_run:	first run that TCP has not accepted
 * @len:	bytes that TCP has not accepted
 */
struct kwarp_tx_buf {
	struct bio_vec bv[KWARP_TX_BVECS];
	struct kwarp_tx_run runs[KWARP_TX_BVECS];
	u16 nr;
	u16 first;
	u16 nr_runs;
	u16 first_run;
	u32 len;
};

/**
 * struct kwarp_tx_out - a batch and the memory it is built in
 * @b:		batch
 * @frag:	this CPU's current block of pages
 */
struct kwarp_tx_out {
	struct kwarp_tx_buf *b;
	struct page_frag *frag;
};

struct kwarp_tx_buf *kwarp_tx_buf_get(void);
void kwarp_tx_buf_put(struct kwarp_tx_buf *b);

/* State of a batch, to which kwarp_tx_rewind() returns if an FPDU cannot be completed. */
struct kwarp_tx_mark {
	u32 len;
	u32 last_len;
	u16 nr;
};

static inline struct kwarp_tx_mark kwarp_tx_mark(const struct kwarp_tx_buf *b)
{
	return (struct kwarp_tx_mark){
		.len = b->len,
		.nr = b->nr,
		.last_len = b->nr ? b->bv[b->nr - 1].bv_len : 0,
	};
}

void kwarp_tx_rewind(struct kwarp_tx_buf *b, const struct kwarp_tx_mark *m);
static inline u32 kwarp_tx_left(const struct kwarp_tx_out *out)
{
	return out->frag->page ? out->frag->size - out->frag->offset : 0;
}

/* Where to write next, if kwarp_tx_left() is not 0. */
static inline u8 *kwarp_tx_at(const struct kwarp_tx_out *out)
{
	return page_address(out->frag->page) + out->frag->offset;
}

/**
 * kwarp_tx_room() - get memory to write to
 * @out:	batch
 * @want:	bytes that should be contiguous. If they do not fit into the current block, up
 *		to 1/8 of a block is taken from a new one; more is split
 *
 * Return: address of kwarp_tx_left() contiguous bytes, at least KWARP_TX_MIN_ROOM, or NULL
 * if there is no memory.
 */
static inline u8 *kwarp_tx_room(struct kwarp_tx_out *out, u32 want)
{
	u32 left = kwarp_tx_left(out);

	if (unlikely(left < want) &&
	    (left < KWARP_TX_MIN_ROOM || want <= KWARP_TX_PAGE_SIZE / 8) &&
	    !kwarp_tx_pages_refill(out->frag))
		return NULL;
	return kwarp_tx_at(out);
}

/* Account for @n bytes written at the address from kwarp_tx_room(). */
static __always_inline void kwarp_tx_commit(struct kwarp_tx_out *out, u32 n)
{
	struct kwarp_tx_buf *b = out->b;
	u16 run_start = b->nr_runs ? b->runs[b->nr_runs - 1].bv_end : 0;
	struct bio_vec *last = b->nr > run_start ? &b->bv[b->nr - 1] : NULL;
	struct page_frag *frag = out->frag;

	if (last && last->bv_page == frag->page &&
	    last->bv_offset + last->bv_len == frag->offset) {
		last->bv_len += n;
	} else {
		get_page(frag->page);
		bvec_set_page(&b->bv[b->nr++], frag->page, n, frag->offset);
	}
	frag->offset += n;
	b->len += n;
}

static inline void kwarp_tx_close_run(struct kwarp_tx_buf *b, u16 flags)
{
	u16 start = b->nr_runs ? b->runs[b->nr_runs - 1].bv_end : 0;

	if (b->nr == start)
		return;
	b->runs[b->nr_runs].bv_end = b->nr;
	b->runs[b->nr_runs++].flags = flags;
}

/* Are too few pieces left for one more FPDU, however its memory is split? */
static inline bool kwarp_tx_full(const struct kwarp_tx_buf *b)
{
	/* An FPDU of 64 KiB in single pages of 4 KiB has 17 pieces; keep a reserve. */
	return b->nr + 20 > KWARP_TX_BVECS;
}

#endif /* _KWARP_LLP_MPA_BUF_H */
