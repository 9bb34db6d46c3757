// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Posting: copies a kernel consumer's work requests to a ring; runs a user's doorbell. */
#include "verbs/verbs.h"

#include "core/srq.h"
#include "rdmap/drive.h"
#include "rdmap/tx.h"

static int wr_opcode(enum ib_wr_opcode op)
{
	switch (op) {
	case IB_WR_RDMA_WRITE:
		return KWARP_OP_WRITE;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		return KWARP_OP_WRITE_IMM;
	case IB_WR_SEND:
		return KWARP_OP_SEND;
	case IB_WR_SEND_WITH_IMM:
		return KWARP_OP_SEND_IMM;
	case IB_WR_SEND_WITH_INV:
		return KWARP_OP_SEND_INV;
	case IB_WR_RDMA_READ:
		return KWARP_OP_READ;
	case IB_WR_RDMA_READ_WITH_INV:
		return KWARP_OP_READ_INV;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_MASKED_ATOMIC_CMP_AND_SWP:
		return KWARP_OP_CMP_SWAP;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
	case IB_WR_MASKED_ATOMIC_FETCH_AND_ADD:
		return KWARP_OP_FETCH_ADD;
	case IB_WR_LOCAL_INV:
		return KWARP_OP_LOCAL_INV;
	case IB_WR_REG_MR:
		return KWARP_OP_REG_MR;
	default:
		return -EINVAL;
	}
}

static void copy_sges(struct kwarp_sge *out, const struct ib_sge *in, int num)
{
	for (; num; num--, in++, out++) {
		out->addr = in->addr;
		out->length = in->length;
		out->lkey = in->lkey;
	}
}

static int wr_inline(const struct kwarp_sq *sq, const struct ib_send_wr *wr,
		     struct kwarp_sqe *sqe)
{
	u8 *data = (u8 *)(sqe + 1);
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > sq->max_inline - len)
			return -EINVAL;
		memcpy(data + len, (void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	sqe->inline_len = len;
	sqe->flags |= KWARP_WQE_INLINE;
	return 0;
}

static void wr_atomic(const struct ib_send_wr *wr, struct kwarp_sqe *sqe)
{
	const struct ib_atomic_wr *at = atomic_wr(wr);

	sqe->raddr = at->remote_addr;
	sqe->rkey = at->rkey;
	sqe->arg[0] = at->compare_add;
	sqe->arg[1] = at->swap;
	switch (wr->opcode) {
	case IB_WR_ATOMIC_CMP_AND_SWP:
		sqe->arg[2] = ~0ULL;
		sqe->arg[3] = ~0ULL;
		break;
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		break;
	default:
		sqe->arg[2] = at->compare_add_mask;
		sqe->arg[3] = at->swap_mask;
	}
}

static int wr_to_sqe(const struct kwarp_sq *sq, const struct ib_send_wr *wr,
		     struct kwarp_sqe *sqe)
{
	int opcode = wr_opcode(wr->opcode);

	if (opcode < 0 || wr->num_sge < 0 || wr->num_sge > sq->max_sge)
		return -EINVAL;
	memset(sqe, 0, sizeof(*sqe));
	sqe->wr_id = wr->wr_id;
	sqe->opcode = opcode;
	if (wr->send_flags & IB_SEND_SIGNALED)
		sqe->flags |= KWARP_WQE_SIGNALED;
	if (wr->send_flags & IB_SEND_FENCE)
		sqe->flags |= KWARP_WQE_FENCE;
	if (wr->send_flags & IB_SEND_SOLICITED)
		sqe->flags |= KWARP_WQE_SOLICITED;

	switch (opcode) {
	case KWARP_OP_REG_MR: {
		const struct ib_reg_wr *reg = reg_wr(wr);

		sqe->arg[0] = (uintptr_t)to_kmr(reg->mr);
		sqe->arg[1] = reg->access;
		sqe->rkey = reg->key;
		return 0;
	}
	case KWARP_OP_CMP_SWAP:
	case KWARP_OP_FETCH_ADD:
		wr_atomic(wr, sqe);
		break;
	case KWARP_OP_WRITE:
	case KWARP_OP_WRITE_IMM:
	case KWARP_OP_READ:
	case KWARP_OP_READ_INV:
		sqe->raddr = rdma_wr(wr)->remote_addr;
		sqe->rkey = rdma_wr(wr)->rkey;
		break;
	}
	/* The field also holds immediate data, in network order: ex is a union. */
	sqe->ex = wr->ex.invalidate_rkey;
	if ((wr->send_flags & IB_SEND_INLINE) && kwarp_wr_is(opcode, KWARP_WR_INLINE))
		return wr_inline(sq, wr, sqe);
	sqe->num_sge = wr->num_sge;
	copy_sges((struct kwarp_sge *)(sqe + 1), wr->sg_list, wr->num_sge);
	return 0;
}

/* A user's doorbell: run the send engine in the user's context and on its CPU time. */
static void ring_doorbell(struct kwarp_qp *qp)
{
	kwarp_drive_enter(qp);
	if (kwarp_qp_failed(qp))
		kwarp_wq_flush_here(&qp->sq, &qp->rq);
	else if (kwarp_qp_lost(qp))
		kwarp_qp_check_lost(qp);
}

/* A user's doorbell for receives, which is needed in ERR only. */
static void ring_recv_doorbell(struct kwarp_qp *qp)
{
	if (kwarp_qp_failed(qp))
		kwarp_wq_flush_here(&qp->sq, &qp->rq);
}

/* Flush what a kernel consumer has posted to a queue pair in ERR. */
static void flush_posted(struct kwarp_qp *qp)
{
	if (kwarp_post_may_run())
		kwarp_wq_flush(&qp->sq, &qp->rq);
	else
		kwarp_wq_flush_later(&qp->sq, &qp->rq);
}

int kwarp_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr)
{
	struct kwarp_qp *qp = to_kqp(ibqp);
	struct kwarp_sq *sq = &qp->sq;
	unsigned long flags;
	int ret = 0;

	/* A user posts to the ring, not here; a kernel consumer has no doorbell. */
	if (qp->sq.kernel != !!wr) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (!wr) {
		ring_doorbell(qp);
		return 0;
	}
	spin_lock_irqsave(&sq->lock, flags);
	for (; wr; wr = wr->next) {
		if (sq->mode == KWARP_WQ_CLOSED)
			ret = -EINVAL;
		else if (sq->prod - sq->window.done >= sq->window.size)
			ret = -ENOMEM;
		else
			ret = wr_to_sqe(sq, wr, kwarp_sq_elem(sq, sq->prod));
		if (ret) {
			*bad_wr = wr;
			break;
		}
		/* Release: the engine must see the whole element once it sees the index. */
		smp_store_release(&sq->prod, sq->prod + 1);
	}
	spin_unlock_irqrestore(&sq->lock, flags);
	if (kwarp_qp_failed(qp))
		flush_posted(qp);
	else
		kwarp_tx_wake(qp);
	return ret;
}

