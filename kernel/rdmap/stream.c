// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* A queue pair and its connection. */
#include "rdmap/stream.h"

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>

#include "core/handler.h"
#include "llp/llp.h"
#include "rdmap/drive.h"
#include "rdmap/early.h"
#include "rdmap/error.h"
#include "rdmap/rx.h"
#include "rdmap/tx.h"
#include "trace.h"

/* Maximum of retry_time(), jiffies. */
#define QP_RETRY_TIME_MAX	(4UL * HZ)

/**
 * kwarp_qp_accepted() - the connection is accepted, but the initiator has not confirmed yet
 * @qp:		idle queue pair
 *
 * The consumer may treat the QP as connected. Context: process.
 */
void kwarp_qp_accepted(struct kwarp_qp *qp)
{
	might_sleep();
	mutex_lock(&qp->mutex);
	kwarp_qp_step(qp, KWARP_QP_ACCEPT);
	mutex_unlock(&qp->mutex);
}

void kwarp_qp_event(struct kwarp_qp *qp, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.event = type,
		.element.qp = &qp->ibqp,
	};

	kwarp_call_event(qp->ibqp.event_handler, &ev, qp->ibqp.qp_context);
}

/*
 * The core keeps events in memory that is charged to nobody until the program reads them.
 * So a user QP raises one event per connection, or a loop of modify_qp could raise any
 * number. A kernel consumer may wait for the event at each change to ERR.
 */
