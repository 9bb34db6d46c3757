// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues. A QP takes an element when a message begins, and returns it by a
 * completion: successful, or flushed when the QP enters ERR. Elements that no QP has taken
 * stay in the queue when QPs fail or are destroyed.
 */
#include "core/srq.h"

#include "core/handler.h"

static void srq_event(struct kwarp_srq *srq, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = srq->ibsrq.device,
		.event = type,
		.element.srq = &srq->ibsrq,
	};

	kwarp_call_event(srq->ibsrq.event_handler, &ev, srq->ibsrq.srq_context);
}

/*
 * Is an event due? Disarms the limit. There is one event per arming, and no second one
 * before an element is taken: the RDMA core keeps each event until the program reads it,
 * so a program that arms again and again could fill kernel memory.
 */
static bool below_limit(struct kwarp_srq *srq)
{
	lockdep_assert_held(&srq->rq.lock);
	if (kwarp_rq_posted(&srq->rq) >= srq->limit)
		return false;
	if (srq->limit_raised && srq->limit_raised_at == srq->rq.fetched)
		return false;
	srq->limit_raised = true;
	srq->limit_raised_at = srq->rq.fetched;
	srq->limit = 0;
	return true;
}

/**
 * kwarp_srq_fetch() - take the next element for a message
 * @srq:	shared receive queue
 * @wqe:	receives the copy
 *
 * If fewer elements than the limit are left, raises IB_EVENT_SRQ_LIMIT_REACHED and disarms
 * the limit. Context: any.
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
 * If fewer elements are present already, the event is raised immediately: no element may
 * be left to be taken, which would raise it later. If none was taken since the last event,
 * the next event waits until one is taken. Context: any.
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
 * kwarp_srq_move() - move the ring to other memory
 * @srq:	shared receive queue
 * @mem:	zeroed: control block, followed by @size elements
 * @size:	power of two
 *
 * Elements not yet taken keep their indices. The lock is released after each
 * KWARP_SRQ_MOVE_RUN of them.
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
		/* Skip elements taken meanwhile. A user may have moved the index back. */
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
