// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queues: the engines put completions in, kernel consumers take
 * them out. A user's ring is written only; of his half of the control block the
 * consumer index and the arm word are read, and a wrong value hurts only him.
 */
#include "cq.h"

#include <linux/timekeeping.h>

#include "qp.h"

static bool is_user(const struct kwarp_cq *cq)
{
	return cq->mmap;
}

static u32 cq_cons(const struct kwarp_cq *cq)
{
	/* A user releases his index after he has read the elements. */
	return is_user(cq) ? smp_load_acquire(&cq->ctl->user_idx) : cq->cons;
}

static struct kwarp_cqe *cq_elem(const struct kwarp_cq *cq, u32 idx)
{
	return &cq->ring[idx & (cq->size - 1)];
}

/* Is this completion the one that was waited for? Disarms if so. */
static bool cq_fire(struct kwarp_cq *cq, bool solicited)
{
	u32 *arm = is_user(cq) ? &cq->ctl->arm : &cq->arm;
	u32 want;

	lockdep_assert_held(&cq->lock);
	/*
	 * A user arms, and then looks at the ring once more; we fill the ring,
	 * and then look at the arm word: one of us sees the other.
	 */
	smp_mb();
	want = READ_ONCE(*arm);
	if (want != KWARP_CQ_ARM_ANY &&
	    !(want == KWARP_CQ_ARM_SOLICITED && solicited))
		return false;
	xchg(arm, KWARP_CQ_ARM_NONE);
	cq->event_idx = cq->prod;
	WRITE_ONCE(cq->ctl->event_idx, cq->event_idx);
	return true;
}

static void cq_event(struct kwarp_cq *cq)
{
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.event = IB_EVENT_CQ_ERR,
		.element.cq = &cq->ibcq,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
}

/* Return: false if it does not fit: the CQ is dead. */
static bool cq_put(struct kwarp_cq *cq, const struct kwarp_cqe *cqe, u64 now)
{
	struct kwarp_cqe *slot;

	/* Also true for a consumer index that cannot be. */
	if (cq->prod - cq_cons(cq) >= cq->size) {
		cq->overflow = true;
		WRITE_ONCE(cq->ctl->flags, KWARP_RING_ERROR);
		return false;
	}
	slot = cq_elem(cq, cq->prod);
	*slot = *cqe;
	slot->timestamp = now;
	/* The element before the index; pairs with a user's acquire. */
	smp_store_release(&cq->ctl->kern_idx, ++cq->prod);
	return true;
}