static int recv_wr_to_rqe(struct kwarp_rq *rq, const struct ib_recv_wr *wr)
{
	struct kwarp_rqe *rqe = kwarp_rq_elem(rq, rq->prod);

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (rq->prod - rq->fetched >= rq->size)
		return -ENOMEM;
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	copy_sges((struct kwarp_sge *)(rqe + 1), wr->sg_list, wr->num_sge);
	return 0;
}

/*
 * Copy a kernel consumer's receives to the ring. Return: 0; -ENOMEM if the queue is full;
 * -EINVAL if a request is invalid or the QP is in RESET.
 */
static int rq_post(struct kwarp_rq *rq, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&rq->lock, flags);
	for (; wr; wr = wr->next) {
		ret = rq->mode == KWARP_WQ_CLOSED ? -EINVAL : recv_wr_to_rqe(rq, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
		/* Release: the engine must see the whole element once it sees the index. */
		smp_store_release(&rq->prod, rq->prod + 1);
	}
	spin_unlock_irqrestore(&rq->lock, flags);
	return ret;
}

int kwarp_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr)
{
	struct kwarp_qp *qp = to_kqp(ibqp);
	int ret;

	/* A user posts to the ring; a QP with a shared queue has no receives of its own. */
	if (qp->sq.kernel != !!wr || qp->srq) {
		*bad_wr = wr;
		return -EINVAL;
	}
	if (!wr) {
		ring_recv_doorbell(qp);
		return 0;
	}
	ret = rq_post(&qp->rq, wr, bad_wr);
	if (kwarp_qp_failed(qp))
		flush_posted(qp);
	return ret;
}

int kwarp_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	struct kwarp_srq *srq = to_ksrq(ibsrq);

	/* A user's shared queue is read when a message arrives: no doorbell is needed. */
	if (srq->rq.user) {
		*bad_wr = wr;
		return wr ? -EINVAL : 0;
	}
	return rq_post(&srq->rq, wr, bad_wr);
}
