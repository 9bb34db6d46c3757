// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posting: check a work request against the granted limits, write the request
 * into its ring once, publish, and call the kernel only if its flags ask for
 * that. The kernel checks keys and addresses, on its own copy.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <ccan/array_size.h>

#include "kwarp.h"

static_assert(sizeof(struct kwarp_sge) == sizeof(struct ibv_sge) &&
	      offsetof(struct kwarp_sge, addr) ==
		      offsetof(struct ibv_sge, addr) &&
	      offsetof(struct kwarp_sge, length) ==
		      offsetof(struct ibv_sge, length) &&
	      offsetof(struct kwarp_sge, lkey) ==
		      offsetof(struct ibv_sge, lkey),
	      "scatter/gather lists are copied as they are");

/* Which members of a work request an opcode uses. */
enum {
	USES_RDMA	= 1 << 0,
	USES_ATOMIC	= 1 << 1,
	USES_IMM	= 1 << 2,
	USES_INV	= 1 << 3,
	USES_SGE	= 1 << 4,
	MAY_INLINE	= 1 << 5,
	USES_MW		= 1 << 6,
};

static const struct {
	uint8_t op;
	uint8_t uses;	/* 0: not supported */
} send_ops[] = {
	[IBV_WR_RDMA_WRITE] = {
		KWARP_OP_WRITE, USES_SGE | MAY_INLINE | USES_RDMA },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {
		KWARP_OP_WRITE_IMM,
		USES_SGE | MAY_INLINE | USES_RDMA | USES_IMM },
	[IBV_WR_SEND] = {
		KWARP_OP_SEND, USES_SGE | MAY_INLINE },
	[IBV_WR_SEND_WITH_IMM] = {
		KWARP_OP_SEND_IMM, USES_SGE | MAY_INLINE | USES_IMM },
	[IBV_WR_SEND_WITH_INV] = {
		KWARP_OP_SEND_INV, USES_SGE | MAY_INLINE | USES_INV },
	[IBV_WR_RDMA_READ] = {
		KWARP_OP_READ, USES_SGE | USES_RDMA },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {
		KWARP_OP_CMP_SWAP, USES_SGE | USES_ATOMIC },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {
		KWARP_OP_FETCH_ADD, USES_SGE | USES_ATOMIC },
	[IBV_WR_LOCAL_INV] = {
		KWARP_OP_LOCAL_INV, USES_INV },
	[IBV_WR_BIND_MW] = {
		KWARP_OP_BIND_MW, USES_MW },
};

static void fill_sqe(struct kwarp_sqe *sqe, const struct ibv_send_wr *wr)
{
	uint8_t uses = send_ops[wr->opcode].uses;

	*sqe = (struct kwarp_sqe){
		.wr_id = wr->wr_id,
		.opcode = send_ops[wr->opcode].op,
		.flags = kwarp_wqe_flags(wr->send_flags),
	};
	if (uses & USES_RDMA) {
		sqe->raddr = wr->wr.rdma.remote_addr;
		sqe->rkey = wr->wr.rdma.rkey;
	}
	if (uses & USES_ATOMIC) {
		sqe->raddr = wr->wr.atomic.remote_addr;
		sqe->rkey = wr->wr.atomic.rkey;
		kwarp_sqe_set_atomic(sqe, wr->wr.atomic.compare_add,
				     wr->wr.atomic.swap);
	}
	if (uses & USES_IMM)
		sqe->ex = (__force __u32)wr->imm_data;
	if (uses & USES_INV)
		sqe->ex = wr->invalidate_rkey;
	if (uses & USES_MW) {
		sqe->rkey = wr->bind_mw.rkey;
		sqe->raddr = wr->bind_mw.bind_info.addr;
		kwarp_sqe_set_bind(sqe, wr->bind_mw.mw, &wr->bind_mw.bind_info);
	}
}

/*
 * The payload is copied, so an inline request may have more pieces than max_sge
 * allows other requests.
 */
static int fill_inline(const struct kwarp_wq *sq, struct kwarp_sqe *sqe,
		       const struct ibv_send_wr *wr)
{
	uint8_t *data = (uint8_t *)(sqe + 1);
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		if (sge->length > sq->max_inline - len)
			return EINVAL;
		if (sge->length)
			memcpy(data + len, (void *)(uintptr_t)sge->addr,
			       sge->length);
		len += sge->length;
	}
	sqe->inline_len = len;
	return 0;
}

