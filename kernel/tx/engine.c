// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The send engine's loop: build a batch, hand it to TCP, report completions.
 *
 * It runs in the context of whoever brings work (a user's doorbell, arriving
 * read requests, acknowledgments that make room) until it would block; a budget
 * spent with nothing in flight continues on kwarp_wq.
 */
#include "tx.h"

#include "buf.h"
#include "../core/qp.h"
#include "../llp/llp.h"
#include "../proto/rdmap.h"

#define TX_RETRY	(HZ / 50 + 1)

static void buf_drop(struct kwarp_tx *tx)
{
	struct kwarp_tx_buf *b = tx->buf;

	if (!b)
		return;
	while (b->first < b->nr)
		put_page(b->bv[b->first++].bv_page);
	kwarp_tx_buf_put(b);
	tx->buf = NULL;
}

/* TCP took @len octets: drop our page references. */
static void buf_advance(struct kwarp_tx_buf *b, u32 len)
{
	b->len -= len;
	while (len) {
		struct bio_vec *bv = &b->bv[b->first];

		if (len < bv->bv_len) {
			bv->bv_offset += len;
			bv->bv_len -= len;
			return;
		}
		len -= bv->bv_len;
		put_page(bv->bv_page);
		b->first++;
	}
}

/* Return: 0 if all is handed over, -EAGAIN if TCP is full, other errno. */
static int buf_send(struct kwarp_tx *tx, struct kwarp_llp *llp)
{
	struct kwarp_tx_buf *b = tx->buf;

	while (b->first_run < b->nr_runs) {
		const struct kwarp_tx_run *run = &b->runs[b->first_run];
		size_t len = 0;
		int i, ret;

		for (i = b->first; i < run->bv_end; i++)
			len += b->bv[i].bv_len;
		ret = kwarp_llp_send_bvec(llp, &b->bv[b->first],
					  run->bv_end - b->first, len,
					  run->eor);
		/* The backlog may have been processed in there. */
		if (tx->dead)
			return -EPIPE;
		if (ret < 0)
			return ret;
		buf_advance(b, ret);
		if (ret < len)
			return -EAGAIN;
		b->first_run++;
	}
	buf_drop(tx);
	return 0;
}

/* FIN, once, when everything before it is with TCP. */
static void try_fin(struct kwarp_qp *qp, struct kwarp_llp *llp)
{
	struct kwarp_tx *tx = &qp->tx;

	if (tx->fin_sent || tx->dead)
		return;
	if (!tx->stopped &&
	    !(tx->closing && !tx->held && kwarp_sq_drained(qp) &&
	      qp->rx.in_head == qp->rx.in_tail))
		return;
	tx->fin_sent = true;
	tx->stopped = true;
	kwarp_llp_shutdown_locked(llp);
	llp->owner->event(llp, KWARP_LLP_EV_FIN_SENT);
}

/* Memory is short: again in a moment. */
static void tx_retry(struct kwarp_qp *qp)
{
	kwarp_qp_get(qp);
	if (!queue_delayed_work(READ_ONCE(qp->wq), &qp->retry, TX_RETRY))
		kwarp_qp_put(qp);
}

/* A look that saves going through kwarp_tx_build() for nothing. */
static bool has_work(struct kwarp_qp *qp)
{
	const struct kwarp_tx *tx = &qp->tx;

	return kwarp_sq_pending(qp) || tx->msg.kind != KWARP_TX_IDLE ||
	       qp->rx.in_head != qp->rx.in_tail || tx->held || tx->term ||
	       tx->rtr || (tx->unacked && !tx->fence_out);
}

