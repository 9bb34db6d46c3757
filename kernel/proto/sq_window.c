// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The window of a send queue: see sq_window.h. */
#include "proto/sq_window.h"

/* Is @idx an element that was not delivered yet? */
static bool window_has(const struct kwarp_sq_window *w, u32 idx)
{
	return (s32)(idx - w->done) >= 0;
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
u32 kwarp_window_posted(const struct kwarp_sq_window *w, u32 fetched, u32 producer)
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
struct kwarp_slot *kwarp_window_fetch(struct kwarp_sq_window *w, u64 wr_id, u8 opcode,
				      bool signaled)
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
 * kwarp_window_finish() - an element is finished: its completion is due
 * @w:		window
 * @idx:	index of the element
 * @status:	0 for success, or the status of the completion
 *
 * Return: false if the element was delivered already, by a flush; then nothing changes.
 */
bool kwarp_window_finish(struct kwarp_sq_window *w, u32 idx, u8 status)
{
	struct kwarp_slot *s = kwarp_window_slot(w, idx);

	if (!window_has(w, idx))
		return false;
	s->state = KWARP_SLOT_DONE;
	s->status = status;
	return true;
}

/**
 * kwarp_window_mark_built() - the payload of the last element fetched is copied
 * @w:		window, not flushed
 * @idx:	index of the element
 */
void kwarp_window_mark_built(struct kwarp_sq_window *w, u32 idx)
{
	struct kwarp_slot *s = kwarp_window_slot(w, idx);

	s->state = KWARP_SLOT_BUILT;
	s->status = 0;
}

static bool finish_if_built(struct kwarp_sq_window *w, u32 idx)
{
	struct kwarp_slot *s = kwarp_window_slot(w, idx);

	/* Elements before @done are delivered, e.g. RDMA Reads by their responses. */
	if (!window_has(w, idx) || s->state != KWARP_SLOT_BUILT)
		return false;
	s->state = KWARP_SLOT_DONE;
	return true;
}

/**
 * kwarp_window_finish_built() - finish all elements in state BUILT with success
 * @w:		window, not flushed
 *
 * Return: true if there was one.
 */
bool kwarp_window_finish_built(struct kwarp_sq_window *w)
{
	bool any = false;

	for (; w->built != w->fetched; w->built++) {
		/* The last element fetched may still be in progress, and become BUILT. */
		if (w->built + 1 == w->fetched && window_has(w, w->built) &&
		    kwarp_window_slot(w, w->built)->state == KWARP_SLOT_PENDING)
			break;
		any |= finish_if_built(w, w->built);
	}
	return any;
}

/**
 * kwarp_window_ack() - finish the elements in state BUILT that the peer has acknowledged
 * @w:		window
 * @end:	index of the first element that is not acknowledged
 */
void kwarp_window_ack(struct kwarp_sq_window *w, u32 end)
{
	for (; (s32)(w->built - end) < 0; w->built++)
		finish_if_built(w, w->built);
}

/**
 * kwarp_window_find_built() - find the oldest element in state BUILT with certain opcodes
 * @w:		window
 * @opcodes:	mask of BIT(enum kwarp_opcode)
 *
 * Return: its index, or @w->done if there is none.
 */
u32 kwarp_window_find_built(const struct kwarp_sq_window *w, u32 opcodes)
{
	u32 idx;

	for (idx = w->done; idx != w->fetched; idx++) {
		const struct kwarp_slot *s = kwarp_window_slot(w, idx);

		if (s->state == KWARP_SLOT_BUILT && 1U << s->opcode & opcodes)
			return idx;
	}
	return w->done;
}

/**
 * kwarp_window_oldest() - the oldest element, if its completion is due
 * @w:		window
 * @flush:	0; or the queue is flushed: finish the element with this status, unless it is
 *		DONE. @w->flush_status replaces the status once
 *
 * Return: its record, valid until kwarp_window_retire(); or NULL. A completion is to be
 * delivered if the record has a status or is @signaled.
 */
const struct kwarp_slot *kwarp_window_oldest(struct kwarp_sq_window *w, u8 flush)
{
	struct kwarp_slot *s = kwarp_window_slot(w, w->done);

	if (w->done == w->fetched)
		return NULL;
	if (s->state == KWARP_SLOT_DONE)
		return s;
	if (!flush)
		return NULL;
	s->state = KWARP_SLOT_DONE;
	s->status = w->flush_status ? w->flush_status : flush;
	w->flush_status = 0;
	return s;
}

/* The oldest element is delivered: its slot may be used for another element from now on. */
void kwarp_window_retire(struct kwarp_sq_window *w)
{
	smp_store_release(&w->done, w->done + 1);
}

/* Return: true if all elements are DONE. */
bool kwarp_window_all_done(const struct kwarp_sq_window *w)
{
	u32 idx;

	/* Usually the oldest element decides, because the others wait for it. */
	for (idx = READ_ONCE(w->done); idx != w->fetched; idx++)
		if (READ_ONCE(kwarp_window_slot(w, idx)->state) != KWARP_SLOT_DONE)
			return false;
	return true;
}

/* Forget all elements, and begin again with index 0. */
void kwarp_window_reset(struct kwarp_sq_window *w)
{
	w->done = 0;
	w->fetched = 0;
	w->built = 0;
	w->flush_status = 0;
}

/* Return: true if the indices are in order; see sq_window.h. */
bool kwarp_window_valid(const struct kwarp_sq_window *w)
{
	/* Another context may fetch meanwhile: read @fetched last. */
	u32 done = READ_ONCE(w->done);
	u32 built = READ_ONCE(w->built);
	u32 fetched = READ_ONCE(w->fetched);

	return fetched - done <= w->size && (s32)(fetched - built) >= 0;
}
