// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs: creation and destruction. */
#include "verbs.h"

#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "../cm/cm.h"
#include "../core/srq.h"

#define KWARP_QPN_MAX	(KWARP_MAX_QP + 1)

static int check_attr(const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	/* First what is wrong for every type, then what we do not have. */
	if (cap->max_send_wr > KWARP_MAX_QP_WR ||
	    cap->max_recv_wr > KWARP_MAX_QP_WR ||
	    cap->max_send_sge > KWARP_MAX_SGE ||
	    cap->max_recv_sge > KWARP_MAX_SGE ||
	    cap->max_inline_data > KWARP_MAX_INLINE)
		return -EINVAL;
	if (attr->qp_type != IB_QPT_RC || attr->create_flags ||
	    attr->rwq_ind_tbl)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	return 0;
}

void kwarp_rq_layout(struct kwarp_rq *rq, u32 max_wr, u32 max_sge)
{
	u32 room = max(max_sge, 1U) * sizeof(struct kwarp_sge);

	rq->stride = ALIGN(sizeof(struct kwarp_rqe) + room, 32);
	room = rq->stride - sizeof(struct kwarp_rqe);
	rq->max_sge = min_t(u32, room / sizeof(struct kwarp_sge),
			    KWARP_MAX_SGE);
	rq->size = roundup_pow_of_two(max_wr);
}

/* Room for what was asked for, rounded up; what fits in is granted. */
static void layout(struct kwarp_qp *qp, struct ib_qp_cap *cap,
		   struct kwarp_uresp_create_qp *resp)
{
	struct kwarp_sq *sq = &qp->sq;
	struct kwarp_rq *rq = &qp->rq;
	u32 room;

	room = max_t(u32, max(cap->max_send_sge, 1U) * sizeof(struct kwarp_sge),
		     cap->max_inline_data);
	sq->stride = ALIGN(sizeof(struct kwarp_sqe) + room, 64);
	room = sq->stride - sizeof(struct kwarp_sqe);
	sq->max_sge = min_t(u32, room / sizeof(struct kwarp_sge),
			    KWARP_MAX_SGE);
	sq->max_inline = min_t(u32, room, KWARP_MAX_INLINE);
	sq->size = roundup_pow_of_two(max(cap->max_send_wr, 1U));

	if (cap->max_recv_wr && !qp->srq)
		kwarp_rq_layout(rq, cap->max_recv_wr, cap->max_recv_sge);

	resp->sq_ctl_offset = 0;
	resp->rq_ctl_offset = sizeof(struct kwarp_ring_ctl);
	resp->sq_offset = 2 * sizeof(struct kwarp_ring_ctl);
	resp->rq_offset = resp->sq_offset + sq->size * sq->stride;
	resp->mmap_size = PAGE_ALIGN(resp->rq_offset + rq->size * rq->stride);
	resp->num_sqe = sq->size;
	resp->num_rqe = rq->size;
	resp->sq_stride = sq->stride;
	resp->rq_stride = rq->stride;

	cap->max_send_wr = sq->size;
	cap->max_send_sge = sq->max_sge;
	cap->max_inline_data = sq->max_inline;
	cap->max_recv_wr = rq->size;
	cap->max_recv_sge = rq->max_sge;
}

static void init_fields(struct kwarp_qp *qp, const struct ib_qp_init_attr *attr)
{
	static atomic64_t last_id;

	qp->dev = to_kdev(qp->ibqp.device);
	/* So that `rdma resource` and `rdma statistic` know where it belongs. */
	qp->ibqp.port = KWARP_PORT;
	qp->id = atomic64_inc_return(&last_id);
	refcount_set(&qp->refs, 1);
	init_completion(&qp->free);
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	INIT_LIST_HEAD(&qp->counted_link);
	INIT_WORK(&qp->work, kwarp_tx_work);
	INIT_DELAYED_WORK(&qp->retry, kwarp_tx_retry_work);
	kwarp_tx_linger_init(qp);
	kwarp_rdv_init(qp);
	qp->scq = to_kcq(attr->send_cq);
	qp->rcq = to_kcq(attr->recv_cq);
	qp->srq = attr->srq ? to_ksrq(attr->srq) : NULL;
	qp->rq.user = !qp->kernel;
	qp->sq.sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	/* An RNIC's queue pair is born idle: there is no RESET before. */
	qp->state = IB_QPS_INIT;
	qp->attr.qp_state = IB_QPS_INIT;
	qp->attr.port_num = KWARP_PORT;
	qp->access = KWARP_QP_ACCESS_DEFAULT;
	qp->attr.qp_access_flags = KWARP_QP_ACCESS_DEFAULT;
}

