// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Segmentation of messages into ULPDUs. The lower layer collects them in a batch, which
 * is pushed to the transport in one call.
 */
#include "rdmap/tx.h"

#include "core/mem.h"
#include "llp/llp.h"
#include "proto/ddp.h"
#include "proto/rdmap.h"
#include "rdmap/place.h"
#include "trace.h"

/**
 * struct tx_source - the payload of the message in progress, and its next ULPDUs
 * @src:	contiguous piece that is loaded
 * @qp:		queue pair
 * @cache:	region cache of the pass: an invalidation waits while it holds the region
 * @piece:	@src.n when msg->cur_off was last updated
 * @want:	what the next ULPDUs should carry
 * @h:		DDP header of the next ULPDU
 * @refused:	error to report to the peer if a source could not be loaded
 */
struct tx_source {
	struct kwarp_payload_source src;
	struct kwarp_qp *qp;
	struct kwarp_mr_cache cache;
	u32 piece;
	struct kwarp_ulpdu_want want;
	struct kwarp_ddp_hdr h;
	enum kwarp_err refused;
};

static int load_region(struct tx_source *s, u32 stag, u64 addr, u32 len,
		       int access)
{
	struct kwarp_mr_range range = {
		.pd = s->qp->ibqp.pd,
		.stag = stag,
		.access = access,
		.addr = addr,
		.len = len,
	};
	enum kwarp_mem_err err;

	s->src.p = kwarp_mr_near(&s->cache, &range);
	if (!s->src.p) {
		err = kwarp_mr_access(&s->cache, &range);
		if (err) {
			s->refused = kwarp_rx_request_err(err);
			return -EACCES;
		}
	}
	s->src.n = min_t(u32, len, KWARP_TX_PIECE);
	range.len = s->src.n;
	if (!s->src.p)
		s->src.p = kwarp_mr_locate(&s->cache, &range, &s->src.n);
	return 0;
}

/* Locate the next piece, while none is loaded. */
static int source_locate(struct tx_source *s)
{
	struct kwarp_tx_msg *msg = &s->qp->tx.msg;
	const struct kwarp_ird_entry *in;
	const struct kwarp_sge *sge;

	if (msg->data) {
		s->src.p = msg->data + msg->cur_off;
		s->src.n = msg->len - msg->cur_off;
		return 0;
	}
	if (msg->kind == KWARP_TX_RESPONSE) {
		/* The consumer may have withdrawn the right since the request was accepted. */
		if (!(READ_ONCE(s->qp->access) & IB_ACCESS_REMOTE_READ)) {
			s->refused = KWARP_ERR_RDMAP_ACCESS;
			return -EACCES;
		}
		in = kwarp_rx_inread(&s->qp->rx, s->qp->rx.in_head);
		return load_region(s, in->src_stag, in->src_to + msg->cur_off,
				   msg->len - msg->cur_off,
				   IB_ACCESS_REMOTE_READ);
	}
	for (;; msg->cur_sge++, msg->cur_off = 0) {
		sge = &s->qp->tx.wqe->sge[msg->cur_sge];
		if (msg->cur_off != sge->length)
			break;
	}
	return load_region(s, sge->lkey, sge->addr + msg->cur_off,
			   sge->length - msg->cur_off, 0);
}

/* Add the bytes consumed from the loaded piece to msg->cur_off. */
static void source_settle(struct tx_source *s)
{
	s->qp->tx.msg.cur_off += s->piece - s->src.n;
	s->piece = s->src.n;
}

/* Load the first piece. Return: 0, or -EACCES if the STag does not permit the access. */
static __always_inline int source_load(struct tx_source *s)
{
	int ret = source_locate(s);

	s->piece = s->src.n;
	return ret;
}

/* Load the next piece. Return: as source_load(). */
static int source_next(struct kwarp_payload_source *src)
{
	struct tx_source *s = container_of(src, struct tx_source, src);

	source_settle(s);
	return source_load(s);
}

/* Unload the piece: the next ULPDU begins in another message or at another offset. */
static void source_reset(struct tx_source *s)
{
	s->src.n = 0;
	s->piece = 0;
}

