// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion queues: creation and destruction. core/cq.c has the data path. */
#include "verbs/verbs.h"

#include <linux/idr.h>
#include <linux/log2.h>
#include <linux/time_namespace.h>

#include "core/cq_event.h"
#include "rdmap/stream.h"
#include "rdmap/tx.h"

static size_t cq_len(u32 size)
{
	return PAGE_ALIGN(sizeof(struct kwarp_ring_ctl) +
			  (size_t)size * sizeof(struct kwarp_cqe));
}

static int cq_respond(const struct kwarp_cq *cq, u32 size,
		      struct rdma_user_mmap_entry *mmap,
		      struct ib_udata *udata)
{
	struct kwarp_uresp_create_cq resp = {
		.mmap_size = cq_len(size),
		.cqe_offset = sizeof(struct kwarp_ring_ctl),
		.num_cqe = size,
		.cq_id = cq->id,
	};

	if (!udata)
		return 0;
	resp.mmap_key = rdma_user_mmap_get_offset(mmap);
	return kwarp_udata_respond(udata, &resp, sizeof(resp));
}

static bool reports_nothing(const struct kwarp_qp *qp)
{
	return (READ_ONCE(qp->sq.cq->overflow) || READ_ONCE(qp->rq.cq->overflow)) &&
	       !kwarp_qp_failed(qp);
}

/*
 * Fail the QPs with a CQ that has overflowed, because they can report nothing to it any more.
 * One pass looks at all QPs of the device, for all its CQs: a user may overflow many of them. It
 * does not wait for a QP whose owner waits for memory.
 */
static void overflow_work(struct work_struct *work)
{
	struct kwarp_device *dev =
		container_of(to_delayed_work(work), struct kwarp_device, overflow_work);
	bool again = false;
	struct kwarp_qp *qp;
	unsigned long qpn;
	void *entry;

	xa_for_each(&dev->qps, qpn, entry) {
		cond_resched();
		qp = kwarp_qp_find(dev, qpn);
		if (!qp)
			continue;
		/* The reference keeps the QP's CQs, too. */
		if (reports_nothing(qp)) {
			if (mutex_trylock(&qp->mutex)) {
				kwarp_qp_break(qp);
				mutex_unlock(&qp->mutex);
			} else {
				again = true;
			}
		}
		kwarp_qp_put(qp);
	}
	if (again)
		kwarp_cq_fail_users(dev);
}

/* Per device: init before registration, exit when it has no QP. */
void kwarp_cq_device_init(struct kwarp_device *dev)
{
	INIT_DELAYED_WORK(&dev->overflow_work, overflow_work);
}

void kwarp_cq_device_exit(struct kwarp_device *dev)
{
	cancel_delayed_work_sync(&dev->overflow_work);
}

/* Of the caller's time namespace; a user compares timestamps with clocks that it reads there. */
static s64 clock_offset(void)
{
	struct timespec64 offset = {};

	timens_add_monotonic(&offset);
	return timespec64_to_ns(&offset);
}

int kwarp_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct kwarp_device *dev = to_kdev(ibcq->device);
	struct kwarp_cq *cq = to_kcq(ibcq);
	int ret;

	might_sleep();
	if (!attr->cqe || attr->cqe > KWARP_MAX_CQE)
		return -EINVAL;
	/* IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN is refused: overruns are always detected. */
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ret;

	ret = kwarp_object_take(dev, KWARP_OBJECT_CQ);
	if (ret)
		return ret;
	ret = ida_alloc_max(&dev->cq_ids, KWARP_MAX_CQ - 1, GFP_KERNEL);
	if (ret < 0) {
		ret = -ENOMEM;
		goto err_count;
	}
	cq->id = ret;
	cq->dev = dev;
	cq->timestamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	cq->clock_offset = udata ? clock_offset() : 0;
	mutex_init(&cq->mutex);
	spin_lock_init(&cq->lock);
	kwarp_cq_event_init(cq);
	kwarp_pause_init(&cq->pause);
	cq->size = roundup_pow_of_two(attr->cqe);
	cq->mem = kwarp_ring_alloc(udata, cq_len(cq->size), &cq->mmap);
	if (IS_ERR(cq->mem)) {
		ret = PTR_ERR(cq->mem);
		goto err_id;
	}
	cq->ctl = cq->mem;
	cq->ring = cq->mem + sizeof(*cq->ctl);
	ibcq->cqe = cq->size;
	ret = cq_respond(cq, cq->size, cq->mmap, udata);
	if (ret)
		goto err_mem;
	kwarp_cq_napi_init(cq, udata ? rdma_udata_to_drv_context(udata, struct kwarp_ucontext,
								 ibuctx) : NULL);
	return 0;

err_mem:
	kwarp_ring_free(cq->mem, cq->mmap);
err_id:
	mutex_destroy(&cq->mutex);
	ida_free(&dev->cq_ids, cq->id);
err_count:
	kwarp_object_give(dev, KWARP_OBJECT_CQ);
	return ret;
}

int kwarp_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
		    struct ib_udata *udata)
{
	struct rdma_user_mmap_entry *mmap;
	struct kwarp_cq *cq = to_kcq(ibcq);
	void *mem;
	u32 size;
	int ret;

	might_sleep();
	if (!cqe || cqe > KWARP_MAX_CQE)
		return -EINVAL;
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ret;
	size = roundup_pow_of_two(cqe);
	mem = kwarp_ring_alloc(udata, cq_len(size), &mmap);
	if (IS_ERR(mem))
		return PTR_ERR(mem);

	mutex_lock(&cq->mutex);
	/* Reply before moving, because the move cannot be undone. */
	ret = cq_respond(cq, size, mmap, udata);
	if (!ret)
		ret = kwarp_cq_move(cq, mem, size);
	if (!ret) {
		ibcq->cqe = size;
		swap(cq->mem, mem);
		swap(cq->mmap, mmap);
	}
	mutex_unlock(&cq->mutex);
	/* Free the old memory, whose pages a mapping may keep; on failure the new one. */
	kwarp_ring_free(mem, mmap);
	return ret;
}

int kwarp_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct kwarp_cq *cq = to_kcq(ibcq);

	might_sleep();
	kwarp_cq_napi_exit(cq);
	kwarp_cq_event_exit(cq);
	kwarp_pause_exit(&cq->pause);
	/*
	 * The core destroys a CQ only after all its QPs, so no completions are added. The
	 * flag notifies a process whose device was removed. verbs/restrack.c may still
	 * look at the CQ, so clear cq->ctl under the lock.
	 */
	spin_lock_irq(&cq->lock);
	/* After kern_idx, as in kwarp_cq_push(). */
	smp_store_release(&cq->ctl->flags, KWARP_RING_ERROR);
	cq->ctl = NULL;
	spin_unlock_irq(&cq->lock);
	kwarp_ring_free(cq->mem, cq->mmap);
	mutex_destroy(&cq->mutex);
	ida_free(&cq->dev->cq_ids, cq->id);
	kwarp_object_give(cq->dev, KWARP_OBJECT_CQ);
	return 0;
}
