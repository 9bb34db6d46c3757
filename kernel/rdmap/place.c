// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Checks, placement and delivery of a DDP segment, by its opcode. DDP's checks (RFC 5041
 * 7.1) precede RDMAP's (RFC 5040 7.2); both precede placement.
 */
#include "rdmap/place.h"

#include "proto/mpa_startup.h"
#include "proto/terminate.h"
#include "rdmap/early.h"
#include "rdmap/tx.h"
#include "trace.h"

/**
 * kwarp_rx_copy() - copy the next payload bytes to memory
 * @pass:	pass, with the ULPDU in progress
 * @mr:		region, checked for the range
 * @addr:	address in it
 * @len:	bytes
 */
void kwarp_rx_copy(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr, u64 addr, u32 len)
{
	while (len) {
		u32 room = len;
		u8 *dst = kwarp_mr_ptr(mr, addr, &room);

		addr += room;
		len -= room;
		kwarp_rx_take_payload(pass, dst, room);
	}
}

/* kwarp_rx_place() for memory that the pass has not located yet, or that may hold the bytes. */
noinline enum kwarp_mem_err kwarp_rx_place_anew(struct kwarp_rx_pass *pass,
						struct kwarp_mr_range to)
{
	enum kwarp_mem_err err = kwarp_mr_access(&pass->cache, &to);

	if (err)
		return err;
	if (unlikely(pass->early) &&
	    kwarp_early_is_placed(pass, pass->cache.mr, to.addr, to.len))
		return KWARP_MEM_OK;
	while (to.len) {
		u32 n;
		u8 *dst = kwarp_mr_locate(&pass->cache, &to, &n);

		to.addr += n;
		to.len -= n;
		kwarp_rx_take_payload(pass, dst, n);
	}
	return KWARP_MEM_OK;
}

/**
 * kwarp_rx_begin_run() - let the next segments of the message be placed without a lookup
 * @pass:	pass, whose segment in progress was placed and does not end its message
 * @next:	memory for the payload of the segments that follow
 * @filled:	counter of the message's bytes placed
 * @filled_element: counter of the scatter element's, or NULL
 *
 * No run begins if the pass has not located that memory.
 */
void kwarp_rx_begin_run(struct kwarp_rx_pass *pass, const struct kwarp_mr_range *next,
			u32 *filled, u32 *filled_element)
{
	const struct kwarp_mr_range *near = &pass->cache.near;
	struct kwarp_mr_range first = *next;
	struct kwarp_rx_run *run = &pass->run;

	if (unlikely(pass->early) || !next->len)
		return;
	first.len = 1;
	run->dst = kwarp_mr_near(&pass->cache, &first);
	if (!run->dst)
		return;
	run->room = min(next->len, near->len - (next->addr - near->addr));
	run->need = next->access & IB_ACCESS_REMOTE_WRITE;
	run->filled[0] = filled;
	run->filled[1] = filled_element ?: &run->no_element;
}

/* ---- tagged ----------------------------------------------------------------- */

/* Error of a refused access: by a tagged segment (DDP), or by a request (RDMAP). */
static const struct {
	enum kwarp_err tagged;
	enum kwarp_err source;
} mem_errs[] = {
	[KWARP_MEM_OK]		= { KWARP_ERR_NONE, KWARP_ERR_NONE },
	[KWARP_MEM_STAG]	= { KWARP_ERR_TAGGED_STAG, KWARP_ERR_RDMAP_STAG },
	[KWARP_MEM_PD]		= { KWARP_ERR_TAGGED_STREAM, KWARP_ERR_RDMAP_ASSOC },
	[KWARP_MEM_ACCESS]	= { KWARP_ERR_TAGGED_ACCESS, KWARP_ERR_RDMAP_ACCESS },
	[KWARP_MEM_WRAP]	= { KWARP_ERR_TAGGED_WRAP, KWARP_ERR_RDMAP_WRAP },
	[KWARP_MEM_BOUNDS]	= { KWARP_ERR_TAGGED_BOUNDS, KWARP_ERR_RDMAP_BOUNDS },
};

static void write_done(struct kwarp_qp *qp)
{
	qp->rx.written = qp->rx.write_len;
	qp->rx.write_len = 0;
}