/* Fill in all fields but h->last, which the lower layer sets. */
static void ddp_header(const struct kwarp_qp *qp, struct kwarp_ddp_hdr *h)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;

	h->tagged = msg->tagged;
	h->dv = kwarp_qp_version(qp);
	h->rv = h->dv;
	h->opcode = msg->opcode;
	if (msg->tagged) {
		h->stag = msg->stag;
		h->to = msg->to + msg->done;
	} else {
		h->inv_stag = msg->inv_stag;
		h->qn = msg->qn;
		h->msn = msg->msn;
		h->mo = msg->done;
	}
}

static void message_sent(struct kwarp_qp *qp)
{
	struct kwarp_tx_msg *msg = &qp->tx.msg;

	if (msg->imm) {
		kwarp_tx_immediate(qp);
		return;
	}
	if (msg->kind == KWARP_TX_RESPONSE)
		qp->rx.in_head++;
	else if (msg->kind == KWARP_TX_SQ &&
		 msg->qn != KWARP_QN_READ)
		kwarp_tx_mark_sent(qp);
	msg->kind = KWARP_TX_IDLE;
}

/*
 * The access was permitted when the Read Request arrived, and is not any more: @err. The
 * Terminate quotes the request, updated to the bytes not yet transferred (RFC 5040 4.8).
 * The received header was not kept, so rebuild it.
 */
static void response_error(struct kwarp_qp *qp, u32 done, enum kwarp_err err)
{
	const struct kwarp_rx *rx = &qp->rx;
	const struct kwarp_ird_entry *in = kwarp_rx_inread(&qp->rx, rx->in_head);
	const struct kwarp_ddp_hdr h = {
		.last = true,
		.dv = kwarp_qp_version(qp),
		.rv = kwarp_qp_version(qp),
		.opcode = RDMAP_READ_REQUEST,
		.qn = KWARP_QN_READ,
		.msn = rx->read_msn - (rx->in_tail - rx->in_head),
	};
	const struct kwarp_rdmap_read left = {
		.sink_stag = in->sink_stag,
		.sink_to = in->sink_to + done,
		.len = in->len - done,
		.src_stag = in->src_stag,
		.src_to = in->src_to + done,
	};
	struct kwarp_tx *tx = &qp->tx;

	static_assert(sizeof(tx->failed_seg) >=
		      KWARP_DDP_UNTAGGED_LEN + KWARP_RDMAP_READ_LEN);
	tx->failed_len = kwarp_ddp_encode(&h, tx->failed_seg);
	tx->failed_len += kwarp_rdmap_read_encode(&left, tx->failed_seg +
							 tx->failed_len);
	tx->failed = err;
}

static void source_error(struct kwarp_qp *qp, enum kwarp_err err)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;

	/* The message stays incomplete on the wire, and the Terminate follows. */
	if (msg->kind == KWARP_TX_RESPONSE)
		response_error(qp, msg->done, err);
	else
		kwarp_tx_local_error(qp, msg->slot, KWARP_WC_LOC_PROT_ERR);
}

/* Describe the rest of the message; the lower layer chooses the lengths of the ULPDUs. */
static void describe_rest(const struct kwarp_qp *qp, struct kwarp_ulpdu_want *w)
{
	const struct kwarp_tx_msg *msg = &qp->tx.msg;

	w->hdr_len = msg->raw ? 0 : kwarp_ddp_hdr_len(msg->tagged);
	/* A Read Request may ask for 2^32 - 1 bytes: keep left + hdr_len within 32 bits. */
	w->left = min_t(u32, msg->len - msg->done, KWARP_MAX_MSG_SIZE);
	w->next_len = unlikely(qp->params.ack) && kwarp_tx_ack_read_follows(qp) ?
		    KWARP_DDP_UNTAGGED_LEN + KWARP_RDMAP_READ_LEN : 0;
	/* Not for long messages, nor for inline data and headers (msg->data). */
	w->may_split = !msg->done && !msg->data && msg->len <= KWARP_TX_FILL_LEN &&
		  !qp->params.ack;
}

