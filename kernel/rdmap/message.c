// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Selection and start of the next message to send. Messages are not interleaved (RFC 5041
 * 5.3); responses and the send queue take turns, so neither starves.
 */
#include "rdmap/tx.h"

#include <linux/once.h>
#include <linux/siphash.h>

#include "core/mem.h"
#include "llp/llp.h"
#include "proto/rdmap.h"
#include "trace.h"

static void msg_start(struct kwarp_tx_msg *msg, u8 kind, u8 opcode, u32 len)
{
	memset(msg, 0, sizeof(*msg));
	msg->kind = kind;
	msg->opcode = opcode;
	msg->len = len;
}

/* ---- errors --------------------------------------------------------------- */

/**
 * kwarp_tx_local_error() - fail a work request
 * @qp:		queue pair
 * @slot:	SQ slot of the request
 * @status:	enum kwarp_wc_status
 *
 * The engine completes the request and raises the error after it has pushed the batch: earlier
 * requests succeed if the transport has accepted their bytes (RFC 5040 5.5 rule 14).
 */
void kwarp_tx_local_error(struct kwarp_qp *qp, u32 slot, u8 status)
{
	struct kwarp_tx *tx = &qp->tx;

	kwarp_qp_assert_locked(qp);
	tx->failed = KWARP_ERR_RDMAP_LOCAL;
	tx->failed_status = status;
	tx->failed_slot = slot;
}

/**
 * kwarp_tx_terminate() - build nothing more, send a Terminate and FIN
 * @qp:		queue pair
 * @err:	error to report
 * @seg:	as for kwarp_qp_terminate(), the only caller
 * @seg_len:	as for kwarp_qp_terminate()
 * @ulpdu_len:	as for kwarp_qp_terminate()
 */
void kwarp_tx_terminate(struct kwarp_qp *qp, const struct kwarp_term_err *err,
			const u8 *seg, u32 seg_len, u32 ulpdu_len)
{
	struct kwarp_tx *tx = &qp->tx;

	kwarp_qp_assert_locked(qp);
	if (tx->state >= KWARP_TX_STOPPED)
		return;
	kwarp_tx_to(tx, KWARP_TX_STOPPED);
	tx->held = false;
	tx->msg.kind = KWARP_TX_IDLE;
	tx->term_len = kwarp_term_encode(tx->term_msg, kwarp_qp_version(qp),
					 err, seg, seg_len, ulpdu_len);
	kwarp_qp_count(qp, KWARP_STAT_TX_TERMINATE);
	trace_kwarp_terminate_sent(qp, err);
	kwarp_qp_warn_terminate(qp, "sent", err);
}

/* Bits of a sink STag that can be predicted. */
#define STAG_INDEX	0xff

static_assert(KWARP_MAX_ORD < STAG_INDEX);

/* ---- reads ---------------------------------------------------------------- */

static u32 reads_outstanding(const struct kwarp_rx *rx)
{
	return rx->read_tail - rx->read_head;
}

/* RFC 5040 8.1.1: difficult to predict; but different from those of other outstanding requests. */
static u32 sink_stag(const struct kwarp_tx *tx, u32 index)
{
	static hsiphash_key_t key __read_mostly;

	get_random_once(&key, sizeof(key));
	return (hsiphash_1u32(tx->stag_base + index, &key) & ~STAG_INDEX) | (index & STAG_INDEX);
}

/* Allocate an entry for an outstanding request, which becomes the message in progress. */
static struct kwarp_read *request_start(struct kwarp_qp *qp, u8 kind, u8 opcode,
					u32 hdr_len)
{
	struct kwarp_tx *tx = &qp->tx;
	struct kwarp_rx *rx = &qp->rx;
	struct kwarp_read *rd = kwarp_rx_read(rx, rx->read_tail);

	memset(rd, 0, sizeof(*rd));
	rd->atomic = opcode == RDMAP_ATOMIC_REQUEST;
	rd->internal = kind != KWARP_TX_SQ;
	rd->sink_stag = sink_stag(tx, rx->read_tail++);

	msg_start(&tx->msg, kind, opcode, hdr_len);
	tx->msg.qn = KWARP_QN_READ;
	tx->msg.msn = tx->read_msn++;
	tx->msg.data = tx->ctrl;
	return rd;
}

