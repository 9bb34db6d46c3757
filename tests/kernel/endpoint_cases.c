// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The ends of endpoints. */
#include <linux/delay.h>

#include "cm/cm.h"
#include "cm/ep.h"
#include "ktest.h"
#include "mock_llp.h"

/*
 * The device goes before the endpoint is in use.
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

static void no_count(struct iw_cm_id *id)
{
}

/*
 * A request is accepted again after the connection has ended, while iw_cm has not handled
 * ESTABLISHED yet: after an error iw_cm would hit a BUG_ON() in its handler.
 * Context: process. Return: 0 or the error of accept.
 */
int kt_endpoint_accepted_after_its_end(struct kwarp_device *dev, u32 qpn)
{
	struct iw_cm_id id = {
		.device = &dev->ibdev, .add_ref = no_count, .rem_ref = no_count,
	};
	struct iw_cm_conn_param params = { .qpn = qpn };
	struct kwarp_ep *ep = kwarp_ep_alloc(dev);
	struct ib_qp *first, *second;
	int ret;

	if (!ep)
		return -ENOMEM;
	kwarp_llp_get(&ep->llp);
	ret = kwarp_ep_set_handle(ep);
	id.provider_data = kwarp_ep_provider_data(ep);
	first = dev->ibdev.ops.iw_get_qp(&dev->ibdev, qpn);
	kwarp_ep_set_id(ep, &id);
	ep->iw_qp = kwarp_iw_qp_take(&id, qpn);
	kwarp_ep_close(ep, KWARP_ABORT);
	kwarp_ep_unlock(ep);
	kwarp_llp_put(&ep->llp);
	second = dev->ibdev.ops.iw_get_qp(&dev->ibdev, qpn);
	if (ret || !first || !second)
		return -ENOMEM;
	/* This frees the first one, to which iw_cm has no pointer any more. */
	ret = dev->ibdev.ops.iw_accept(&id, &params);
	dev->ibdev.ops.iw_rem_ref(second);
	return ret;
}
