// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The queue pair: lifetime, claims, state. */
#include "rdmap/qp.h"

#include <linux/wait_bit.h>

#include "llp/llp.h"
#include "trace.h"

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

/* Find a QP by its number. Return: the QP with a reference, or NULL. Context: any. */
struct kwarp_qp *kwarp_qp_find(struct kwarp_device *dev, u32 qpn)
{
	struct kwarp_qp *qp = NULL;
	struct ib_qp *ibqp;
	unsigned long flags;

	/*
	 * RCU would not do, because the core frees QPs without a grace period. iw_cm
	 * calls this function with interrupts off.
	 */
	xa_lock_irqsave(&dev->qps, flags);
	ibqp = xa_load(&dev->qps, qpn);
	if (ibqp && refcount_inc_not_zero(&to_kqp(ibqp)->refs))
		qp = to_kqp(ibqp);
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

/**
 * kwarp_qp_lock_llp() - take the socket lock of the attached connection
 * @qp:		queue pair
 *
 * Context: process, may sleep.
 * Return: the connection, locked until kwarp_qp_unlock_llp(), or NULL if none is attached.
 */
struct kwarp_llp *kwarp_qp_lock_llp(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = kwarp_qp_llp(qp);

	might_sleep();
	if (!llp)
		return NULL;
	kwarp_llp_lock(llp);
	if (llp->qp == qp)
		return llp;
	kwarp_qp_unlock_llp(llp);
	return NULL;
}

void kwarp_qp_unlock_llp(struct kwarp_llp *llp)
{
	kwarp_llp_unlock(llp);
	kwarp_llp_put(llp);
}

/* Claim an unclaimed QP: @always, or only if idle, with a partner as @partner says. */
static bool take_claim(struct kwarp_qp *qp, bool always, bool partner, struct kwarp_llp *llp)
{
	const struct kwarp_qp_traits *traits;
	unsigned long flags;
	bool free;

	spin_lock_irqsave(&qp->sq.lock, flags);
	traits = kwarp_qp_traits_now(qp);
	free = !qp->claimed && (always || (traits->idle && traits->partner == partner));
	if (free) {
		WRITE_ONCE(qp->claims, qp->claims + 1);
		WRITE_ONCE(qp->claimed, true);
		qp->claimant = llp;
	}
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return free;
}

/**
 * kwarp_qp_claim() - claim a QP for one connection, from before its setup to its end
 * @qp:		queue pair with a reference
 * @llp:	the connection; its owner calls kwarp_qp_unclaim() before @llp is freed
 *
 * Every connection claims its QP here first: of rdma_cm, attached sockets and rendezvous.
 * Does not sleep, because a caller may name the QP of another process, which may hold
 * qp->mutex for long. Context: any.
 *
 * Return: false if the QP is not idle, is claimed already, or has a rendezvous partner.
 */
bool kwarp_qp_claim(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	return take_claim(qp, false, false, llp);
}

/* The same for a connection to the QP's rendezvous partner: false if the QP has none. */
bool kwarp_qp_claim_partner(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	return take_claim(qp, false, true, llp);
}

/* Claim a QP in any state, without connection. Return: false if claimed. Context: any. */
bool kwarp_qp_reserve(struct kwarp_qp *qp)
{
	return take_claim(qp, true, false, NULL);
}

void kwarp_qp_unclaim(struct kwarp_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.lock, flags);
	WRITE_ONCE(qp->claimed, false);
	qp->claimant = NULL;
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	kwarp_qp_wake_waiters(qp);
}

/**
 * kwarp_qp_wake_waiters() - the QP has lost its claim or its connection
 * @qp:		queue pair with a reference
 *
 * Context: any.
 */
void kwarp_qp_wake_waiters(struct kwarp_qp *qp)
{
	/* Pairs with prepare_to_wait_event(): a waiter that is not seen here sees the loss. */
	smp_mb();
	wake_up_var(&qp->claimed);
}

/* Return: the claiming connection, with a reference, or NULL. Context: any. */
struct kwarp_llp *kwarp_qp_claimant(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp;
	unsigned long flags;

	spin_lock_irqsave(&qp->sq.lock, flags);
	llp = qp->claimant;
	if (llp)
		kwarp_llp_get(llp);
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return llp;
}

/* Is the connection with this claim over? */
static bool connection_is_over(struct kwarp_qp *qp, u32 claim)
{
	unsigned long flags;
	bool over;

	spin_lock_irqsave(&qp->sq.lock, flags);
	over = qp->claims != claim || (!qp->claimed && !rcu_access_pointer(qp->llp));
	spin_unlock_irqrestore(&qp->sq.lock, flags);
	return over;
}

