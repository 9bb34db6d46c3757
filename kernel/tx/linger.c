// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lingering: behind a burst the engine sleeps without asking for a doorbell, and a
 * timer wakes it. What is posted meanwhile makes one batch, for one way into the
 * kernel and few segments, instead of one of each per message. A program that has
 * nothing else to do than to wait for completions rings earlier.
 *
 * Only where it costs nobody time: the program has posted several times without
 * looking for a completion, at short intervals, and the peer has said nothing
 * meanwhile. So request and answer never wait.
 *
 * What is short depends on what a way into the kernel costs here, which the pass
 * before tells: what it took, a few times over, is worth waiting for. On a machine
 * on which each doorbell takes longer than a fixed time, no program would be brisk.
 */
#include "tx.h"

#include <linux/timekeeping.h>

#include "../core/qp.h"
#include "../llp/llp.h"

/* The engine sets the need-wakeup flag if there was nothing. */
static enum hrtimer_restart timeout(struct hrtimer *timer)
{
	struct kwarp_qp *qp = container_of(timer, struct kwarp_qp, linger);
	struct kwarp_llp *llp = kwarp_qp_llp(qp);

	if (!llp)
		return HRTIMER_NORESTART;
	/* A worker would wait for the CPU of a program that polls. */
	if (!kwarp_llp_wake_bh(llp))
		kwarp_tx_kick(qp);
	kwarp_llp_put(llp);
	return HRTIMER_NORESTART;
}

void kwarp_tx_linger_init(struct kwarp_qp *qp)
{
	kwarp_hrtimer_setup(&qp->linger, timeout, CLOCK_MONOTONIC,
			    HRTIMER_MODE_REL_SOFT);
}

void kwarp_tx_linger_exit(struct kwarp_qp *qp)
{
	might_sleep();
	hrtimer_cancel(&qp->linger);
}

static u64 linger_ns(const struct kwarp_tx *tx)
{
	return clamp_t(u64, KWARP_TX_LINGER_PASSES * tx->pass,
		       KWARP_TX_LINGER_MIN_NS, KWARP_TX_LINGER_MAX_NS);
}

void kwarp_tx_woken(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;

	tx->woke = 0;
	if (kwarp_sq_bursts(qp)) {
		tx->woke = ktime_get_ns();
		tx->brisk = tx->woke - tx->slept < linger_ns(tx);
	}
}

bool kwarp_tx_linger(struct kwarp_qp *qp)
{
	struct kwarp_tx *tx = &qp->tx;
	u32 fetched = qp->sq.fetched;

	if (!kwarp_sq_bursts(qp))
		return false;
	tx->slept = ktime_get_ns();
	/*
	 * Nothing new: the time that began behind the last burst goes on, if it
	 * has not ended. A timer whose callback runs on another CPU is active, too,
	 * but may have woken the very pass that asks: it will not come again.
	 */
	if (fetched == tx->lingered)
		return hrtimer_is_queued(&qp->linger);
	tx->pass = tx->woke ? tx->slept - tx->woke : 0;
	if (!tx->brisk || fetched - tx->quiet < KWARP_TX_BURST)
		return false;
	tx->lingered = fetched;
	hrtimer_start(&qp->linger, ns_to_ktime(linger_ns(tx)),
		      HRTIMER_MODE_REL_SOFT);
	return true;
}
