// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Memory of processes: pin, register, reregister. */
#include "verbs/mr.h"

#include <linux/log2.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

/*
 * Use one block size for the region, as large as its physical layout allows: then an
 * address translation is a shift and a table lookup. The blocks are aligned to the memory,
 * not to the IOVA: mr->first accounts for the difference.
 */
static int mr_fill_blocks(struct kwarp_mr *mr)
{
	struct ib_umem *umem = mr->umem;
	struct ib_block_iter biter;
	unsigned long size;
	size_t nr;
	u64 start;
	u32 i = 0;

	start = sg_dma_address(umem->sgt_append.sgt.sgl) + ib_umem_offset(umem);
	size = ib_umem_find_best_pgsz(umem,
				      GENMASK(KWARP_MAX_BLOCK_SHIFT, PAGE_SHIFT),
				      start);
	if (!size)
		return -EINVAL;
	nr = ib_umem_num_dma_blocks(umem, size);
	if (nr > U32_MAX)
		return -EINVAL;
	/* No warning on failure, because a user can request any size. */
	mr->blocks = kvcalloc(nr, sizeof(*mr->blocks),
			      GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL |
			      __GFP_NOWARN);
	if (!mr->blocks)
		return -ENOMEM;
	mr->max_blocks = nr;
	mr->shift = ilog2(size);
	mr->first = start & (size - 1);
	rdma_umem_for_each_dma_block(umem, &biter, size) {
		if (i == nr)
			return -EINVAL;
		mr->blocks[i++] = (void *)(uintptr_t)
				  rdma_block_iter_dma_address(&biter);
		if (i % SZ_64K == 0)
			cond_resched();
	}
	mr->nr_blocks = i;
	return i == nr ? 0 : -EINVAL;
}

/* Create a region and pin its memory. It is not in the STag table yet. */
static struct kwarp_mr *mr_pin(struct ib_pd *pd, u64 start, u64 length,
			       u64 iova, int access)
{
	struct kwarp_mr *mr;
	int ret;

	if (!length || length > KWARP_MAX_MR_SIZE || iova + length < iova)
		return ERR_PTR(-EINVAL);
	/* A 32-bit kernel has shorter types for both, and would pin other memory. */
	if (start != (unsigned long)start || length != (size_t)length)
		return ERR_PTR(-EINVAL);
	mr = kwarp_mr_new(pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->iova = iova;
	mr->length = length;
	/* The core does this for the write command only. */
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	mr->umem = kwarp_umem_get(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		mr->umem = NULL;
		goto err_mr;
	}
	ret = mr_fill_blocks(mr);
	if (ret)
		goto err_mr;
	return mr;

err_mr:
	kwarp_mr_free(mr);
	return ERR_PTR(ret);
}

/**
 * kwarp_reg_user_mr() - register memory of the calling process
 * @pd:		protection domain
 * @start:	address in the process
 * @length:	bytes
 * @iova:	address under which the region is to be accessed
 * @access:	IB_ACCESS_* flags
 * @dmah:	must be NULL: DMA handles require hardware
 * @udata:	must be empty
 *
 * Return: region or ERR_PTR().
 */
struct ib_mr *kwarp_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				u64 iova, int access, struct ib_dmah *dmah,
				struct ib_udata *udata)
{
	struct kwarp_mr *mr;
	int ret;

	might_sleep();
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	ret = kwarp_check_access(access);
	if (ret)
		return ERR_PTR(ret);
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ERR_PTR(ret);
	mr = mr_pin(pd, start, length, access & IB_ZERO_BASED ? 0 : iova,
		    access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	ret = kwarp_mr_publish(to_kdev(pd->device), mr, KWARP_MR_VALID);
	if (ret) {
		kwarp_mr_free(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;
}

/* ---- reregistration -------------------------------------------------------- */

/* Create a successor with the same pages and other rights or another PD. */
static struct kwarp_mr *mr_share(struct kwarp_mr *old, struct ib_pd *pd,
				 u64 iova, int access)
{
	struct kwarp_mr *mr = kwarp_mr_new(pd, access);

	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->iova = iova;
	mr->length = old->length;
	mr->first = old->first;
	mr->shift = old->shift;
	mr->blocks = old->blocks;
	mr->nr_blocks = old->nr_blocks;
	mr->max_blocks = old->max_blocks;
	mr->shared = true;
	return mr;
}

/* Create the successor of a region with the same memory. It is not in the table yet. */
static struct kwarp_mr *mr_successor(struct kwarp_mr *old, struct ib_pd *pd,
				     int access)
{
	u64 start = old->umem->address, iova = old->iova;

	if ((access ^ old->access) & IB_ZERO_BASED)
		iova = start;
	if (access & IB_ZERO_BASED)
		iova = 0;
	/* Pages pinned for reading may be shared with others: pin again for writing. */
	if (ib_access_writable(access) && !old->umem->writable) {
		/* In another process, for example after fork(), the address is other memory. */
		if (old->umem->owning_mm != current->mm)
			return ERR_PTR(-EACCES);
		return mr_pin(pd, start, old->length, iova, access);
	}
	return mr_share(old, pd, iova, access);
}

/*
 * The successor replaces the old region in the table, with the same STag: a concurrent
 * access finds one or the other. The successor takes over the pages if both share them.
 */
static int mr_replace(struct kwarp_device *dev, struct kwarp_mr *old,
		      struct kwarp_mr *mr)
{
	mr->stag = old->stag;
	mr->state = KWARP_MR_VALID;
	mr->ibmr.lkey = mr->stag;
	mr->ibmr.rkey = mr->stag;
	mr->ibmr.iova = mr->iova;
	mr->ibmr.length = mr->length;
	if (xa_is_err(xa_store(&dev->mrs, mr->stag >> 8, mr, GFP_KERNEL)))
		return -ENOMEM;
	/* The core deregisters the old region next, which waits for its users. */
	smp_store_release(&old->state, KWARP_MR_REPLACED); /* after xa_store() */
	swap(mr->counted, old->counted);
	if (mr->shared) {
		mr->umem = old->umem;
		mr->shared = false;
		old->umem = NULL;
		old->shared = true;
	}
	return 0;
}

struct ib_mr *kwarp_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *pd, struct ib_udata *udata)
{
	struct kwarp_mr *old = to_kmr(ibmr);
	struct kwarp_mr *mr;
	int ret;

	might_sleep();
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ERR_PTR(ret);
	/* Only pinned user memory can be reregistered: no dma-buf. */
	if (!old->umem)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = old->access;
	ret = kwarp_check_access(access);
	if (ret)
		return ERR_PTR(ret);
	if (atomic_cmpxchg(&old->windows, 0, -1))
		return ERR_PTR(-EBUSY);
	if (flags & IB_MR_REREG_TRANS)
		mr = mr_pin(pd, start, length,
			    access & IB_ZERO_BASED ? 0 : iova, access);
	else
		mr = mr_successor(old, pd, access);
	if (IS_ERR(mr)) {
		ret = PTR_ERR(mr);
		goto err_windows;
	}
	ret = mr_replace(to_kdev(ibmr->device), old, mr);
	if (ret)
		goto err_mr;
	return &mr->ibmr;

err_mr:
	kwarp_mr_free(mr);
err_windows:
	atomic_set(&old->windows, 0);
	return ERR_PTR(ret);
}