void kwarp_cq_push(struct kwarp_cq *cq, const struct kwarp_cqe *cqe, u32 nr,
		   bool solicited)
{
	bool overflow = false, fire = false;
	unsigned long flags;
	u64 now;

	now = cq->timestamps ? ktime_get_ns() : 0;
	spin_lock_irqsave(&cq->lock, flags);
	if (cq->overflow)
		goto unlock;
	for (; nr && !overflow; nr--, cqe++) {
		overflow = !cq_put(cq, cqe, now);
		/* An overflow wakes whoever sleeps: nothing more will come. */
		solicited |= overflow || cqe->status != KWARP_WC_SUCCESS;
	}
	if (solicited)
		cq->solicited_idx = cq->prod;
	fire = cq_fire(cq, solicited);
unlock:
	spin_unlock_irqrestore(&cq->lock, flags);

	/* Without the lock: handlers poll and arm. */
	if (overflow) {
		kwarp_count(cq->dev, KWARP_STAT_CQ_OVERFLOW);
		cq_event(cq);
	}
	if (fire && cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static enum ib_wc_opcode wc_opcode(u8 opcode)
{
	switch (opcode) {
	case KWARP_OP_WRITE:
	case KWARP_OP_WRITE_IMM:
		return IB_WC_RDMA_WRITE;
	case KWARP_OP_READ:
	case KWARP_OP_READ_INV:
		return IB_WC_RDMA_READ;
	case KWARP_OP_CMP_SWAP:
		return IB_WC_COMP_SWAP;
	case KWARP_OP_FETCH_ADD:
		return IB_WC_FETCH_ADD;
	case KWARP_OP_LOCAL_INV:
		return IB_WC_LOCAL_INV;
	case KWARP_OP_REG_MR:
		return IB_WC_REG_MR;
	case KWARP_OP_RECV:
		return IB_WC_RECV;
	case KWARP_OP_RECV_IMM:
		return IB_WC_RECV_RDMA_WITH_IMM;
	default:
		return IB_WC_SEND;
	}
}

static void cqe_to_wc(const struct kwarp_cqe *cqe, struct kwarp_qp *qp,
		      struct ib_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = wc_opcode(cqe->opcode);
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = &qp->ibqp;
	wc->port_num = 1;
	if (cqe->flags & KWARP_CQE_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->ex;
	} else if (cqe->flags & KWARP_CQE_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->ex;
	}
}

int kwarp_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct kwarp_cq *cq = to_kcq(ibcq);
	struct kwarp_qp *qp = NULL;
	unsigned long flags;
	int n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	while (n < num && cq->cons != cq->prod) {
		const struct kwarp_cqe *cqe = cq_elem(cq, cq->cons++);

		/* A QP takes its completions with it when it goes. */
		if (!qp || qp->ibqp.qp_num != cqe->qp_num)
			qp = xa_load(&cq->dev->qps, cqe->qp_num);
		if (qp)
			cqe_to_wc(cqe, qp, &wc[n++]);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/* A user armed (in the ring, before he called); did he miss something? */
static void arm_user(struct kwarp_cq *cq, bool solicited)
{
	unsigned long flags;
	bool fire = false;
	u32 last;

	spin_lock_irqsave(&cq->lock, flags);
	last = solicited ? cq->solicited_idx : cq->prod;
	if ((s32)(last - cq->event_idx) > 0 && (s32)(last - cq_cons(cq)) > 0)
		fire = cq_fire(cq, solicited);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (fire && cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

int kwarp_cq_arm(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	bool any = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP;
	u32 want = any ? KWARP_CQ_ARM_ANY : KWARP_CQ_ARM_SOLICITED;
	struct kwarp_cq *cq = to_kcq(ibcq);
	unsigned long irq_flags;
	int ret;

	if (is_user(cq)) {
		arm_user(cq, !any);
		return 0;
	}
	spin_lock_irqsave(&cq->lock, irq_flags);
	/* A wish for any completion is not taken back by a weaker one. */
	cq->arm = max(cq->arm, want);
	ret = (flags & IB_CQ_REPORT_MISSED_EVENTS) && cq->cons != cq->prod;
	spin_unlock_irqrestore(&cq->lock, irq_flags);
	return ret;
}

void kwarp_cq_forget_qp(struct kwarp_cq *cq, struct kwarp_qp *qp)
{
	unsigned long flags;
	u32 from, to;

	if (is_user(cq))
		return;
	spin_lock_irqsave(&cq->lock, flags);
	for (from = to = cq->cons; from != cq->prod; from++) {
		const struct kwarp_cqe *cqe = cq_elem(cq, from);

		if (cqe->qp_num == qp->ibqp.qp_num)
			continue;
		if (from != to)
			*cq_elem(cq, to) = *cqe;
		to++;
	}
	cq->prod = to;
	cq->ctl->kern_idx = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}

int kwarp_cq_move(struct kwarp_cq *cq, void *mem, u32 size)
{
	struct kwarp_cqe *ring = mem + sizeof(struct kwarp_ring_ctl);
	struct kwarp_ring_ctl *ctl = mem;
	unsigned long flags;
	int ret = -EINVAL;
	u32 cons, i;

	spin_lock_irqsave(&cq->lock, flags);
	cons = cq_cons(cq);
	/* Also true for a consumer index that cannot be. */
	if (cq->prod - cons > min(size, cq->size))
		goto out;
	for (i = cons; i != cq->prod; i++)
		ring[i & (size - 1)] = *cq_elem(cq, i);
	ctl->user_idx = cons;
	ctl->arm = READ_ONCE(cq->ctl->arm);
	ctl->kern_idx = cq->prod;
	ctl->event_idx = cq->event_idx;
	ctl->flags = cq->overflow ? KWARP_RING_ERROR : 0;
	cq->ctl = ctl;
	cq->ring = ring;
	cq->size = size;
	ret = 0;
out:
	spin_unlock_irqrestore(&cq->lock, flags);
	return ret;
}
