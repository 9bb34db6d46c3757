// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Send and receive queues.
 *
 * A ring may be shared with user space. Of such a ring the kernel reads the
 * producer index and the elements, each once, and believes neither: an index
 * beyond the ring's size is ignored, the element is judged by its copy.
 */
#include "wq.h"

#include "../llp/llp.h"
#include "cq.h"
#include "mem.h"
#include "qp.h"
#include "srq.h"

#define REAP_BATCH	8	/* completions per look at the CQ */

/* ---- indices ----------------------------------------------------------- */

/* Elements before the index are visible: pairs with the poster's release. */
static u32 load_index(const u32 *idx)
{
	return smp_load_acquire(idx); /* see above */
}

/* The owner of the ring may reuse what is before the index. */
static void publish_index(u32 *idx, u32 val)
{
	smp_store_release(idx, val); /* see above */
}

/*
 * Elements posted and not fetched. The indices of a send queue always satisfy,
 * modulo 2^32,
 *
 *	done <= fetched <= producer <= done + size
 *
 * The first two are the kernel's. A user's producer index is only believed where
 * it lies between @fetched and @done + @size; one that points elsewhere, also
 * backwards, is no post at all. @done is read behind the index: a user who has
 * seen it move, and used the room, has moved the index since.
 *
 * Context: any. @fetched is stable under the socket lock, or under sq->lock once
 * the state is ERR.
 */
static u32 sq_posted(const struct kwarp_qp *qp)
{
	const struct kwarp_sq *sq = &qp->sq;
	u32 fetched = READ_ONCE(sq->fetched);
	u32 posted;

	if (qp->kernel)
		return load_index(&sq->prod) - fetched;
	posted = load_index(&sq->ctl->user_idx) - fetched;
	return posted > sq->size - (fetched - READ_ONCE(sq->done)) ? 0 : posted;
}

static u32 rq_prod(const struct kwarp_rq *rq)
{
	u32 prod;

	if (!rq->user)
		return load_index(&rq->prod);
	prod = load_index(&rq->ctl->user_idx);
	return prod - rq->fetched > rq->size ? rq->fetched : prod;
}

static struct kwarp_slot *sq_slot(struct kwarp_sq *sq, u32 idx)
{
	return &sq->slots[idx & (sq->size - 1)];
}

static void ring_wakeup(struct kwarp_ring_ctl *ctl, bool need)
{
	WRITE_ONCE(ctl->flags, need ? KWARP_RING_NEED_WAKEUP : 0);
}

bool kwarp_sq_bursts(const struct kwarp_qp *qp)
{
	return !qp->kernel && READ_ONCE(qp->sq.ctl->arm) == KWARP_SQ_BURST;
}

/* ---- fetching ---------------------------------------------------------- */

/* Octets of all elements, or -EMSGSIZE. */
static s64 sge_total(const struct kwarp_sge *sge, u32 num)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < num; i++)
		sum += sge[i].length;
	return sum > KWARP_MAX_MSG_SIZE ? -EMSGSIZE : (s64)sum;
}

static bool opcode_ok(const struct kwarp_qp *qp, u8 opcode)
{
	switch (opcode) {
	case KWARP_OP_WRITE:
	case KWARP_OP_SEND:
	case KWARP_OP_SEND_INV:
	case KWARP_OP_READ:
		return true;
	case KWARP_OP_WRITE_IMM:
	case KWARP_OP_CMP_SWAP:
	case KWARP_OP_FETCH_ADD:
		return kwarp_qp_ext(qp) & KWARP_RDMAP_EXT_7306;
	case KWARP_OP_SEND_IMM:
		return kwarp_qp_ext(qp) & KWARP_RDMAP_EXT_OWN;
	case KWARP_OP_LOCAL_INV:
		return true;
	case KWARP_OP_BIND_MW:
		return !qp->kernel;
	case KWARP_OP_READ_INV:
	case KWARP_OP_REG_MR:
		return qp->kernel;
	default:
		return false;
	}
}

