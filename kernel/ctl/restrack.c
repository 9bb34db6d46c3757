// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Details of objects for `rdma resource show -dd`. */
#include "restrack.h"

#include <net/netlink.h>
#include <rdma/restrack.h>

#include "../core/qp.h"
#include "../core/srq.h"

static int fill_params(struct sk_buff *msg, const struct kwarp_qp_params *p)
{
	if (rdma_nl_put_driver_u32(msg, "mpa_rev", p->mpa_rev) ||
	    rdma_nl_put_driver_u32(msg, "crc", p->crc) ||
	    rdma_nl_put_driver_u32(msg, "tx_markers", p->tx_markers) ||
	    rdma_nl_put_driver_u32(msg, "rx_markers", p->rx_markers) ||
	    rdma_nl_put_driver_u32(msg, "ird", p->ird) ||
	    rdma_nl_put_driver_u32(msg, "ord", p->ord))
		return -EMSGSIZE;
	return rdma_nl_put_driver_string(msg, "role", p->initiator ?
					 "initiator" : "responder");
}

static int fill_queues(struct sk_buff *msg, const struct kwarp_qp *qp)
{
	if (rdma_nl_put_driver_u32(msg, "sq_size", qp->sq.size) ||
	    rdma_nl_put_driver_u32(msg, "sq_fetched",
				   READ_ONCE(qp->sq.fetched)) ||
	    rdma_nl_put_driver_u32(msg, "sq_done", READ_ONCE(qp->sq.done)) ||
	    rdma_nl_put_driver_u32(msg, "rq_size", qp->rq.size) ||
	    rdma_nl_put_driver_u32(msg, "rq_fetched",
				   READ_ONCE(qp->rq.fetched)))
		return -EMSGSIZE;
	return 0;
}

/**
 * kwarp_fill_res_qp_entry() - what a QP's connection agreed on, and its queues
 * @msg:	netlink message
 * @ibqp:	queue pair; the core keeps it from being destroyed
 *
 * Return: 0 or -EMSGSIZE.
 */
int kwarp_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct kwarp_qp *qp = to_kqp(ibqp);
	struct nlattr *table;
	int ret = 0;

	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	mutex_lock(&qp->mutex);
	if (rcu_access_pointer(qp->llp))
		ret = fill_params(msg, &qp->params);
	if (!ret)
		ret = fill_queues(msg, qp);
	mutex_unlock(&qp->mutex);
	if (ret) {
		nla_nest_cancel(msg, table);
		return ret;
	}
	nla_nest_end(msg, table);
	return 0;
}

/**
 * kwarp_fill_res_srq_entry() - a shared receive queue's size, level and limit
 * @msg:	netlink message
 * @ibsrq:	queue; the core keeps it from being destroyed
 *
 * Return: 0 or -EMSGSIZE.
 */
int kwarp_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct kwarp_srq *srq = to_ksrq(ibsrq);
	u32 size, fetched, posted, limit;
	struct nlattr *table;
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	size = srq->rq.size;
	fetched = srq->rq.fetched;
	posted = kwarp_rq_posted(&srq->rq);
	limit = srq->limit;
	spin_unlock_irqrestore(&srq->rq.lock, flags);

	table = nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "rq_size", size) ||
	    rdma_nl_put_driver_u32(msg, "rq_fetched", fetched) ||
	    rdma_nl_put_driver_u32(msg, "rq_posted", posted) ||
	    rdma_nl_put_driver_u32(msg, "limit", limit)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}
