// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The queue pair: lifetime, attaching a connection, and the way out for errors.
 */
#include "qp.h"

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/wait_bit.h>

#include "../ctl/trace.h"
#include "../llp/llp.h"
#include "../proto/terminate.h"
#include "cq.h"
#include "error.h"

/* Longest wait for an acknowledgment that will not come; jiffies. */
#define QP_PATIENCE_MAX	(4UL * HZ)

/* ---- lifetime ------------------------------------------------------------ */

void kwarp_qp_get(struct kwarp_qp *qp)
{
	refcount_inc(&qp->refs);
}

void kwarp_qp_put(struct kwarp_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->free);
}

struct kwarp_qp *kwarp_qp_find(struct kwarp_device *dev, u32 qpn)
{
	struct kwarp_qp *qp;
	unsigned long flags;

	/*
	 * The table lock, not RCU: the core frees QPs without a grace period.
	 * iw_cm comes here with interrupts off.
	 */
	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	if (qp && !refcount_inc_not_zero(&qp->refs))
		qp = NULL;
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

struct kwarp_llp *kwarp_qp_llp(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp;

	rcu_read_lock();
	llp = rcu_dereference(qp->llp);
	if (llp && !refcount_inc_not_zero(&llp->refs))
		llp = NULL;
	rcu_read_unlock();
	return llp;
}

bool kwarp_qp_claim(struct kwarp_qp *qp, bool partner)
{
	lockdep_assert_held(&qp->mutex);
	if (!kwarp_qp_is(qp)->idle || kwarp_qp_is(qp)->partner != partner ||
	    qp->claimed)
		return false;
	WARN_ON_ONCE(rcu_access_pointer(qp->llp));
	qp->claimed = true;
	return true;
}

void kwarp_qp_unclaim(struct kwarp_qp *qp)
{
	lockdep_assert_held(&qp->mutex);
	WRITE_ONCE(qp->claimed, false);
	wake_up_var(&qp->claimed);
}

/* ---- state --------------------------------------------------------------- */

/* Both queues' locks are held, or nobody knows the queue pair yet. */
static void set_state(struct kwarp_qp *qp, enum kwarp_qp_state state)
{
	const struct kwarp_qp_traits *is = &kwarp_qp_traits_of[state];
	struct kwarp_sq *sq = &qp->sq;
	struct kwarp_rq *rq = &qp->rq;

	WRITE_ONCE(qp->state, state);
	sq->closed = is->sq_closed;
	rq->closed = is->rq_closed;
	/* For user space, whose own queues they are. */
	WRITE_ONCE(sq->ctl->closed, sq->closed);
	WRITE_ONCE(rq->ctl->closed, rq->closed);
}

void kwarp_qp_state_init(struct kwarp_qp *qp)
{
	set_state(qp, KWARP_QP_IDLE);
}

bool kwarp_qp_step(struct kwarp_qp *qp, enum kwarp_qp_step step)
{
	enum kwarp_qp_state next;
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.lock, flags);
	spin_lock(&qp->rq.lock);
	next = kwarp_qp_next(qp->state, step);
	if (next != KWARP_QP_REFUSED && next != qp->state) {
		trace_kwarp_qp_state(qp, qp->state, next);
		set_state(qp, next);
	}
	spin_unlock(&qp->rq.lock);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return next != KWARP_QP_REFUSED;
}

void kwarp_qp_expect(struct kwarp_qp *qp)
{
	might_sleep();
	mutex_lock(&qp->mutex);
	kwarp_qp_step(qp, KWARP_QP_ACCEPT);
	mutex_unlock(&qp->mutex);
}

