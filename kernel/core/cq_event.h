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

/* Call init before the CQ is published, exit when nothing pushes or arms any more. */
void kwarp_cq_event_init(struct kwarp_cq *cq);
void kwarp_cq_event_exit(struct kwarp_cq *cq);
bool kwarp_cq_raise_event(struct kwarp_cq *cq, enum kwarp_urgency urgency);
void kwarp_cq_notify(struct kwarp_cq *cq);

#endif /* _KWARP_CORE_CQ_EVENT_H */
