// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Busy polling (policy poll_us): a program that finds its CQ empty may poll, in the kernel, the
 * NAPI instance of the netdev that received the last segment for this CQ. A message then need not
 * wait for an interrupt. epoll does the same for its file descriptors.
 */
#include "core/cq_event.h"

#include <linux/sched/signal.h>
#include <net/busy_poll.h>

/**
 * kwarp_cq_napi_init() - prepare a new CQ for polls of the network
 * @cq:		completion queue with its ring
 * @context:	device context of the program that owns the CQ; NULL: a kernel consumer
 *
 * Context: any.
 */
void kwarp_cq_napi_init(struct kwarp_cq *cq, struct kwarp_ucontext *context)
{
	cq->context = context;
	if (!context)
		return;
	spin_lock_irq(&context->cqs_lock);
	list_add(&cq->cqs_node, &context->cqs);
	spin_unlock_irq(&context->cqs_lock);
}

/**
 * kwarp_cq_napi_exit() - undo kwarp_cq_napi_init(), before the ring is freed
 * @cq:		completion queue
 *
 * Context: any.
 */
void kwarp_cq_napi_exit(struct kwarp_cq *cq)
{
	if (!cq->context)
		return;
	spin_lock_irq(&cq->context->cqs_lock);
	list_del(&cq->cqs_node);
	spin_unlock_irq(&cq->context->cqs_lock);
}

/**
 * kwarp_cq_set_napi() - set the NAPI instance that polls of an empty CQ poll
 * @cq:		completion queue; without effect on one of a kernel consumer
 * @id:		NAPI id; 0: none, so that the provider does not enter the kernel for this
 *
 * Context: any, takes @cq->lock.
 */
void kwarp_cq_set_napi(struct kwarp_cq *cq, u32 id)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	WRITE_ONCE(cq->napi_id, id);
	WRITE_ONCE(cq->ctl->flags, kwarp_cq_flags(cq));
	spin_unlock_irqrestore(&cq->lock, flags);
}

#ifdef CONFIG_NET_RX_BUSY_POLL
/* CQs of a program that are searched for completions before a poll of the network. */
#define SEARCH_MAX 16

/**
 * struct napi_wait - a poll of a NAPI instance
 * @context:	device context of the program that waits
 * @before:	@context->pushes before the poll
 * @now:	@context->pushes when last read
 * @us:		limit, microseconds
 */
struct napi_wait {
	const struct kwarp_ucontext *context;
	u32 before;
	u32 now;
	u32 us;
};

static bool wait_ended(void *arg, unsigned long start)
{
	struct napi_wait *wait = arg;

	wait->now = READ_ONCE(wait->context->pushes);
	return wait->now != wait->before || signal_pending(current) ||
	       time_after(busy_loop_current_time(), start + wait->us);
}

static bool is_empty(struct kwarp_cq *cq)
{
	unsigned long flags;
	bool empty;

	spin_lock_irqsave(&cq->lock, flags);
	empty = !cq->overflow && kwarp_cq_cons(cq) == cq->prod;
	spin_unlock_irqrestore(&cq->lock, flags);
	return empty;
}

/* Is one of the program's CQs not empty? Looks at a limited number of them. */
static bool any_filled(struct kwarp_ucontext *context)
{
	struct kwarp_cq *cq;
	bool filled = false;
	int left = SEARCH_MAX;

	spin_lock_irq(&context->cqs_lock);
	list_for_each_entry(cq, &context->cqs, cqs_node) {
		filled = !is_empty(cq);
		if (filled || !--left)
			break;
	}
	spin_unlock_irq(&context->cqs_lock);
	return filled;
}

static void poll_napi(struct kwarp_cq *cq, u32 id, u32 us)
{
	struct kwarp_ucontext *context = cq->context;
	const u32 before = READ_ONCE(context->pushes);
	struct napi_wait wait = {
		.context = context, .before = before, .now = before, .us = us,
	};

	/*
	 * Do not wait if a completion has arrived meanwhile, or has arrived in a CQ that the
	 * program has polled before this one. If it leaves a completion in the other CQ, this
	 * prevents one wait only.
	 */
	if (is_empty(cq) && (before == READ_ONCE(context->pushes_seen) || !any_filled(context)))
		napi_busy_loop(id, wait_ended, &wait, false, BUSY_POLL_BUDGET);
	WRITE_ONCE(context->pushes_seen, wait.now);
}
#else
static void poll_napi(struct kwarp_cq *cq, u32 id, u32 us)
{
}
#endif

/**
 * kwarp_cq_poll_napi() - poll the network for at most policy poll_us
 * @cq:		empty completion queue of a user
 *
 * Ends early if a signal is pending, or if there is a completion in any CQ of the program's device
 * context, because a program may poll several in turns. The time is that of the calling program;
 * the scheduler may run others meanwhile. Context: process, no locks held.
 */
void kwarp_cq_poll_napi(struct kwarp_cq *cq)
{
	u32 us = READ_ONCE(cq->dev->policy.poll_us);
	u32 id = READ_ONCE(cq->napi_id);

	might_sleep();
	if (!id)
		return;
	if (us)
		poll_napi(cq, id, us);
	else
		kwarp_cq_set_napi(cq, 0);
}