static enum kwarp_err do_write(struct kwarp_rx_pass *pass, u32 len)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_mr_range to = {
		.pd = qp->ibqp.pd,
		.stag = h->stag,
		.access = IB_ACCESS_REMOTE_WRITE,
		.addr = h->to,
		.len = len,
	};
	enum kwarp_mem_err err;

	/* RFC 5041 5.2: STag and TO of an empty message are not checked. */
	if (len) {
		if (!(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_WRITE))
			return KWARP_ERR_TAGGED_ACCESS;
		err = kwarp_rx_place(pass, to);
		if (err)
			return mem_errs[err].tagged;
	}
	qp->rx.write_len += len;
	if (h->last) {
		write_done(qp);
		return KWARP_ERR_NONE;
	}
	to.addr += len;
	to.len = U32_MAX;
	kwarp_rx_begin_run(pass, &to, &qp->rx.write_len, NULL);
	return KWARP_ERR_NONE;
}

/* Complete the oldest outstanding read or atomic. Return: KWARP_ERR_NONE or an error. */
enum kwarp_err kwarp_rx_read_done(struct kwarp_rx_pass *pass,
				  struct kwarp_read *rd)
{
	struct kwarp_qp *qp = pass->qp;
	u8 status = KWARP_WC_SUCCESS;

	qp->rx.read_head++;
	pass->answers = true;
	if (rd->acks)
		qp->tx.ack_read_out = false;
	/* The response shows that the peer has received everything before the request. */
	if (qp->params.ack && (rd->acks || !rd->internal))
		kwarp_sq_ack(&qp->sq, rd->slot);
	if (rd->internal)
		return KWARP_ERR_NONE;
	if (rd->invalidate) {
		kwarp_mr_cache_put(&pass->cache);
		pass->cost += KWARP_RX_INVALIDATION;
		if (kwarp_mr_invalidate_local(&qp->memory, rd->inv_stag)) {
			status = KWARP_WC_LOC_QP_OP_ERR;
			kwarp_qp_our_err(qp, KWARP_ERR_RDMAP_LOCAL);
		}
	}
	kwarp_sq_complete(&qp->sq, rd->slot, status);
	return status ? KWARP_ERR_RDMAP_LOCAL : KWARP_ERR_NONE;
}

/**
 * kwarp_rx_read_place() - scatter the response to one of our reads or atomics
 * @pass:	pass of the receive engine
 * @rd:		the oldest outstanding read or atomic
 * @len:	number of bytes, at most those still missing
 *
 * Return: KWARP_ERR_NONE, or the error to raise; then the work request has completed.
 */
enum kwarp_err kwarp_rx_read_place(struct kwarp_rx_pass *pass, struct kwarp_read *rd, u32 len)
{
	struct kwarp_qp *qp = pass->qp;

	while (len) {
		const struct kwarp_sge *sge = &rd->sge[rd->cur_sge];
		u32 n = min(len, sge->length - rd->cur_off);
		const struct kwarp_mr_range to =
			kwarp_mr_sink(qp->ibqp.pd, sge, rd->cur_off, n);

		if (!n) {
			rd->cur_sge++;
			rd->cur_off = 0;
			continue;
		}
		if (kwarp_rx_place(pass, to)) {
			/* The consumer has invalidated the sink STag meanwhile. */
			if (qp->params.ack)
				kwarp_sq_ack(&qp->sq, rd->slot);
			kwarp_qp_our_err(qp, KWARP_ERR_RDMAP_LOCAL);
			kwarp_sq_complete(&qp->sq, rd->slot, KWARP_WC_LOC_PROT_ERR);
			return KWARP_ERR_RDMAP_LOCAL;
		}
		rd->cur_off += n;
		rd->done += n;
		len -= n;
	}
	return KWARP_ERR_NONE;
}

/* The L flag must be in the segment that ends the response: the run ends before its last byte. */
static void begin_read_run(struct kwarp_rx_pass *pass, struct kwarp_read *rd)
{
	const struct kwarp_sge *sge = &rd->sge[rd->cur_sge];
	u32 room = min(sge->length - rd->cur_off, rd->len - rd->done - 1);
	const struct kwarp_mr_range next =
		kwarp_mr_sink(pass->qp->ibqp.pd, sge, rd->cur_off, room);

	kwarp_rx_begin_run(pass, &next, &rd->done, &rd->cur_off);
}

/*
 * Responses come in the order of the requests (RFC 5040 5.5), and segments are processed
 * in stream order. So only the next byte of the oldest read is valid.
 */
