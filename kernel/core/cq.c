// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: the engines add completions, kernel consumers remove them. Of the
 * user's half of a control block the kernel reads the consumer index and the arm word,
 * and a wrong value harms only that user.
 */
#include "core/cq_event.h"

#include <linux/timekeeping.h>

#include "core/handler.h"
#include "core/wr_op.h"
#include "trace.h"

static struct kwarp_cqe *cq_elem(const struct kwarp_cq *cq, u32 idx)
{
	return &cq->ring[idx & (cq->size - 1)];
}

static void cq_event(struct kwarp_cq *cq)
{
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = &cq->ibcq,
	};

	kwarp_call_event(cq->ibcq.event_handler, &ev, cq->ibcq.cq_context);
}

/* Add completions as far as there is room. Return: their number. */
static u32 cq_put(struct kwarp_cq *cq, const struct kwarp_cqe *cqe, u32 nr, u64 now)
{
	u32 cons = kwarp_cq_cons(cq);
	u32 end;

	lockdep_assert_held(&cq->lock);
	/* A user's consumer index that is out of range leaves no room. */
	nr = min(nr, cq->size - min(cq->prod - cons, cq->size));
	end = cq->prod + nr;
	for (; cq->prod != end; cq->prod++, cqe++) {
		struct kwarp_cqe *slot = cq_elem(cq, cq->prod);

		/* The reserved fields are zero since the ring was allocated. */
		memcpy(slot, cqe, offsetof(struct kwarp_cqe, timestamp));
		slot->timestamp = now;
		slot->vendor_err = cqe->vendor_err;
	}
	kwarp_cq_marks_follow(&cq->marks, cons);
	WRITE_ONCE(cq->ctl->event_idx, cq->marks.event);
	/* Write the elements before the index; pairs with a user's acquire. */
	smp_store_release(&cq->ctl->kern_idx, end);
	cq->since_event += nr;
	return nr;
}

/* Is there a failed request among the completions? */
static bool any_failed(const struct kwarp_cqe *cqe, u32 nr)
{
	u32 failed = 0;

	for (; nr; nr--, cqe++)
		failed |= cqe->status;
	return failed;
}

/* Trace the completions added, and the first one that was lost. */
static void trace_all(const struct kwarp_cq *cq, const struct kwarp_cqe *cqe, u32 nr, u32 added,
		      enum kwarp_urgency urgency)
{
	u32 i;

	for (i = 0; i < nr && i <= added; i++)
		trace_kwarp_cqe(cq, cqe + i, urgency != KWARP_UNSOLICITED, i == added);
}

/**
 * kwarp_cq_push() - add completions and notify if the CQ is armed for them
 * @cq:		completion queue
 * @cqe:	completions, to be copied without their reserved fields and timestamps
 * @nr:		number of completions
 * @urgency:	of the last one; those with an error are always urgent
 *
 * On overflow the remaining completions are lost, the CQ is marked dead, IB_EVENT_CQ_ERR is
 * raised once, and a worker sets the QPs that use the CQ to ERR, because they can report
 * nothing more. Only this CQ's users are affected (RFC 5042 6.4.3.2).
 * Context: any, takes @cq->lock.
 */
void kwarp_cq_push(struct kwarp_cq *cq, const struct kwarp_cqe *cqe, u32 nr,
		   enum kwarp_urgency urgency)
{
	bool overflow = false, raised = false;
	unsigned long flags;
	u32 added;
	u64 now;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->overflow)
		goto unlock;
	/* Under the lock, so that a later completion has no earlier time. */
	now = cq->timestamps ? ktime_get_ns() + cq->clock_offset : 0;
	added = cq_put(cq, cqe, nr, now);
	overflow = added < nr;
	if (unlikely(overflow)) {
		WRITE_ONCE(cq->overflow, true);
		/* After kern_idx: a user takes the CQ for dead once the ring is empty. */
		smp_store_release(&cq->ctl->flags, kwarp_cq_flags(cq));
	}
	if (trace_kwarp_cqe_enabled())
		trace_all(cq, cqe, nr, added, urgency);
	cq->wrapped |= cq->prod >= cq->size;
	/* After an overflow no completion follows: wake waiting consumers. */
	if (overflow || any_failed(cqe, nr))
		urgency = KWARP_URGENT;
	if (urgency != KWARP_UNSOLICITED)
		cq->marks.solicited = cq->prod;
	kwarp_cq_end_poll(cq);
	raised = kwarp_cq_raise_event(cq, urgency);
unlock:
	spin_unlock_irqrestore(&cq->lock, flags);

	/* Call handlers without the lock, because they poll and arm. */
	if (overflow) {
		kwarp_count(cq->dev, KWARP_STAT_CQ_OVERFLOW);
		cq_event(cq);
	}
	/* Also after the overflow, for queue pairs that began to use the CQ later. */
	if (unlikely(READ_ONCE(cq->overflow)))
		kwarp_cq_fail_users(cq->dev);
	if (raised)
		kwarp_cq_notify(cq);
}

static enum ib_wc_opcode wc_opcode(u8 opcode)
{
	if (opcode < KWARP_OP_LAST)
		return kwarp_wr_ops[opcode].wc;
	return opcode == KWARP_OP_RECV_IMM ? IB_WC_RECV_RDMA_WITH_IMM :
					     IB_WC_RECV;
}

