/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The batch being built: where its octets go, and the pieces and runs that TCP
 * is to get. All of it under the socket lock; what fills it, also between
 * kwarp_tx_pages_begin() and its end.
 */
#ifndef _KWARP_TX_BUF_H
#define _KWARP_TX_BUF_H

#include <linux/bvec.h>
#include <linux/mm.h>

#include "pages.h"
#include "tx.h"

/* Contiguous room for what may not be split: heads and tails of an FPDU. */
#define KWARP_TX_MIN_ROOM	64

/**
 * struct kwarp_tx_out - a batch and the memory that it grows in
 * @b:		batch
 * @frag:	this CPU's memory
 */
struct kwarp_tx_out {
	struct kwarp_tx_buf *b;
	struct page_frag *frag;
};

/**
 * kwarp_tx_buf_get() - an empty batch
 *
 * One per CPU waits for the next that sends: queue pairs with nothing to send have
 * none. Context: any. Return: the batch, or NULL if there is no memory.
 */
struct kwarp_tx_buf *kwarp_tx_buf_get(void);

/* Its pages are somebody else's or put already. Context: any. */
void kwarp_tx_buf_put(struct kwarp_tx_buf *b);

/* A point in the batch to return to if an FPDU cannot be finished. */
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

static inline void kwarp_tx_rewind(struct kwarp_tx_buf *b,
				   const struct kwarp_tx_mark *m)
{
	while (b->nr > m->nr)
		put_page(b->bv[--b->nr].bv_page);
	if (b->nr)
		b->bv[b->nr - 1].bv_len = m->last_len;
	b->len = m->len;
}

static inline u32 kwarp_tx_left(const struct kwarp_tx_out *out)
{
	return out->frag->page ? out->frag->size - out->frag->offset : 0;
}

/**
 * kwarp_tx_room() - where to write
 * @out:	batch
 * @want:	octets that should be contiguous; for a small part of a stretch
 *		its end is left unused, more than that is split
 *
 * Return: room for at least KWARP_TX_MIN_ROOM octets, kwarp_tx_left() in all, or
 * NULL if there is no memory.
 */
static inline u8 *kwarp_tx_room(struct kwarp_tx_out *out, u32 want)
{
	u32 left = kwarp_tx_left(out);

	if (unlikely(left < want) &&
	    (left < KWARP_TX_MIN_ROOM || want <= KWARP_TX_PAGE_SIZE / 8) &&
	    !kwarp_tx_pages_refill(out->frag))
		return NULL;
	return page_address(out->frag->page) + out->frag->offset;
}

/* @n octets were written where kwarp_tx_room() said. */
static inline void kwarp_tx_commit(struct kwarp_tx_out *out, u32 n)
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

static inline void kwarp_tx_close_run(struct kwarp_tx_buf *b, bool eor)
{
	u16 start = b->nr_runs ? b->runs[b->nr_runs - 1].bv_end : 0;

	if (b->nr == start)
		return;
	b->runs[b->nr_runs].bv_end = b->nr;
	b->runs[b->nr_runs++].eor = eor;
}

/* Too few pieces for one more FPDU, however its memory is split? */
static inline bool kwarp_tx_full(const struct kwarp_tx_buf *b)
{
	/* 64 KiB in pages of 4 KiB, should nothing larger be had, and change. */
	return b->nr + 20 > KWARP_TX_BVECS;
}

#endif /* _KWARP_TX_BUF_H */
