// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A pass of the receive engine: pull a ULPDU, parse, place, deliver. The lower layer
 * consumes the data of a pass in one step.
 */
#include "rdmap/rx.h"

#include "core/srq.h"
#include "llp/llp.h"
#include "rdmap/early.h"
#include "rdmap/place.h"
#include "rdmap/tx.h"
#include "trace.h"

static bool at_limit(const struct kwarp_rx_pass *pass)
{
	return pass->bytes >= KWARP_RX_BYTES || pass->cost >= KWARP_RX_ULPDUS;
}

/*
 * Place the segment in pass->u, whose header continues that of the previous one, if the segment is
 * within a run. Of a response, the L flag has to be checked, too.
 */
static __always_inline bool continue_run(struct kwarp_rx_pass *pass)
{
	u32 hdr_len = pass->hdr.len, len = pass->u.len - hdr_len;
	const struct kwarp_ulpdu *u = &pass->u;
	struct kwarp_rx_run *run = &pass->run;

	if (!len || len > run->room || !u->flat ||
	    (pass->hdr.last && pass->hdr.opcode == RDMAP_READ_RESPONSE) ||
	    run->need & ~READ_ONCE(pass->qp->access))
		return false;
	trace_kwarp_rx_fpdu(pass->qp, &u->frame, &pass->hdr);
	kwarp_ulpdu_copy(u, hdr_len, run->dst);
	run->dst += len;
	run->room -= len;
	*run->filled[0] += len;
	*run->filled[1] += len;
	kwarp_ddp_advance(&pass->hdr, len);
	return true;
}

static __always_inline enum kwarp_err run_segment(struct kwarp_rx_pass *pass)
{
	if (!kwarp_ddp_continues(&pass->hdr, pass->u.seg, pass->u.len))
		return kwarp_rx_segment(pass);
	if (!continue_run(pass))
		return kwarp_rx_next_segment(pass);
	return pass->hdr.last ? kwarp_rx_end_run(pass) : KWARP_ERR_NONE;
}

/*
 * Process ULPDUs up to the limits of a pass, an error or a Terminate. The driver handles
 * the latter two with bottom halves enabled. Return: KWARP_ERR_NONE or the error to raise.
 */
static enum kwarp_err run_ulpdus(struct kwarp_rx_pass *pass,
				 struct kwarp_llp *llp)
{
	struct kwarp_rx *rx = &pass->qp->rx;
	enum kwarp_err err;

	while (!pass->terminated) {
		if (unlikely(at_limit(pass))) {
			pass->more = true;
			break;
		}
		switch (kwarp_llp_pull(llp, &pass->u)) {
		case KWARP_PULL_NONE:
			return KWARP_ERR_NONE;
		case KWARP_PULL_ERR:
			return pass->u.err;
		case KWARP_PULL_ULPDU:
			break;
		}
		err = run_segment(pass);
		if (err)
			return err;
		rx->ulpdus++;
		pass->bytes += pass->u.len;
		pass->cost++;
	}
	return KWARP_ERR_NONE;
}

/*
 * A worker processes the rest until the queue is empty. Otherwise, while data keeps
 * arriving, each softirq would last as long as the limits of a pass allow.
 */
static void rx_defer_rest(struct kwarp_qp *qp)
{
	/* A completion handler may have stopped the engine in this pass. */
	if (qp->rx.state != KWARP_RX_RUNNING)
		return;
	qp->rx.state = KWARP_RX_DEFERRED;
	kwarp_qp_count(qp, KWARP_STAT_RX_CONTINUED);
	kwarp_tx_defer(qp);
}

static void count_frames(struct kwarp_qp *qp, const struct kwarp_llp_counts *counts)
{
	kwarp_qp_count_n(qp, KWARP_STAT_RX_FPDUS, counts->frames);
	kwarp_qp_count_n(qp, KWARP_STAT_RX_OCTETS, counts->bytes);
	if (counts->markers)
		kwarp_qp_count_n(qp, KWARP_STAT_RX_MARKERS, counts->markers);
	if (unlikely(counts->replaced))
		kwarp_qp_count_n(qp, KWARP_STAT_OOO_REPLACED, counts->replaced);
}

/* Pull, place and deliver what has arrived. Return: as run_ulpdus(). */
static enum kwarp_err pull_all(struct kwarp_rx_pass *pass, struct kwarp_llp *llp,
			       struct kwarp_llp_counts *counts)
{
	struct kwarp_qp *qp = pass->qp;
	enum kwarp_err err;

	if (unlikely(qp->rx.early) && !kwarp_ledger_empty(&qp->rx.early->ledger))
		pass->early = qp->rx.early;

	/* An invalidation spins until the cache is put: do not sleep, keep softirqs out. */
	local_bh_disable();
	err = run_ulpdus(pass, llp);
	kwarp_mr_cache_put(&pass->cache);
	kwarp_rx_deliver(pass, KWARP_UNSOLICITED);
	local_bh_enable();

	llp->ops->pull_end(llp, err ? KWARP_LAST_LEFT : KWARP_LAST_CONSUMED, counts);
	if (pass->more && counts->left)
		rx_defer_rest(qp);
	count_frames(qp, counts);
	return err;
}