/* Copy the variable part and judge; @src is shared memory. */
static int sqe_finish(struct kwarp_qp *qp, struct kwarp_sqe_copy *wqe,
		      const void *src, u32 *len)
{
	const struct kwarp_sq *sq = &qp->sq;
	s64 total;

	if (!opcode_ok(qp, wqe->hdr.opcode))
		return -EINVAL;
	if (kwarp_op_local(wqe->hdr.opcode)) {
		*len = 0;
		return 0;
	}
	if (wqe->hdr.flags & KWARP_WQE_INLINE) {
		if (!kwarp_op_inline_ok(wqe->hdr.opcode) ||
		    wqe->hdr.inline_len > sq->max_inline)
			return -EINVAL;
		memcpy(wqe->data, src + sizeof(wqe->hdr), wqe->hdr.inline_len);
		*len = wqe->hdr.inline_len;
		return 0;
	}
	if (wqe->hdr.num_sge > sq->max_sge)
		return -EINVAL;
	memcpy(wqe->sge, src + sizeof(wqe->hdr),
	       wqe->hdr.num_sge * sizeof(wqe->sge[0]));
	/* The compiler must not go back to the shared copy for the checks. */
	barrier();
	total = sge_total(wqe->sge, wqe->hdr.num_sge);
	if (total < 0)
		return total;
	/* The value found is 64 bits. */
	if (kwarp_op_atomic(wqe->hdr.opcode) && total != sizeof(u64))
		return -EMSGSIZE;
	*len = total;
	return 0;
}

int kwarp_sq_fetch(struct kwarp_qp *qp, struct kwarp_sqe_copy *wqe, u32 *slot)
{
	struct kwarp_sq *sq = &qp->sq;
	struct kwarp_slot *s;
	const void *src;
	u32 idx, len = 0;
	int ret;

	/* Until the state is ERR, only the engine moves @fetched. */
	idx = sq->fetched;
	if (!kwarp_qp_is(qp)->sends || !sq_posted(qp))
		return 0;
	src = kwarp_sq_elem(sq, idx);
	memcpy(&wqe->hdr, src, sizeof(wqe->hdr));
	barrier();
	s = sq_slot(sq, idx);
	s->wr_id = wqe->hdr.wr_id;
	s->opcode = wqe->hdr.opcode;
	s->signaled = sq->sig_all || (wqe->hdr.flags & KWARP_WQE_SIGNALED);
	s->state = KWARP_SLOT_PENDING;
	s->len = 0;
	/* The slot before the index: sq_take() may look at once. */
	smp_store_release(&sq->fetched, idx + 1);

	/* The slot in the ring is ours until kern_idx passes it. */
	*slot = idx;
	ret = sqe_finish(qp, wqe, src, &len);
	if (ret)
		return ret;
	s->len = len;
	return 1;
}

bool kwarp_sq_pending(struct kwarp_qp *qp)
{
	return sq_posted(qp);
}

bool kwarp_sq_idle(struct kwarp_qp *qp, bool linger)
{
	if (linger) {
		WRITE_ONCE(qp->sq.ctl->flags, KWARP_RING_LINGER);
	} else if (!qp->kernel) {
		ring_wakeup(qp->sq.ctl, true);
		/* Pairs with the barrier between a user's post and his look at flags. */
		smp_mb();
	}
	if (!kwarp_sq_pending(qp))
		return true;
	kwarp_sq_busy(qp);
	return false;
}

void kwarp_sq_busy(struct kwarp_qp *qp)
{
	if (!qp->kernel)
		ring_wakeup(qp->sq.ctl, false);
}

bool kwarp_sq_drained(struct kwarp_qp *qp)
{
	return qp->sq.done == qp->sq.fetched && !kwarp_sq_pending(qp);
}

/* ---- completing -------------------------------------------------------- */

