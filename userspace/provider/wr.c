// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ibv_wr_*(): requests are built in the ring, between start and complete, under
 * the send queue's lock. complete publishes the whole batch at once; any error
 * makes the whole batch fail.
 */
#include <errno.h>
#include <string.h>

#include "kwarp.h"

static struct kwarp_qp *to_kqp_ex(struct ibv_qp_ex *qpx)
{
	return container_of(qpx, struct kwarp_qp, vqp.qp_ex);
}

static void wr_fail(struct kwarp_qp *qp, int err)
{
	if (!qp->batch.err)
		qp->batch.err = err;
	qp->batch.sqe = NULL;
}

/* ---- a batch -------------------------------------------------------------- */

static void wr_start(struct ibv_qp_ex *qpx)
{
	struct kwarp_qp *qp = to_kqp_ex(qpx);

	pthread_spin_lock(&qp->sq.lock);
	qp->batch = (struct kwarp_batch){
		.start = qp->sq.prod,
		.err = kwarp_wq_closed(&qp->sq),
	};
}

static void wr_abort(struct ibv_qp_ex *qpx)
{
	struct kwarp_qp *qp = to_kqp_ex(qpx);

	qp->sq.prod = qp->batch.start;
	qp->batch.sqe = NULL;
	pthread_spin_unlock(&qp->sq.lock);
}

static int wr_complete(struct ibv_qp_ex *qpx)
{
	struct kwarp_qp *qp = to_kqp_ex(qpx);
	uint32_t flags = 0;
	int err = qp->batch.err;

	if (err) {
		wr_abort(qpx);
		return err;
	}
	qp->batch.sqe = NULL;
	if (qp->sq.prod != qp->batch.start)
		flags = kwarp_sq_publish(qp);
	pthread_spin_unlock(&qp->sq.lock);
	return kwarp_ring_send_doorbell(&qp->vqp.qp, flags);
}

/* ---- requests ------------------------------------------------------------- */

/* Begin a request, without data so far; NULL if the batch has failed. */
static struct kwarp_sqe *wr_begin(struct ibv_qp_ex *qpx, uint8_t opcode)
{
	struct kwarp_qp *qp = to_kqp_ex(qpx);
	struct kwarp_sqe *sqe;

	if (qp->batch.err)
		return NULL;
	if (kwarp_wq_full(&qp->sq)) {
		wr_fail(qp, kwarp_wq_full_error(&qp->sq));
		return NULL;
	}
	sqe = kwarp_wq_slot(&qp->sq);
	*sqe = (struct kwarp_sqe){
		.wr_id = qpx->wr_id,
		.opcode = opcode,
		/* Inline is set by the function that builds the data. */
		.flags = kwarp_wqe_flags(qpx->wr_flags & ~IBV_SEND_INLINE),
	};
	qp->sq.prod++;
	qp->batch.sqe = sqe;
	return sqe;
}

static struct kwarp_sqe *begin_rdma(struct ibv_qp_ex *qpx, uint8_t opcode,
				    uint32_t rkey, uint64_t remote_addr)
{
	struct kwarp_sqe *sqe = wr_begin(qpx, opcode);

	if (sqe) {
		sqe->raddr = remote_addr;
		sqe->rkey = rkey;
	}
	return sqe;
}

