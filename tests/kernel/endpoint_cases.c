// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Ends of endpoints, and the handles of queue pairs that iw_cm has. */
#include <linux/delay.h>
#include <linux/slab.h>
#include <rdma/rdma_cm.h>

#include "cm/cm.h"
#include "cm/ep.h"
#include "seam.h"

/*
 * The device goes before the endpoint is in use.
 * Context: process. Return: 0; -EBUSY if the event was handled in KWARP_EP_IDLE, in which the
 * state machine warns and loses it; -ETIMEDOUT if the work has not run.
 */
int kt_endpoint_waits_for_its_owner(void)
{
	struct kwarp_ep *ep = kwarp_ep_alloc(to_kdev(seam_ibdev));
	unsigned long events;
	int ms, ret = 0;

	if (!ep)
		return -ENOMEM;
	kwarp_llp_get(&ep->llp);
	kwarp_ep_raise(ep, KWARP_EP_EV_DOWN);
	/* The work has run when it has found the mutex held, or has taken the event. */
	for (ms = 0; READ_ONCE(ep->events) == BIT(KWARP_EP_EV_DOWN) && ms < 60000; ms++)
		fsleep(1000);
	events = READ_ONCE(ep->events);
	if (!(events & BIT(KWARP_EP_EV_DOWN)))
		ret = -EBUSY;
	else if (events == BIT(KWARP_EP_EV_DOWN))
		ret = -ETIMEDOUT;
	kwarp_ep_close(ep, KWARP_ABORT);
	kwarp_ep_unlock(ep);
	kwarp_llp_put(&ep->llp);
	return ret;
}

static void no_count(struct iw_cm_id *id)
{
}

/* As iw_cm does. */
static struct ib_qp *get_handle(u32 qpn)
{
	struct ib_qp *handle = seam_ibdev->ops.iw_get_qp(seam_ibdev, qpn);

	if (handle)
		seam_ibdev->ops.iw_add_ref(handle);
	return handle;
}

static int accept_twice(u32 qpn)
{
	struct iw_cm_id id = {
		.device = seam_ibdev, .add_ref = no_count, .rem_ref = no_count,
	};
	struct kwarp_ep *ep = kwarp_ep_alloc(to_kdev(seam_ibdev));
	struct iw_cm_conn_param params = { .qpn = qpn };
	struct ib_qp *first, *second;
	int ret;

	if (!ep)
		return -ENOMEM;
	kwarp_llp_get(&ep->llp);
	ret = kwarp_ep_set_handle(ep);
	id.provider_data = kwarp_ep_provider_data(ep);
	first = get_handle(qpn);
	kwarp_ep_set_id(ep, &id);
	ep->iw_qp = kwarp_iw_qp_take(&id, qpn);
	kwarp_ep_close(ep, KWARP_ABORT);
	kwarp_ep_unlock(ep);
	kwarp_llp_put(&ep->llp);
	second = get_handle(qpn);
	if (ret || !first || !second)
		return -ENOMEM;
	/* This frees the first one, to which iw_cm has no pointer any more. */
	ret = seam_ibdev->ops.iw_accept(&id, &params);
	seam_ibdev->ops.iw_rem_ref(second);
	return ret;
}

/*
 * A request is accepted again after the connection has ended, while iw_cm has not handled
 * ESTABLISHED yet: after an error iw_cm would hit a BUG_ON() in its handler.
 * Context: process. Return: 0 or the error of accept.
 */
int kt_accepted_after_its_end(void)
{
	struct seam *e = seam_open();
	int ret;

	if (!e)
		return -ENOMEM;
	ret = accept_twice(e->qp->qp_num);
	seam_close(e);
	return ret;
}

/* A handle that was not granted has no effect on its queue pair, and does not delay its end. */
int kt_handle_without_rights(void)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct seam *e = seam_open(), *next;
	struct ib_qp *handle;
	int ret;

	if (!e)
		return -ENOMEM;
	handle = get_handle(e->qp->qp_num);
	if (!handle) {
		seam_close(e);
		return -ENOMEM;
	}
	/* A second reference, as iw_cm_disconnect() should take. */
	seam_ibdev->ops.iw_add_ref(handle);
	seam_ibdev->ops.iw_rem_ref(handle);
	ret = ib_modify_qp(handle, &attr, IB_QP_STATE) ? 0 : -EPERM;
	ret = ret ? : seam_post(e, IB_WR_SEND, 0, 10) ? : seam_wait(e, 1, 0);
	seam_close(e);
	/* The next queue pair may have the same address. */
	next = seam_open();
	if (!ret && (!next || !ib_modify_qp(handle, &attr, IB_QP_STATE)))
		ret = -EPERM;
	seam_ibdev->ops.iw_rem_ref(handle);
	if (next) {
		ret = ret ? : seam_post(next, IB_WR_SEND, 0, 10) ? : seam_wait(next, 1, 0);
		seam_close(next);
	}
	return ret;
}

/*
 * iw_cm_disconnect() has read its pointer, and uses it after the connection and the queue pair have
 * ended in other tasks. KASAN reports a handle that was freed. @take: kwarp_iw_qp_grant(), or
 * kwarp_iw_qp_take() for a second answer to a request.
 */
static int ends_while_in_use(struct ib_qp *(*take)(const struct iw_cm_id *id, u32 qpn))
{
	struct rdma_cm_id *cm = kzalloc(sizeof(*cm), GFP_KERNEL);
	struct iw_cm_id id = { .device = seam_ibdev, .context = cm };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct seam *e = seam_open();
	struct ib_qp *handle = NULL;
	int ret = -ENOMEM;

	if (!cm || !e)
		goto out;
	cm->device = seam_ibdev;
	cm->qp = e->qp;
	handle = get_handle(e->qp->qp_num);
	if (!handle)
		goto out;
	ret = take(&id, e->qp->qp_num) == handle ? 0 : -EPERM;
out:
	if (e)
		seam_close(e);
	if (handle) {
		seam_ibdev->ops.iw_rem_ref(handle);
		/* Nothing has slept since. The queue pair has ended. */
		if (ib_modify_qp(handle, &attr, IB_QP_STATE) != -EINVAL)
			ret = -EPERM;
	}
	kfree(cm);
	return ret;
}

int kt_handle_ends_while_in_use(void)
{
	return ends_while_in_use(kwarp_iw_qp_grant) ? : ends_while_in_use(kwarp_iw_qp_take);
}
