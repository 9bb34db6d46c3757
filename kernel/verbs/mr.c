// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions: STags, destruction, and registration by kernel consumers. DMA addresses
 * are kernel addresses, because ib_dma_*() does not translate for a virtual DMA device.
 */
#include "verbs/mr.h"

#include <linux/log2.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>

#define KWARP_STAG_TRIES	64

/* Return: 0, -EOPNOTSUPP for an unknown flag, -EINVAL for an invalid combination. */
int kwarp_check_access(int access)
{
	const int known = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
			  IB_ACCESS_MW_BIND | IB_ZERO_BASED |
			  IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL;
	const int remote = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC;

	if (access & ~known)
		return -EOPNOTSUPP;
	if ((access & remote) && !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/* ---- STags --------------------------------------------------------------- */

static enum kwarp_object object_kind(const struct kwarp_mr *mr)
{
	return kwarp_mr_window(mr) ? KWARP_OBJECT_MW : KWARP_OBJECT_MR;
}

/**
 * kwarp_mr_publish() - count a region or window, assign an STag, add it to the STag table
 * @dev:	device
 * @mr:		region or window
 * @state:	initial state that lookups see
 *
 * Index and key of the STag are random, so that an STag is difficult to predict (RFC 5042
 * 6.1.1). Index 0 is not used, so no STag is 0.
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int kwarp_mr_publish(struct kwarp_device *dev, struct kwarp_mr *mr,
		     enum kwarp_mr_state state)
{
	int i, ret;
	u32 stag;

	ret = kwarp_object_take(dev, object_kind(mr));
	if (ret)
		return ret;
	mr->counted = true;
	mr->state = state;
	ret = -EBUSY;
	for (i = 0; i < KWARP_STAG_TRIES && ret == -EBUSY; i++) {
		stag = get_random_u32();
		if (!(stag >> 8))
			continue;
		mr->stag = stag;
		ret = xa_insert(&dev->mrs, stag >> 8, mr, GFP_KERNEL);
	}
	if (ret)
		return -ENOMEM;
	mr->ibmr.lkey = stag;
	mr->ibmr.rkey = stag;
	return 0;
}

struct kwarp_mr *kwarp_mr_new(struct ib_pd *pd, int access)
{
	struct kwarp_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return NULL;
	mr->pd = pd;
	mr->access = access;
	mr->shift = PAGE_SHIFT;
	mr->gen = kwarp_mr_generation();
	init_completion(&mr->unused);
	spin_lock_init(&mr->change);
#ifdef CONFIG_PREEMPT_RT
	rwlock_init(&mr->users);
#endif
	refcount_set(&mr->refs, 1);
	return mr;
}

/* Free a region or window that is not in the table. Context: process. */
void kwarp_mr_free(struct kwarp_mr *mr)
{
	ib_umem_release(mr->umem);
	kwarp_dmabuf_put(mr);
	if (!mr->shared)
		kvfree(mr->blocks);
	kvfree(mr->staged);
	if (mr->counted)
		kwarp_object_give(to_kdev(mr->pd->device), object_kind(mr));
	/* A lookup under RCU may still try, and fail, to get a reference. */
	kfree_rcu(mr, rcu);
}

/* Remove a region or window from the table and wait for its users. Context: process. */
void kwarp_mr_retire(struct kwarp_device *dev, struct kwarp_mr *mr)
{
	/* Erase the entry, unless a successor has replaced it. */
	xa_cmpxchg(&dev->mrs, mr->stag >> 8, mr, NULL, GFP_KERNEL);
	/*
	 * A pass that changes the entry counts on the table's reference while it waits for the
	 * other users, so drop that one under the lock. The pass may bind a window anew, and then
	 * no other pass may still use the old region.
	 */
	spin_lock_bh(&mr->change);
	mr->retired = true;
	/* Holders of a reference see the state at their next access. */
	if (mr->state == KWARP_MR_VALID)
		WRITE_ONCE(mr->state, KWARP_MR_INVALID);
	kwarp_mr_drop(mr);
	spin_unlock_bh(&mr->change);
	/* Engine passes do not sleep: this wait is short. */
	wait_for_completion(&mr->unused);
}

int kwarp_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct kwarp_mr *mr = to_kmr(ibmr);

	might_sleep();
	/* The count is -1 already if rereg_user_mr has replaced this region. */
	if (atomic_cmpxchg(&mr->windows, 0, -1) > 0)
		return -EBUSY;
	kwarp_mr_retire(to_kdev(ibmr->device), mr);
	kwarp_mr_free(mr);
	return 0;
}

/* ---- kernel consumers ---------------------------------------------------- */

struct ib_mr *kwarp_get_dma_mr(struct ib_pd *pd, int access)
{
	struct kwarp_mr *mr;
	int ret;

	ret = kwarp_check_access(access);
	if (ret)
		return ERR_PTR(ret);
	mr = kwarp_mr_new(pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->kind = KWARP_MR_DMA;
	mr->length = U64_MAX;
	ret = kwarp_mr_publish(to_kdev(pd->device), mr, KWARP_MR_VALID);
	if (ret) {
		kwarp_mr_free(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

struct ib_mr *kwarp_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			     u32 max_num_sg)
{
	struct kwarp_mr *mr;
	int ret = -ENOMEM;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > KWARP_MAX_FAST_REG)
		return ERR_PTR(-EINVAL);
	mr = kwarp_mr_new(pd, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->kind = KWARP_MR_FAST;
	mr->max_blocks = max_num_sg;
	mr->blocks = kvcalloc(max_num_sg, sizeof(*mr->blocks), GFP_KERNEL_ACCOUNT);
	mr->staged = kvcalloc(max_num_sg, sizeof(*mr->staged), GFP_KERNEL_ACCOUNT);
	if (!mr->blocks || !mr->staged)
		goto err_mr;
	ret = kwarp_mr_publish(to_kdev(pd->device), mr, KWARP_MR_INVALID);
	if (ret)
		goto err_mr;
	return &mr->ibmr;

err_mr:
	kwarp_mr_free(mr);
	return ERR_PTR(ret);
}

static int stage_page(struct ib_mr *ibmr, u64 addr)
{
	struct kwarp_mr *mr = to_kmr(ibmr);

	if (mr->nr_staged == mr->max_blocks)
		return -ENOMEM;
	mr->staged[mr->nr_staged++] = (void *)(uintptr_t)addr;
	return 0;
}

int kwarp_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset)
{
	struct kwarp_mr *mr = to_kmr(ibmr);

	if (!kwarp_mr_invalidatable(mr) || !is_power_of_2(ibmr->page_size) ||
	    ibmr->page_size < SZ_4K ||
	    ilog2(ibmr->page_size) > KWARP_MAX_BLOCK_SHIFT)
		return -EINVAL;
	mr->nr_staged = 0;
	mr->remapped = true;
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, stage_page);
}