static int alloc_rings(struct kwarp_qp *qp, struct ib_udata *udata,
		       const struct kwarp_uresp_create_qp *resp)
{
	qp->sq.slots = kvcalloc(qp->sq.size, sizeof(*qp->sq.slots),
				GFP_KERNEL_ACCOUNT);
	if (!qp->sq.slots)
		return -ENOMEM;
	qp->mem = kwarp_ring_alloc(udata, resp->mmap_size, &qp->mmap);
	if (IS_ERR(qp->mem)) {
		kvfree(qp->sq.slots);
		return PTR_ERR(qp->mem);
	}
	qp->sq.ctl = qp->mem + resp->sq_ctl_offset;
	qp->sq.ring = qp->mem + resp->sq_offset;
	qp->rq.ctl = qp->mem + resp->rq_ctl_offset;
	qp->rq.ring = qp->mem + resp->rq_offset;
	return 0;
}

static void free_rings(struct kwarp_qp *qp)
{
	/* A process that lost its device learns of it here. */
	WRITE_ONCE(qp->sq.ctl->flags, KWARP_RING_ERROR);
	WRITE_ONCE(qp->rq.ctl->flags, KWARP_RING_ERROR);
	kwarp_ring_free(qp->mem, qp->mmap);
	kvfree(qp->sq.slots);
}

/* From here on the QP can be found, and referenced, by its number. */
static int publish(struct kwarp_qp *qp)
{
	struct kwarp_device *dev = qp->dev;
	u32 qpn;
	int ret;

	ret = xa_alloc_cyclic_irq(&dev->qps, &qpn, qp,
				  XA_LIMIT(2, KWARP_QPN_MAX), &dev->next_qpn,
				  GFP_KERNEL);
	if (ret < 0)
		return -ENOMEM;
	qp->ibqp.qp_num = qpn;
	return 0;
}

/*
 * Take the QP away from everybody who found it by its number. On return nobody
 * refers to it any more.
 */
static void retire(struct kwarp_qp *qp)
{
	/* ERR: nothing can be attached any more, no engine starts anything new. */
	mutex_lock(&qp->mutex);
	kwarp_qp_disconnect(qp, true);
	mutex_unlock(&qp->mutex);

	/* Its endpoint lets go of it, attached or not yet. */
	kwarp_rdv_end(qp);
	kwarp_tx_linger_exit(qp);

	/*
	 * Connection, iw_cm and queued work hold references. No new one can be
	 * had once the count is zero, so the number is given back last: whoever
	 * polls a CQ still finds the QP of a completion.
	 */
	kwarp_qp_put(qp);
	wait_for_completion(&qp->free);
	kwarp_cq_forget_qp(qp->scq, qp);
	kwarp_cq_forget_qp(qp->rcq, qp);
	xa_erase_irq(&qp->dev->qps, qp->ibqp.qp_num);
}

int kwarp_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata)
{
	struct kwarp_uresp_create_qp resp = {};
	struct kwarp_qp *qp = to_kqp(ibqp);
	int ret;

	might_sleep();
	ret = check_attr(attr);
	if (ret)
		return ret;
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ret;
	/* As an open context does; there is none for kernel consumers. */
	if (!udata && !try_module_get(THIS_MODULE))
		return -ENODEV;
	qp->kernel = !udata;
	init_fields(qp, attr);
	layout(qp, &attr->cap, &resp);
	qp->attr.cap = attr->cap;
	ret = alloc_rings(qp, udata, &resp);
	if (ret)
		goto err_fields;
	kwarp_qp_gate(qp);
	ret = publish(qp);
	if (ret)
		goto err_rings;
	if (udata) {
		resp.mmap_key = rdma_user_mmap_get_offset(qp->mmap);
		resp.qp_id = ibqp->qp_num;
		ret = kwarp_udata_respond(udata, &resp, sizeof(resp));
		if (ret)
			goto err_number;
	}
	return 0;

err_number:
	retire(qp);
err_rings:
	free_rings(qp);
err_fields:
	mutex_destroy(&qp->mutex);
	if (qp->kernel)
		module_put(THIS_MODULE);
	return ret;
}

int kwarp_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct kwarp_qp *qp = to_kqp(ibqp);

	might_sleep();
	retire(qp);
	kwarp_cm_attach_forget(qp);
	free_rings(qp);
	/* Not mutex_destroy(): the core may still query the QP for a dump. */
	if (qp->kernel)
		module_put(THIS_MODULE);
	return 0;
}
