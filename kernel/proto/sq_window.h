/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The window of a send queue: the elements that were fetched from the ring and whose
 * completions were not delivered yet. Elements may finish in any order; they are delivered in
 * the order in which they were fetched.
 *
 * The indices count elements modulo 2^32 and always satisfy
 *
 *	@done <= @fetched <= @done + @size	and	@built <= @fetched
 *
 * Locks are the caller's (core/wq.h). One context may fetch and finish elements while another
 * delivers the oldest ones: an element is written before @fetched passes it and before its state
 * becomes DONE, which the reader acquires, and read before @done passes it.
 */
#ifndef _KWARP_PROTO_SQ_WINDOW_H
#define _KWARP_PROTO_SQ_WINDOW_H

#include "proto/types.h"

enum kwarp_slot_state {
	KWARP_SLOT_PENDING,	/* fetched, in progress */
	KWARP_SLOT_BUILT,	/* the payload is copied, the completion is not due yet */
	KWARP_SLOT_DONE,	/* the completion is due, after those of older elements */
};

/**
 * struct kwarp_slot - the record of a fetched element
 * @wr_id:	wr_id of the work request
 * @len:	bytes, for the completion
 * @opcode:	enum kwarp_opcode
 * @signaled:	a completion is requested on success
 * @state:	enum kwarp_slot_state
 * @status:	in state DONE: 0 for success, or the status of the completion
 */
struct kwarp_slot {
	u64 wr_id;
	u32 len;
	u8 opcode;
	u8 signaled : 1;
	u8 state;
	u8 status;
};

/**
 * struct kwarp_sq_window - the window
 * @slots:	@size entries
 * @size:	elements of the ring, power of two
 * @done:	elements before this index are delivered
 * @fetched:	elements before this index were fetched
 * @built:	elements before this index are not in state BUILT
 * @flush_status: status of the oldest element in the next flush; 0: that of the others
 */
struct kwarp_sq_window {
	struct kwarp_slot *slots;
	u32 size;
	u32 done;
	u32 fetched;
	u32 built;
	u8 flush_status;
};

/* The entry of index @idx. */
static inline struct kwarp_slot *kwarp_window_slot(const struct kwarp_sq_window *w, u32 idx)
{
	return &w->slots[idx & (w->size - 1)];
}

/**
 * kwarp_window_posted() - count the elements that may be fetched
 * @w:		window
 * @fetched:	@w->fetched, read before @producer
 * @producer:	index after the last element posted; an untrusted number
 *
 * Return: number of elements; 0 if @producer is out of range: behind @fetched, or more than
 * the size of the ring ahead of @w->done. @w->done is read after @producer, because a poster
 * that obeys the rules has seen an older value.
 */
static inline u32 kwarp_window_posted(const struct kwarp_sq_window *w, u32 fetched, u32 producer)
{
	u32 posted = producer - fetched;

	return posted > w->size - (fetched - READ_ONCE(w->done)) ? 0 : posted;
}

/**
 * kwarp_window_fetch() - add the next element of the ring, in state PENDING
 * @w:		window; kwarp_window_posted() is not 0
 * @wr_id:	wr_id of the work request
 * @opcode:	enum kwarp_opcode
 * @signaled:	a completion is requested on success
 *
 * Return: its record, of length 0; its index is the former @w->fetched.
 */
static inline struct kwarp_slot *
kwarp_window_fetch(struct kwarp_sq_window *w, u64 wr_id, u8 opcode, bool signaled)
{
	struct kwarp_slot *s = kwarp_window_slot(w, w->fetched);

	s->wr_id = wr_id;
	s->opcode = opcode;
	s->signaled = signaled;
	s->state = KWARP_SLOT_PENDING;
	s->len = 0;
	/* Write the slot before the index: another context may read the slot immediately. */
	smp_store_release(&w->fetched, w->fetched + 1);
	return s;
}

/**
 * kwarp_window_mark_built() - the payload of the last element fetched is copied
 * @w:		window, not flushed
 * @idx:	index of the element
 */
static inline void kwarp_window_mark_built(struct kwarp_sq_window *w, u32 idx)
{
	struct kwarp_slot *s = kwarp_window_slot(w, idx);

	s->state = KWARP_SLOT_BUILT;
	s->status = 0;
}

/* The oldest element is delivered. */
static inline void kwarp_window_retire(struct kwarp_sq_window *w)
{
	/* Read the slot before: another element may use it from now on. */
	smp_store_release(&w->done, w->done + 1);
}

bool kwarp_window_finish(struct kwarp_sq_window *w, u32 idx, u8 status);
bool kwarp_window_finish_built(struct kwarp_sq_window *w);
void kwarp_window_ack(struct kwarp_sq_window *w, u32 end);
u32 kwarp_window_find_built(const struct kwarp_sq_window *w, u32 opcodes);
const struct kwarp_slot *kwarp_window_oldest(struct kwarp_sq_window *w, u8 flush);
bool kwarp_window_all_done(const struct kwarp_sq_window *w);
void kwarp_window_reset(struct kwarp_sq_window *w);
bool kwarp_window_valid(const struct kwarp_sq_window *w);

#endif /* _KWARP_PROTO_SQ_WINDOW_H */
