// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Doorbell coalescing: in a burst of posts an engine that has nothing to send pauses, that is,
 * goes idle without requesting a doorbell. A timer looks at the rings of all paused queue pairs
 * with the same send CQ and wakes the engines that have requests. Requests posted meanwhile form
 * one batch: one system call and few segments, instead of one of each per message. A program that
 * has nothing to do but wait for completions rings the doorbell earlier.
 *
 * Coalescing must not delay request/response traffic. So the program must have posted several
 * times at short intervals without polling for completions, and the peer must have sent no RDMA
 * Write or Send meanwhile. The posts may be on several queue pairs with the same CQ. If the peer
 * sends a message after many requests only, as flow control by credits does, one doorbell after
 * this message is enough.
 *
 * The pauses last as long as new ones begin: one of many queue pairs gets requests rarely, but
 * each time without a doorbell. Therefore the CQ has one timer for all of them, which compares
 * indices and runs no engine in vain.
 *
 * The limit of a short interval, and the first period of the timer, are a small multiple of the
 * duration of the previous pass, which measures the cost of a doorbell on this machine. With a
 * fixed limit, no program would qualify where each doorbell takes longer than the limit.
 */
#include "rdmap/tx.h"

#include <linux/timekeeping.h>

#include "core/cq.h"
#include "llp/llp.h"

static struct kwarp_pause *pause_of(const struct kwarp_qp *qp)
{
	return &qp->sq.cq->pause;
}

/* ---- the timer ----------------------------------------------------------- */

static void start_timer(struct kwarp_pause *p)
{
	lockdep_assert_held(&p->lock);
	hrtimer_start(&p->timer,
		      ns_to_ktime(max_t(u64, p->period, p->num * KWARP_PAUSE_PER_QP_NS)),
		      HRTIMER_MODE_REL_SOFT);
}

static void unlink_qp(struct kwarp_pause *p, struct kwarp_qp *qp)
{
	lockdep_assert_held(&p->lock);
	list_del_init(&qp->pause_link);
	p->num--;
}

/* Are there requests, or has the peer sent a message since the pause began? */
static bool pause_over(const struct kwarp_qp *qp)
{
	return kwarp_sq_pending(&qp->sq) ||
	       READ_ONCE(qp->tx.coalesce.peer_at) == READ_ONCE(qp->sq.window.fetched);
}

/*
 * Unlink the next queue pair whose pause is over, beginning at *@pos. All that are linked exist,
 * because kwarp_tx_coalesce_exit() takes the lock.
 * Return: the queue pair with a reference, or NULL.
 */
static struct kwarp_qp *next_over(struct kwarp_pause *p, struct list_head **pos, bool all)
{
	struct kwarp_qp *qp;

	lockdep_assert_held(&p->lock);
	while (*pos != &p->qps) {
		qp = list_entry(*pos, struct kwarp_qp, pause_link);
		*pos = qp->pause_link.next;
		if (!all && !pause_over(qp))
			continue;
		unlink_qp(p, qp);
		if (refcount_inc_not_zero(&qp->refs))
			return qp;
	}
	return NULL;
}

/* Run the engine, which pauses again, or requests a doorbell. */
static void wake_engine(struct kwarp_qp *qp)
{
	struct kwarp_llp *llp = kwarp_qp_llp(qp);

	if (!llp)
		return;
	/* Prefer this softirq: a worker waits for the CPU of a program that polls. */
	if (!kwarp_llp_wake_bh(llp))
		kwarp_tx_kick(qp);
	kwarp_llp_put(llp);
}

/**
 * struct stretch - time in which timers have run engines on a CPU
 * @begin:	first engine, ns
 * @end:	end of the last engine so far, ns
 */
struct stretch {
	u64 begin;
	u64 end;
};

static DEFINE_PER_CPU(struct stretch, stretches);

/*
 * Wake an engine here, or, if the timers of many CQs have kept this CPU for long, leave the engine
 * to a worker: the timers that expire together run in one softirq. A stretch ends with an
 * intermission of an eighth of its length.
 */
static void wake_in_turn(struct kwarp_qp *qp)
{
	struct stretch *s = this_cpu_ptr(&stretches);
	u64 now = ktime_get_ns();

	if (now - s->end > (s->end - s->begin) / 8)
		s->begin = now;
	if (now - s->begin > KWARP_PAUSE_STRETCH_NS) {
		kwarp_tx_defer(qp);
		return;
	}
	wake_engine(qp);
	s->end = ktime_get_ns();
}

static enum hrtimer_restart pause_timeout(struct hrtimer *timer)
{
	struct kwarp_pause *p = container_of(timer, struct kwarp_pause, timer);
	struct kwarp_qp *over[KWARP_PAUSE_WAKES];
	struct list_head *pos;
	int i, num = 0;
	bool ended;