static enum kwarp_err do_read_response(struct kwarp_rx_pass *pass, u32 len)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_rx *rx = &pass->qp->rx;
	struct kwarp_read *rd;
	enum kwarp_err err;
	u32 left;

	if (rx->read_head == rx->read_tail)
		return KWARP_ERR_RDMAP_OPCODE;
	rd = kwarp_rx_read(rx, rx->read_head);
	if (rd->atomic)
		return KWARP_ERR_RDMAP_OPCODE;
	left = rd->len - rd->done;
	/* RFC 5041 5.2: STag and TO of an empty segment are not checked. */
	if (len) {
		if (h->stag != rd->sink_stag)
			return KWARP_ERR_TAGGED_STAG;
		if (h->to + len < h->to)
			return KWARP_ERR_TAGGED_WRAP;
		if (h->to != rd->sink_to + rd->done || len > left)
			return KWARP_ERR_TAGGED_BOUNDS;
	}
	/* The Last flag must agree with the length requested. */
	if (h->last ? len != left : len == left)
		return KWARP_ERR_TAGGED_BOUNDS;
	err = kwarp_rx_read_place(pass, rd, len);
	if (err)
		return err;
	if (h->last)
		return kwarp_rx_read_done(pass, rd);
	/* The segments of a run are compared with this one. */
	if (len)
		begin_read_run(pass, rd);
	return KWARP_ERR_NONE;
}

/* ---- untagged, queues 1 and 2 ----------------------------------------------- */

enum kwarp_err kwarp_rx_request_err(enum kwarp_mem_err err)
{
	return mem_errs[err].source;
}

/**
 * kwarp_rx_check_request() - check order, MSN and room for the answer of a request on queue 1
 * @pass:	pass, with a Read or Atomic Request in progress
 *
 * Return: KWARP_ERR_NONE or the error to raise.
 */
enum kwarp_err kwarp_rx_check_request(struct kwarp_rx_pass *pass)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	const struct kwarp_qp *qp = pass->qp;
	const struct kwarp_rx *rx = &qp->rx;
	enum kwarp_err err;

	/* Messages before it are delivered first (RFC 5041 5.4), but this Send has no end. */
	if (rx->recv.active)
		return KWARP_ERR_RDMAP_OPCODE;
	/* The queue has one buffer for each inbound read. */
	err = kwarp_ddp_check_msn(h->msn, rx->read_msn, kwarp_qp_ird_room(qp) -
							(rx->in_tail - rx->in_head));
	if (err)
		return err;
	return h->msn == rx->read_msn ? KWARP_ERR_NONE :
					KWARP_ERR_UNTAGGED_MSN;
}

/**
 * kwarp_rx_queue_answer() - take a request's entry in the queue of responses
 * @pass:	pass, with a request that was checked
 *
 * Return: the entry, which the caller fills in; the send engine reads it after the pass.
 */
struct kwarp_ird_entry *kwarp_rx_queue_answer(struct kwarp_rx_pass *pass)
{
	struct kwarp_rx *rx = &pass->qp->rx;

	rx->read_msn++;
	pass->answers = true;
	return kwarp_rx_inread(rx, rx->in_tail++);
}

static enum kwarp_err do_read_request(struct kwarp_rx_pass *pass)
{
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_rdmap_read req;
	struct kwarp_ird_entry *in;
	enum kwarp_mem_err merr;
	enum kwarp_err err;

	err = kwarp_rx_check_request(pass);
	if (err)
		return err;
	kwarp_rdmap_read_parse(pass->u.seg + pass->hdr.len, &req);
	if (req.len) {
		const struct kwarp_mr_range from = {
			.pd = qp->ibqp.pd,
			.stag = req.src_stag,
			.access = IB_ACCESS_REMOTE_READ,
			.addr = req.src_to,
			.len = req.len,
		};

		merr = kwarp_mr_access(&pass->cache, &from);
		if (merr)
			return kwarp_rx_request_err(merr);
		if (!(READ_ONCE(qp->access) & IB_ACCESS_REMOTE_READ))
			return KWARP_ERR_RDMAP_ACCESS;
	}
	in = kwarp_rx_queue_answer(pass);
	in->atomic = false;
	in->src_stag = req.src_stag;
	in->src_to = req.src_to;
	in->sink_stag = req.sink_stag;
	in->sink_to = req.sink_to;
	in->len = req.len;
	return KWARP_ERR_NONE;
}

/*
 * The peer's Terminate rejects a read or atomic and quotes its MSN; earlier ones may be
 * unanswered, too. If the MSN matches no outstanding request, assume the oldest.
 */
