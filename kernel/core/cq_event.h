/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Completion queue events; for cq.c and verbs. */
#ifndef _KWARP_CORE_CQ_EVENT_H
#define _KWARP_CORE_CQ_EVENT_H

#include "core/cq.h"

static inline bool kwarp_cq_is_user(const struct kwarp_cq *cq)
{
	return cq->mmap;
}

static inline u32 kwarp_cq_cons(const struct kwarp_cq *cq)
{
	/* Pairs with a user's release of the index after reading the elements. */
	return kwarp_cq_is_user(cq) ? smp_load_acquire(&cq->ctl->user_idx) :
				      cq->cons;
}

/* The flags of the control block. */
static inline u32 kwarp_cq_flags(const struct kwarp_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	return (cq->overflow ? KWARP_RING_ERROR : 0) |
	       (cq->napi_id ? KWARP_RING_POLL : 0);
}

/* Ends the polls of the network by the program's threads, also those for its other CQs. */
static inline void kwarp_cq_end_poll(struct kwarp_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	/* Not atomic: two CQs at a time may count as one. */
	if (unlikely(cq->napi_id) && cq->context)
		WRITE_ONCE(cq->context->pushes, READ_ONCE(cq->context->pushes) + 1);
}

/* Call init before the CQ is published, exit when nothing pushes or arms any more. */
void kwarp_cq_event_init(struct kwarp_cq *cq);
void kwarp_cq_event_exit(struct kwarp_cq *cq);
bool kwarp_cq_raise_event(struct kwarp_cq *cq, enum kwarp_urgency urgency);
void kwarp_cq_notify(struct kwarp_cq *cq);

#endif /* _KWARP_CORE_CQ_EVENT_H */
