// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shared receive queues: create, modify, query, destroy. */
#include "verbs/verbs.h"

#include <linux/idr.h>
#include <linux/log2.h>
#include <linux/uaccess.h>

#include "core/srq.h"

/* Bytes of the reply to modify_srq, for a provider that does not set resp_len. */
#define SRQ_RESP_V1	offsetofend(struct kwarp_uresp_create_srq, srq_id)

static_assert(SRQ_RESP_V1 == 32);

static size_t srq_len(const struct kwarp_srq *srq, u32 size)
{
	return PAGE_ALIGN(sizeof(struct kwarp_ring_ctl) +
			  (size_t)size * srq->rq.stride);
}

static void describe_srq(const struct kwarp_srq *srq, u32 size,
			 struct rdma_user_mmap_entry *mmap,
			 struct kwarp_uresp_create_srq *resp)
{
	resp->mmap_key = rdma_user_mmap_get_offset(mmap);
	resp->mmap_size = srq_len(srq, size);
	resp->ctl_offset = 0;
	resp->rq_offset = sizeof(struct kwarp_ring_ctl);
	resp->num_rqe = size;
	resp->rq_stride = srq->rq.stride;
	resp->srq_id = srq->id;
}

static int check_init_attr(const struct ib_srq_init_attr *init)
{
	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > KWARP_MAX_SRQ_WR ||
	    init->attr.max_sge > KWARP_MAX_SGE)
		return -EINVAL;
	return 0;
}

int kwarp_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct kwarp_device *dev = to_kdev(ibsrq->device);
	struct kwarp_uresp_create_srq resp = {};
	struct kwarp_srq *srq = to_ksrq(ibsrq);
	struct kwarp_rq *rq = &srq->rq;
	int ret;

	might_sleep();
	ret = check_init_attr(init);
	if (ret)
		return ret;
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ret;
	ret = kwarp_object_take(dev, KWARP_OBJECT_SRQ);
	if (ret)
		return ret;
	ret = ida_alloc_max(&dev->srq_ids, KWARP_MAX_SRQ - 1, GFP_KERNEL);
	if (ret < 0) {
		ret = -ENOMEM;
		goto err_count;
	}
	srq->id = ret;
	srq->dev = dev;
	mutex_init(&srq->mutex);
	spin_lock_init(&rq->lock);
	rq->user = udata;
	rq->mode = KWARP_WQ_OPEN;
	kwarp_rq_layout(rq, init->attr.max_wr, init->attr.max_sge);

	srq->mem = kwarp_ring_alloc(udata, srq_len(srq, rq->size), &srq->mmap);
	if (IS_ERR(srq->mem)) {
		ret = PTR_ERR(srq->mem);
		goto err_id;
	}
	rq->ctl = srq->mem;
	rq->ring = srq->mem + sizeof(*rq->ctl);
	init->attr.max_wr = rq->size;
	init->attr.max_sge = rq->max_sge;
	if (udata) {
		describe_srq(srq, rq->size, srq->mmap, &resp);
		ret = kwarp_udata_respond(udata, &resp, sizeof(resp));
		if (ret)
			goto err_mem;
	}
	return 0;

err_mem:
	kwarp_ring_free(srq->mem, srq->mmap);
err_id:
	mutex_destroy(&srq->mutex);
	ida_free(&dev->srq_ids, srq->id);
err_count:
	kwarp_object_give(dev, KWARP_OBJECT_SRQ);
	return ret;
}

/*
 * uverbs has no room for a reply to modify_srq, so the provider passes an address, which
 * copy_to_user() checks.
 */
static int respond_resize(const struct kwarp_srq *srq, u32 size,
			  struct rdma_user_mmap_entry *mmap,
			  struct ib_udata *udata)
{
	struct kwarp_uresp_create_srq resp = {};
	struct kwarp_ureq_modify_srq req;
	int ret;

	if (!udata)
		return 0;
	ret = kwarp_udata_request(udata, &req, sizeof(req),
				  offsetofend(struct kwarp_ureq_modify_srq,
					      resp_addr));
	if (ret)
		return ret;
	if (req.resp_len > U16_MAX)
		return -EINVAL;
	describe_srq(srq, size, mmap, &resp);
	return kwarp_respond(u64_to_user_ptr(req.resp_addr),
			     req.resp_len ? : SRQ_RESP_V1, &resp, sizeof(resp));
}

static int resize_srq(struct kwarp_srq *srq, u32 max_wr, struct ib_udata *udata)
{
	u32 size = roundup_pow_of_two(max_wr);
	struct rdma_user_mmap_entry *mmap;
	void *mem;
	int ret;

	mem = kwarp_ring_alloc(udata, srq_len(srq, size), &mmap);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	ret = respond_resize(srq, size, mmap, udata);
	if (!ret)
		ret = kwarp_srq_move(srq, mem, size);
	if (ret) {
		kwarp_ring_free(mem, mmap);
		return ret;
	}
	swap(srq->mem, mem);
	swap(srq->mmap, mmap);
	kwarp_ring_free(mem, mmap);
	return 0;
}

int kwarp_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct kwarp_srq *srq = to_ksrq(ibsrq);
	int ret = 0;
	u32 size;

	might_sleep();
	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	if (!(mask & IB_SRQ_MAX_WR))
		ret = kwarp_udata_empty(udata);
	if (ret)
		return ret;
	mutex_lock(&srq->mutex);
	size = srq->rq.size;
	/* Check all attributes before any is changed. */
	if (mask & IB_SRQ_MAX_WR) {
		size = attr->max_wr;
		if (!size || size > KWARP_MAX_SRQ_WR)
			ret = -EINVAL;
	}
	if ((mask & IB_SRQ_LIMIT) && attr->srq_limit > size)
		ret = -EINVAL;
	if (!ret && (mask & IB_SRQ_MAX_WR))
		ret = resize_srq(srq, size, udata);
	if (!ret && (mask & IB_SRQ_LIMIT))
		kwarp_srq_arm(srq, attr->srq_limit);
	mutex_unlock(&srq->mutex);
	return ret;
}

int kwarp_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct kwarp_srq *srq = to_ksrq(ibsrq);
	unsigned long flags;

	spin_lock_irqsave(&srq->rq.lock, flags);
	attr->max_wr = srq->rq.size;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = srq->limit;
	spin_unlock_irqrestore(&srq->rq.lock, flags);
	return 0;
}

int kwarp_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct kwarp_srq *srq = to_ksrq(ibsrq);

	/*
	 * The core destroys the queue after all its QPs, so no elements are taken. But
	 * verbs/restrack.c may still look at the queue: clear rq.ctl under the lock.
	 */
	spin_lock_irq(&srq->rq.lock);
	WRITE_ONCE(srq->rq.ctl->flags, KWARP_RING_ERROR);
	srq->rq.ctl = NULL;
	spin_unlock_irq(&srq->rq.lock);
	kwarp_ring_free(srq->mem, srq->mmap);
	mutex_destroy(&srq->mutex);
	ida_free(&srq->dev->srq_ids, srq->id);
	kwarp_object_give(srq->dev, KWARP_OBJECT_SRQ);
	return 0;
}