static struct kwarp_read *read_start(struct kwarp_qp *qp, u8 kind, u32 len,
				     u32 src_stag, u64 src_to)
{
	struct kwarp_read *rd = request_start(qp, kind, RDMAP_READ_REQUEST,
					      KWARP_RDMAP_READ_LEN);
	struct kwarp_rdmap_read req = {
		.sink_stag = rd->sink_stag,
		.len = len,
		.src_stag = src_stag,
		.src_to = src_to,
	};

	rd->len = len;
	kwarp_rdmap_read_encode(&req, qp->tx.ctrl);
	return rd;
}

static struct kwarp_read *atomic_start(struct kwarp_qp *qp,
				       const struct kwarp_sqe *sqe)
{
	bool swap = sqe->opcode == KWARP_OP_CMP_SWAP;
	struct kwarp_read *rd = request_start(qp, KWARP_TX_SQ,
					      RDMAP_ATOMIC_REQUEST,
					      KWARP_RDMAP_ATOMIC_REQ_LEN);
	struct kwarp_rdmap_atomic req = {
		.aop = swap ? KWARP_AOP_CMP_SWAP : KWARP_AOP_FETCH_ADD,
		.req_id = rd->sink_stag,
		.stag = sqe->rkey,
		.to = sqe->raddr,
		.data = swap ? sqe->arg[1] : sqe->arg[0],
		.mask = swap ? sqe->arg[3] : sqe->arg[2],
		.compare = sqe->arg[0],
		.compare_mask = sqe->arg[2],
	};

	rd->len = sizeof(u64);
	kwarp_rdmap_atomic_encode(&req, qp->tx.ctrl);
	return rd;
}

/* Do all elements of the request in tx->wqe permit this access? */
static bool elements_ok(struct kwarp_qp *qp, struct kwarp_mr_cache *cache, int access)
{
	const struct kwarp_sqe_copy *wqe = qp->tx.wqe;
	int i;

	for (i = 0; i < wqe->hdr.num_sge; i++) {
		const struct kwarp_sge *sge = &wqe->sge[i];
		const struct kwarp_mr_range range = {
			.pd = qp->ibqp.pd,
			.stag = sge->lkey,
			.access = access,
			.addr = sge->addr,
			.len = sge->length,
		};

		if (sge->length && kwarp_mr_access(cache, &range))
			return false;
	}
	return true;
}

/*
 * A Terminate is sent instead of a wrong request (RFC 5040 7.1), so check all elements before
 * the first byte is sent. A single one is checked when it is loaded.
 */
static bool source_ok(struct kwarp_qp *qp, struct kwarp_mr_cache *cache)
{
	const struct kwarp_sqe *sqe = &qp->tx.wqe->hdr;

	return (sqe->flags & KWARP_WQE_INLINE) || sqe->num_sge < 2 || elements_ok(qp, cache, 0);
}

/* ---- send queue ------------------------------------------------------------ */

/* Start an RDMA Read or atomic. READ_INV: inv_stag is invalidated after placement. */
static noinline_for_stack bool start_read(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
					  u32 slot)
{
	const struct kwarp_sqe_copy *wqe = qp->tx.wqe;
	struct kwarp_read *rd;

	if (!elements_ok(qp, cache, IB_ACCESS_LOCAL_WRITE)) {
		kwarp_tx_local_error(qp, slot, KWARP_WC_LOC_PROT_ERR);
		return false;
	}
	if (kwarp_wr_is(wqe->hdr.opcode, KWARP_WR_ATOMIC))
		rd = atomic_start(qp, &wqe->hdr);
	else
		rd = read_start(qp, KWARP_TX_SQ, wqe->hdr.inline_len,
				wqe->hdr.rkey, wqe->hdr.raddr);
	qp->tx.msg.slot = slot;
	rd->slot = slot;
	rd->num_sge = wqe->hdr.num_sge;
	memcpy(rd->sge, wqe->sge, wqe->hdr.num_sge * sizeof(rd->sge[0]));
	rd->invalidate = wqe->hdr.opcode == KWARP_OP_READ_INV;
	rd->inv_stag = wqe->hdr.ex;
	return true;
}