static void read_terminated(struct kwarp_qp *qp,
			    const struct kwarp_term_msg *term)
{
	const struct kwarp_term_err *err = &term->err;
	struct kwarp_rx *rx = &qp->rx;
	u32 out = rx->read_tail - rx->read_head;
	u32 back = qp->tx.read_msn - term->ddp.msn;
	const struct kwarp_read *rd;

	if (!out || err->layer != KWARP_LAYER_RDMAP)
		return;
	if (!back || back > out)
		back = out;
	rd = kwarp_rx_read(rx, rx->read_tail - back);
	if (rd->internal)
		return;
	if (qp->params.ack)
		kwarp_sq_ack(&qp->sq, rd->slot);
	if (err->etype == KWARP_RDMAP_PROTECTION)
		kwarp_sq_complete(&qp->sq, rd->slot, KWARP_WC_REM_ACCESS_ERR);
	else if (err->etype == KWARP_RDMAP_OPERATION)
		kwarp_sq_complete(&qp->sq, rd->slot, KWARP_WC_REM_OP_ERR);
}

/* Completion status that InfiniBand consumers expect for a Terminate of the peer. */
static u8 term_status(const struct kwarp_term_err *err)
{
	if (err->layer == KWARP_LAYER_RDMAP)
		return err->etype == KWARP_RDMAP_PROTECTION ?
		       KWARP_WC_REM_ACCESS_ERR : KWARP_WC_REM_OP_ERR;
	if (err->layer != KWARP_LAYER_DDP)
		return KWARP_WC_REM_OP_ERR;
	if (err->etype == KWARP_DDP_TAGGED)
		return KWARP_WC_REM_ACCESS_ERR;
	if (err->etype == KWARP_DDP_UNTAGGED &&
	    err->code == kwarp_err_term(KWARP_ERR_UNTAGGED_NO_BUFFER)->code)
		return KWARP_WC_RNR_RETRY_EXC_ERR;
	return KWARP_WC_REM_INV_REQ_ERR;
}

/*
 * With acknowledgments, the message that the peer rejects has not completed yet. Assume the
 * oldest one of the kind that the quoted DDP header tells, or the oldest of any kind.
 */
static void message_terminated(struct kwarp_qp *qp,
			       const struct kwarp_term_msg *term)
{
	u8 flags = KWARP_WR_WRITE | KWARP_WR_SEND;

	if (term->has_ddp)
		flags = term->ddp.tagged ? KWARP_WR_WRITE : KWARP_WR_SEND;
	kwarp_sq_peer_terminated(&qp->sq, kwarp_wr_mask(flags),
				 term_status(&term->err));
}

static enum kwarp_err do_terminate(struct kwarp_rx_pass *pass)
{
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_term_msg term;

	if (pass->hdr.msn != KWARP_DDP_FIRST_MSN)
		return KWARP_ERR_UNTAGGED_MSN;
	kwarp_qp_count(qp, KWARP_STAT_RX_TERMINATE);
	WRITE_ONCE(qp->err_from, KWARP_ERR_FROM_PEER_UNKNOWN);
	/*
	 * A part of a Terminate tells nothing, but ends the stream, too. Of one that is longer than
	 * any valid one, @seg may have the error only.
	 */
	if (!pass->hdr.last ||
	    kwarp_term_parse(pass->u.seg + pass->hdr.len,
			     pass->u.seg_len - pass->hdr.len, &term)) {
		kwarp_qp_warn_terminate(qp, "received", NULL);
	} else {
		kwarp_qp_set_err(qp, &term.err, KWARP_ERR_FROM_PEER);
		trace_kwarp_terminate_received(qp, &term.err);
		kwarp_qp_warn_terminate(qp, "received", &term.err);
		if (term.has_ddp && !term.ddp.tagged &&
		    term.ddp.qn == KWARP_QN_READ)
			read_terminated(qp, &term);
		else if (qp->params.ack)
			message_terminated(qp, &term);
	}
	pass->terminated = true;
	return KWARP_ERR_NONE;
}

/*
 * RFC 6581 9.2: the initiator's first message must be an indication that the reply named,
 * of length zero. A Terminate is allowed as well.
 */
static bool is_rtr(const struct kwarp_rx_pass *pass, u32 len)
{
	const struct kwarp_ddp_hdr *h = &pass->hdr;
	u8 rtr = pass->qp->params.rtr;
	struct kwarp_rdmap_read rd;

	switch (h->opcode) {
	case RDMAP_SEND:
		return rtr & KWARP_RTR_SEND && !len && h->last;
	case RDMAP_WRITE:
		return rtr & KWARP_RTR_WRITE && !len && h->last;
	case RDMAP_READ_REQUEST:
		kwarp_rdmap_read_parse(pass->u.seg + h->len, &rd);
		return rtr & KWARP_RTR_READ && !rd.len;
	default:
		return h->opcode == RDMAP_TERMINATE;
	}
}

