// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion queue events: arming and moderation.
 *
 * An event is due when an element is added for which the queue is armed. Moderation
 * delays a due event until there are enough completions, or until a period ends, whichever
 * is first.
 */
#include "core/cq_event.h"

#include "core/handler.h"
#include "trace.h"

static u32 *arm_word(struct kwarp_cq *cq)
{
	return kwarp_cq_is_user(cq) ? &cq->ctl->arm : &cq->arm;
}

/* Is the queue armed for this completion? */
static bool event_wanted(struct kwarp_cq *cq, enum kwarp_urgency urgency)
{
	lockdep_assert_held(&cq->lock);
	u32 want;

	/*
	 * A user arms, then reads the ring again; the kernel fills the ring, then reads
	 * the arm word: at least one of them sees the other's write.
	 */
	smp_mb();
	want = READ_ONCE(*arm_word(cq));
	return want == KWARP_CQ_ARM_ANY ||
	       (want == KWARP_CQ_ARM_SOLICITED && urgency != KWARP_UNSOLICITED);
}

static void fire_event(struct kwarp_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	xchg(arm_word(cq), KWARP_CQ_ARM_NONE);
	cq->marks.event = cq->prod;
	WRITE_ONCE(cq->ctl->event_idx, cq->marks.event);
	cq->since_event = 0;
	if (cq->due) {
		cq->due = false;
		/* A callback that already runs waits for the lock and finds nothing due. */
		hrtimer_try_to_cancel(&cq->timer);
	}
}

/* Raise a due event, or delay it. Return: true if raised. */
static bool moderate_event(struct kwarp_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if ((!cq->mod_count && !cq->mod_period) ||
	    (cq->mod_count && cq->since_event >= cq->mod_count)) {
		fire_event(cq);
		return true;
	}
	if (!cq->due && cq->mod_period)
		hrtimer_start(&cq->timer, ns_to_ktime(NSEC_PER_USEC * cq->mod_period),
			      HRTIMER_MODE_REL_SOFT);
	cq->due = true;
	return false;
}

/**
 * kwarp_cq_raise_event() - raise an event if the CQ is armed for an element that is present
 * @cq:		completion queue, @cq->lock held
 * @urgency:	of the element
 *
 * Return: true if the event was raised: the CQ is disarmed, and the caller must call
 * kwarp_cq_notify() after releasing the lock.
 */
bool kwarp_cq_raise_event(struct kwarp_cq *cq, enum kwarp_urgency urgency)
{
	lockdep_assert_held(&cq->lock);
	if (!cq->due && !event_wanted(cq, urgency))
		return false;
	if (urgency != KWARP_URGENT)
		return moderate_event(cq);
	fire_event(cq);
	return true;
}

/* Call the consumer's handler. Context: any; no lock of the CQ is held. */
void kwarp_cq_notify(struct kwarp_cq *cq)
{
	trace_kwarp_cq_event(cq);
	if (!cq->ibcq.comp_handler)
		return;
	if (kwarp_cq_is_user(cq))
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	else
		kwarp_call_completion(&cq->ibcq);
}

/* The delay of a due event has ended. */
static enum hrtimer_restart moderation_timeout(struct hrtimer *timer)
{
	struct kwarp_cq *cq = container_of(timer, struct kwarp_cq, timer);
	unsigned long flags;
	bool raised = false;

	spin_lock_irqsave(&cq->lock, flags);
	/* If everything was polled meanwhile, the CQ stays armed for the next completion. */
	if (cq->due && kwarp_cq_cons(cq) != cq->prod) {
		fire_event(cq);
		raised = true;
	}
	cq->due = false;
	spin_unlock_irqrestore(&cq->lock, flags);
	if (raised)
		kwarp_cq_notify(cq);
	return HRTIMER_NORESTART;
}

void kwarp_cq_event_init(struct kwarp_cq *cq)
{
	kwarp_hrtimer_setup(&cq->timer, moderation_timeout, CLOCK_MONOTONIC,
			    HRTIMER_MODE_REL_SOFT);
}

void kwarp_cq_event_exit(struct kwarp_cq *cq)
{
	might_sleep();
	hrtimer_cancel(&cq->timer);
}

/* A user has armed through the ring before this call: check for a missed completion. */
static void arm_user(struct kwarp_cq *cq, enum kwarp_urgency urgency)
{
	unsigned long flags;
	bool raised = false;
	u32 last;

	spin_lock_irqsave(&cq->lock, flags);
	last = urgency == KWARP_SOLICITED ? cq->marks.solicited : cq->prod;
	if (kwarp_cq_marks_missed(&cq->marks, last, kwarp_cq_cons(cq)))
		raised = kwarp_cq_raise_event(cq, urgency);
	spin_unlock_irqrestore(&cq->lock, flags);
	if (raised)
		kwarp_cq_notify(cq);
}

/**
 * kwarp_cq_arm() - ib_req_notify_cq
 * @ibcq:	completion queue
 * @flags:	completions that count, and whether missed ones are reported
 *
 * A provider arms through the ring, and calls this only if the CQ then holds elements for
 * which no event was raised. The event is raised immediately: a program that arms late, or
 * for the first time, misses nothing, as with RNICs that compare with the consumer index.
 *
 * Return: 0, or 1 if IB_CQ_REPORT_MISSED_EVENTS was requested and elements are present.
 * Context: any.
 */
int kwarp_cq_arm(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	bool any = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP;
	u32 want = any ? KWARP_CQ_ARM_ANY : KWARP_CQ_ARM_SOLICITED;
	struct kwarp_cq *cq = to_kcq(ibcq);
	unsigned long irq_flags;
	int ret;

	if (kwarp_cq_is_user(cq)) {
		arm_user(cq, any ? KWARP_UNSOLICITED : KWARP_SOLICITED);
		return 0;
	}
	spin_lock_irqsave(&cq->lock, irq_flags);
	/* Arming for solicited completions does not replace arming for any. */
	cq->arm = max(cq->arm, want);
	ret = (flags & IB_CQ_REPORT_MISSED_EVENTS) && cq->cons != cq->prod;
	spin_unlock_irqrestore(&cq->lock, irq_flags);
	return ret;
}

/**
 * kwarp_cq_moderate() - modify_cq: reduce events
 * @ibcq:	completion queue
 * @count:	number of completions after which an event is raised; 0: no limit
 * @period:	microseconds for which an event is delayed; 0: no limit
 *
 * The first limit reached raises the event; both 0 disable moderation, the initial state.
 * With only @count, no event is raised before that many completions. A completion with an
 * error and an overflow of the CQ are not delayed.
 *
 * Return: 0. Context: any.
 */
int kwarp_cq_moderate(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct kwarp_cq *cq = to_kcq(ibcq);
	unsigned long flags;
	bool raised = false;

	spin_lock_irqsave(&cq->lock, flags);
	cq->mod_count = count;
	cq->mod_period = period;
	/* Delay a due event by the new limits, from now on. */
	if (cq->due) {
		hrtimer_try_to_cancel(&cq->timer);
		cq->due = false;
		raised = moderate_event(cq);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	if (raised)
		kwarp_cq_notify(cq);
	return 0;
}