/**
 * kwarp_qp_await_end() - wait for the end of the current connection, not of a later one
 * @qp:		queue pair with a reference
 *
 * A connection that has released its claim may be attached until its Terminate is sent.
 * Context: process, may sleep; the caller holds no lock that the connection manager takes.
 * Return: 0, or -ERESTARTSYS if the calling process is being killed.
 */
int kwarp_qp_await_end(struct kwarp_qp *qp)
{
	u32 claim = READ_ONCE(qp->claims);

	might_sleep();
	return wait_var_event_killable(&qp->claimed, connection_is_over(qp, claim));
}

/* ---- state --------------------------------------------------------------- */

/* Context: sq.lock and rq.lock held, or the QP is not published yet. */
static void set_state(struct kwarp_qp *qp, enum kwarp_qp_state state)
{
	const struct kwarp_qp_traits *is = &kwarp_qp_traits_of[state];
	struct kwarp_sq *sq = &qp->sq;
	struct kwarp_rq *rq = &qp->rq;

	WRITE_ONCE(qp->state, state);
	if (kwarp_qp_is_failed(state)) {
		WRITE_ONCE(sq->mode, KWARP_WQ_FLUSHED);
		WRITE_ONCE(rq->mode, KWARP_WQ_FLUSHED);
	} else if (state == KWARP_QP_CLOSING) {
		/* RFC 5041 6.2.1: requests after the teardown fail. They are flushed in ERR. */
		kwarp_sq_end(sq);
	} else {
		WRITE_ONCE(sq->mode, is->sends ? KWARP_WQ_OPEN :
				     is->sq_closed ? KWARP_WQ_CLOSED :
						     KWARP_WQ_HELD);
		WRITE_ONCE(rq->mode, is->rq_closed ? KWARP_WQ_CLOSED :
						     KWARP_WQ_OPEN);
	}
	/* The provider reads this and refuses posts itself. */
	WRITE_ONCE(sq->ctl->closed, is->sq_closed);
	WRITE_ONCE(rq->ctl->closed, is->rq_closed);
}

/* A new QP is in IDLE, not in RESET, as iWARP consumers expect. */
void kwarp_qp_state_init(struct kwarp_qp *qp)
{
	set_state(qp, KWARP_QP_IDLE);
}

/**
 * kwarp_qp_step() - change the state as proto/qp_state.c defines it
 * @qp:		queue pair
 * @step:	event
 *
 * Also opens and closes the queues: a post fails immediately in a state that does not
 * allow it, as with InfiniBand and most providers. Sends may be posted from RTS on, or from
 * RTR in a rendezvous or once accepted; receives in all states but RESET.
 * Context: any; the caller holds the socket lock if a connection is attached, otherwise
 * qp->mutex. modify_qp always holds qp->mutex.
 *
 * Return: false if the state does not allow @step; the state is unchanged.
 */
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

/**
 * kwarp_qp_set_err() - set the error that completions and `rdma resource` report
 * @qp:		queue pair, socket lock held
 * @err:	layer, type and code of the Terminate, sent or received
 * @from:	side that raised it
 */
void kwarp_qp_set_err(struct kwarp_qp *qp, const struct kwarp_term_err *err,
		      enum kwarp_err_from from)
{
	u16 vendor_err = err->layer << 12 | err->etype << 8 | err->code;

	qp->err = *err;
	WRITE_ONCE(qp->err_from, from);
	WRITE_ONCE(qp->sq.vendor_err, vendor_err);
	WRITE_ONCE(qp->rq.vendor_err, vendor_err);
}

/**
 * kwarp_qp_our_err() - set an error that kwarp_qp_terminate() will raise
 * @qp:		queue pair, socket lock held; no effect in an error state
 * @err:	the error
 *
 * Call this before the request is completed that causes the error.
 */
void kwarp_qp_our_err(struct kwarp_qp *qp, enum kwarp_err err)
{
	if (!kwarp_qp_failed(qp))
		kwarp_qp_set_err(qp, kwarp_err_term(err), KWARP_ERR_FROM_US);
}

/**
 * kwarp_qp_warn_terminate() - log a Terminate
 * @qp:		queue pair with a connection, socket lock held
 * @way:	"sent" or "received"
 * @err:	its codes, or NULL if it is too short
 */
void kwarp_qp_warn_terminate(const struct kwarp_qp *qp, const char *way,
			     const struct kwarp_term_err *err)
{
	const struct kwarp_llp *llp = rcu_access_pointer(qp->llp);

	kwarp_qp_assert_locked(qp);
	if (err)
		kwarp_llp_warn(llp, "QP %u: Terminate %s: %s (layer %u, type %u, code %#x)",
			       qp->ibqp.qp_num, way, kwarp_term_text(err), err->layer,
			       err->etype, err->code);
	else
		kwarp_llp_warn(llp, "QP %u: Terminate %s: too short", qp->ibqp.qp_num, way);
}