static void qp_event(struct kwarp_qp *qp, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.event = type,
		.element.qp = &qp->ibqp,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

/*
 * An error, and flush; the engines have been stopped by the caller. What had been
 * taken from a shared receive queue has been returned by then: nothing more of
 * it completes here.
 */
static void enter_error(struct kwarp_qp *qp)
{
	bool first = !kwarp_qp_failed(qp);

	kwarp_qp_step(qp, KWARP_QP_TO_ERR);
	kwarp_wq_flush(qp);
	if (first && qp->srq)
		qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

void kwarp_qp_unreachable(struct kwarp_qp *qp)
{
	lockdep_assert_held(&qp->mutex);
	kwarp_sq_blame(qp, KWARP_WC_RETRY_EXC_ERR);
	enter_error(qp);
	qp_event(qp, IB_EVENT_QP_FATAL);
}

/* All tries of a request on InfiniBand: 4.096 us * 2^timeout each, 0 is for ever. */
static unsigned long patience(const struct kwarp_qp *qp)
{
	u64 ns = 4096ULL << min_t(u8, qp->attr.timeout, 31);

	if (!qp->attr.timeout)
		return QP_PATIENCE_MAX;
	ns *= qp->attr.retry_cnt + 1;
	return min(nsecs_to_jiffies(ns) + 1, QP_PATIENCE_MAX);
}

void kwarp_qp_check_lost(struct kwarp_qp *qp)
{
	struct kwarp_rdv *rdv = &qp->rdv;
	unsigned long wait;
	bool idle;

	might_sleep();
	mutex_lock(&qp->mutex);
	/* Still attached: kwarp_qp_detach() looks again. */
	if (!kwarp_qp_lost(qp) || rcu_access_pointer(qp->llp))
		goto unlock;
	idle = kwarp_sq_idle(qp, false);
	if (idle && kwarp_sq_drained(qp))
		goto unlock;
	if (!rdv->missed) {
		wait = patience(qp);
		rdv->missed = true;
		rdv->deadline = jiffies + wait;
		mod_delayed_work(kwarp_wq, &rdv->work, wait);
	} else if (time_after_eq(jiffies, rdv->deadline)) {
		kwarp_sq_blame(qp, KWARP_WC_RETRY_EXC_ERR);
		enter_error(qp);
	}
unlock:
	mutex_unlock(&qp->mutex);
}

/* Stable while a connection is attached and the socket lock is held. */
static struct kwarp_llp *attached_llp(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = rcu_dereference_protected(qp->llp, true);

	kwarp_llp_assert_locked(llp);
	return llp;
}

void kwarp_qp_raise(struct kwarp_qp *qp, enum kwarp_err err,
		    const u8 *seg, u32 seg_len, u32 ulpdu_len)
{
	const struct kwarp_term_err *term = kwarp_err_term(err);
	struct kwarp_llp *llp = attached_llp(qp);

	if (kwarp_qp_failed(qp))
		return;
	qp->err = *term;
	qp->raised = true;
	trace_kwarp_error(qp, term, ulpdu_len);
	kwarp_error_count(qp, err);
	kwarp_rx_stop(qp);
	kwarp_tx_terminate(qp, term, seg, seg_len, ulpdu_len);
	enter_error(qp);
	qp_event(qp, kwarp_error_event(err));
	llp->owner->event(llp, KWARP_LLP_EV_QP_ERR);
	kwarp_tx_run(qp, llp, KWARP_TX_BUDGET);
}

/* Not in ERR yet. The connection's owner learns of it from the caller. */
static void fail(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	kwarp_rx_stop(qp);
	kwarp_tx_stop(qp);
	enter_error(qp);
	if (qp->term_received)
		qp_event(qp, IB_EVENT_QP_FATAL);
	kwarp_tx_run(qp, llp, KWARP_TX_BUDGET);
}

void kwarp_qp_fail(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = attached_llp(qp);

	if (kwarp_qp_failed(qp))
		return;
	fail(qp, llp);
	llp->owner->event(llp, KWARP_LLP_EV_QP_ERR);
}

/* ---- connection ---------------------------------------------------------- */

static bool engine_readable(struct kwarp_llp *llp, u32 *left)
{
	return kwarp_rx_run(llp->qp, llp, left);
}

static void engine_writable(struct kwarp_llp *llp)
{
	struct kwarp_qp *qp = llp->qp;

	/* Here and now: a worker would wait for the CPU of a program that polls. */
	if (qp->tx.active)
		kwarp_tx_kick(qp);
	else if (kwarp_llp_held_long(llp))
		kwarp_tx_defer(qp);
	else
		kwarp_tx_run(qp, llp, KWARP_TX_BUDGET);
}

static void engine_early(struct kwarp_llp *llp)
{
	kwarp_rx_early(llp->qp, llp);
}

/* Does the stream end inside a message, or before an answer we wait for? */
static bool cut_short(const struct kwarp_qp *qp)
{
	return qp->rx.recv.active || qp->rx.read_head != qp->rx.read_tail;
}

/* Has its connection not said a word yet? Then it may look for its partner again. */
static bool never_met(const struct kwarp_qp *qp)
{
	return kwarp_qp_is_met(qp->state) && qp->params.wait_first &&
	       !qp->rx.got_first;
}

/*
 * The partner of a rendezvous has gone. InfiniBand's partners go without a word:
 * what is missed is the acknowledgment of a request, after a while. The queue pair
 * stays as it is, receives included: see kwarp_qp_check_lost().
 * Return: false if there is more to it.
 */
static bool partner_gone(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	if (!(kwarp_qp_is_met(qp->state) || kwarp_qp_is_lost(qp->state)) ||
	    qp->rx.recv.active)
		return false;
	if (!never_met(qp))
		kwarp_qp_step(qp, KWARP_QP_LOSE);
	kwarp_rx_stop(qp);
	kwarp_tx_stop(qp);
	kwarp_tx_run(qp, llp, KWARP_TX_BUDGET);
	return true;
}

static void engine_ended(struct kwarp_llp *llp, int err, u32 left)
{
	struct kwarp_qp *qp = llp->qp;

	/* Behind an error, which has been counted, no end is a surprise. */
	qp->stream_end = !kwarp_qp_failed(qp);
	if (qp->stream_end && (err || left || cut_short(qp)))
		kwarp_qp_count(qp, KWARP_STAT_LLP_LOST);
	if (err)
		qp->tx.dead = true;	/* nothing can be sent any more */
	/*
	 * The owner gets one event, after this, which says how the stream ended: of a
	 * QP_ERR before it a worker on another CPU could make an end without an error.
	 */
	if (!err && left)
		/* FIN inside an FPDU; our direction still stands. */
		kwarp_qp_raise(qp, KWARP_ERR_MPA_CLOSED, NULL, 0, 0);
	else if (!partner_gone(qp, llp) && !kwarp_qp_failed(qp))
		fail(qp, llp);
}

static const struct kwarp_llp_engine qp_engine = {
	.readable = engine_readable,
	.writable = engine_writable,
	.early = engine_early,
	.ended = engine_ended,
};

/* Its owner pays, although a worker asks. */
static int engines_init(struct kwarp_qp *qp)
{
	struct mem_cgroup *before = set_active_memcg(qp->memcg);
	int ret;

	ret = kwarp_rx_init(qp);
	if (!ret) {
		ret = kwarp_tx_init(qp);
		if (ret)
			kwarp_rx_free(qp);
	}
	set_active_memcg(before);
	return ret;
}

int kwarp_qp_attach(struct kwarp_qp *qp, struct kwarp_llp *llp,
		    const struct kwarp_qp_params *params)
{
	int ret = -EISCONN;

	might_sleep();
	mutex_lock(&qp->mutex);
	if (!kwarp_qp_is(qp)->idle || rcu_access_pointer(qp->llp))
		goto out;
	qp->params = *params;
	memset(&qp->err, 0, sizeof(qp->err));
	qp->term_received = false;
	qp->stream_end = false;
	qp->raised = false;
	ret = engines_init(qp);
	if (ret)
		goto out;
	WRITE_ONCE(qp->wq, llp->taken ? kwarp_taken_wq : kwarp_wq);
	if (!kwarp_llp_lock(llp)) {
		kwarp_tx_free(qp);
		kwarp_rx_free(qp);
		ret = -ECONNRESET;
		goto out;
	}
	kwarp_qp_get(qp);
	kwarp_llp_get(llp);

	llp->engine = &qp_engine;
	llp->qp = qp;
	/*
	 * Nobody is to be told first; what begins with the first FPDU is answered
	 * in the pass that takes it in.
	 */
	qp->tx.running = kwarp_qp_is(qp)->partner && params->wait_first;
	rcu_assign_pointer(qp->llp, llp);
	trace_kwarp_qp_attach(qp, params);
	kwarp_qp_step(qp, KWARP_QP_ATTACH);
	if (qp->rx.ooo)
		kwarp_llp_watch(llp);
	kwarp_llp_poll(llp);
	kwarp_llp_unlock(llp);
out:
	mutex_unlock(&qp->mutex);
	return ret;
}

void kwarp_qp_start(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = kwarp_qp_llp(qp);

	might_sleep();
	if (!llp)
		return;
	if (kwarp_llp_lock(llp)) {
		if (llp->qp == qp) {
			qp->tx.running = true;
			kwarp_tx_run(qp, llp, KWARP_TX_BUDGET);
		}
		kwarp_llp_unlock(llp);
	}
	kwarp_llp_put(llp);
}

/* Nobody else gets at them: the socket lock is held, or the connection severed. */
static void end_engines(struct kwarp_qp *qp)
{
	kwarp_rx_stop(qp);
	kwarp_tx_stop(qp);
	if (never_met(qp))
		kwarp_qp_step(qp, KWARP_QP_UNMEET);
	else if (!kwarp_qp_failed(qp) && !kwarp_qp_lost(qp))
		enter_error(qp);
	kwarp_tx_free(qp);
	kwarp_rx_free(qp);
}

/* Without the socket lock, which a program keeps. @llp->qp stays the owner's. */
static struct kwarp_qp *detach_severed(struct kwarp_llp *llp)
{
	struct kwarp_qp *qp;

	kwarp_llp_sever(llp);
	qp = llp->qp;
	if (!qp)
		return NULL;
	trace_kwarp_qp_detach(qp);
	/* Others that do without it, too: cut_off(). */
	mutex_lock(&qp->mutex);
	llp->qp = NULL;
	end_engines(qp);
	mutex_unlock(&qp->mutex);
	return qp;
}

static struct kwarp_qp *detach_locked(struct kwarp_llp *llp)
{
	struct kwarp_qp *qp = llp->qp;

	if (!qp)
		return NULL;
	/* No callback and no doorbell gets past this line any more. */
	llp->qp = NULL;
	kwarp_llp_unwatch(llp);
	trace_kwarp_qp_detach(qp);
	end_engines(qp);
	return qp;
}

void kwarp_qp_detach(struct kwarp_llp *llp)
{
	struct kwarp_qp *qp;

	might_sleep();
	if (kwarp_llp_lock(llp)) {
		qp = detach_locked(llp);
		kwarp_llp_unlock(llp);
	} else {
		qp = detach_severed(llp);
	}
	if (!qp)
		return;

	mutex_lock(&qp->mutex);
	rcu_assign_pointer(qp->llp, NULL);
	mutex_unlock(&qp->mutex);
	if (kwarp_qp_lost(qp))
		kwarp_qp_check_lost(qp);
	kwarp_llp_put(llp);
	kwarp_qp_put(qp);
}

static void disconnect_locked(struct kwarp_qp *qp, struct kwarp_llp *llp,
			      bool abrupt)
{
	if (abrupt) {
		kwarp_qp_fail(qp);
		return;
	}
	if (qp->state != KWARP_QP_OPEN)
		return;
	kwarp_qp_step(qp, KWARP_QP_TO_SQD);
	qp->tx.closing = true;
	llp->owner->event(llp, KWARP_LLP_EV_DRAIN);
	kwarp_tx_run(qp, llp, KWARP_TX_BUDGET);
}

/*
 * A program keeps its socket's lock: nothing more is sent, and the owner is told as
 * of any error. It detaches the rest.
 */
static bool cut_off(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	lockdep_assert_held(&qp->mutex);
	kwarp_llp_sever(llp);
	if (llp->qp != qp)
		return false;
	end_engines(qp);
	llp->owner->event(llp, KWARP_LLP_EV_QP_ERR);
	return true;
}

void kwarp_qp_disconnect(struct kwarp_qp *qp, bool abrupt)
{
	struct kwarp_llp *llp = kwarp_qp_llp(qp);
	bool attached = false;

	might_sleep();
	if (!llp) {
		/* Nothing attached. */
	} else if (abrupt ? kwarp_llp_lock_now(llp) : kwarp_llp_lock(llp)) {
		attached = llp->qp == qp;
		if (attached)
			disconnect_locked(qp, llp, abrupt);
		kwarp_llp_unlock(llp);
	} else if (abrupt) {
		attached = cut_off(qp, llp);
	}
	if (llp)
		kwarp_llp_put(llp);
	/* No engine: the state is the caller's, who holds qp->mutex. */
	if (!attached && abrupt)
		enter_error(qp);
}
