// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The window of a send queue: see sq_window.h. */
#include "proto/sq_window.h"

/* Is @idx an element that was not delivered yet? */
static bool window_has(const struct kwarp_sq_window *w, u32 idx)
{
	return (s32)(idx - w->done) >= 0;
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
	s->status = status;
	/* Write the slot before: another context may deliver it from now on. */
	smp_store_release(&s->state, KWARP_SLOT_DONE);
	return true;
}

static bool finish_if_built(struct kwarp_sq_window *w, u32 idx)
{
	struct kwarp_slot *s = kwarp_window_slot(w, idx);

	/* Elements before @done are delivered, e.g. RDMA Reads by their responses. */
	if (!window_has(w, idx) || s->state != KWARP_SLOT_BUILT)
		return false;
	/* Write the slot before: another context may deliver it from now on. */
	smp_store_release(&s->state, KWARP_SLOT_DONE);
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

	/* Read the slot after: before, it may have the state of an older element. */
	if (w->done == smp_load_acquire(&w->fetched))
		return NULL;
	/* Read the slot after: its writer has released the state. */
	if (smp_load_acquire(&s->state) == KWARP_SLOT_DONE)
		return s;
	if (!flush)
		return NULL;
	s->state = KWARP_SLOT_DONE;
	s->status = w->flush_status ? w->flush_status : flush;
	w->flush_status = 0;
	return s;
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