	spin_lock(&p->lock);
	ended = ktime_get_ns() - p->active >= min(KWARP_PAUSE_END_NS,
						  p->num * KWARP_PAUSE_END_QP_NS);
	pos = p->qps.next;
	while (num < KWARP_PAUSE_WAKES && (over[num] = next_over(p, &pos, ended)))
		num++;
	if (!num)
		p->period = min_t(u64, 2 * p->period, KWARP_PAUSE_MAX_NS);
	spin_unlock(&p->lock);

	for (i = 0; i < num; i++) {
		wake_in_turn(over[i]);
		kwarp_qp_put(over[i]);
	}

	/* Count the period from here: between two runs the CPU is free for others. */
	spin_lock(&p->lock);
	if (p->num)
		start_timer(p);
	spin_unlock(&p->lock);
	return HRTIMER_NORESTART;
}

void kwarp_pause_init(struct kwarp_pause *p)
{
	spin_lock_init(&p->lock);
	INIT_LIST_HEAD(&p->qps);
	kwarp_hrtimer_setup(&p->timer, pause_timeout, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
}

/* Context: process, may sleep; the CQ has no queue pairs left. */
void kwarp_pause_exit(struct kwarp_pause *p)
{
	might_sleep();
	WARN_ON_ONCE(!list_empty(&p->qps));
	hrtimer_cancel(&p->timer);
}

/* ---- the engine ---------------------------------------------------------- */

static u64 coalesce_ns(const struct kwarp_coalesce *c)
{
	return clamp_t(u64, KWARP_PAUSE_PASSES * c->pass, KWARP_PAUSE_MIN_NS,
		       KWARP_PAUSE_MAX_NS);
}

/*
 * The queue pair may be paused already, if this pass has paused and then found a request.
 * Return: false if there are too many paused queue pairs.
 */
static bool pause_begin(struct kwarp_qp *qp, u64 now)
{
	struct kwarp_coalesce *c = &qp->tx.coalesce;
	u32 fetched = qp->sq.window.fetched;
	struct kwarp_pause *p = pause_of(qp);
	bool linked, room;

	spin_lock_bh(&p->lock);
	linked = !list_empty(&qp->pause_link);
	room = linked || p->num < KWARP_PAUSE_QPS;
	/* A pause that goes on does not make those of other queue pairs longer. */
	if (room && fetched != c->paused_at) {
		c->paused_at = fetched;
		p->active = now;
		p->period = coalesce_ns(c);
	}
	if (room && !linked) {
		list_add_tail(&qp->pause_link, &p->qps);
		/* With others in the list the timer is queued, or will be. */
		if (!p->num++)
			start_timer(p);
	}
	spin_unlock_bh(&p->lock);
	return room;
}

/* Return: true if the engine was paused; false if it was not, or the timer has ended that. */
static bool pause_end(struct kwarp_qp *qp)
{
	struct kwarp_pause *p = pause_of(qp);
	bool paused;

	spin_lock_bh(&p->lock);
	paused = !list_empty(&qp->pause_link);
	if (paused)
		unlink_qp(p, qp);
	spin_unlock_bh(&p->lock);
	return paused;
}

/* Context: process; the engine has stopped for good. The timer does not know the QP any more. */
void kwarp_tx_coalesce_exit(struct kwarp_qp *qp)
{
	pause_end(qp);
}

void kwarp_tx_woken(struct kwarp_qp *qp)
{
	struct kwarp_coalesce *c = &qp->tx.coalesce;

	kwarp_qp_assert_locked(qp);
	/* Only this engine links the queue pair, so what looks unlinked needs no lock. */
	c->paused = !list_empty(&qp->pause_link) && pause_end(qp);
	c->pass_start = 0;
	if (kwarp_sq_bursts(&qp->sq)) {
		c->pass_start = ktime_get_ns();
		c->short_idle = c->pass_start - READ_ONCE(qp->sq.cq->idle_since) <
				coalesce_ns(c);
	}
}

/**
 * kwarp_tx_coalesce() - may the engine go idle without requesting a doorbell?
 * @qp:		queue pair, socket lock held; the engine has nothing to do
 *
 * Return: true if so; the timer of the send CQ will wake the engine.
 */
bool kwarp_tx_coalesce(struct kwarp_qp *qp)
{
	struct kwarp_coalesce *c = &qp->tx.coalesce;
	u32 fetched = qp->sq.window.fetched;
	bool may = c->paused;
	u64 now;

	kwarp_qp_assert_locked(qp);
	if (!kwarp_sq_bursts(&qp->sq))
		return false;
	now = ktime_get_ns();
	WRITE_ONCE(qp->sq.cq->idle_since, now);
	/* If the pass has fetched nothing, an acknowledgment may have interrupted a pause. */
	if (fetched != c->paused_at) {
		c->pass = c->pass_start ? now - c->pass_start : 0;
		may = c->short_idle;
	}
	if (!may || fetched - c->peer_at < (c->stream ? 1 : KWARP_TX_BURST))
		return false;
	return pause_begin(qp, now);
}