static void start_send(struct kwarp_qp *qp, u32 slot)
{
	struct kwarp_tx *tx = &qp->tx;
	const struct kwarp_sqe *sqe = &tx->wqe->hdr;
	bool se = sqe->flags & KWARP_WQE_SOLICITED;
	u32 ex = 0;
	u8 opcode;

	if (sqe->opcode == KWARP_OP_SEND_INV) {
		opcode = se ? RDMAP_SEND_SE_INVAL : RDMAP_SEND_INVAL;
		ex = sqe->ex;
	} else if (sqe->opcode == KWARP_OP_SEND_IMM) {
		opcode = se ? RDMAP_SEND_SE_IMM : RDMAP_SEND_IMM;
		ex = be32_to_cpu((__force __be32)sqe->ex);
	} else {
		opcode = se ? RDMAP_SEND_SE : RDMAP_SEND;
	}
	msg_start(&tx->msg, KWARP_TX_SQ, opcode, sqe->inline_len);
	tx->msg.slot = slot;
	tx->msg.qn = KWARP_QN_SEND;
	tx->msg.msn = tx->send_msn++;
	tx->msg.inv_stag = ex;
	if (sqe->flags & KWARP_WQE_INLINE)
		tx->msg.data = tx->wqe->data;
}

static void start_write(struct kwarp_qp *qp, u32 slot)
{
	struct kwarp_tx *tx = &qp->tx;
	const struct kwarp_sqe *sqe = &tx->wqe->hdr;

	msg_start(&tx->msg, KWARP_TX_SQ, RDMAP_WRITE, sqe->inline_len);
	tx->msg.slot = slot;
	tx->msg.tagged = true;
	tx->msg.stag = sqe->rkey;
	tx->msg.to = sqe->raddr;
	tx->msg.imm = sqe->opcode == KWARP_OP_WRITE_IMM;
	if (sqe->flags & KWARP_WQE_INLINE)
		tx->msg.data = tx->wqe->data;
}

/* The RDMA Write in tx->msg has been sent: make its Immediate Data the next message. */
void kwarp_tx_immediate(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;
	const struct kwarp_sqe *sqe = &tx->wqe->hdr;
	bool se = sqe->flags & KWARP_WQE_SOLICITED;
	u32 slot = tx->msg.slot;

	kwarp_qp_assert_locked(qp);
	/* 8 bytes on the wire; verbs have 4, in network order. */
	memset(tx->ctrl, 0, KWARP_RDMAP_IMM_LEN);
	memcpy(tx->ctrl, &sqe->ex, sizeof(sqe->ex));
	msg_start(&tx->msg, KWARP_TX_SQ, se ? RDMAP_IMM_SE : RDMAP_IMM,
		  KWARP_RDMAP_IMM_LEN);
	tx->msg.slot = slot;
	tx->msg.qn = KWARP_QN_SEND;
	tx->msg.msn = tx->send_msn++;
	tx->msg.data = tx->ctrl;
}

static int do_bind(const struct kwarp_qp *qp)
{
	const struct kwarp_sqe *sqe = &qp->tx.wqe->hdr;
	struct kwarp_mw_bind bind = {
		.window = sqe->ex,
		.key = sqe->rkey,
		.lkey = sqe->arg[0],
		.addr = sqe->raddr,
		.length = sqe->arg[1],
		.access = sqe->arg[2],
	};

	return kwarp_mw_bind_region(&qp->memory, &bind);
}

/* Execute a work request that sends nothing. */
static noinline_for_stack void do_local(struct kwarp_qp *qp, struct kwarp_mr_cache *cache,
					u32 slot)
{
	const struct kwarp_sqe *sqe = &qp->tx.wqe->hdr;
	u8 status = KWARP_WC_LOC_QP_OP_ERR;
	bool failed;

	/* Invalidation waits for users of the region: release our reference. */
	kwarp_mr_cache_put(cache);
	switch (sqe->opcode) {
	case KWARP_OP_LOCAL_INV:
		failed = kwarp_mr_invalidate_local(&qp->memory, sqe->ex);
		break;
	case KWARP_OP_BIND_MW:
		failed = do_bind(qp);
		status = KWARP_WC_MW_BIND_ERR;
		break;
	default:
		failed = kwarp_mr_fast_reg((void *)(uintptr_t)sqe->arg[0],
					   qp->ibqp.pd, sqe->rkey,
					   sqe->arg[1]);
	}
	if (failed)
		kwarp_tx_local_error(qp, slot, status);
	else
		kwarp_sq_mark_built(&qp->sq, slot);
}

/* Must the element in tx->wqe wait for outstanding reads? */
static __always_inline bool must_wait(const struct kwarp_qp *qp)
{
	const struct kwarp_sqe *sqe = &qp->tx.wqe->hdr;
	bool reads = kwarp_wr_is(sqe->opcode, KWARP_WR_READ);
	u32 out;

	if (!reads && !(sqe->flags & KWARP_WQE_FENCE))
		return false;
	out = reads_outstanding(&qp->rx) - qp->tx.ack_read_out;
	if ((sqe->flags & KWARP_WQE_FENCE) && out)
		return true;
	return reads && reads_outstanding(&qp->rx) &&
	       (out >= qp->params.user_ord || reads_outstanding(&qp->rx) >= qp->params.ord);
}

