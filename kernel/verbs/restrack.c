// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Details of objects for `rdma resource show -dd`, see Documentation/admin.rst.
 * STags and memory addresses are left to the core, which shows them to administrators only.
 *
 * Locks. The core's restrack reference keeps an object's memory, but destroy_cq and
 * destroy_srq may have freed the rings: check ctl under the queue's lock before access. The
 * socket lock is never taken. A QP's mutex keeps qp->llp; the core's query_qp has taken
 * that mutex just before.
 */
#include "verbs/restrack.h"

#include <net/netlink.h>
#include <net/sock.h>
#include <rdma/restrack.h>

#include "core/cq_event.h"
#include "core/srq.h"
#include "llp/llp.h"
#include "verbs/verbs.h"

/* Begin the table of an object's driver attributes; table_end() drops it on error. */
static struct nlattr *table_start(struct sk_buff *msg)
{
	return nla_nest_start_noflag(msg, RDMA_NLDEV_ATTR_DRIVER);
}

static int table_end(struct sk_buff *msg, struct nlattr *table, int err)
{
	if (err) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

/* ---- queue pairs ----------------------------------------------------------- */

static int fill_params(struct sk_buff *msg, const struct kwarp_qp_params *p,
		       const struct kwarp_mpa_framing *framing)
{
	if (rdma_nl_put_driver_u32(msg, "mpa_rev", p->mpa_rev) ||
	    rdma_nl_put_driver_u32(msg, "crc", framing->crc) ||
	    rdma_nl_put_driver_u32(msg, "tx_markers", framing->tx_markers) ||
	    rdma_nl_put_driver_u32(msg, "rx_markers", framing->rx_markers) ||
	    rdma_nl_put_driver_u32(msg, "ooo", p->early) ||
	    rdma_nl_put_driver_u32(msg, "ird", p->ird) ||
	    rdma_nl_put_driver_u32(msg, "ord", p->ord))
		return -EMSGSIZE;
	return rdma_nl_put_driver_string(msg, "role", p->initiator ?
					 "initiator" : "responder");
}

static int fill_llp(struct sk_buff *msg, const struct kwarp_llp *llp)
{
	struct kwarp_llp_info info;
	char addr[64];

	kwarp_llp_get_info(llp, &info);
	if (rdma_nl_put_driver_string(msg, "llp", info.name))
		return -EMSGSIZE;
	snprintf(addr, sizeof(addr), "%pISpc", &info.local);
	if (rdma_nl_put_driver_string(msg, "local", addr))
		return -EMSGSIZE;
	snprintf(addr, sizeof(addr), "%pISpc", &info.remote);
	if (rdma_nl_put_driver_string(msg, "remote", addr) ||
	    rdma_nl_put_driver_u32(msg, "emss", info.emss) ||
	    rdma_nl_put_driver_u32(msg, "mulpdu", info.mulpdu) ||
	    rdma_nl_put_driver_u32(msg, "retransmits", info.retransmits))
		return -EMSGSIZE;
	return 0;
}

/* The indices are read one after the other without a lock: they may be inconsistent. */
static int fill_reads(struct sk_buff *msg, const struct kwarp_rx *rx)
{
	u32 out = READ_ONCE(rx->read_tail) - READ_ONCE(rx->read_head);
	u32 in = READ_ONCE(rx->in_tail) - READ_ONCE(rx->in_head);

	if (rdma_nl_put_driver_u32(msg, "reads_out", out))
		return -EMSGSIZE;
	return rdma_nl_put_driver_u32(msg, "reads_in", in);
}

static int fill_queues(struct sk_buff *msg, const struct kwarp_qp *qp)
{
	if (rdma_nl_put_driver_u32(msg, "sq_size", qp->sq.window.size) ||
	    rdma_nl_put_driver_u32(msg, "sq_fetched",
				   READ_ONCE(qp->sq.window.fetched)) ||
	    rdma_nl_put_driver_u32(msg, "sq_done", READ_ONCE(qp->sq.window.done)) ||
	    rdma_nl_put_driver_u32(msg, "rq_size", qp->rq.size) ||
	    rdma_nl_put_driver_u32(msg, "rq_fetched",
				   READ_ONCE(qp->rq.fetched)))
		return -EMSGSIZE;
	return 0;
}

/* The error that ended the last connection: sent or received, layer, type and code. */
static int fill_error(struct sk_buff *msg, const struct kwarp_qp *qp)
{
	enum kwarp_err_from from = READ_ONCE(qp->err_from);
	char text[32];

	if (from != KWARP_ERR_FROM_US && from != KWARP_ERR_FROM_PEER)
		return 0;
	snprintf(text, sizeof(text), "%s %u/%u/%u",
		 from == KWARP_ERR_FROM_PEER ? "received" : "sent", qp->err.layer,
		 qp->err.etype, qp->err.code);
	return rdma_nl_put_driver_string(msg, "terminate", text);
}

/**
 * kwarp_fill_res_qp_entry() - parameters of a QP's connection, and its queues
 * @msg:	netlink message
 * @ibqp:	queue pair; the core keeps its memory
 *
 * Return: 0 or -EMSGSIZE.
 */
int kwarp_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct kwarp_qp *qp = to_kqp(ibqp);
	struct nlattr *table = table_start(msg);
	const struct kwarp_llp *llp;
	int err;

	if (!table)
		return -EMSGSIZE;
	mutex_lock(&qp->mutex);
	err = fill_queues(msg, qp);
	llp = rcu_dereference_protected(qp->llp, lockdep_is_held(&qp->mutex));
	if (!err && llp)
		err = fill_params(msg, &qp->params, &llp->framing) ||
		      fill_llp(msg, llp) ||
		      fill_reads(msg, &qp->rx);
	if (!err)
		err = fill_error(msg, qp);
	mutex_unlock(&qp->mutex);
	return table_end(msg, table, err);
}