static void cqe_to_wc(const struct kwarp_cqe *cqe, struct ib_qp *ibqp,
		      struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = wc_opcode(cqe->opcode);
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = ibqp;
	wc->port_num = 1;
	if (cqe->flags & KWARP_CQE_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->ex;
	} else if (cqe->flags & KWARP_CQE_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->ex;
	}
}

/**
 * kwarp_cq_poll() - ib_poll_cq of kernel consumers
 * @ibcq:	completion queue
 * @num:	maximum number of completions
 * @wc:		array for them
 *
 * A user reads completions from the ring. The command of a user polls the network.
 *
 * Return: completions written to @wc; 0 for a user's CQ. Context: any; process for a user's CQ.
 */
int kwarp_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct kwarp_cq *cq = to_kcq(ibcq);
	struct ib_qp *ibqp = NULL;
	unsigned long flags;
	int n = 0;

	if (kwarp_cq_is_user(cq)) {
		kwarp_cq_poll_napi(cq);
		return 0;
	}
	spin_lock_irqsave(&cq->lock, flags);
	while (n < num && cq->cons != cq->prod) {
		const struct kwarp_cqe *cqe = cq_elem(cq, cq->cons++);

		/* Always found: destroy_qp removes a QP's elements before its number. */
		if (!ibqp || ibqp->qp_num != cqe->qp_num)
			ibqp = xa_load(&cq->dev->qps, cqe->qp_num);
		if (ibqp)
			cqe_to_wc(cqe, ibqp, &wc[n++]);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/**
 * kwarp_cq_forget_qp() - remove the completions of a QP that is destroyed or reset
 * @cq:	completion queue; in that of a user, the provider does this
 * @qpn:	number of the QP
 */
void kwarp_cq_forget_qp(struct kwarp_cq *cq, u32 qpn)
{
	unsigned long flags;
	u32 from, to;

	if (kwarp_cq_is_user(cq))
		return;
	spin_lock_irqsave(&cq->lock, flags);
	for (from = to = cq->cons; from != cq->prod; from++) {
		const struct kwarp_cqe *cqe = cq_elem(cq, from);

		if (cqe->qp_num == qpn)
			continue;
		if (from != to)
			*cq_elem(cq, to) = *cqe;
		to++;
	}
	cq->prod = to;
	cq->ctl->kern_idx = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* Copy the elements from index @from to @to - 1 to @ring, which has @size elements. */
static void copy_elements(const struct kwarp_cq *cq, struct kwarp_cqe *ring, u32 size,
			  u32 from, u32 to)
{
	for (; from != to; from++)
		ring[from & (size - 1)] = *cq_elem(cq, from);
}

/* Switch to @ctl and the ring after it, to which the elements have been copied. */
static void switch_ring(struct kwarp_cq *cq, struct kwarp_ring_ctl *ctl, u32 size, u32 cons)
{
	lockdep_assert_held(&cq->lock);
	ctl->user_idx = cons;
	ctl->arm = READ_ONCE(cq->ctl->arm);
	ctl->kern_idx = cq->prod;
	ctl->event_idx = cq->marks.event;
	ctl->flags = kwarp_cq_flags(cq);
	cq->ctl = ctl;
	cq->ring = (void *)(ctl + 1);
	cq->size = size;
}

/**
 * kwarp_cq_move() - move the ring to other memory
 * @cq:		completion queue
 * @mem:	zeroed: control block, followed by @size elements
 * @size:	power of two
 *
 * Unpolled elements keep their indices, and the CQ stays armed as it is: no completion is
 * lost and no event is repeated. A user controls the number of unpolled elements, so the
 * lock is released, and interrupts are enabled, after each KWARP_CQ_MOVE_RUN of them.
 *
 * Return: 0, or -EINVAL if there are more unpolled elements than @size, or than were ever
 * pushed. Context: process, @cq->mutex held.
 */
int kwarp_cq_move(struct kwarp_cq *cq, void *mem, u32 size)
{
	struct kwarp_ring_ctl *ctl = mem;
	/* kwarp_cq_forget_qp() may move a kernel CQ's elements: copy them in one hold. */
	u32 most = kwarp_cq_is_user(cq) ? KWARP_CQ_MOVE_RUN : U32_MAX;
	u32 cons, prod, n, from = kwarp_cq_cons(cq);
	bool done;

	might_sleep();
	lockdep_assert_held(&cq->mutex);
	do {
		spin_lock_irq(&cq->lock);
		cons = kwarp_cq_cons(cq);
		prod = cq->prod;
		/* Also true if a user's consumer index is out of range. */
		if (prod - cons > min3(size, cq->size, cq->wrapped ? U32_MAX : prod)) {
			spin_unlock_irq(&cq->lock);
			return -EINVAL;
		}
		/* Skip elements that were polled meanwhile. */
		if (prod - from > prod - cons)
			from = cons;
		n = min(prod - from, most);
		copy_elements(cq, (void *)(ctl + 1), size, from, from + n);
		from += n;
		done = from == prod;
		if (done)
			switch_ring(cq, ctl, size, cons);
		spin_unlock_irq(&cq->lock);
		cond_resched();
	} while (!done);
	return 0;
}