static int write_sqe(const struct kwarp_wq *sq, const struct ibv_send_wr *wr)
{
	struct kwarp_sqe *sqe = kwarp_wq_slot(sq);
	bool inlined;
	uint8_t uses;

	if ((unsigned int)wr->opcode >= ARRAY_SIZE(send_ops) || wr->num_sge < 0)
		return EINVAL;
	uses = send_ops[wr->opcode].uses;
	if (!uses || (wr->num_sge && !(uses & USES_SGE)))
		return EINVAL;
	if ((uses & USES_MW) && !wr->bind_mw.mw)
		return EINVAL;

	inlined = wr->send_flags & IBV_SEND_INLINE;
	if (inlined ? !(uses & MAY_INLINE) : wr->num_sge > sq->max_sge)
		return EINVAL;
	fill_sqe(sqe, wr);
	if (inlined)
		return fill_inline(sq, sqe, wr);
	sqe->num_sge = wr->num_sge;
	kwarp_copy_sges(sqe + 1, wr->sg_list, wr->num_sge);
	return 0;
}

static int write_rqe(const struct kwarp_wq *rq, const struct ibv_recv_wr *wr)
{
	struct kwarp_rqe *rqe = kwarp_wq_slot(rq);

	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return EINVAL;

	*rqe = (struct kwarp_rqe){
		.wr_id = wr->wr_id,
		.num_sge = wr->num_sge,
	};
	kwarp_copy_sges(rqe + 1, wr->sg_list, wr->num_sge);
	return 0;
}

/*
 * One doorbell for all requests of a post. Call this without the queue's lock,
 * because the kernel may run the send engine in the call. An error means that
 * the device is gone.
 */
int kwarp_ring_send_doorbell(struct ibv_qp *ibqp, uint32_t flags)
{
	if (flags & KWARP_RING_ERROR)
		return EIO;
	if (flags & KWARP_RING_NEED_WAKEUP)
		return kwarp_doorbell(ibqp->context, ibqp->handle);
	if (flags & KWARP_RING_COALESCE)
		kwarp_ring_later(to_kqp(ibqp));
	return 0;
}

static int ring_recv_doorbell(struct ibv_qp *ibqp, uint32_t flags)
{
	struct ibv_recv_wr *none = NULL;

	if (flags & KWARP_RING_ERROR)
		return EIO;
	return flags & KWARP_RING_NEED_WAKEUP ?
		       ibv_cmd_post_recv(ibqp, NULL, &none) : 0;
}

int kwarp_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	struct kwarp_qp *qp = to_kqp(ibqp);
	struct kwarp_wq *sq = &qp->sq;
	struct ibv_send_wr *first = wr;
	uint32_t flags = 0;
	uint32_t start;
	int ret;
	int db;

	pthread_spin_lock(&sq->lock);
	start = sq->prod;
	ret = kwarp_wq_closed(sq);
	for (; wr && !ret; wr = wr->next) {
		ret = kwarp_wq_full(sq) ? kwarp_wq_full_error(sq) :
					  write_sqe(sq, wr);
		if (ret)
			break;
		sq->prod++;
	}
	if (sq->prod != start)
		flags = kwarp_sq_publish(qp);
	pthread_spin_unlock(&sq->lock);

	if (ret)
		*bad_wr = wr;
	db = kwarp_ring_send_doorbell(ibqp, flags);
	if (db) {
		*bad_wr = first;
		return db;
	}
	return ret;
}

/* Sets @flags to the kernel's, @bad_wr to the first request not posted. */
static int post_rq(struct kwarp_wq *rq, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad_wr, uint32_t *flags)
{
	uint32_t start;
	int ret;

	*flags = 0;
	pthread_spin_lock(&rq->lock);
	start = rq->prod;
	ret = kwarp_wq_closed(rq);
	for (; wr && !ret; wr = wr->next) {
		ret = kwarp_wq_full(rq) ? kwarp_wq_full_error(rq) :
					  write_rqe(rq, wr);
		if (ret)
			break;
		rq->prod++;
	}
	if (rq->prod != start)
		*flags = kwarp_wq_publish(rq);
	pthread_spin_unlock(&rq->lock);

	if (ret)
		*bad_wr = wr;
	return ret;
}

int kwarp_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct kwarp_wq *rq = &to_kqp(ibqp)->rq;
	struct ibv_recv_wr *first = wr;
	uint32_t flags;
	int ret;
	int db;

	/* No receive queue of its own: a shared receive queue, or none. */
	if (!rq->ctl) {
		*bad_wr = wr;
		return ibqp->srq ? EINVAL : ENOMEM;
	}

	ret = post_rq(rq, wr, bad_wr, &flags);
	db = ring_recv_doorbell(ibqp, flags);
	if (db) {
		*bad_wr = first;
		return db;
	}
	return ret;
}

/* No doorbell: the kernel reads the ring when a message arrives. */
int kwarp_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	struct ibv_recv_wr *first = wr;
	uint32_t flags;
	int ret;

	ret = post_rq(&to_ksrq(ibsrq)->rq, wr, bad_wr, &flags);
	if (flags & KWARP_RING_ERROR) {
		*bad_wr = first;
		return EIO;
	}
	return ret;
}