/* ---- queues ----------------------------------------------------------------- */

/**
 * kwarp_fill_res_cq_entry() - a CQ's size, fill level, arming and moderation
 * @msg:	netlink message
 * @ibcq:	queue; the core keeps its memory
 *
 * Return: 0 or -EMSGSIZE.
 */
int kwarp_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	static const char * const arms[] = {
		[KWARP_CQ_ARM_NONE] = "none",
		[KWARP_CQ_ARM_SOLICITED] = "solicited",
		[KWARP_CQ_ARM_ANY] = "any",
	};
	struct kwarp_cq *cq = to_kcq(ibcq);
	u32 size, prod, waiting = 0, arm = 0, id = cq->id;
	struct nlattr *table;
	bool overflow, due;
	u16 count, period;

	spin_lock_irq(&cq->lock);
	size = cq->size;
	prod = cq->prod;
	overflow = cq->overflow;
	due = cq->due;
	count = cq->mod_count;
	period = cq->mod_period;
	if (cq->ctl) {
		waiting = min(prod - kwarp_cq_cons(cq), size);
		arm = kwarp_cq_is_user(cq) ? READ_ONCE(cq->ctl->arm) : cq->arm;
	}
	spin_unlock_irq(&cq->lock);
	if (arm >= ARRAY_SIZE(arms))
		arm = KWARP_CQ_ARM_NONE;

	table = table_start(msg);
	if (!table)
		return -EMSGSIZE;
	return table_end(msg, table,
			 rdma_nl_put_driver_u32(msg, "id", id) ||
			 rdma_nl_put_driver_u32(msg, "size", size) ||
			 rdma_nl_put_driver_u32(msg, "completions", prod) ||
			 rdma_nl_put_driver_u32(msg, "waiting", waiting) ||
			 rdma_nl_put_driver_string(msg, "armed", arms[arm]) ||
			 rdma_nl_put_driver_u32(msg, "event_due", due) ||
			 rdma_nl_put_driver_u32(msg, "mod_count", count) ||
			 rdma_nl_put_driver_u32(msg, "mod_period", period) ||
			 rdma_nl_put_driver_u32(msg, "overflow", overflow));
}

/**
 * kwarp_fill_res_srq_entry() - a shared receive queue's size, fill level and limit
 * @msg:	netlink message
 * @ibsrq:	queue; the core keeps its memory
 *
 * Return: 0 or -EMSGSIZE.
 */
int kwarp_fill_res_srq_entry(struct sk_buff *msg, struct ib_srq *ibsrq)
{
	struct kwarp_srq *srq = to_ksrq(ibsrq);
	u32 size, fetched, limit, posted = 0;
	struct nlattr *table;

	spin_lock_irq(&srq->rq.lock);
	size = srq->rq.size;
	fetched = srq->rq.fetched;
	if (srq->rq.ctl)
		posted = kwarp_rq_posted(&srq->rq);
	limit = srq->limit;
	spin_unlock_irq(&srq->rq.lock);

	table = table_start(msg);
	if (!table)
		return -EMSGSIZE;
	return table_end(msg, table,
			 rdma_nl_put_driver_u32(msg, "rq_size", size) ||
			 rdma_nl_put_driver_u32(msg, "rq_fetched", fetched) ||
			 rdma_nl_put_driver_u32(msg, "rq_posted", posted) ||
			 rdma_nl_put_driver_u32(msg, "limit", limit));
}

/* ---- memory ------------------------------------------------------------------ */

static const char *mr_kind(const struct kwarp_mr *mr)
{
	if (mr->kind == KWARP_MR_DMA)
		return "dma";
	if (kwarp_mr_invalidatable(mr))
		return "fast-reg";
	return mr->dmabuf ? "dmabuf" : "user";
}

/**
 * kwarp_fill_res_mr_entry() - a region's kind, state and layout
 * @msg:	netlink message
 * @ibmr:	region; it cannot be deregistered during the call
 *
 * Return: 0 or -EMSGSIZE.
 */
int kwarp_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	const struct kwarp_mr *mr = to_kmr(ibmr);
	bool valid = READ_ONCE(mr->state) == KWARP_MR_VALID;
	int windows = atomic_read(&mr->windows);
	struct nlattr *table = table_start(msg);

	if (!table)
		return -EMSGSIZE;
	return table_end(msg, table,
			 rdma_nl_put_driver_string(msg, "kind", mr_kind(mr)) ||
			 rdma_nl_put_driver_u32(msg, "valid", valid) ||
			 rdma_nl_put_driver_u32_hex(msg, "access",
						    READ_ONCE(mr->access)) ||
			 rdma_nl_put_driver_u32(msg, "block_shift",
						READ_ONCE(mr->shift)) ||
			 rdma_nl_put_driver_u32(msg, "blocks",
						READ_ONCE(mr->nr_blocks)) ||
			 rdma_nl_put_driver_u32(msg, "windows",
						max(windows, 0)));
}
