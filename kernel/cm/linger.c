// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * LINGER: our FIN is sent, no consumer waits for the endpoint any more, and the peer's
 * FIN is outstanding, over SCTP the end of the association. Unknown peers can bring endpoints
 * into this state and leave them there, so their number per device is limited; beyond it the
 * oldest is closed. Endpoints refused in startup have a separate limit, so that many unknown
 * peers displace no connection that ends.
 */
#include <linux/slab.h>

#include "cm/ep.h"

static void linger_unlist(struct kwarp_device *dev, struct kwarp_ep *ep)
{
	lockdep_assert_held(&dev->lock);
	list_del_init(&ep->linger_link);
	dev->lingering[ep->linger_kind].nr--;
}

static void linger_enlist(struct kwarp_ep *ep, enum kwarp_linger_kind kind)
{
	struct kwarp_device *dev = ep_dev(ep);
	struct kwarp_lingering *all = &dev->lingering[kind];
	u32 limit = READ_ONCE(dev->policy.backlog);
	struct kwarp_ep *oldest;
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	ep->linger_kind = kind;
	list_add_tail(&ep->linger_link, &all->eps);
	all->nr++;
	/* Several, if the limit was lowered. Endpoints in the list are not closed yet. */
	while (all->nr > limit) {
		oldest = list_first_entry(&all->eps, struct kwarp_ep,
					  linger_link);
		linger_unlist(dev, oldest);
		kwarp_count(dev, KWARP_STAT_LINGER_DROP);
		kwarp_ep_raise(oldest, KWARP_EP_EV_DISPLACED);
	}
	spin_unlock_irqrestore(&dev->lock, flags);
}

/**
 * kwarp_linger_leave() - the endpoint is being closed
 * @ep:		endpoint, mutex held; does nothing if it does not linger
 */
void kwarp_linger_leave(struct kwarp_ep *ep)
{
	struct kwarp_device *dev = ep_dev(ep);
	unsigned long flags;

	lockdep_assert_held(&ep->mutex);
	spin_lock_irqsave(&dev->lock, flags);
	if (!list_empty(&ep->linger_link))
		linger_unlist(dev, ep);
	spin_unlock_irqrestore(&dev->lock, flags);
}

/**
 * kwarp_linger_discard() - discard what the peer sends; close at its end
 * @ep:		endpoint in KWARP_EP_LINGER, mutex held
 *
 * The end is the peer's FIN, over SCTP the end of the association: a socket released before would
 * leave the association behind, and SCTP does not limit the number of these.
 */
void kwarp_linger_discard(struct kwarp_ep *ep)
{
	u32 run = 0;
	int ret;

	while (run < KWARP_EP_DISCARD_RUN) {
		ret = kwarp_llp_drain(&ep->llp, KWARP_EP_DISCARD_RUN - run);
		if (ret == -EAGAIN)
			return;
		if (ret <= 0) {
			kwarp_ep_close(ep, ret < 0 ? KWARP_ABORT : KWARP_CLOSE);
			return;
		}
		run += ret;
		ep->discarded += ret;
	}
	if (ep->discarded >= KWARP_EP_DISCARD_MAX)
		kwarp_ep_close(ep, KWARP_ABORT);
	else
		kwarp_ep_raise(ep, KWARP_LLP_EV_READABLE);
}

/**
 * kwarp_linger_timeout() - the peer has not ended in time
 * @ep:		endpoint in KWARP_EP_LINGER, mutex held
 *
 * Data of completed requests and the FIN may still be on the way, if the path is slow or
 * interrupted: they get more time. TCP alone would reset the connection when the peer sends more,
 * and SCTP alone has no limit. If the transport has nothing queued (also if it had no memory for
 * the FIN), only a reset tells the peer the end.
 */
void kwarp_linger_timeout(struct kwarp_ep *ep)
{
	bool acked = kwarp_ep_acked(ep);

	if (ep->linger_kind == KWARP_LINGER_ENDED &&
	    (acked || (ep->queued && ep->periods++ < KWARP_EP_PERIODS)))
		kwarp_ep_arm_startup(ep);
	else
		kwarp_ep_close(ep, KWARP_ABORT);
}

/**
 * kwarp_linger_displaced() - too many endpoints linger: close this one
 * @ep:		endpoint in KWARP_EP_LINGER, mutex held
 *
 * A refused endpoint is reset immediately. A connection that ends is left to TCP, which
 * has its own limits (tcp_max_orphans, tcp_fin_timeout): a reset could overtake data that
 * the peer has not read yet. SCTP has no such limits: there it is reset, too.
 */
void kwarp_linger_displaced(struct kwarp_ep *ep)
{
	bool leave = ep->linger_kind == KWARP_LINGER_ENDED && kwarp_llp_is_mpa(&ep->llp);

	kwarp_ep_close(ep, leave ? KWARP_CLOSE : KWARP_ABORT);
}

/**
 * kwarp_linger() - send FIN and wait for the peer's FIN
 * @ep:		endpoint without an attached QP whose consumer was notified, mutex held
 * @kind:	the limit that applies
 */
void kwarp_linger(struct kwarp_ep *ep, enum kwarp_linger_kind kind)
{
	lockdep_assert_held(&ep->mutex);
	kwarp_ep_set_state(ep, KWARP_EP_LINGER);
	kwarp_ep_drop_id(ep);
	kwarp_ep_release_qp(ep, 0);
	kfree(ep->su);
	ep->su = NULL;
	kwarp_llp_shutdown(&ep->llp);
	ep->queued = kwarp_llp_queued(&ep->llp);
	ep->periods = 0;
	kwarp_ep_arm_startup(ep);
	kwarp_linger_discard(ep);
	if (ep->state == KWARP_EP_LINGER)
		linger_enlist(ep, kind);
}
