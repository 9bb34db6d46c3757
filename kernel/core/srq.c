// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues. A QP takes an element when a message for it begins, and returns
 * it by a completion: successful, or flushed when the QP enters ERR. Elements that no QP
 * has taken stay, whatever happens to the QPs.
 */
#include "core/srq.h"

static void srq_event(struct kwarp_srq *srq, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = srq->ibsrq.device,
		.event = type,
		.element.srq = &srq->ibsrq,
	};

	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&ev, srq->ibsrq.srq_context);
}

/*
 * Raise one event per arming, and no second one before an element is taken: it would
 * carry no new information, and the core keeps each one until the program reads it, which
 * it does not report to us.
 */
static bool below_limit(struct kwarp_srq *srq)
{
	lockdep_assert_held(&srq->rq.lock);
	if (kwarp_rq_posted(&srq->rq) >= srq->limit)
		return false;
	if (srq->told && srq->told_at == srq->rq.fetched)
		return false;
	srq->told = true;
	srq->told_at = srq->rq.fetched;
	srq->limit = 0;
	return true;
}

/**
 * kwarp_srq_fetch() - take the next element for a message
 * @srq:	shared receive queue
 * @wqe:	receives the copy
 *
 * Raises IB_EVENT_SRQ_LIMIT_REACHED, and disarms it, if that leaves fewer elements than
 * the armed limit. Context: any.
 * Return: as kwarp_rq_take().
 */
int kwarp_srq_fetch(struct kwarp_srq *srq, struct kwarp_rqe_copy *wqe)
{
	unsigned long flags;
	bool fire;
	int ret;

	spin_lock_irqsave(&srq->rq.lock, flags);
	ret = kwarp_rq_take(&srq->rq, wqe);
	fire = below_limit(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	if (fire)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	return ret;
}

/**
 * kwarp_srq_arm() - set the limit
 * @srq:	shared receive queue
 * @limit:	elements, 0 disarms
 *
 * If fewer elements are present already, the event is raised immediately: nothing would
 * take an element out of an empty queue and so raise it later. If nothing was taken since
 * the last event, no new event is raised until something is taken. Context: any.
 */
void kwarp_srq_arm(struct kwarp_srq *srq, u32 limit)
{
	unsigned long flags;
	bool fire;

	spin_lock_irqsave(&srq->rq.lock, flags);
	srq->limit = limit;
	fire = below_limit(srq);
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	if (fire)
		srq_event(srq, IB_EVENT_SRQ_LIMIT_REACHED);
}

/**
 * kwarp_srq_move() - continue in other ring memory
 * @srq:	shared receive queue
 * @mem:	zeroed: control block, followed by @size elements
 * @size:	power of two
 *
 * Elements not yet taken are copied with their indices, KWARP_SRQ_MOVE_RUN of them in each
 * hold of the lock.
 *
 * Return: 0, or -EINVAL if there are more such elements than @size. Context: process,
 * @srq->mutex held.
 */
int kwarp_srq_move(struct kwarp_srq *srq, void *mem, u32 size)
{
	struct kwarp_rq *rq = &srq->rq;
	struct kwarp_rq to = {
		.ring = mem + sizeof(struct kwarp_ring_ctl),
		.stride = rq->stride,
		.size = size,
	};
	struct kwarp_ring_ctl *ctl = mem;
	u32 posted, end, n, from = READ_ONCE(rq->fetched);
	bool done;

	might_sleep();
	lockdep_assert_held(&srq->mutex);
	do {
		spin_lock_irq(&rq->lock);
		posted = kwarp_rq_posted(rq);
		if (posted > size) {
			spin_unlock_irq(&rq->lock);
			return -EINVAL;
		}
		end = rq->fetched + posted;
		/* What was taken meanwhile need not be copied; a user may have withdrawn some. */
		if ((s32)(rq->fetched - from) > 0)
			from = rq->fetched;
		if ((s32)(from - end) > 0)
			from = end;
		n = min(end - from, KWARP_SRQ_MOVE_RUN);
		for (n += from; from != n; from++)
			memcpy(kwarp_rq_elem(&to, from), kwarp_rq_elem(rq, from), rq->stride);
		done = from == end;
		if (done) {
			ctl->kern_idx = rq->fetched;
			ctl->user_idx = from;
			rq->ctl = ctl;
			rq->ring = to.ring;
			rq->size = size;
		}
		spin_unlock_irq(&rq->lock);
		cond_resched();
	} while (!done);
	return 0;
}