static void last_wqe_event(struct kwarp_qp *qp)
{
	if (!qp->last_wqe_due && !qp->sq.kernel)
		return;
	qp->last_wqe_due = false;
	kwarp_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/*
 * Enter the error state and flush; the caller has stopped the engines. That has completed
 * the receive taken from a shared queue, if any, so LAST_WQE_REACHED is true. A work request that
 * has failed keeps its status, even if the batch before it is not pushed.
 */
static void enter_error(struct kwarp_qp *qp)
{
	bool first = !kwarp_qp_failed(qp);

	kwarp_qp_step(qp, KWARP_QP_TO_ERR);
	kwarp_tx_complete_failed(qp);
	kwarp_wq_flush(&qp->sq, &qp->rq);
	if (first && qp->srq)
		last_wqe_event(qp);
}

/**
 * kwarp_qp_fail_search() - fail a QP whose rendezvous partner was not found in time
 * @qp:		queue pair in rendezvous, qp->mutex held, nothing attached
 *
 * Enters ERR: the oldest send completes with RETRY_EXC_ERR, everything else is flushed,
 * and the consumer gets IB_EVENT_QP_FATAL. Context: process.
 */
void kwarp_qp_fail_search(struct kwarp_qp *qp)
{
	lockdep_assert_held(&qp->mutex);
	kwarp_sq_set_flush_status(&qp->sq, KWARP_WC_RETRY_EXC_ERR);
	enter_error(qp);
	kwarp_qp_event(qp, IB_EVENT_QP_FATAL);
}

/*
 * Duration of all InfiniBand retries of a request, 4.096 us * 2^timeout each; a timeout of
 * 0 is infinite. Limited to QP_RETRY_TIME_MAX. Return: jiffies.
 */
static unsigned long retry_time(const struct kwarp_qp *qp)
{
	u64 ns = 4096ULL << min_t(u8, qp->attr.timeout, 31);

	if (!qp->attr.timeout)
		return QP_RETRY_TIME_MAX;
	ns *= qp->attr.retry_cnt + 1;
	return min(nsecs_to_jiffies(ns) + 1, QP_RETRY_TIME_MAX);
}

/**
 * kwarp_qp_check_lost() - fail the QP if a request waits for a disconnected partner
 * @qp:		queue pair
 *
 * The request fails like one that is never acknowledged on InfiniBand, after retry_time():
 * a program that has all its data may end before that without an error. Context: process.
 */
void kwarp_qp_check_lost(struct kwarp_qp *qp)
{
	struct kwarp_rdv *rdv = &qp->rdv;
	unsigned long wait;
	bool idle;

	might_sleep();
	mutex_lock(&qp->mutex);
	/* If the connection is still attached, kwarp_qp_detach() checks again. */
	if (!kwarp_qp_lost(qp) || rcu_access_pointer(qp->llp))
		goto unlock;
	idle = kwarp_sq_prepare_sleep(&qp->sq);
	if (idle && kwarp_sq_drained(&qp->sq))
		goto unlock;
	if (!rdv->missed) {
		wait = retry_time(qp);
		rdv->missed = true;
		rdv->deadline = jiffies + wait;
		mod_delayed_work(kwarp_wq, &rdv->work, wait);
	} else if (time_after_eq(jiffies, rdv->deadline)) {
		kwarp_sq_set_flush_status(&qp->sq, KWARP_WC_RETRY_EXC_ERR);
		enter_error(qp);
	}
unlock:
	mutex_unlock(&qp->mutex);
}

/* Return: the attached connection, which is stable because its socket lock is held. */
static struct kwarp_llp *attached_llp(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = rcu_dereference_protected(qp->llp, true);

	kwarp_llp_assert_locked(llp);
	return llp;
}

/**
 * kwarp_qp_terminate() - end the stream with an error and a Terminate
 * @qp:		queue pair, socket lock held
 * @err:	the error; selects the Terminate's layer, type and code
 * @seg:	first bytes of the offending DDP segment for the Terminate, or NULL
 * @seg_len:	bytes in @seg
 * @ulpdu_len:	length of the offending ULPDU, for the DDP Segment Length field
 *
 * The only path to a Terminate, which is queued after the bytes that TCP already has. The
 * receive engine stops for good, the state becomes ERR, everything is flushed, and the
 * consumer gets an async event and the CM KWARP_LLP_EV_QP_ERR. Has no effect in an error
 * state. Context: any in which the socket lock is held.
 */
void kwarp_qp_terminate(struct kwarp_qp *qp, enum kwarp_err err,
			const u8 *seg, u32 seg_len, u32 ulpdu_len)
{
	const struct kwarp_term_err *term = kwarp_err_term(err);
	struct kwarp_llp *llp = attached_llp(qp);
	u32 tx_pos, rx_pos;

	kwarp_qp_assert_locked(qp);
	if (kwarp_qp_failed(qp))
		return;
	kwarp_qp_our_err(qp, err);
	llp->ops->where(llp, &tx_pos, &rx_pos);
	trace_kwarp_error(qp, term, ulpdu_len, tx_pos, rx_pos);
	kwarp_error_count(qp, err);
	kwarp_rx_stop(qp);
	kwarp_tx_terminate(qp, term, seg, seg_len, ulpdu_len);
	enter_error(qp);
	kwarp_qp_event(qp, kwarp_error_event(err));
	llp->owner->event(llp, KWARP_LLP_EV_QP_ERR);
	kwarp_drive(qp, llp, KWARP_DRIVE_TX);
}

/* Enter ERR, without a Terminate; not in ERR yet. The caller informs llp->owner. */
static void fail_stream(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	kwarp_rx_stop(qp);
	kwarp_tx_stop(qp);
	enter_error(qp);
	if (qp->err_from >= KWARP_ERR_FROM_PEER)
		kwarp_qp_event(qp, IB_EVENT_QP_FATAL);
	kwarp_drive(qp, llp, KWARP_DRIVE_TX);
}

/**
 * kwarp_qp_fail() - end the stream without sending a Terminate
 * @qp:		queue pair, socket lock held
 *
 * For a Terminate from the peer, or on the consumer's request: ERR and flush, and the CM
 * gets KWARP_LLP_EV_QP_ERR. The end of the LLP connection has its own events.
 */
void kwarp_qp_fail(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = attached_llp(qp);

	if (kwarp_qp_failed(qp))
		return;
	fail_stream(qp, llp);
	llp->owner->event(llp, KWARP_LLP_EV_QP_ERR);
}

/* ---- connection ---------------------------------------------------------- */

static void engine_readable(struct kwarp_llp *llp)
{
	kwarp_drive(llp->qp, llp, KWARP_DRIVE_RX);
}

static void engine_writable(struct kwarp_llp *llp)
{
	struct kwarp_qp *qp = llp->qp;

	/* Run the engine here: a worker would wait for the CPU of a program that polls. */
	if (!qp->drive.running && kwarp_llp_held_long(llp))
		kwarp_tx_defer(qp);
	else
		kwarp_drive(qp, llp, KWARP_DRIVE_TX);
}

static void engine_early(struct kwarp_llp *llp)
{
	kwarp_rx_early(llp->qp, llp);
}

/* Does the stream end inside a message, or before an outstanding response? */
static bool stream_truncated(const struct kwarp_qp *qp)
{
	return qp->rx.recv.active || qp->rx.read_head != qp->rx.read_tail;
}

/* Has the rendezvous partner sent no FPDU yet? Then the QP looks for the partner again. */
static bool partner_silent(const struct kwarp_qp *qp)
{
	return kwarp_qp_is_met(qp->state) && qp->params.wait_first &&
	       !qp->rx.got_first;
}

/*
 * The rendezvous partner has closed the connection. InfiniBand has no disconnect message; a
 * requester notices by timeout only. So the QP stays usable, with its receives;
 * kwarp_qp_check_lost() fails it if a request waits.
 * Return: false if the QP has no such partner, or the stream ended inside a message.
 */
static bool partner_gone(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	if (!(kwarp_qp_is_met(qp->state) || kwarp_qp_is_lost(qp->state)) ||
	    qp->rx.recv.active)
		return false;
	if (!partner_silent(qp))
		kwarp_qp_step(qp, KWARP_QP_LOSE);
	kwarp_rx_stop(qp);
	kwarp_tx_stop(qp);
	kwarp_drive(qp, llp, KWARP_DRIVE_TX);
	return true;
}

static void engine_ended(struct kwarp_llp *llp, int err, u32 left)
{
	struct kwarp_qp *qp = llp->qp;

	/* After an error, which was counted, the end of the stream is expected. */
	qp->stream_end = !kwarp_qp_failed(qp);
	if (qp->stream_end && (err || left || stream_truncated(qp)))
		kwarp_qp_count(qp, KWARP_STAT_LLP_LOST);
	if (err)
		kwarp_tx_to(&qp->tx, KWARP_TX_DEAD);
	/*
	 * Do not call kwarp_qp_fail() here: from its QP_ERR event a worker on another CPU
	 * could conclude that the stream ended without an error. After this function, the
	 * lower layer raises the event that tells how the stream ended.
	 */
	if (!err && left)
		/* FIN inside an FPDU: our direction is still open for a Terminate. */
		kwarp_qp_terminate(qp, KWARP_ERR_MPA_CLOSED, NULL, 0, 0);
	else if (!partner_gone(qp, llp) && !kwarp_qp_failed(qp))
		fail_stream(qp, llp);
}

static const struct kwarp_llp_engine qp_engine = {
	.readable = engine_readable,
	.writable = engine_writable,
	.early = engine_early,
	.ended = engine_ended,
};

static void clear_err(struct kwarp_qp *qp)
{
	memset(&qp->err, 0, sizeof(qp->err));
	WRITE_ONCE(qp->err_from, KWARP_ERR_FROM_NOBODY);
	WRITE_ONCE(qp->sq.vendor_err, 0);
	WRITE_ONCE(qp->rq.vendor_err, 0);
}

void kwarp_qp_unprepare(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	might_sleep();
	llp->ops->end(llp);
	kwarp_tx_free(qp);
	kwarp_rx_free(qp);
}

/**
 * kwarp_qp_prepare() - allocate the memory of a connection
 * @qp:		queue pair that the connection has claimed, not attached
 * @llp:	the connection; it may have no socket yet
 * @params:	upper bounds of the parameters; a later call may have larger or smaller ones
 *
 * rdma_cm's connect and accept, and attach, call this function in the context of the QP's
 * owner, since a worker, which repeats the call in kwarp_qp_attach(), must not wait for a
 * memory cgroup that the owner may have exhausted.
 * Context: process, may sleep.
 * Return: 0; or -ENOMEM, and nothing stays allocated.
 */
int kwarp_qp_prepare(struct kwarp_qp *qp, struct kwarp_llp *llp,
		     const struct kwarp_qp_params *params)
{
	struct mem_cgroup *before;
	int ret;

	might_sleep();
	qp->params = *params;
	/* Charge the QP's creator, even if a worker allocates. */
	before = set_active_memcg(qp->memcg);
	ret = kwarp_rx_alloc(qp);
	if (!ret)
		ret = kwarp_tx_alloc(qp);
	if (!ret)
		ret = llp->ops->begin(llp);
	set_active_memcg(before);
	if (ret) {
		kwarp_llp_warn(llp, "no memory for the connection");
		kwarp_qp_unprepare(qp, llp);
	}
	return ret;
}

/**
 * kwarp_qp_attach() - attach a connection in Full Operation to a QP
 * @qp:		idle queue pair; enters RTS or, with a partner, keeps the state shown by verbs
 * @llp:	connected, all startup bytes consumed; both sides take references
 * @params:	agreed parameters
 *
 * Allocates memory that is missing, directs the socket's callbacks to the engines and
 * processes the ULPDUs that have arrived. Sends nothing yet: kwarp_qp_start() starts the
 * send engine, or for a rendezvous responder the first FPDU does.
 * Context: process, may sleep.
 * Return: 0, -EISCONN if the QP is not idle, -ENOMEM.
 */
int kwarp_qp_attach(struct kwarp_qp *qp, struct kwarp_llp *llp,
		    const struct kwarp_qp_params *params)
{
	int ret = -EISCONN;

	might_sleep();
	mutex_lock(&qp->mutex);
	if (!kwarp_qp_traits_now(qp)->idle || rcu_access_pointer(qp->llp))
		goto out;
	/* Usually an earlier call has allocated most of the memory. */
	ret = kwarp_qp_prepare(qp, llp, params);
	if (ret)
		goto out;
	kwarp_rx_begin(qp);
	kwarp_tx_begin(qp);
	qp->sq.ops = kwarp_wr_allowed(qp->sq.kernel ? KWARP_WR_KERNEL : KWARP_WR_USER,
				      params->ext);
	clear_err(qp);
	qp->stream_end = false;
	qp->last_wqe_due = true;
	kwarp_llp_lock(llp);
	kwarp_qp_get(qp);
	kwarp_llp_get(llp);

	qp->drive = (struct kwarp_drive_state){};
	llp->engine = &qp_engine;
	llp->qp = qp;
	/*
	 * A rendezvous has no consumer that must see ESTABLISHED first, so requests are
	 * answered in the pass that processes the first FPDU.
	 */
	if (kwarp_qp_traits_now(qp)->partner && params->wait_first)
		kwarp_tx_to(&qp->tx, KWARP_TX_RUNNING);
	rcu_assign_pointer(qp->llp, llp);
	trace_kwarp_qp_attach(qp, params, &llp->framing);
	kwarp_qp_step(qp, KWARP_QP_ATTACH);
	if (qp->rx.early) {
		llp->ledger = &qp->rx.early->ledger;
		if (llp->ops->watch)
			llp->ops->watch(llp);
	}
	kwarp_llp_poll(llp);
	kwarp_llp_unlock(llp);
out:
	mutex_unlock(&qp->mutex);
	return ret;
}

/**
 * kwarp_qp_start() - start the send engine, which still observes params.wait_first
 * @qp:		attached queue pair
 *
 * Separate from kwarp_qp_attach(), so that the CM can deliver ESTABLISHED in between.
 * Context: process.
 */
void kwarp_qp_start(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = kwarp_qp_lock_llp(qp);

	if (!llp)
		return;
	kwarp_tx_to(&qp->tx, qp->tx.state == KWARP_TX_WAIT_CLOSING ?
			     KWARP_TX_CLOSING : KWARP_TX_RUNNING);
	kwarp_drive(qp, llp, KWARP_DRIVE_TX);
	kwarp_qp_unlock_llp(llp);
}

static void end_engines(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	kwarp_rx_stop(qp);
	kwarp_tx_stop(qp);
	if (partner_silent(qp))
		kwarp_qp_step(qp, KWARP_QP_UNMEET);
	else if (!kwarp_qp_failed(qp) && (!kwarp_qp_lost(qp) || qp->tx.failed_status))
		enter_error(qp);
	llp->ledger = NULL;
	llp->ops->end(llp);
	kwarp_tx_free(qp);
	kwarp_rx_free(qp);
}

static struct kwarp_qp *detach_locked(struct kwarp_llp *llp)
{
	struct kwarp_qp *qp = llp->qp;

	if (!qp)
		return NULL;
	/* halt() may release the lock: a context that takes it must still find the QP. */
	if (llp->ops->halt)
		llp->ops->halt(llp);
	/* From here on no callback and no doorbell reaches the QP. */
	llp->qp = NULL;
	trace_kwarp_qp_detach(qp);
	end_engines(qp, llp);
	return qp;
}

/**
 * kwarp_qp_detach() - undo kwarp_qp_attach()
 * @llp:	connection; not an error if no QP is attached
 *
 * On return no engine runs on @llp, and the references are dropped. The QP is in ERR, and
 * flushed (a worker may deliver some completions later), unless its rendezvous partner has
 * disconnected or sent no FPDU. Context: process, may sleep; not under qp->mutex.
 */
void kwarp_qp_detach(struct kwarp_llp *llp)
{
	struct kwarp_qp *qp;

	might_sleep();
	kwarp_llp_lock(llp);
	qp = detach_locked(llp);
	kwarp_llp_unlock(llp);
	if (!qp)
		return;

	mutex_lock(&qp->mutex);
	rcu_assign_pointer(qp->llp, NULL);
	mutex_unlock(&qp->mutex);
	kwarp_qp_wake_waiters(qp);
	if (kwarp_qp_lost(qp))
		kwarp_qp_check_lost(qp);
	kwarp_llp_put(llp);
	kwarp_qp_put(qp);
}

static void disconnect_locked(struct kwarp_qp *qp, struct kwarp_llp *llp,
			      enum kwarp_ending ending)
{
	if (ending == KWARP_ABORT) {
		kwarp_qp_fail(qp);
		return;
	}
	if (qp->state != KWARP_QP_OPEN)
		return;
	kwarp_qp_step(qp, KWARP_QP_TO_SQD);
	kwarp_tx_to(&qp->tx, qp->tx.state == KWARP_TX_WAIT ?
			     KWARP_TX_WAIT_CLOSING : KWARP_TX_CLOSING);
	llp->owner->event(llp, KWARP_LLP_EV_DRAIN);
	kwarp_drive(qp, llp, KWARP_DRIVE_TX);
}

/*
 * A Terminate of a responder does not precede its reply, nor, over TCP, the first FPDU of the
 * initiator (RFC 5044 7.1.2 rule 4).
 */
static bool may_terminate(const struct kwarp_qp *qp, const struct kwarp_llp *llp)
{
	if (qp->params.initiator)
		return true;
	return llp->startup_sent && (qp->rx.got_first || !qp->params.wait_first);
}

/**
 * kwarp_qp_break() - end the stream for a local error that belongs to no work request
 * @qp:		queue pair that has not failed, its mutex held
 *
 * Like any such error (RFC 5040 7.1 rule 1), it is reported to the peer, if the peer is ready for
 * a Terminate, and to the consumer by IB_EVENT_QP_FATAL. Without a connection the QP enters ERR,
 * without an event.
 * Context: process, may sleep.
 */
void kwarp_qp_break(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp;

	lockdep_assert_held(&qp->mutex);
	llp = kwarp_qp_lock_llp(qp);
	if (llp) {
		if (may_terminate(qp, llp)) {
			kwarp_qp_terminate(qp, KWARP_ERR_RDMAP_LOCAL, NULL, 0, 0);
		} else if (!kwarp_qp_failed(qp)) {
			kwarp_qp_fail(qp);
			kwarp_qp_event(qp, IB_EVENT_QP_FATAL);
		}
		kwarp_qp_unlock_llp(llp);
	} else {
		/* As in kwarp_qp_disconnect(). */
		enter_error(qp);
	}
}

/**
 * kwarp_qp_disconnect() - end the connection from this side
 * @qp:		queue pair, its mutex held
 * @ending:	KWARP_CLOSE: RTS -> SQD, finish the send queue, then FIN;
 *		KWARP_ABORT: ERR and flush now; bytes that TCP has accepted are still delivered
 *
 * Context: process, may sleep.
 */
void kwarp_qp_disconnect(struct kwarp_qp *qp, enum kwarp_ending ending)
{
	struct kwarp_llp *llp;

	lockdep_assert_held(&qp->mutex);
	llp = kwarp_qp_lock_llp(qp);
	if (llp) {
		disconnect_locked(qp, llp, ending);
		kwarp_qp_unlock_llp(llp);
	} else if (ending == KWARP_ABORT) {
		/* No engine runs, so the caller's qp->mutex is enough to change the state. */
		enter_error(qp);
	}
}
