// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Receiving Sends and Immediate Data: untagged queue 0, into receive queue elements. */
#include "rdmap/place.h"

#include "core/srq.h"

static u32 recv_queue_size(const struct kwarp_qp *qp)
{
	const struct kwarp_rq *rq = qp->srq ? &qp->srq->rq : &qp->rq;

	return max(READ_ONCE(rq->size), 1U);
}

/* A receive may use memory of the protection domain of its queue. */
static struct ib_pd *recv_pd(const struct kwarp_qp *qp)
{
	return qp->srq ? qp->srq->ibsrq.pd : qp->ibqp.pd;
}

/* Return: bytes of the longest message that fits. The elements may have more room than that. */
static u64 recv_size(const struct kwarp_recv *recv)
{
	return min_t(u64, kwarp_sge_total(recv->wqe->sge, recv->wqe->hdr.num_sge),
		     KWARP_MAX_MSG_SIZE);
}

/**
 * kwarp_rx_deliver() - push pending receive completions to the CQ
 * @pass:	pass of the receive engine
 * @urgency:	of the last one
 *
 * Called before any other completion of the pass, to keep the order, and at its end.
 */
void kwarp_rx_deliver(struct kwarp_rx_pass *pass, enum kwarp_urgency urgency)
{
	if (pass->nr_cqes)
		kwarp_cq_push(pass->qp->rq.cq, pass->cqes, pass->nr_cqes,
			      urgency);
	pass->nr_cqes = 0;
}

/*
 * Begin the completion of the receive in progress. Return: where to write it; it counts from
 * recv_complete() on, before which nothing else may be delivered.
 */
static struct kwarp_cqe *recv_completion(struct kwarp_rx_pass *pass, u8 opcode, u32 byte_len)
{
	struct kwarp_cqe *cqe = &pass->cqes[pass->nr_cqes];
	struct kwarp_qp *qp = pass->qp;

	/* All fields that kwarp_cq_push() reads. The others are half of the structure. */
	cqe->wr_id = qp->rx.recv.wqe->hdr.wr_id;
	cqe->qp_num = qp->ibqp.qp_num;
	cqe->byte_len = byte_len;
	cqe->opcode = opcode;
	cqe->status = KWARP_WC_SUCCESS;
	cqe->flags = 0;
	cqe->ex = 0;
	cqe->vendor_err = 0;
	return cqe;
}

/* The completion of the receive in progress is complete. */
static void recv_complete(struct kwarp_rx_pass *pass)
{
	enum kwarp_urgency urgency = pass->op->flags & KWARP_RDMAP_F_SE ? KWARP_SOLICITED :
									  KWARP_UNSOLICITED;
	struct kwarp_rx *rx = &pass->qp->rx;

	rx->send_msn++;
	rx->written = 0;
	rx->recv.active = false;
	pass->nr_cqes++;
	if (urgency != KWARP_UNSOLICITED || pass->nr_cqes == KWARP_RX_CQES)
		kwarp_rx_deliver(pass, urgency);
}

/* Complete the receive in progress with an error. Return: @err, which the caller raises. */
static enum kwarp_err recv_failed(struct kwarp_rx_pass *pass, u8 status, enum kwarp_err err)
{
	struct kwarp_recv *recv = &pass->qp->rx.recv;
	struct kwarp_cqe cqe = {
		.wr_id = recv->wqe->hdr.wr_id,
		.opcode = KWARP_OP_RECV,
		.status = status,
		.byte_len = recv->len,
	};

	kwarp_rx_deliver(pass, KWARP_UNSOLICITED);
	recv->active = false;
	kwarp_qp_our_err(pass->qp, err);
	kwarp_rq_complete(&pass->qp->rq, &cqe);
	return err;
}

/* Take from the QP's own queue or the shared one. Return: as kwarp_rq_take(). */
static int take_receive(struct kwarp_qp *qp, struct kwarp_rqe_copy *wqe)
{
	if (!qp->srq)
		return kwarp_rq_take(&qp->rq, wqe);
	return kwarp_qp_failed(qp) ? -ENOBUFS : kwarp_srq_fetch(qp->srq, wqe);
}

/* Take a receive for a message that begins. */
static enum kwarp_err recv_start(struct kwarp_rx_pass *pass)
{
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_recv *recv = &qp->rx.recv;
	int ret = take_receive(qp, recv->wqe);

	if (ret == -ENOBUFS)
		return KWARP_ERR_UNTAGGED_NO_BUFFER;
	recv->active = true;
	recv->cur_sge = 0;
	recv->cur_off = 0;
	recv->len = 0;
	if (ret)
		return recv_failed(pass, KWARP_WC_LOC_QP_OP_ERR, KWARP_ERR_RDMAP_LOCAL);
	recv->size = recv_size(recv);
	return KWARP_ERR_NONE;
}

static enum kwarp_err recv_place(struct kwarp_rx_pass *pass, u32 len)
{
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_recv *recv = &qp->rx.recv;

	while (len) {
		const struct kwarp_sge *sge = &recv->wqe->sge[recv->cur_sge];
		u32 n = min(len, sge->length - recv->cur_off);
		const struct kwarp_mr_range to =
			kwarp_mr_sink(recv_pd(qp), sge, recv->cur_off, n);

		if (!n) {
			recv->cur_sge++;
			recv->cur_off = 0;
			continue;
		}
		if (kwarp_rx_place(pass, to))
			return recv_failed(pass, KWARP_WC_LOC_PROT_ERR, KWARP_ERR_RDMAP_LOCAL);
		recv->cur_off += n;
		recv->len += n;
		len -= n;
	}
	return KWARP_ERR_NONE;
}

