/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Past positions of a CQ, as free-running indices. Also compiled into tests/unit.
 */
#ifndef _KWARP_CORE_CQ_MARKS_H
#define _KWARP_CORE_CQ_MARKS_H

#include "proto/types.h"

/**
 * struct kwarp_cq_marks - positions in the stream of completions
 * @event:	producer index at the last event
 * @solicited:	producer index after the last solicited element
 *
 * Indices are compared in a window of 2^31. Polling does not move the marks, so
 * kwarp_cq_marks_follow() moves old ones up to the consumer index: a mark 2^31 behind
 * would appear to be ahead.
 */
struct kwarp_cq_marks {
	u32 event;
	u32 solicited;
};

/* Is @a ahead of @b? They are less than 2^31 apart. */
static inline bool kwarp_idx_after(u32 a, u32 b)
{
	return a != b && a - b <= U32_MAX / 2;
}

/**
 * kwarp_cq_marks_follow() - move marks that are behind @cons to @cons
 * @m:		marks
 * @cons:	consumer index; call at least once in 2^31 completions
 */
static inline void kwarp_cq_marks_follow(struct kwarp_cq_marks *m, u32 cons)
{
	if (kwarp_idx_after(cons, m->event))
		m->event = cons;
	if (kwarp_idx_after(cons, m->solicited))
		m->solicited = cons;
}

/**
 * kwarp_cq_marks_missed() - are there elements for which no event was raised?
 * @m:		marks
 * @last:	producer index, or @m->solicited if only solicited ones count
 * @cons:	consumer index
 *
 * Return: true if an element before @last was neither polled nor covered by an
 * event.
 */
static inline bool kwarp_cq_marks_missed(const struct kwarp_cq_marks *m,
					 u32 last, u32 cons)
{
	return kwarp_idx_after(last, m->event) && kwarp_idx_after(last, cons);
}

#endif /* _KWARP_CORE_CQ_MARKS_H */
