// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs: creation and destruction. */
#include "verbs/verbs.h"

#include <linux/log2.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "cm/cm.h"
#include "core/srq.h"
#include "rdmap/drive.h"
#include "rdmap/tx.h"
#include "verbs/counter.h"

static int check_create_attr(const struct ib_qp_init_attr *attr)
{
	const struct ib_qp_cap *cap = &attr->cap;

	/* Check limits, which hold for every type, before the type itself. */
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

/**
 * kwarp_rq_layout() - compute the layout of a receive queue, rounded up from the request
 * @rq:		receive queue; sets stride, max_sge and size
 * @max_wr:	elements, at least 1
 * @max_sge:	scatter elements of each
 */
void kwarp_rq_layout(struct kwarp_rq *rq, u32 max_wr, u32 max_sge)
{
	u32 room = max(max_sge, 1U) * sizeof(struct kwarp_sge);

	rq->stride = ALIGN(sizeof(struct kwarp_rqe) + room, 32);
	room = rq->stride - sizeof(struct kwarp_rqe);
	rq->max_sge = min_t(u32, room / sizeof(struct kwarp_sge),
			    KWARP_MAX_SGE);
	rq->size = roundup_pow_of_two(max_wr);
}

/* Lay out the rings for the requested sizes, rounded up; @cap returns what fits in. */
static void layout_rings(struct kwarp_qp *qp, struct ib_qp_cap *cap,
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
	sq->window.size = roundup_pow_of_two(max(cap->max_send_wr, 1U));

	if (cap->max_recv_wr)
		kwarp_rq_layout(rq, cap->max_recv_wr, cap->max_recv_sge);

	resp->sq_ctl_offset = 0;
	resp->rq_ctl_offset = sizeof(struct kwarp_ring_ctl);
	resp->sq_offset = 2 * sizeof(struct kwarp_ring_ctl);
	resp->rq_offset = resp->sq_offset + sq->window.size * sq->stride;
	resp->mmap_size = PAGE_ALIGN(resp->rq_offset + rq->size * rq->stride);
	resp->num_sqe = sq->window.size;
	resp->num_rqe = rq->size;
	resp->sq_stride = sq->stride;
	resp->rq_stride = rq->stride;

	cap->max_send_wr = sq->window.size;
	cap->max_send_sge = sq->max_sge;
	cap->max_inline_data = sq->max_inline;
	cap->max_recv_wr = rq->size;
	cap->max_recv_sge = rq->max_sge;
}

static void init_fields(struct kwarp_qp *qp, const struct ib_qp_init_attr *attr)
{
	static atomic64_t last_id;

	qp->dev = to_kdev(qp->ibqp.device);
	/* For `rdma resource` and `rdma statistic`. */
	qp->ibqp.port = KWARP_PORT;
	qp->memory.dev = qp->dev;
	qp->memory.pd = qp->ibqp.pd;
	qp->memory.id = atomic64_inc_return(&last_id);
	refcount_set(&qp->refs, 1);
	init_completion(&qp->free);
	mutex_init(&qp->mutex);
	kwarp_wq_init(&qp->sq, &qp->rq);
	INIT_LIST_HEAD(&qp->counted_link);
	INIT_WORK(&qp->work, kwarp_drive_work);
	INIT_WORK(&qp->rest, kwarp_drive_rest_work);
	INIT_DELAYED_WORK(&qp->retry, kwarp_drive_retry_work);
	INIT_LIST_HEAD(&qp->pause_link);
	kwarp_rdv_init(qp);
	if (!qp->sq.kernel)
		qp->memcg = get_mem_cgroup_from_mm(current->mm);
	qp->sq.cq = to_kcq(attr->send_cq);
	qp->rq.cq = to_kcq(attr->recv_cq);
	qp->srq = attr->srq ? to_ksrq(attr->srq) : NULL;
	qp->last_wqe_due = true;
	qp->rq.user = !qp->sq.kernel;
	qp->sq.sig_all = attr->sq_sig_type == IB_SIGNAL_ALL_WR;
	/* A new QP starts in IDLE (INIT in verbs), so set the attributes of INIT. */
	kwarp_qp_default_access(qp);
}

static int alloc_rings(struct kwarp_qp *qp, struct ib_udata *udata,
		       const struct kwarp_uresp_create_qp *resp)
{
	struct kwarp_sq_window *w = &qp->sq.window;

	w->slots = kvcalloc(w->size, sizeof(*w->slots),
			    GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!w->slots)
		return -ENOMEM;
	qp->mem = kwarp_ring_alloc(udata, resp->mmap_size, &qp->mmap);
	if (IS_ERR(qp->mem)) {
		kvfree(qp->sq.window.slots);
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
	/* The flag notifies a process whose device was removed. */
	WRITE_ONCE(qp->sq.ctl->flags, KWARP_RING_ERROR);
	WRITE_ONCE(qp->rq.ctl->flags, KWARP_RING_ERROR);
	kwarp_ring_free(qp->mem, qp->mmap);
	kvfree(qp->sq.window.slots);
}

/* The next number in the sequence of the program, or in that of all kernel consumers. */
static u32 *next_number(struct kwarp_qp *qp, struct ib_udata *udata)
{
	struct kwarp_ucontext *context;

	if (!udata)
		return &qp->dev->next_qpn;
	context = rdma_udata_to_drv_context(udata, struct kwarp_ucontext, ibuctx);
	return &context->next_qpn;
}

/*
 * Reserve a number under which the QP cannot be found yet. The numbers of a program follow each
 * other, because 64 consecutive numbers share a node of each XArray, ours and the core's. Unordered
 * numbers would need 2 KiB of nodes for each QP.
 */
static int reserve_number(struct kwarp_qp *qp, u32 *next)
{
	int ret = xa_alloc_cyclic_irq(&qp->dev->qps, &qp->ibqp.qp_num, NULL,
				      XA_LIMIT(KWARP_QPN_MIN, KWARP_QPN_MAX), next, GFP_KERNEL);

	qp->sq.qpn = qp->ibqp.qp_num;
	qp->rq.qpn = qp->ibqp.qp_num;
	return min(ret, 0);
}

/* From here on the QP can be found and referenced by its number. */
static void publish_qp(struct kwarp_qp *qp)
{
	/* Cannot fail: the entry is reserved. */
	xa_store_irq(&qp->dev->qps, qp->ibqp.qp_num, &qp->ibqp, GFP_KERNEL);
}

/* End all use of the QP. On return there are no references to it, and none can be taken. */
static void retire_qp(struct kwarp_qp *qp)
{
	/* After the removal of the device programs can still poll what was flushed. */
	if (!kwarp_is_removed(qp->dev))
		kwarp_wq_discard(&qp->sq, &qp->rq);
	/* In ERR no connection can be attached, and no engine starts new work. */
	mutex_lock(&qp->mutex);
	kwarp_qp_disconnect(qp, KWARP_ABORT);
	mutex_unlock(&qp->mutex);

	/* The endpoint releases its claim, attached or not; in ERR there is no new one. */
	if (kwarp_cm_qp_leave(qp))
		wait_var_event(&qp->claimed, !READ_ONCE(qp->claimed));
	kwarp_tx_coalesce_exit(qp);

	/*
	 * Connection and queued work hold references. Once the count is zero no new one
	 * can be taken. Release the number last: until the CQs forget the QP,
	 * poll_cq looks up the QP of a completion by its number.
	 */
	kwarp_qp_put(qp);
	wait_for_completion(&qp->free);
	kwarp_wq_stop(&qp->sq, &qp->rq);
	kwarp_cq_forget_qp(qp->sq.cq, qp->ibqp.qp_num);
	kwarp_cq_forget_qp(qp->rq.cq, qp->ibqp.qp_num);
	xa_erase_irq(&qp->dev->qps, qp->ibqp.qp_num);
}

/* Release the references that create_qp() took first. */
static void release_owner(struct kwarp_qp *qp)
{
	put_pid(qp->owner);
	mem_cgroup_put(qp->memcg);
	if (qp->sq.kernel)
		module_put(THIS_MODULE);
}

int kwarp_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata)
{
	struct kwarp_uresp_create_qp resp = {};
	struct kwarp_qp *qp = to_kqp(ibqp);
	int ret;

	might_sleep();
	/* A shared receive queue makes these two meaningless: ibv_create_qp(3). */
	if (attr->srq) {
		attr->cap.max_recv_wr = 0;
		attr->cap.max_recv_sge = 0;
	}
	ret = check_create_attr(attr);
	if (ret)
		return ret;
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ret;
	ret = kwarp_object_take(to_kdev(ibqp->device), KWARP_OBJECT_QP);
	if (ret)
		return ret;
	/* A user's open context holds the module; a kernel consumer has none. */
	if (!udata && !try_module_get(THIS_MODULE)) {
		ret = -ENODEV;
		goto err_count;
	}
	qp->sq.kernel = !udata;
	qp->owner = udata ? get_pid(task_tgid(current)) : NULL;
	init_fields(qp, attr);
	layout_rings(qp, &attr->cap, &resp);
	qp->attr.cap = attr->cap;
	ret = alloc_rings(qp, udata, &resp);
	if (ret)
		goto err_fields;
	kwarp_qp_state_init(qp);
	ret = reserve_number(qp, next_number(qp, udata));
	if (ret)
		goto err_rings;
	if (udata) {
		resp.mmap_key = rdma_user_mmap_get_offset(qp->mmap);
		resp.qp_id = ibqp->qp_num;
		ret = kwarp_udata_respond(udata, &resp, sizeof(resp));
		if (ret)
			goto err_number;
	}
	/*
	 * Publish the QP last, because the core does not release the events of a QP whose
	 * creation fails: an unpublished QP has no events.
	 */
	publish_qp(qp);
	return 0;

err_number:
	xa_erase_irq(&qp->dev->qps, ibqp->qp_num);
err_rings:
	free_rings(qp);
err_fields:
	mutex_destroy(&qp->mutex);
	release_owner(qp);
err_count:
	kwarp_object_give(to_kdev(ibqp->device), KWARP_OBJECT_QP);
	return ret;
}

int kwarp_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct kwarp_qp *qp = to_kqp(ibqp);

	might_sleep();
	retire_qp(qp);
	kwarp_counter_leave(qp);
	kwarp_cm_attach_forget(qp);
	free_rings(qp);
	kwarp_object_give(qp->dev, KWARP_OBJECT_QP);
	/* No mutex_destroy(): the core may still query the QP for a dump. */
	release_owner(qp);
	return 0;
}
