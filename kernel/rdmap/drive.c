// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The driver of a stream's engines. A pass of an engine collects: it returns what it has found
 * (answers due, an error, the end of the stream), and the driver acts on it.
 *
 * Each context that brings work holds the socket lock and calls kwarp_drive(). TCP may report
 * space while we send, and SCTP releases the lock, so callbacks of the socket may arrive while
 * the driver runs. They only add to the work that is due: engines are never entered twice.
 */
#include "rdmap/drive.h"

#include <linux/wait_bit.h>

#include "llp/llp.h"
#include "rdmap/pass.h"
#include "rdmap/rx.h"
#include "rdmap/stream.h"
#include "rdmap/tx.h"

/* A work request or response failed: raise its error after the batch. */
static void raise_failed(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;
	enum kwarp_err err = tx->failed;

	tx->failed = KWARP_ERR_NONE;
	kwarp_qp_our_err(qp, err);
	kwarp_tx_complete_failed(qp);
	kwarp_qp_terminate(qp, err, tx->failed_len ? tx->failed_seg : NULL,
			   tx->failed_len, tx->failed_len);
}

static void drive_tx(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	while (kwarp_tx_run(qp, llp, &qp->drive.budget))
		raise_failed(qp);
}

/* Polls of the CQs, if empty, shall poll the NAPI instance that receives for this QP. */
static void follow_napi(struct kwarp_qp *qp, const struct kwarp_llp *llp)
{
	u32 id = kwarp_llp_napi_id(llp);

	kwarp_cq_follow_napi(qp->sq.cq, id);
	kwarp_cq_follow_napi(qp->rq.cq, id);
}

/*
 * Process what has arrived, then act on what the pass has found. Requests that precede an error
 * are answered as far as there is send space; the Terminate does not wait for more space, nor for
 * the send queue, whose next request might fail and be reported in place of the error.
 */
static void drive_rx(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	struct kwarp_drive_state *d = &qp->drive;
	struct kwarp_rx_pass pass __uninitialized;
	enum kwarp_err err;

	kwarp_rx_pass_init(&pass, qp);
	err = kwarp_rx_pull(&pass, llp);
	follow_napi(qp, llp);
	if (pass.first && !qp->params.initiator)
		llp->owner->event(llp, KWARP_LLP_EV_RTR);
	/* A completion handler may have ended the connection. */
	if (qp->rx.state == KWARP_RX_STOPPED || pass.terminated) {
		pass.first = false;
		pass.answers = false;
	}
	if (err) {
		if (pass.answers) {
			kwarp_tx_answer_only(qp);
			d->budget = KWARP_TX_BUDGET;
			drive_tx(qp, llp);
		}
		kwarp_qp_terminate(qp, err, pass.u.seg_len ? pass.u.seg : NULL,
				   pass.u.seg_len, pass.u.len);
	} else if (pass.terminated) {
		kwarp_qp_fail(qp);
	} else if (pass.first || pass.answers) {
		d->due |= KWARP_DRIVE_TX;
	}
	d->due |= KWARP_DRIVE_END;
}

/**
 * kwarp_drive() - do work of the engines
 * @qp:		attached queue pair
 * @llp:	its connection
 * @work:	bits of enum kwarp_drive_bits
 *
 * If the driver runs already, below this call or in a context that has released the socket lock
 * while it sends, it does the work when the engine that it runs returns. Context: socket lock
 * held; softirq or process.
 */
void kwarp_drive(struct kwarp_qp *qp, struct kwarp_llp *llp, u8 work)
{
	struct kwarp_drive_state *d = &qp->drive;

	kwarp_llp_assert_locked(llp);
	d->due |= work;
	if (d->running)
		return;
	d->running = true;
	/* A pass answers one batch of requests here, and the rest on acknowledgments. */
	d->budget = work & KWARP_DRIVE_TX ? KWARP_TX_BUDGET : 1;
	while (d->due && llp->qp == qp) {
		if (d->due & KWARP_DRIVE_RX) {
			d->due &= ~KWARP_DRIVE_RX;
			drive_rx(qp, llp);
		} else if (d->due & KWARP_DRIVE_TX) {
			d->due &= ~KWARP_DRIVE_TX;
			drive_tx(qp, llp);
		} else {
			d->due &= ~KWARP_DRIVE_END;
			/* The stream ends after its last ULPDU: a worker's pass sets the bit. */
			if (qp->rx.state == KWARP_RX_DEFERRED)
				continue;
			if (qp->rx.state == KWARP_RX_STOPPED)
				llp->ops->discard(llp);
			kwarp_llp_report_end(llp);
		}
	}
	d->running = false;
	if (d->awaited) {
		WRITE_ONCE(d->awaited, false);
		/* Pairs with prepare_to_wait_event(), as in kwarp_qp_wake_waiters(). */
		smp_mb();
		wake_up_var(&d->awaited);
	}
}

/* Take the socket lock and do work, if a connection is attached. */
static void lock_and_drive(struct kwarp_qp *qp, u8 work)
{
	struct kwarp_llp *llp = kwarp_qp_lock_llp(qp);

	if (!llp)
		return;
	kwarp_llp_steer(llp);
	if (work & KWARP_DRIVE_RX)
		kwarp_rx_resume(qp);
	kwarp_drive(qp, llp, work);
	kwarp_qp_unlock_llp(llp);
}

/* Run the send engine, if a connection is attached. Context: process, no locks held. */
void kwarp_drive_enter(struct kwarp_qp *qp)
{
	lock_and_drive(qp, KWARP_DRIVE_TX);
}

/**
 * kwarp_drive_await() - wait until the driver has acted on what its pass has found
 * @qp:		queue pair, with the caller's reference
 *
 * The consumer may know of an error, by its completion, before the driver has ended the stream.
 * The driver may release the socket lock in between, so taking the lock is not enough. Without
 * a connection, or if the driver does not run, there is nothing to wait for.
 * Context: process, may sleep; no socket lock held.
 */
void kwarp_drive_await(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = kwarp_qp_lock_llp(qp);
	struct kwarp_drive_state *d = &qp->drive;

	if (!llp)
		return;
	d->awaited = d->running;
	kwarp_qp_unlock_llp(llp);
	wait_var_event(&d->awaited, !READ_ONCE(d->awaited));
}

static void run_worker(struct kwarp_qp *qp, u8 work)
{
	lock_and_drive(qp, work);
	if (kwarp_qp_lost(qp))
		kwarp_qp_check_lost(qp);
	kwarp_qp_put(qp);
}

void kwarp_drive_work(struct work_struct *work)
{
	run_worker(container_of(work, struct kwarp_qp, work), KWARP_DRIVE_TX);
}

void kwarp_drive_rest_work(struct work_struct *work)
{
	run_worker(container_of(work, struct kwarp_qp, rest),
		   KWARP_DRIVE_RX | KWARP_DRIVE_TX);
}

void kwarp_drive_retry_work(struct work_struct *work)
{
	struct kwarp_qp *qp =
		container_of(to_delayed_work(work), struct kwarp_qp, retry);

	kwarp_drive_enter(qp);
	kwarp_qp_put(qp);
}
