// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * LINGER: our FIN is sent, nobody waits for the endpoint any more, and the peer is to
 * send its FIN. Strangers can bring endpoints here and leave them, so a device has a
 * limited number; beyond it the oldest goes. What was refused in startup has a limit
 * of its own, so that a crowd of strangers displaces no connection that ends.
 */
#include <linux/slab.h>

#include "ep.h"

static u32 limit_of(const struct kwarp_device *dev, enum kwarp_linger_kind kind)
{
	u32 limit = READ_ONCE(dev->policy.backlog);

	return kind == KWARP_LINGER_ENDED ? limit * KWARP_EP_ENDED_FACTOR : limit;
}

static void unlist(struct kwarp_device *dev, struct kwarp_ep *ep)
{
	lockdep_assert_held(&dev->lock);
	list_del_init(&ep->linger_link);
	dev->lingering[ep->linger_kind].nr--;
}

static void enlist(struct kwarp_ep *ep, enum kwarp_linger_kind kind)
{
	struct kwarp_device *dev = ep_dev(ep);
	struct kwarp_lingering *all = &dev->lingering[kind];
	u32 limit = limit_of(dev, kind);
	struct kwarp_ep *oldest;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	ep->linger_kind = kind;
	list_add_tail(&ep->linger_link, &all->eps);
	all->nr++;
	/* More than one if the limit was lowered. Those listed are not closed yet. */
	while (all->nr > limit) {
		oldest = list_first_entry(&all->eps, struct kwarp_ep,
					  linger_link);
		unlist(dev, oldest);
		kwarp_count(dev, KWARP_STAT_LINGER_DROP);
		kwarp_ep_raise(oldest, KWARP_EP_EV_DISPLACED);
	}
	spin_unlock_irqrestore(&dev->lock, flags);
}

/**
 * kwarp_linger_leave() - the endpoint ends
 * @ep:		endpoint, mutex held; one that does not linger is no error
 */
void kwarp_linger_leave(struct kwarp_ep *ep)
{
	struct kwarp_device *dev = ep_dev(ep);
	unsigned long flags;

	lockdep_assert_held(&ep->mutex);
	spin_lock_irqsave(&dev->lock, flags);
	if (!list_empty(&ep->linger_link))
		unlist(dev, ep);
	spin_unlock_irqrestore(&dev->lock, flags);
}

/**
 * kwarp_linger_discard() - throw away what the peer sends; at its FIN, the end
 * @ep:		endpoint in KWARP_EP_LINGER, mutex held
 */
void kwarp_linger_discard(struct kwarp_ep *ep)
{
	u32 run = 0;
	int ret;

	while (run < KWARP_EP_DISCARD_RUN) {
		ret = kwarp_llp_discard(&ep->llp, KWARP_EP_DISCARD_RUN - run);
		if (ret == -EAGAIN)
			return;
		if (ret <= 0) {
			kwarp_ep_close(ep, ret < 0);
			return;
		}
		run += ret;
		ep->discarded += ret;
	}
	if (ep->discarded >= KWARP_EP_DISCARD_MAX)
		kwarp_ep_close(ep, true);
	else
		kwarp_ep_raise(ep, KWARP_LLP_EV_READABLE);
}

/**
 * kwarp_linger_displaced() - others want the place
 * @ep:		endpoint in KWARP_EP_LINGER, mutex held
 *
 * Who was refused is forgotten at once. A connection that ends is left to TCP, which
 * has limits of its own (tcp_max_orphans, tcp_fin_timeout): a reset could overtake
 * what the peer has not read yet.
 */
void kwarp_linger_displaced(struct kwarp_ep *ep)
{
	kwarp_ep_close(ep, ep->linger_kind == KWARP_LINGER_REFUSED);
}

/**
 * kwarp_linger() - send FIN and wait for the peer's
 * @ep:		endpoint without a QP whose consumer knows all, mutex held
 * @kind:	which limit it counts against
 */
void kwarp_linger(struct kwarp_ep *ep, enum kwarp_linger_kind kind)
{
	lockdep_assert_held(&ep->mutex);
	kwarp_ep_set_state(ep, KWARP_EP_LINGER);
	kwarp_ep_drop_id(ep);
	kwarp_ep_unbind_qp(ep);
	kfree(ep->su);
	ep->su = NULL;
	kwarp_llp_shutdown(&ep->llp);
	kwarp_ep_arm_startup(ep);
	kwarp_linger_discard(ep);
	if (ep->state == KWARP_EP_LINGER)
		enlist(ep, kind);
}
