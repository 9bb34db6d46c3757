/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* When a completion queue tells its consumer; for cq.c and the verbs. */
#ifndef _KWARP_CORE_CQ_EVENT_H
#define _KWARP_CORE_CQ_EVENT_H

#include "cq.h"

static inline bool kwarp_cq_is_user(const struct kwarp_cq *cq)
{
	return cq->mmap;
}

static inline u32 kwarp_cq_cons(const struct kwarp_cq *cq)
{
	/* A user releases his index after he has read the elements. */
	return kwarp_cq_is_user(cq) ? smp_load_acquire(&cq->ctl->user_idx) :
				      cq->cons;
}

/* Before the CQ is known to anybody; when nobody pushes or arms any more. */
void kwarp_cq_event_init(struct kwarp_cq *cq);
void kwarp_cq_event_exit(struct kwarp_cq *cq);

/**
 * kwarp_cq_tell() - something came, or waits: is the consumer to be told now?
 * @cq:		completion queue, @cq->lock held
 * @solicited:	counts for an arm of KWARP_CQ_ARM_SOLICITED
 * @urgent:	moderation does not hold it back
 *
 * Return: true if so: it is disarmed, and the caller calls kwarp_cq_notify()
 * without the lock.
 */
bool kwarp_cq_tell(struct kwarp_cq *cq, bool solicited, bool urgent);

/* The consumer's handler. Context: any; no lock of the CQ is held. */
void kwarp_cq_notify(struct kwarp_cq *cq);

#endif /* _KWARP_CORE_CQ_EVENT_H */
