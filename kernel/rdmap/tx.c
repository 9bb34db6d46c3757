// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The send engine's loop: build a batch, push it, report completions.
 *
 * The driver (drive.c) runs the engine in the context that brings work (a user's doorbell, a
 * kernel consumer's post, an arriving read request, an acknowledgment that makes room) until it
 * would block. If its budget is used up and too little is in flight to expect an acknowledgment,
 * it continues on kwarp_wq.
 */
#include "rdmap/tx.h"

#include "core/handler.h"
#include "llp/llp.h"

#define TX_RETRY	(HZ / 50 + 1)

/* Send FIN once, when nothing is left to be sent before it. */
static void try_fin(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	struct kwarp_tx *tx = &qp->tx;

	if (tx->state >= KWARP_TX_FIN_SENT)
		return;
	if (tx->state != KWARP_TX_STOPPED &&
	    !(tx->state == KWARP_TX_CLOSING && !tx->held && kwarp_sq_drained(&qp->sq) &&
	      qp->rx.in_head == qp->rx.in_tail))
		return;
	kwarp_tx_to(tx, KWARP_TX_FIN_SENT);
	llp->ops->shutdown(llp);
	llp->owner->event(llp, KWARP_LLP_EV_FIN_SENT);
}

/* Memory is short: retry after a delay. */
static void tx_retry(struct kwarp_qp *qp)
{
	kwarp_qp_get(qp);
	if (!queue_delayed_work(kwarp_wq, &qp->retry, TX_RETRY))
		kwarp_qp_put(qp);
}

/* Push what is built. Return: 0, and built requests have completed; -EAGAIN; or another errno. */
static int push_built(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	struct kwarp_tx *tx = &qp->tx;
	int ret = tx->state == KWARP_TX_DEAD ? -EPIPE : llp->ops->push(llp);

	if (!ret) {
		kwarp_tx_complete_sent(qp);
	} else if (ret != -EAGAIN) {
		/* The lower layer reports the end of the stream by engine->ended(). */
		kwarp_tx_to(tx, KWARP_TX_DEAD);
		llp->ops->drop(llp);
	}
	return ret;
}

/*
 * Push what is built, then build the next batch. *@drained: the batch that is pushed has everything
 * that was due. *@raise is set if a request failed and the batch before it is pushed.
 * Return: true to continue.
 */
static bool run_once(struct kwarp_qp *qp, struct kwarp_llp *llp, int *budget, bool *drained,
		     bool *raise)
{
	enum kwarp_tx_kind due = KWARP_TX_IDLE;
	struct kwarp_tx *tx = &qp->tx;
	int ret = push_built(qp, llp);

	if (ret == -EAGAIN) {
		/*
		 * If there is room, memory was short. TCP may report write space in the same call,
		 * although it has no memory: wait all the same.
		 */
		if (llp->ops->writeable(llp)) {
			qp->drive.due &= ~KWARP_DRIVE_TX;
			tx_retry(qp);
		}
		return false;
	}
	*raise = tx->failed;
	if (ret < 0 || unlikely(*raise))
		return false;
	/* A callback that ran meanwhile may have added to what is due, a Terminate for example. */
	if (!*drained || qp->drive.due)
		due = kwarp_tx_due(qp, llp);
	if (tx->state < KWARP_TX_STOPPED && (*budget)-- <= 0 && due != KWARP_TX_IDLE) {
		/*
		 * Continue on the next acknowledgment, if one is expected. Otherwise without
		 * priority: requests that send nothing may follow each other without an end.
		 */
		if (llp->ops->in_flight(llp))
			llp->ops->want_space(llp);
		else
			kwarp_tx_defer(qp);
		return false;
	}
	if (!llp->ops->writeable(llp)) {
		/* The end of the stream needs no space. */
		if (due == KWARP_TX_IDLE)
			try_fin(qp, llp);
		llp->ops->want_space(llp);
		return false;
	}
	ret = due == KWARP_TX_IDLE ? 0 : kwarp_tx_build(qp, llp, &due);
	*drained = ret > 0 && due == KWARP_TX_IDLE;
	if (ret > 0 || unlikely(tx->failed))
		return true;
	/* Local work requests complete without sending a byte. */
	kwarp_tx_complete_sent(qp);
	if (ret < 0) {
		tx_retry(qp);
		return false;
	}
	try_fin(qp, llp);
	if (!kwarp_tx_can_fetch(qp))
		return false;
	return !(kwarp_tx_coalesce(qp) ? kwarp_sq_prepare_pause(&qp->sq) :
					 kwarp_sq_prepare_sleep(&qp->sq));
}

/**
 * kwarp_tx_run() - send until there is nothing to do, TCP is full, or the budget ends
 * @qp:		attached queue pair
 * @llp:	its connection
 * @budget:	batches that may still be built; the end of the stream needs none
 *
 * When TCP is full, the write-space event resumes the engine, in the receive path; when the
 * budget is used up, the next acknowledgment does or, with little in flight, a worker. The
 * engine requests a doorbell from user space only when it goes idle. For the driver only.
 * Context: socket lock held; softirq or process.
 *
 * Return: true if a work request failed: raise tx->failed, then call again.
 */
bool kwarp_tx_run(struct kwarp_qp *qp, struct kwarp_llp *llp, int *budget)
{
	bool drained = false, raise = false;

	kwarp_llp_assert_locked(llp);
	kwarp_tx_woken(qp);
	if (kwarp_tx_can_fetch(qp))
		kwarp_sq_cancel_sleep(&qp->sq);
	while (run_once(qp, llp, budget, &drained, &raise))
		;
	return raise;
}

/* Queue the engine on kwarp_wq. Context: any, any locks. */
void kwarp_tx_kick(struct kwarp_qp *qp)
{
	kwarp_qp_get(qp);
	if (!queue_work(kwarp_wq, &qp->work))
		kwarp_qp_put(qp);
}

/**
 * kwarp_post_may_run() - may a kernel consumer's post run an engine, and call completion handlers?
 *
 * TCP cannot send with interrupts off. The consumer may hold locks. If its completion handler
 * takes such a lock, interrupts are off, because the handlers of other devices run in hard
 * interrupts. With PREEMPT_RT these locks leave interrupts on, so always use a worker.
 *
 * A handler of the consumer may be called inside a pass of another queue pair, which uses a region
 * until its end. A LOCAL_INV waits for that end, so the engine must not run inside the handler.
 *
 * Context: any.
 * Return: true if so; else use a worker.
 */
bool kwarp_post_may_run(void)
{
	return !IS_ENABLED(CONFIG_PREEMPT_RT) && !irqs_disabled() && !in_hardirq() &&
	       !kwarp_in_handler();
}

/*
 * Run the engine for what a kernel consumer has posted: here if possible, else on kwarp_wq.
 * Context: any, any locks, the socket lock included.
 */
void kwarp_tx_wake(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp;
	bool done = false;

	if (kwarp_post_may_run()) {
		llp = kwarp_qp_llp(qp);
		if (llp) {
			done = kwarp_llp_try_wake(llp);
			kwarp_llp_put(llp);
		}
	}
	if (!done)
		kwarp_tx_kick(qp);
}

/*
 * Queue both engines for the work that a pass, or a callback under a long-held socket lock,
 * left over. The work may take arbitrarily long, so it runs on kwarp_rest_wq, without
 * priority over programs. Context: any, any locks.
 */
void kwarp_tx_defer(struct kwarp_qp *qp)
{
	kwarp_qp_get(qp);
	if (!queue_work(kwarp_rest_wq, &qp->rest))
		kwarp_qp_put(qp);
}

int kwarp_tx_alloc(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	if (!tx->wqe)
		tx->wqe = kmalloc(qp->sq.stride, kwarp_gfp_conn());
	return tx->wqe ? 0 : -ENOMEM;
}

void kwarp_tx_begin(struct kwarp_qp *qp)
{
	qp->tx = (struct kwarp_tx){
		.wqe = qp->tx.wqe,
		.send_msn = 1,
		.read_msn = 1,
		.atomic_msn = 1,
		.stag_base = get_random_u32(),
	};
}

void kwarp_tx_free(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	kfree(tx->wqe);
	tx->wqe = NULL;
}

/*
 * From now on, build only responses, and the rest of the message in progress: a Terminate follows.
 * An engine that is not started takes nothing from the send queue anyway.
 * Context: socket lock held.
 */
void kwarp_tx_answer_only(struct kwarp_qp *qp)
{
	kwarp_qp_assert_locked(qp);
	if (qp->tx.state >= KWARP_TX_RUNNING)
		kwarp_tx_to(&qp->tx, KWARP_TX_ANSWERING);
}

/*
 * Complete the work request that has failed, if any, after those before it, or before the flush.
 * Context: socket lock held; or qp->mutex held and no engine runs.
 */
void kwarp_tx_complete_failed(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	if (tx->failed_status)
		kwarp_sq_complete(&qp->sq, tx->failed_slot, tx->failed_status);
	tx->failed_status = KWARP_WC_SUCCESS;
}

/* Build nothing more, for good. Context: socket lock held, or no connection attached. */
void kwarp_tx_stop(struct kwarp_qp *qp)
{
	kwarp_qp_assert_locked(qp);
	kwarp_tx_to(&qp->tx, KWARP_TX_STOPPED);
	qp->tx.term_len = 0;
	qp->tx.msg.kind = KWARP_TX_IDLE;
}

/**
 * kwarp_tx_rtr() - make the ready-to-receive message of RFC 6581 the first one to send
 * @qp:		attached, not started queue pair
 * @opcode:	RDMAP_WRITE, RDMAP_READ_REQUEST or RDMAP_SEND, zero length
 *
 * The message has no completion. Context: process.
 */
void kwarp_tx_rtr(struct kwarp_qp *qp, u8 opcode)
{
	struct kwarp_llp *llp = kwarp_qp_lock_llp(qp);

	if (!llp)
		return;
	qp->tx.rtr = opcode + 1;
	kwarp_qp_unlock_llp(llp);
}