static void slot_to_cqe(const struct kwarp_qp *qp, const struct kwarp_slot *s,
			u8 status, struct kwarp_cqe *cqe)
{
	memset(cqe, 0, sizeof(*cqe));
	cqe->wr_id = s->wr_id;
	cqe->qp_num = qp->ibqp.qp_num;
	cqe->opcode = s->opcode;
	cqe->status = status;
	cqe->byte_len = s->len;
	if (status)
		cqe->vendor_err = qp->err.layer << 12 | qp->err.etype << 8 |
				  qp->err.code;
}

/*
 * The oldest element, if it can be reported now: done, or anything at all once
 * the queue is in error. Sets *@deliver if a completion is due.
 */
static bool sq_take(struct kwarp_qp *qp, struct kwarp_cqe *cqe, bool *deliver)
{
	struct kwarp_sq *sq = &qp->sq;
	bool flush = kwarp_qp_failed(qp);
	struct kwarp_slot *s = sq_slot(sq, sq->done);
	u8 status;

	lockdep_assert_held(&sq->lock);
	if (sq->done == sq->fetched) {
		const struct kwarp_sqe *sqe;

		if (!flush || !sq_posted(qp))
			return false;
		sqe = kwarp_sq_elem(sq, sq->fetched++);
		s->wr_id = READ_ONCE(sqe->wr_id);
		s->opcode = READ_ONCE(sqe->opcode);
		s->len = 0;
		s->state = KWARP_SLOT_PENDING;
	}
	if (s->state == KWARP_SLOT_DONE) {
		status = s->status;
		*deliver = status || s->signaled;
	} else if (flush) {
		status = sq->blame ? : KWARP_WC_WR_FLUSH_ERR;
		sq->blame = 0;
		*deliver = true;
	} else {
		return false;
	}
	if (*deliver)
		slot_to_cqe(qp, s, status, cqe);
	sq->done++;
	return true;
}

/*
 * Deliver in order. The CQ's handler may post again, so no lock is held while
 * it runs; @reaping keeps the order when two contexts come here at once. The
 * budget ends a race with a user who posts as fast as we flush: his posts find
 * the need-wakeup flag set.
 */
static void sq_reap(struct kwarp_qp *qp)
{
	struct kwarp_sq *sq = &qp->sq;
	struct kwarp_cqe cqe[REAP_BATCH];
	u32 budget = 2 * sq->size;
	unsigned long flags;
	bool deliver;
	u32 n;

	spin_lock_irqsave(&sq->lock, flags);
	if (sq->reaping)
		goto out;
	sq->reaping = true;
	do {
		for (n = 0; budget && n < REAP_BATCH; n += deliver, budget--)
			if (!sq_take(qp, &cqe[n], &deliver))
				break;
		publish_index(&sq->ctl->kern_idx, sq->done);
		if (!n)
			break;
		spin_unlock_irqrestore(&sq->lock, flags);
		kwarp_cq_push(qp->scq, cqe, n, false);
		spin_lock_irqsave(&sq->lock, flags);
	} while (budget);
	/* What is posted later was not there. */
	if (kwarp_qp_failed(qp))
		sq->blame = 0;
	sq->reaping = false;
out:
	spin_unlock_irqrestore(&sq->lock, flags);
}

void kwarp_sq_blame(struct kwarp_qp *qp, u8 status)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.lock, flags);
	qp->sq.blame = status;
	spin_unlock_irqrestore(&qp->sq.lock, flags);
}

/* sq->done may have moved past @slot by a flush: then there is nothing to do. */
static bool slot_set(struct kwarp_qp *qp, u32 slot, u8 state, u8 status)
{
	struct kwarp_sq *sq = &qp->sq;
	struct kwarp_slot *s = sq_slot(sq, slot);

	lockdep_assert_held(&sq->lock);
	if ((s32)(slot - sq->done) < 0)
		return false;
	s->state = state;
	s->status = status;
	return true;
}