/**
 * kwarp_rx_pull() - one pass over the ULPDUs that have arrived
 * @pass:	pass of an attached queue pair; tells what the pass has found
 * @llp:	its connection
 *
 * Consumes the processed data in one step. A worker processes ULPDUs beyond the limits of a
 * pass (enum kwarp_rx_limits). Context: socket lock held; softirq or process.
 * Return: KWARP_ERR_NONE, or the error to raise.
 */
enum kwarp_err kwarp_rx_pull(struct kwarp_rx_pass *pass, struct kwarp_llp *llp)
{
	struct kwarp_qp *qp = pass->qp;
	struct kwarp_rx *rx = &qp->rx;
	struct kwarp_llp_counts counts;
	enum kwarp_err err;

	kwarp_llp_assert_locked(llp);
	if (rx->state != KWARP_RX_RUNNING || !llp->ops->pull_begin(llp))
		return KWARP_ERR_NONE;
	if (kwarp_llp_held_long(llp)) {
		rx_defer_rest(qp);
		return KWARP_ERR_NONE;
	}
	err = pull_all(pass, llp, &counts);
	trace_kwarp_rx_batch(qp, counts.frames, counts.bytes, counts.left);
	pass->first = counts.frames && !rx->got_first && !pass->terminated &&
		      rx->state != KWARP_RX_STOPPED;
	/* The send queue may have waited for the first FPDU (RFC 5044 7.1.2). */
	rx->got_first |= pass->first;
	return err;
}

/* The worker continues after a pass that ended before the queue was empty. Socket lock held. */
void kwarp_rx_resume(struct kwarp_qp *qp)
{
	kwarp_qp_assert_locked(qp);
	if (qp->rx.state == KWARP_RX_DEFERRED)
		qp->rx.state = KWARP_RX_RUNNING;
}

/*
 * Return: @have if that has room for @want elements and at least one, else a new array, zeroed;
 * or NULL.
 */
static void *array_of(void *have, u32 *room, u32 want, size_t size)
{
	want = roundup_pow_of_two(max(want, 1U));
	if (have && *room >= want)
		return have;
	kvfree(have);
	*room = want;
	return kvcalloc(want, size, kwarp_gfp_conn());
}

/*
 * Allocate the queues that qp->params needs, unless present and large enough. Context:
 * process; not attached. Return: 0; or -ENOMEM, and the caller calls kwarp_rx_free().
 */
int kwarp_rx_alloc(struct kwarp_qp *qp)
{
	const struct kwarp_rq *rq = qp->srq ? &qp->srq->rq : &qp->rq;
	struct kwarp_rx *rx = &qp->rx;

	rx->read_stride = struct_size_t(struct kwarp_read, sge,
					qp->sq.max_sge);
	if (!rx->recv.wqe)
		rx->recv.wqe = kmalloc(max_t(u32, rq->stride,
					     sizeof(rx->recv.wqe->hdr)),
				       kwarp_gfp_conn());
	/* One more than ORD, because an RTR read is sent even if ORD is zero. */
	rx->ord_queue = array_of(rx->ord_queue, &rx->ord, qp->params.ord + 1,
				 rx->read_stride);
	rx->ird_queue = array_of(rx->ird_queue, &rx->ird, kwarp_qp_ird_room(qp),
				 sizeof(*rx->ird_queue));
	if (!rx->recv.wqe || !rx->ord_queue || !rx->ird_queue)
		return -ENOMEM;
	return kwarp_early_alloc(qp);
}

void kwarp_rx_begin(struct kwarp_qp *qp)
{
	struct kwarp_rx had = qp->rx;

	qp->rx = (struct kwarp_rx){
		.send_msn = KWARP_DDP_FIRST_MSN,
		.read_msn = KWARP_DDP_FIRST_MSN,
		.atomic_msn = KWARP_DDP_FIRST_MSN,
		.recv.wqe = had.recv.wqe,
		.ord_queue = had.ord_queue,
		.ird_queue = had.ird_queue,
		.ord = had.ord,
		.ird = had.ird,
		.read_stride = had.read_stride,
		.early = had.early,
	};
}

void kwarp_rx_free(struct kwarp_qp *qp)
{
	struct kwarp_rx *rx = &qp->rx;

	kwarp_early_free(qp);
	kvfree(rx->ird_queue);
	kvfree(rx->ord_queue);
	kfree(rx->recv.wqe);
	rx->ird_queue = NULL;
	rx->ord_queue = NULL;
	rx->recv.wqe = NULL;
	rx->state = KWARP_RX_STOPPED;
}

/**
 * kwarp_rx_stop() - stop the receive engine for good and flush the receive being filled
 * @qp:		queue pair
 *
 * Context: socket lock held, or no connection attached.
 */
void kwarp_rx_stop(struct kwarp_qp *qp)
{
	struct kwarp_rx *rx = &qp->rx;
	struct kwarp_cqe cqe = {};

	kwarp_qp_assert_locked(qp);
	if (rx->state == KWARP_RX_STOPPED)
		return;
	rx->state = KWARP_RX_STOPPED;
	if (!rx->recv.active)
		return;
	rx->recv.active = false;
	cqe.wr_id = rx->recv.wqe->hdr.wr_id;
	cqe.opcode = KWARP_OP_RECV;
	cqe.status = KWARP_WC_WR_FLUSH_ERR;
	kwarp_rq_complete(&qp->rq, &cqe);
}