/* Add the next ULPDUs of the message to the batch. Return: as llp->ops->put(). */
static int build_some(struct kwarp_llp *llp, struct tx_source *s)
{
	struct kwarp_qp *qp = s->qp;
	struct kwarp_tx_msg *msg = &qp->tx.msg;
	u32 cur_off = msg->cur_off;
	u16 cur_sge = msg->cur_sge;
	int ret = 0;
	u32 left;

	describe_rest(qp, &s->want);
	left = s->want.left;
	ddp_header(qp, &s->h);
	if (left && !s->src.n)
		ret = source_load(s);
	if (!ret)
		ret = kwarp_llp_put_ulpdu(llp, msg->raw ? NULL : &s->h, &s->want, &s->src);
	if (ret < 0) {
		msg->cur_sge = cur_sge;
		msg->cur_off = cur_off;
		source_reset(s);
		return ret;
	}
	source_settle(s);
	msg->done += left - s->want.left;
	if (msg->done == msg->len) {
		source_reset(s);
		message_sent(qp);
	}
	return ret;
}

/*
 * Return: what is due now, if @due was due before. What precedes the send queue was not due then,
 * and while a batch is built only our own messages make it due: a response that waits for its turn,
 * or an acknowledging read. Otherwise the send queue goes on, and kwarp_tx_next() finds out whether
 * it has another element. A failed request ends the batch.
 */
static enum kwarp_tx_kind due_after(const struct kwarp_qp *qp, const struct kwarp_llp *llp,
				    enum kwarp_tx_kind due)
{
	if (due == KWARP_TX_SQ && qp->rx.in_head == qp->rx.in_tail && !qp->tx.unacked)
		return KWARP_TX_SQ;
	return kwarp_tx_due(qp, llp);
}

/*
 * Add messages, the next one of kind *@due, until the batch is full or nothing is due; then *@due
 * is set to KWARP_TX_IDLE. Return: as llp->ops->put().
 */
static int build_all(struct kwarp_llp *llp, struct tx_source *s, enum kwarp_tx_kind *due)
{
	struct kwarp_qp *qp = s->qp;
	struct kwarp_tx *tx = &qp->tx;
	int ret = 0;

	while (!tx->failed && !ret) {
		if (tx->msg.kind == KWARP_TX_IDLE && !kwarp_tx_next(qp, *due, &s->cache)) {
			*due = KWARP_TX_IDLE;
			break;
		}
		ret = build_some(llp, s);
		if (ret == -EACCES) {
			source_error(qp, s->refused);
			ret = 0;
		}
		if (tx->msg.kind == KWARP_TX_IDLE)
			*due = due_after(qp, llp, *due);
	}
	return ret;
}

/**
 * kwarp_tx_build() - build a batch of ULPDUs
 * @qp:		attached queue pair
 * @llp:	its connection
 * @due:	from kwarp_tx_due(); set to KWARP_TX_IDLE if the batch has everything that was due
 *
 * A work request or response that fails sets tx->failed and ends the batch.
 *
 * Return: bytes built, 0 if there is nothing to send now, -ENOMEM.
 * Context: socket lock held, no batch open.
 */
int kwarp_tx_build(struct kwarp_qp *qp, struct kwarp_llp *llp, enum kwarp_tx_kind *due)
{
	struct tx_source s = {
		.src.next = source_next, .qp = qp, .cache.user = &qp->memory,
	};
	struct kwarp_tx *tx = &qp->tx;
	struct kwarp_llp_counts counts;
	int len, ret;

	kwarp_llp_assert_locked(llp);
	tx->locals = tx->state == KWARP_TX_ANSWERING ? KWARP_TX_LOCALS : 0;
	tx->failed_status = KWARP_WC_SUCCESS;
	tx->failed_len = 0;

	/* An invalidation spins until s.cache is put: do not sleep, keep softirqs out. */
	local_bh_disable();
	ret = llp->ops->batch_begin(llp);
	if (ret)
		goto out;
	ret = build_all(llp, &s, due);
	len = llp->ops->batch_end(llp, &counts);
	kwarp_mr_cache_put(&s.cache);
	kwarp_qp_count_n(qp, KWARP_STAT_TX_FPDUS, counts.frames);
	kwarp_qp_count_n(qp, KWARP_STAT_TX_OCTETS, counts.bytes);
	if (counts.markers)
		kwarp_qp_count_n(qp, KWARP_STAT_TX_MARKERS, counts.markers);
	ret = len ? : min(ret, 0);
out:
	local_bh_enable();
	return ret;
}