void kwarp_sq_complete(struct kwarp_qp *qp, u32 slot, u8 status)
{
	unsigned long flags;
	bool live;

	spin_lock_irqsave(&qp->sq.lock, flags);
	live = slot_set(qp, slot, KWARP_SLOT_DONE, status);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	if (live)
		sq_reap(qp);
}

/*
 * Until the state is ERR only the engine, under the socket lock, touches slots
 * that are not done: the next two need no other lock.
 */
void kwarp_sq_mark_built(struct kwarp_qp *qp, u32 slot)
{
	struct kwarp_slot *s = sq_slot(&qp->sq, slot);

	if (kwarp_qp_failed(qp))
		return;
	s->state = KWARP_SLOT_BUILT;
	s->status = KWARP_WC_SUCCESS;
}

void kwarp_sq_complete_built(struct kwarp_qp *qp)
{
	struct kwarp_sq *sq = &qp->sq;
	bool any = false;

	if (sq->built == sq->fetched || kwarp_qp_failed(qp))
		return;
	for (; sq->built != sq->fetched; sq->built++) {
		struct kwarp_slot *s = sq_slot(sq, sq->built);

		/* Reads may be done before what was posted behind them is built. */
		if ((s32)(sq->built - sq->done) < 0)
			continue;
		/* The message in work is the last one fetched. */
		if (s->state == KWARP_SLOT_PENDING &&
		    sq->built + 1 == sq->fetched)
			break;
		if (s->state == KWARP_SLOT_BUILT) {
			s->state = KWARP_SLOT_DONE;
			any = true;
		}
	}
	if (any)
		sq_reap(qp);
}

void kwarp_sq_ack(struct kwarp_qp *qp, u32 end)
{
	struct kwarp_sq *sq = &qp->sq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	for (; (s32)(sq->built - end) < 0; sq->built++) {
		struct kwarp_slot *s = sq_slot(sq, sq->built);

		if ((s32)(sq->built - sq->done) >= 0 &&
		    s->state == KWARP_SLOT_BUILT)
			s->state = KWARP_SLOT_DONE;
	}
	spin_unlock_irqrestore(&sq->lock, flags);
	sq_reap(qp);
}

void kwarp_sq_refused(struct kwarp_qp *qp, u32 opcodes, u8 status)
{
	struct kwarp_sq *sq = &qp->sq;
	unsigned long flags;
	u32 idx;

	spin_lock_irqsave(&sq->lock, flags);
	for (idx = sq->done; idx != sq->fetched; idx++) {
		const struct kwarp_slot *s = sq_slot(sq, idx);

		if (s->state == KWARP_SLOT_BUILT && BIT(s->opcode) & opcodes)
			break;
	}
	if (idx == sq->fetched)
		idx = sq->done;
	sq->blame = status;
	spin_unlock_irqrestore(&sq->lock, flags);
	kwarp_sq_ack(qp, idx);
}

/* ---- receive queue ------------------------------------------------------ */

static u32 rq_posted(const struct kwarp_rq *rq)
{
	return rq_prod(rq) - rq->fetched;
}

u32 kwarp_rq_posted(const struct kwarp_rq *rq)
{
	lockdep_assert_held(&rq->lock);
	return rq_posted(rq);
}

/* Return: 0 or -EINVAL. What is judged is the copy. */
static int rq_copy(const struct kwarp_rq *rq, u32 idx,
		   struct kwarp_rqe_copy *wqe)
{
	const void *src = kwarp_rq_elem(rq, idx);

	memcpy(&wqe->hdr, src, sizeof(wqe->hdr));
	barrier();
	if (wqe->hdr.num_sge > rq->max_sge)
		return -EINVAL;
	memcpy(wqe->sge, src + sizeof(wqe->hdr),
	       wqe->hdr.num_sge * sizeof(wqe->sge[0]));
	barrier();
	return sge_total(wqe->sge, wqe->hdr.num_sge) >= 0 ? 0 : -EINVAL;
}

