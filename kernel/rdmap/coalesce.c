// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Doorbell coalescing ("linger"): after a burst the engine sleeps without asking for a
 * doorbell, and a timer wakes it. Requests posted meanwhile form one batch: one system
 * call and few segments, instead of one of each per message. A program that has nothing
 * to do but wait for completions rings the doorbell earlier.
 *
 * It is used only where it adds no latency: the program has posted several times at short
 * intervals without polling for a completion, and the peer has sent nothing on its own
 * meanwhile. So request/response traffic is never delayed.
 *
 * What counts as a short interval depends on the cost of a system call here, which is
 * taken from the previous pass: the engine waits for a small multiple of its duration.
 * With a fixed limit, no program would qualify on a machine where each doorbell takes
 * longer than that.
 */
#include "rdmap/tx.h"

#include <linux/timekeeping.h>

#include "llp/llp.h"

/* If there was nothing to send, the engine sets the need-wakeup flag. */
static enum hrtimer_restart coalesce_timeout(struct hrtimer *timer)
{
	struct kwarp_qp *qp = container_of(timer, struct kwarp_qp, linger);
	struct kwarp_llp *llp = kwarp_qp_llp(qp);

	if (!llp)
		return HRTIMER_NORESTART;
	/* A worker would have to wait for the CPU of a program that polls. */
	if (!kwarp_llp_wake_bh(llp))
		kwarp_tx_kick(qp);
	kwarp_llp_put(llp);
	return HRTIMER_NORESTART;
}

void kwarp_tx_linger_init(struct kwarp_qp *qp)
{
	kwarp_hrtimer_setup(&qp->linger, coalesce_timeout, CLOCK_MONOTONIC,
			    HRTIMER_MODE_REL_SOFT);
}

/* Context: process, may sleep; the engine has stopped for good. */
void kwarp_tx_linger_exit(struct kwarp_qp *qp)
{
	might_sleep();
	hrtimer_cancel(&qp->linger);
}

static u64 linger_ns(const struct kwarp_coalesce *c)
{
	return clamp_t(u64, KWARP_TX_LINGER_PASSES * c->pass,
		       KWARP_TX_LINGER_MIN_NS, KWARP_TX_LINGER_MAX_NS);
}

void kwarp_tx_woken(struct kwarp_qp *qp)
{
	struct kwarp_coalesce *c = &qp->tx.coalesce;

	kwarp_qp_assert_locked(qp);
	c->woke = 0;
	if (kwarp_sq_bursts(&qp->sq)) {
		c->woke = ktime_get_ns();
		c->brisk = c->woke - c->slept < linger_ns(c);
	}
}

/**
 * kwarp_tx_linger() - may the engine sleep without asking for a doorbell?
 * @qp:		queue pair, socket lock held; the engine has nothing to do
 *
 * Return: true if so: a timer will wake it.
 */
bool kwarp_tx_linger(struct kwarp_qp *qp)
{
	struct kwarp_coalesce *c = &qp->tx.coalesce;
	u32 fetched = qp->sq.fetched;

	kwarp_qp_assert_locked(qp);
	if (!kwarp_sq_bursts(&qp->sq))
		return false;
	c->slept = ktime_get_ns();
	/*
	 * Nothing new: the wait that began after the last burst continues, unless it has
	 * ended. hrtimer_active() would not do: a timer whose callback runs on another
	 * CPU is active, but may have woken this very pass and does not fire again.
	 */
	if (fetched == c->started_at)
		return hrtimer_is_queued(&qp->linger);
	c->pass = c->woke ? c->slept - c->woke : 0;
	if (!c->brisk || fetched - c->peer_at < KWARP_TX_BURST)
		return false;
	c->started_at = fetched;
	hrtimer_start(&qp->linger, ns_to_ktime(linger_ns(c)),
		      HRTIMER_MODE_REL_SOFT);
	return true;
}