static void wr_send(struct ibv_qp_ex *qpx)
{
	wr_begin(qpx, KWARP_OP_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm_data)
{
	struct kwarp_sqe *sqe = wr_begin(qpx, KWARP_OP_SEND_IMM);

	if (sqe)
		sqe->ex = (__force uint32_t)imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct kwarp_sqe *sqe = wr_begin(qpx, KWARP_OP_SEND_INV);

	if (sqe)
		sqe->ex = invalidate_rkey;
}

static void wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey,
			  uint64_t remote_addr)
{
	begin_rdma(qpx, KWARP_OP_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	struct kwarp_sqe *sqe = begin_rdma(qpx, KWARP_OP_WRITE_IMM, rkey,
					   remote_addr);

	if (sqe)
		sqe->ex = (__force uint32_t)imm_data;
}

static void wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey,
			 uint64_t remote_addr)
{
	begin_rdma(qpx, KWARP_OP_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qpx, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	struct kwarp_sqe *sqe = begin_rdma(qpx, KWARP_OP_CMP_SWAP, rkey,
					   remote_addr);

	if (sqe)
		kwarp_sqe_set_atomic(sqe, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qpx, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	struct kwarp_sqe *sqe = begin_rdma(qpx, KWARP_OP_FETCH_ADD, rkey,
					   remote_addr);

	if (sqe)
		kwarp_sqe_set_atomic(sqe, add, 0);
}

static void wr_local_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct kwarp_sqe *sqe = wr_begin(qpx, KWARP_OP_LOCAL_INV);

	if (sqe)
		sqe->ex = invalidate_rkey;
}

/* A bind without a region (info->mr NULL) unbinds the window. */
static void wr_bind_mw(struct ibv_qp_ex *qpx, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct kwarp_sqe *sqe = begin_rdma(qpx, KWARP_OP_BIND_MW, rkey,
					   info->addr);

	if (sqe)
		kwarp_sqe_set_bind(sqe, mw, info);
}

/* ---- data ----------------------------------------------------------------- */

static void wr_set_sge_list(struct ibv_qp_ex *qpx, size_t num_sge,
			    const struct ibv_sge *sg_list)
{
	struct kwarp_qp *qp = to_kqp_ex(qpx);
	struct kwarp_sqe *sqe = qp->batch.sqe;

	if (!sqe)
		return;
	if (num_sge > qp->sq.max_sge) {
		wr_fail(qp, EINVAL);
		return;
	}
	sqe->num_sge = num_sge;
	kwarp_copy_sges(sqe + 1, sg_list, num_sge);
}

static void wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey, uint64_t addr,
		       uint32_t length)
{
	struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(qpx, 1, &sge);
}

static bool may_inline(uint8_t opcode)
{
	switch (opcode) {
	case KWARP_OP_WRITE:
	case KWARP_OP_WRITE_IMM:
	case KWARP_OP_SEND:
	case KWARP_OP_SEND_IMM:
	case KWARP_OP_SEND_INV:
		return true;
	default:
		return false;
	}
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qpx, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct kwarp_qp *qp = to_kqp_ex(qpx);
	struct kwarp_sqe *sqe = qp->batch.sqe;
	uint32_t len = 0;
	size_t i;

	if (!sqe)
		return;
	if (!may_inline(sqe->opcode)) {
		wr_fail(qp, EINVAL);
		return;
	}
	for (i = 0; i < num_buf; i++) {
		if (buf_list[i].length > qp->sq.max_inline - len) {
			wr_fail(qp, EINVAL);
			return;
		}
		if (buf_list[i].length)
			memcpy((uint8_t *)(sqe + 1) + len, buf_list[i].addr,
			       buf_list[i].length);
		len += buf_list[i].length;
	}
	sqe->flags |= KWARP_WQE_INLINE;
	sqe->inline_len = len;
}

static void wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr, size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qpx, 1, &buf);
}

void kwarp_set_wr_ops(struct ibv_qp_ex *qpx)
{
	qpx->wr_abort = wr_abort;
	qpx->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qpx->wr_atomic_fetch_add = wr_atomic_fetch_add;
	qpx->wr_bind_mw = wr_bind_mw;
	qpx->wr_complete = wr_complete;
	qpx->wr_local_inv = wr_local_inv;
	qpx->wr_rdma_read = wr_rdma_read;
	qpx->wr_rdma_write = wr_rdma_write;
	qpx->wr_rdma_write_imm = wr_rdma_write_imm;
	qpx->wr_send = wr_send;
	qpx->wr_send_imm = wr_send_imm;
	qpx->wr_send_inv = wr_send_inv;
	qpx->wr_set_inline_data = wr_set_inline_data;
	qpx->wr_set_inline_data_list = wr_set_inline_data_list;
	qpx->wr_set_sge = wr_set_sge;
	qpx->wr_set_sge_list = wr_set_sge_list;
	qpx->wr_start = wr_start;
}