/* Return: true if tx->msg is set; false if the queue supplies no message now. */
static bool next_from_sq(struct kwarp_qp *qp, struct kwarp_mr_cache *cache)
{
	struct kwarp_tx *tx = &qp->tx;
	u32 slot;
	u8 flags;
	int ret;

	/*
	 * Local requests add nothing to the batch, so their number is limited separately.
	 */
	while (!tx->failed && tx->locals < KWARP_TX_LOCALS) {
		if (!tx->held) {
			ret = kwarp_sq_fetch(&qp->sq, tx->wqe, &tx->held_slot);
			if (!ret)
				return false;
			if (ret < 0) {
				kwarp_tx_local_error(qp, tx->held_slot,
						     ret == -EMSGSIZE ?
						     KWARP_WC_LOC_LEN_ERR :
						     KWARP_WC_LOC_QP_OP_ERR);
				return false;
			}
			tx->held = true;
		}
		if (must_wait(qp))
			return false;
		tx->held = false;
		slot = tx->held_slot;

		flags = kwarp_wr_flags_of(tx->wqe->hdr.opcode);
		if ((flags & (KWARP_WR_WRITE | KWARP_WR_SEND)) && !source_ok(qp, cache)) {
			kwarp_tx_local_error(qp, slot, KWARP_WC_LOC_PROT_ERR);
			return false;
		}
		if (flags & KWARP_WR_WRITE) {
			start_write(qp, slot);
			return true;
		}
		if (flags & KWARP_WR_SEND) {
			start_send(qp, slot);
			return true;
		}
		if (flags & KWARP_WR_READ) {
			if (qp->params.user_ord)
				return start_read(qp, cache, slot);
			kwarp_tx_local_error(qp, slot, KWARP_WC_LOC_QP_OP_ERR);
			return false;
		}
		tx->locals++;
		do_local(qp, cache, slot);
	}
	return false;
}

static void start_response(struct kwarp_qp *qp)
{
	const struct kwarp_ird_entry *in = kwarp_rx_inread(&qp->rx, qp->rx.in_head);
	struct kwarp_tx *tx = &qp->tx;
	struct kwarp_tx_msg *msg = &tx->msg;

	if (in->atomic) {
		msg_start(msg, KWARP_TX_RESPONSE, RDMAP_ATOMIC_RESPONSE,
			  KWARP_RDMAP_ATOMIC_RESP_LEN);
		msg->qn = KWARP_QN_ATOMIC;
		msg->msn = tx->atomic_msn++;
		msg->data = tx->ctrl;
		kwarp_rdmap_atomic_reply_encode(in->sink_stag, in->src_to,
						tx->ctrl);
		return;
	}
	msg_start(msg, KWARP_TX_RESPONSE, RDMAP_READ_RESPONSE, in->len);
	msg->tagged = true;
	msg->stag = in->sink_stag;
	msg->to = in->sink_to;
}

/* RFC 6581 9: the initiator's first FPDU, of length zero. */
static noinline_for_stack void start_rtr(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;
	u8 opcode = tx->rtr - 1;

	tx->rtr = 0;
	if (opcode == RDMAP_READ_REQUEST) {
		read_start(qp, KWARP_TX_RTR, 0, 0, 0);
		return;
	}
	msg_start(&tx->msg, KWARP_TX_RTR, opcode, 0);
	tx->msg.tagged = opcode == RDMAP_WRITE;
	if (!tx->msg.tagged)
		tx->msg.msn = tx->send_msn++;
}

static noinline_for_stack void start_ack_read(struct kwarp_qp *qp)
{
	struct kwarp_read *rd = read_start(qp, KWARP_TX_ACK_READ, 0, 0, 0);

	rd->acks = true;
	rd->slot = kwarp_tx_ack_read_sent(qp);
}

static void start_terminate(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	msg_start(&tx->msg, KWARP_TX_TERMINATE, RDMAP_TERMINATE, tx->term_len);
	tx->term_len = 0;
	tx->msg.raw = true;
	tx->msg.data = tx->term_msg;
}

