// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* An endpoint whose device goes before the endpoint is in use. */
#include <linux/delay.h>

#include "cm/ep.h"
#include "ktest.h"
#include "mock_llp.h"

/*
 * Context: process. Return: 0; -EBUSY if the event was handled in KWARP_EP_IDLE, in which the
 * state machine warns and loses it.
 */
int kt_endpoint_waits_for_its_owner(struct kwarp_device *dev)
{
	struct kwarp_ep *ep = kwarp_ep_alloc(dev);
	int ms, ret;

	if (!ep)
		return -ENOMEM;
	kwarp_llp_get(&ep->llp);
	kwarp_ep_raise(ep, KWARP_EP_EV_DOWN);
	/* The work has run when it has found the mutex held, or has taken the event. */
	for (ms = 0; READ_ONCE(ep->events) == BIT(KWARP_EP_EV_DOWN) && ms < 60000; ms++)
		fsleep(1000);
	ret = READ_ONCE(ep->events) & BIT(KWARP_EP_EV_DOWN) ? 0 : -EBUSY;
	kwarp_ep_close(ep, KWARP_ABORT);
	kwarp_ep_unlock(ep);
	kwarp_llp_put(&ep->llp);
	return ret;
}