int kwarp_rq_take(struct kwarp_rq *rq, struct kwarp_rqe_copy *wqe)
{
	int ret;

	if (!rq->size || !rq_posted(rq))
		return -ENOBUFS;
	ret = rq_copy(rq, rq->fetched, wqe);
	/* The copy is taken: the ring's slot is free. */
	publish_index(&rq->ctl->kern_idx, ++rq->fetched);
	return ret;
}

bool kwarp_rq_peek(struct kwarp_qp *qp, u32 ahead, struct kwarp_rqe_copy *wqe)
{
	const struct kwarp_rq *rq = &qp->rq;

	/* As in kwarp_rq_fetch(): nobody else takes. */
	if (kwarp_qp_failed(qp) || !rq->size || ahead >= rq_posted(rq))
		return false;
	return !rq_copy(rq, rq->fetched + ahead, wqe);
}

int kwarp_rq_fetch(struct kwarp_qp *qp, struct kwarp_rqe_copy *wqe)
{
	/* The socket lock keeps the state: nobody else takes until it is ERR. */
	if (kwarp_qp_failed(qp))
		return -ENOBUFS;
	if (qp->srq)
		return kwarp_srq_fetch(qp->srq, wqe);
	return kwarp_rq_take(&qp->rq, wqe);
}

void kwarp_rq_complete(struct kwarp_qp *qp, struct kwarp_cqe *cqe,
		       bool solicited)
{
	cqe->qp_num = qp->ibqp.qp_num;
	if (cqe->status)
		cqe->vendor_err = qp->err.layer << 12 | qp->err.etype << 8 |
				  qp->err.code;
	kwarp_cq_push(qp->rcq, cqe, 1, solicited);
}

static void rq_flush(struct kwarp_qp *qp)
{
	struct kwarp_rq *rq = &qp->rq;
	u32 budget = 2 * rq->size;
	unsigned long flags;

	if (!rq->size)
		return;
	spin_lock_irqsave(&rq->lock, flags);
	if (rq->reaping)
		goto out;
	rq->reaping = true;
	while (budget-- && kwarp_qp_failed(qp) &&
	       kwarp_rq_posted(rq)) {
		const struct kwarp_rqe *rqe = kwarp_rq_elem(rq, rq->fetched);
		struct kwarp_cqe cqe = {
			.wr_id = READ_ONCE(rqe->wr_id),
			.opcode = KWARP_OP_RECV,
			.status = KWARP_WC_WR_FLUSH_ERR,
		};

		publish_index(&rq->ctl->kern_idx, ++rq->fetched);
		spin_unlock_irqrestore(&rq->lock, flags);
		kwarp_rq_complete(qp, &cqe, false);
		spin_lock_irqsave(&rq->lock, flags);
	}
	rq->reaping = false;
out:
	spin_unlock_irqrestore(&rq->lock, flags);
}

void kwarp_wq_flush(struct kwarp_qp *qp)
{
	if (!qp->kernel) {
		ring_wakeup(qp->sq.ctl, true);
		if (qp->rq.size)
			ring_wakeup(qp->rq.ctl, true);
		/* A post that missed the flag is seen by the flush, and the other way. */
		smp_mb();
	}
	sq_reap(qp);
	rq_flush(qp);
}

void kwarp_wq_reset(struct kwarp_qp *qp)
{
	struct kwarp_sq *sq = &qp->sq;
	struct kwarp_rq *rq = &qp->rq;
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->done = 0;
	sq->fetched = 0;
	sq->built = 0;
	sq->prod = 0;
	sq->blame = 0;
	memset(sq->ctl, 0, sizeof(*sq->ctl));
	spin_unlock_irqrestore(&sq->lock, flags);

	spin_lock_irqsave(&rq->lock, flags);
	rq->fetched = 0;
	rq->prod = 0;
	if (rq->ctl)
		memset(rq->ctl, 0, sizeof(*rq->ctl));
	spin_unlock_irqrestore(&rq->lock, flags);
}