/* Return: true to go on. */
static bool run_once(struct kwarp_qp *qp, struct kwarp_llp *llp, int *budget)
{
	struct kwarp_tx *tx = &qp->tx;
	int ret;

	if (!tx->dead && tx->buf) {
		ret = buf_send(tx, llp);
		if (ret == -EAGAIN) {
			/* With room left it was memory: no write space comes. */
			if (kwarp_llp_writeable(llp))
				tx_retry(qp);
			return false;
		}
		if (ret < 0)
			tx->dead = true;
	}
	if (tx->dead) {
		/* The socket's end is reported by its own callback. */
		buf_drop(tx);
		return false;
	}
	kwarp_tx_complete_sent(qp);
	if ((*budget)-- <= 0 && has_work(qp)) {
		/* The next acknowledgment goes on, if there will be one. */
		if (kwarp_llp_in_flight(llp))
			kwarp_llp_want_wspace(llp);
		else
			kwarp_tx_kick(qp);
		return false;
	}
	if (!kwarp_llp_writeable(llp)) {
		kwarp_llp_want_wspace(llp);
		return false;
	}
	ret = has_work(qp) ? kwarp_tx_build(qp, llp) : 0;
	if (ret > 0)
		return true;
	/* Local work requests complete without an octet sent. */
	kwarp_tx_complete_sent(qp);
	if (ret < 0) {
		tx_retry(qp);
		return false;
	}
	try_fin(qp, llp);
	return kwarp_tx_can_fetch(qp) &&
	       !kwarp_sq_idle(qp, kwarp_tx_linger(qp));
}

void kwarp_tx_run(struct kwarp_qp *qp, struct kwarp_llp *llp, int budget)
{
	struct kwarp_tx *tx = &qp->tx;

	kwarp_llp_assert_locked(llp);
	if (!tx->wqe || tx->active)
		return;
	tx->active = true;
	kwarp_tx_woken(qp);
	if (kwarp_tx_can_fetch(qp))
		kwarp_sq_busy(qp);
	while (run_once(qp, llp, &budget))
		;
	tx->active = false;
}

void kwarp_tx_kick(struct kwarp_qp *qp)
{
	kwarp_qp_get(qp);
	if (!queue_work(READ_ONCE(qp->wq), &qp->work))
		kwarp_qp_put(qp);
}

void kwarp_tx_defer(struct kwarp_qp *qp)
{
	struct workqueue_struct *wq = READ_ONCE(qp->wq);

	kwarp_qp_get(qp);
	if (!queue_work(wq == kwarp_wq ? kwarp_rest_wq : wq, &qp->rest))
		kwarp_qp_put(qp);
}

static void enter(struct kwarp_qp *qp, bool rest)
{
	struct kwarp_llp *llp = kwarp_qp_llp(qp);

	if (!llp)
		return;
	if (kwarp_llp_lock(llp)) {
		if (llp->qp == qp) {
			if (rest)
				kwarp_rx_continue(qp, llp);
			kwarp_tx_run(qp, llp, KWARP_TX_BUDGET);
		}
		kwarp_llp_unlock(llp);
	}
	kwarp_llp_put(llp);
}

void kwarp_tx_enter(struct kwarp_qp *qp)
{
	enter(qp, false);
}

static void worker(struct kwarp_qp *qp, bool rest)
{
	enter(qp, rest);
	if (kwarp_qp_lost(qp))
		kwarp_qp_check_lost(qp);
	kwarp_qp_put(qp);
}

void kwarp_tx_work(struct work_struct *work)
{
	worker(container_of(work, struct kwarp_qp, work), false);
}

void kwarp_tx_rest_work(struct work_struct *work)
{
	worker(container_of(work, struct kwarp_qp, rest), true);
}

void kwarp_tx_retry_work(struct work_struct *work)
{
	struct kwarp_qp *qp =
		container_of(to_delayed_work(work), struct kwarp_qp, retry);

	kwarp_tx_enter(qp);
	kwarp_qp_put(qp);
}

int kwarp_tx_init(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	memset(tx, 0, sizeof(*tx));
	tx->wqe = kmalloc(qp->sq.stride, KWARP_GFP_CONN);
	if (!tx->wqe)
		return -ENOMEM;
	tx->send_msn = 1;
	tx->read_msn = 1;
	tx->atomic_msn = 1;
	tx->stag_base = get_random_u32();
	return 0;
}

void kwarp_tx_free(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	buf_drop(tx);
	kfree(tx->wqe);
	tx->wqe = NULL;
}

void kwarp_tx_stop(struct kwarp_qp *qp)
{
	qp->tx.stopped = true;
	qp->tx.term = false;
	qp->tx.msg.kind = KWARP_TX_IDLE;
}

void kwarp_tx_rtr(struct kwarp_qp *qp, u8 opcode)
{
	struct kwarp_llp *llp = kwarp_qp_llp(qp);

	might_sleep();
	if (!llp)
		return;
	if (kwarp_llp_lock(llp)) {
		if (llp->qp == qp)
			qp->tx.rtr = opcode + 1;
		kwarp_llp_unlock(llp);
	}
	kwarp_llp_put(llp);
}