/* Parse and check the header of the segment in pass->u, as far as that needs no buffer. */
static enum kwarp_err parse_header(struct kwarp_rx_pass *pass)
{
	struct kwarp_ddp_hdr *h = &pass->hdr;
	struct kwarp_qp *qp = pass->qp;
	enum kwarp_err err;

	if (kwarp_ddp_resembles(h, pass->u.seg, pass->u.len))
		return KWARP_ERR_NONE;
	err = kwarp_ddp_parse(pass->u.seg, pass->u.len, h);
	if (err)
		return err;
	err = kwarp_rdmap_check(h, pass->u.len, kwarp_qp_version(qp), qp->params.ext);
	if (err)
		return err;
	/* A message without payload has checks of its own (kwarp_rdmap_check()). */
	pass->op = kwarp_rdmap_find_op(h->opcode);
	if (!(pass->op->flags & KWARP_RDMAP_F_PAYLOAD))
		h->ctl = KWARP_DDP_CTL_NONE;
	if (unlikely(kwarp_rx_rtr_due(qp)) && !is_rtr(pass, pass->u.len - h->len)) {
		kwarp_count(qp->dev, KWARP_STAT_STARTUP_RTR_ERR);
		kwarp_count(qp->dev, KWARP_STAT_STARTUP_NEGOTIATION);
		return KWARP_ERR_MPA_RTR;
	}
	return KWARP_ERR_NONE;
}

/* Place and deliver the segment in pass->u, whose payload has @len bytes. */
static enum kwarp_err place_segment(struct kwarp_rx_pass *pass, u32 len)
{
	u8 opcode = pass->hdr.opcode;

	switch (opcode) {
	case RDMAP_READ_REQUEST:
		return do_read_request(pass);
	case RDMAP_ATOMIC_REQUEST:
		return kwarp_rx_atomic_request(pass);
	case RDMAP_ATOMIC_RESPONSE:
		kwarp_rx_deliver(pass, KWARP_UNSOLICITED);
		return kwarp_rx_atomic_response(pass);
	case RDMAP_TERMINATE:
		kwarp_rx_deliver(pass, KWARP_UNSOLICITED);
		return do_terminate(pass);
	}
	kwarp_rx_begin_payload(pass, pass->hdr.len);
	if (opcode == RDMAP_READ_RESPONSE) {
		kwarp_rx_deliver(pass, KWARP_UNSOLICITED);
		return do_read_response(pass, len);
	}
	kwarp_tx_peer_sent(pass->qp);
	return opcode == RDMAP_WRITE ? do_write(pass, len) : kwarp_rx_send(pass, len);
}

/**
 * kwarp_rx_next_segment() - place and deliver one verified segment
 * @pass:	pass, with the segment in pass->u and its header, checked, in pass->hdr
 *
 * Return: KWARP_ERR_NONE or the error to raise. Context: as kwarp_rx_segment().
 */
enum kwarp_err kwarp_rx_next_segment(struct kwarp_rx_pass *pass)
{
	u32 len = pass->u.len - pass->hdr.len;
	enum kwarp_err err;

	kwarp_qp_assert_locked(pass->qp);
	trace_kwarp_rx_fpdu(pass->qp, &pass->u.frame, &pass->hdr);
	pass->run.room = 0;
	err = place_segment(pass, len);
	kwarp_ddp_advance(&pass->hdr, len);
	return err;
}

/**
 * kwarp_rx_end_run() - deliver the message whose last segment the run has placed
 * @pass:	pass; the message is an RDMA Write or a Send
 *
 * Return: KWARP_ERR_NONE or the error to raise. Context: as kwarp_rx_segment().
 */
enum kwarp_err kwarp_rx_end_run(struct kwarp_rx_pass *pass)
{
	kwarp_qp_assert_locked(pass->qp);
	pass->run.room = 0;
	if (!pass->hdr.tagged)
		return kwarp_rx_send_done(pass);
	write_done(pass->qp);
	return KWARP_ERR_NONE;
}

/**
 * kwarp_rx_segment() - parse, place and deliver one verified segment
 * @pass:	pass, with the segment in pass->u
 *
 * Return: KWARP_ERR_NONE or the error to raise. Context: socket lock held, bottom halves
 * disabled.
 */
enum kwarp_err kwarp_rx_segment(struct kwarp_rx_pass *pass)
{
	return parse_header(pass) ?: kwarp_rx_next_segment(pass);
}
