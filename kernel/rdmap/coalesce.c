// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Doorbell coalescing: after a burst of posts the send engine goes idle without
 * requesting a doorbell, and a timer wakes the engine. Requests posted meanwhile form one
 * batch: one system call and few segments, instead of one of each per message. A program
 * that has nothing to do but wait for completions rings the doorbell earlier.
 *
 * Coalescing must not delay request/response traffic. So the program must have posted
 * several times at short intervals without polling for completions, and the peer must have
 * sent no RDMA Write or Send meanwhile. The posts may be on several queue pairs with the same
 * CQ. If each of them gets a single request before the program polls, a pause only costs a
 * timer: after several such pauses the engine does without for a while.
 *
 * The limit of a short interval, and the timeout, are a small multiple of the duration of
 * the previous pass, which measures the cost of a doorbell on this machine. With a fixed
 * limit, no program would qualify where each doorbell takes longer than the limit.
 */
#include "rdmap/tx.h"

#include <linux/timekeeping.h>

#include "llp/llp.h"

/* Run the engine, which requests a doorbell if there is nothing to send. */
static enum hrtimer_restart coalesce_timeout(struct hrtimer *timer)
{
	struct kwarp_qp *qp = container_of(timer, struct kwarp_qp, coalesce_timer);
	struct kwarp_llp *llp;

	/*
	 * An engine that was woken before, by a doorbell or an acknowledgment, may still be running
	 * in a process, which holds the socket lock. Pairs with the barrier in
	 * kwarp_tx_coalesce(): the engine relies on a timer that it finds queued.
	 */
	smp_mb();
	if (!READ_ONCE(qp->tx.coalesce.waiting))
		return HRTIMER_NORESTART;
	llp = kwarp_qp_llp(qp);
	if (!llp)
		return HRTIMER_NORESTART;
	/* Prefer this softirq: a worker waits for the CPU of a program that polls. */
	if (!kwarp_llp_wake_bh(llp))
		kwarp_tx_kick(qp);
	kwarp_llp_put(llp);
	return HRTIMER_NORESTART;
}

void kwarp_tx_coalesce_init(struct kwarp_qp *qp)
{
	kwarp_hrtimer_setup(&qp->coalesce_timer, coalesce_timeout, CLOCK_MONOTONIC,
			    HRTIMER_MODE_REL_SOFT);
}

/* Context: process, may sleep; the engine has stopped for good. */
void kwarp_tx_coalesce_exit(struct kwarp_qp *qp)
{
	might_sleep();
	hrtimer_cancel(&qp->coalesce_timer);
}

static u64 coalesce_ns(const struct kwarp_coalesce *c)
{
	return clamp_t(u64, KWARP_TX_COALESCE_PASSES * c->pass,
		       KWARP_TX_COALESCE_MIN_NS, KWARP_TX_COALESCE_MAX_NS);
}

void kwarp_tx_woken(struct kwarp_qp *qp)
{
	struct kwarp_coalesce *c = &qp->tx.coalesce;

	kwarp_qp_assert_locked(qp);
	WRITE_ONCE(c->waiting, false);
	c->pass_start = 0;
	if (kwarp_sq_bursts(&qp->sq)) {
		c->pass_start = ktime_get_ns();
		c->short_idle = c->pass_start - READ_ONCE(qp->sq.cq->idle_since) <
				coalesce_ns(c);
	}
}

/* Stop pausing if several pauses in a row have brought one request or none. */
static void pause_ended(struct kwarp_coalesce *c, u32 fetched)
{
	if (fetched - c->started_at > 1) {
		c->vain = 0;
	} else if (++c->vain == KWARP_TX_VAIN) {
		c->vain--;
		c->stopped_at = fetched;
	}
}

/**
 * kwarp_tx_coalesce() - may the engine go idle without requesting a doorbell?
 * @qp:		queue pair, socket lock held; the engine has nothing to do
 *
 * Return: true if so; qp->coalesce_timer is queued and will wake the engine.
 */
bool kwarp_tx_coalesce(struct kwarp_qp *qp)
{
	struct kwarp_coalesce *c = &qp->tx.coalesce;
	u32 fetched = qp->sq.window.fetched;
	bool paused = c->paused;
	u64 now;

	kwarp_qp_assert_locked(qp);
	c->paused = false;
	if (!kwarp_sq_bursts(&qp->sq))
		return false;
	now = ktime_get_ns();
	WRITE_ONCE(qp->sq.cq->idle_since, now);
	/*
	 * Nothing was fetched since the timer was started: keep waiting while it is
	 * queued. hrtimer_active() is also true while the callback runs on another CPU,
	 * which may have started this very pass; then the timer does not fire again.
	 */
	if (fetched == c->started_at) {
		WRITE_ONCE(c->waiting, true);
		smp_mb(); /* pairs with the barrier in coalesce_timeout() */
		if (hrtimer_is_queued(&qp->coalesce_timer)) {
			c->paused = paused;
			return true;
		}
		WRITE_ONCE(c->waiting, false);
	}
	if (paused)
		pause_ended(c, fetched);
	if (fetched == c->started_at)
		return false;
	c->pass = c->pass_start ? now - c->pass_start : 0;
	if (!c->short_idle || fetched - c->peer_at < KWARP_TX_BURST ||
	    fetched - c->stopped_at < KWARP_TX_RESUME)
		return false;
	c->started_at = fetched;
	c->paused = true;
	WRITE_ONCE(c->waiting, true);
	hrtimer_start(&qp->coalesce_timer, ns_to_ktime(coalesce_ns(c)),
		      HRTIMER_MODE_REL_SOFT);
	return true;
}