/* The engine is started, and a responder has got the first FPDU (RFC 5044 7.1.2). */
static bool may_send(const struct kwarp_qp *qp)
{
	return (qp->tx.state == KWARP_TX_RUNNING ||
		qp->tx.state == KWARP_TX_CLOSING) &&
	       !(qp->params.wait_first && !qp->rx.got_first);
}

/* Do the states of engine and QP allow an element to be taken from the send queue? */
bool kwarp_tx_can_fetch(const struct kwarp_qp *qp)
{
	return may_send(qp) && !qp->tx.held &&
	       kwarp_qp_traits_now(qp)->sends && qp->tx.msg.kind == KWARP_TX_IDLE;
}

/*
 * After the first FPDU, a responder answers read requests even before kwarp_qp_start(), so
 * that requests before an error are answered, but not before the MPA reply is sent.
 */
static bool may_answer(const struct kwarp_qp *qp, const struct kwarp_llp *llp)
{
	if (qp->tx.state == KWARP_TX_ANSWERING)
		return true;
	return qp->params.wait_first && qp->rx.got_first && llp->startup_sent &&
	       qp->tx.state < KWARP_TX_STOPPED;
}

/* May the send queue supply a message? Its head is unread: it may send nothing, or fail. */
static bool sq_due(const struct kwarp_qp *qp)
{
	if (qp->tx.held)
		return !must_wait(qp);
	return kwarp_qp_traits_now(qp)->sends && kwarp_sq_pending(&qp->sq);
}

/**
 * kwarp_tx_due() - kind of the message in progress, or of the one to be sent next
 * @qp:		attached queue pair
 * @llp:	its connection
 *
 * The only function that defines the precedence of messages; due_after() (build.c) is a shortcut.
 * While may_send() is false, only a Terminate is due, or responses if may_answer().
 *
 * Return: the kind; %KWARP_TX_SQ if the send queue has an element, even if the element
 * turns out to send nothing, to fail or to wait. Context: socket lock held.
 */
enum kwarp_tx_kind kwarp_tx_due(const struct kwarp_qp *qp,
				const struct kwarp_llp *llp)
{
	bool inread = qp->rx.in_head != qp->rx.in_tail;
	const struct kwarp_tx *tx = &qp->tx;

	kwarp_qp_assert_locked(qp);
	if (tx->msg.kind != KWARP_TX_IDLE)
		return tx->msg.kind;
	if (tx->term_len)
		return KWARP_TX_TERMINATE;
	if (!may_send(qp))
		return inread && may_answer(qp, llp) ? KWARP_TX_RESPONSE :
						       KWARP_TX_IDLE;
	if (tx->rtr)
		return KWARP_TX_RTR;
	if (unlikely(tx->unacked) &&
	    kwarp_tx_ack_read_due(qp, reads_outstanding(&qp->rx)))
		return KWARP_TX_ACK_READ;
	if (inread && !tx->prefer_sq)
		return KWARP_TX_RESPONSE;
	if (sq_due(qp))
		return KWARP_TX_SQ;
	return inread ? KWARP_TX_RESPONSE : KWARP_TX_IDLE;
}

/**
 * kwarp_tx_next() - start the next message
 * @qp:		attached queue pair
 * @due:	from kwarp_tx_due() or due_after()
 * @cache:	region cache of the pass
 *
 * Return: true if tx->msg describes a message. Context: as kwarp_tx_build().
 */
bool kwarp_tx_next(struct kwarp_qp *qp, enum kwarp_tx_kind due,
		   struct kwarp_mr_cache *cache)
{
	struct kwarp_tx *tx = &qp->tx;

	kwarp_qp_assert_locked(qp);
	switch (due) {
	case KWARP_TX_IDLE:
		return false;
	case KWARP_TX_TERMINATE:
		start_terminate(qp);
		break;
	case KWARP_TX_RTR:
		start_rtr(qp);
		break;
	case KWARP_TX_ACK_READ:
		start_ack_read(qp);
		break;
	case KWARP_TX_SQ:
		tx->prefer_sq = false;
		if (next_from_sq(qp, cache))
			break;
		if (tx->failed)
			return false;
		/*
		 * The elements taken send nothing. An acknowledging read may have waited for
		 * them.
		 */
		if (unlikely(tx->unacked) &&
		    kwarp_tx_ack_read_due(qp, reads_outstanding(&qp->rx))) {
			start_ack_read(qp);
			break;
		}
		if (qp->rx.in_head == qp->rx.in_tail)
			return false;
		fallthrough;
	case KWARP_TX_RESPONSE:
		tx->prefer_sq = true;
		start_response(qp);
	}
	return true;
}