static void begin_recv_run(struct kwarp_rx_pass *pass)
{
	struct kwarp_recv *recv = &pass->qp->rx.recv;
	const struct kwarp_sge *sge = &recv->wqe->sge[recv->cur_sge];
	struct kwarp_mr_range next;

	/* A full receive may have no element there. */
	if (recv->len == recv->size)
		return;
	next = kwarp_mr_sink(recv_pd(pass->qp), sge, recv->cur_off, sge->length - recv->cur_off);
	next.len = min(next.len, recv->size - recv->len);
	kwarp_rx_begin_run(pass, &next, &recv->len, &recv->cur_off);
}

/* The payload of a Send is complete: deliver. Return: KWARP_ERR_NONE or the error to raise. */
enum kwarp_err kwarp_rx_send_done(struct kwarp_rx_pass *pass)
{
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_cqe *cqe = recv_completion(pass, KWARP_OP_RECV, qp->rx.recv.len);

	kwarp_qp_assert_locked(qp);
	if (pass->op->flags & KWARP_RDMAP_F_INVAL) {
		/* The invalidation waits for users of the region: release our reference. */
		kwarp_mr_cache_put(&pass->cache);
		pass->cost += KWARP_RX_INVALIDATION;
		if (kwarp_mr_invalidate(&qp->memory, pass->hdr.inv_stag))
			return KWARP_ERR_RDMAP_INVALIDATE;
		cqe->flags = KWARP_CQE_WITH_INV;
		cqe->ex = pass->hdr.inv_stag;
	} else if (pass->op->flags & KWARP_RDMAP_F_OWN) {
		cqe->flags = KWARP_CQE_WITH_IMM;
		cqe->ex = (__force u32)cpu_to_be32(pass->hdr.inv_stag);
	}
	recv_complete(pass);
	return KWARP_ERR_NONE;
}

/*
 * Immediate Data (RFC 7306 6) consumes a receive without filling it. Verbs report its
 * first 32 bits as those of an RDMA Write with Immediate, with the length of the preceding
 * Write.
 */
static enum kwarp_err deliver_imm(struct kwarp_rx_pass *pass)
{
	struct kwarp_cqe *cqe = recv_completion(pass, KWARP_OP_RECV_IMM, pass->qp->rx.written);

	cqe->flags = KWARP_CQE_WITH_IMM;
	memcpy(&cqe->ex, pass->u.seg + pass->hdr.len, sizeof(cqe->ex));
	recv_complete(pass);
	return KWARP_ERR_NONE;
}

static bool is_imm(const struct kwarp_rx_pass *pass)
{
	return pass->hdr.opcode == RDMAP_IMM || pass->hdr.opcode == RDMAP_IMM_SE;
}

/*
 * Segments are processed in stream order, so only the expected MSN is valid. Return: the error,
 * which is another one for the MSN that follows the last receive of a full queue.
 */
static enum kwarp_err wrong_msn(const struct kwarp_qp *qp, u32 msn)
{
	return kwarp_ddp_check_msn(msn, qp->rx.send_msn, recv_queue_size(qp)) ?:
	       KWARP_ERR_UNTAGGED_MSN;
}

/* The payload does not follow what the receive has got, or does not fit. Return: the error. */
static enum kwarp_err wrong_mo(struct kwarp_rx_pass *pass, u32 len)
{
	u32 mo = pass->hdr.mo;
	enum kwarp_err err = kwarp_ddp_check_mo(mo, len, pass->qp->rx.recv.size);

	if (err == KWARP_ERR_UNTAGGED_TOO_LONG)
		return recv_failed(pass, KWARP_WC_LOC_LEN_ERR, err);
	return err ?: KWARP_ERR_UNTAGGED_MO;
}

enum kwarp_err kwarp_rx_send(struct kwarp_rx_pass *pass, u32 len)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_rx *rx = &qp->rx;
	enum kwarp_err err;

	kwarp_qp_assert_locked(pass->qp);
	if (unlikely(h->msn != rx->send_msn))
		return wrong_msn(qp, h->msn);
	if (unlikely(kwarp_rx_rtr_due(qp))) {
		if (h->mo)
			return KWARP_ERR_UNTAGGED_MO;
		/* An RTR indication (RFC 6581 flag B) consumes no receive. */
		rx->send_msn++;
		return KWARP_ERR_NONE;
	}
	/* Another message begins before the one in progress is complete. */
	if (rx->recv.active && is_imm(pass))
		return KWARP_ERR_UNTAGGED_MO;
	if (!rx->recv.active) {
		if (h->mo)
			return KWARP_ERR_UNTAGGED_MO;
		err = recv_start(pass);
		if (err)
			return err;
		if (is_imm(pass))
			return deliver_imm(pass);
	}
	if (unlikely(h->mo != rx->recv.len || len > rx->recv.size - rx->recv.len))
		return wrong_mo(pass, len);
	err = recv_place(pass, len);
	if (err)
		return err;
	if (h->last)
		return kwarp_rx_send_done(pass);
	begin_recv_run(pass);
	return KWARP_ERR_NONE;
}
