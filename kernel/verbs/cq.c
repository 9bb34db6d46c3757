// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Completion queues: creation and destruction. Their work is core/cq.c. */
#include "verbs.h"

#include <linux/idr.h>
#include <linux/log2.h>

static int cq_respond(const struct kwarp_cq *cq, struct ib_udata *udata,
		      size_t len)
{
	struct kwarp_uresp_create_cq resp = {
		.mmap_size = len,
		.cqe_offset = sizeof(*cq->ctl),
		.num_cqe = cq->size,
		.cq_id = cq->id,
	};

	if (!udata)
		return 0;
	resp.mmap_key = rdma_user_mmap_get_offset(cq->mmap);
	return kwarp_udata_respond(udata, &resp, sizeof(resp));
}

int kwarp_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct kwarp_device *dev = to_kdev(ibcq->device);
	struct kwarp_cq *cq = to_kcq(ibcq);
	size_t len;
	int ret;

	might_sleep();
	if (!attr->cqe || attr->cqe > KWARP_MAX_CQE)
		return -EINVAL;
	/* Time stamps are always there; overruns are always noticed. */
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ret;

	ret = ida_alloc_max(&dev->cq_ids, KWARP_MAX_CQ - 1, GFP_KERNEL);
	if (ret < 0)
		return -ENOMEM;
	cq->id = ret;
	cq->dev = dev;
	spin_lock_init(&cq->lock);
	cq->size = roundup_pow_of_two(attr->cqe);
	len = PAGE_ALIGN(sizeof(*cq->ctl) +
			 (size_t)cq->size * sizeof(*cq->ring));
	cq->mem = kwarp_ring_alloc(udata, len, &cq->mmap);
	if (IS_ERR(cq->mem)) {
		ret = PTR_ERR(cq->mem);
		goto err_id;
	}
	cq->ctl = cq->mem;
	cq->ring = cq->mem + sizeof(*cq->ctl);
	ibcq->cqe = cq->size;
	ret = cq_respond(cq, udata, len);
	if (ret)
		goto err_mem;
	return 0;

err_mem:
	kwarp_ring_free(cq->mem, cq->mmap);
err_id:
	ida_free(&dev->cq_ids, cq->id);
	return ret;
}

int kwarp_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct kwarp_cq *cq = to_kcq(ibcq);

	/*
	 * The core destroys a CQ only after all its QPs: nobody pushes. If the
	 * device went away under a process, it learns of it here.
	 */
	WRITE_ONCE(cq->ctl->flags, KWARP_RING_ERROR);
	kwarp_ring_free(cq->mem, cq->mmap);
	ida_free(&cq->dev->cq_ids, cq->id);
	return 0;
}
