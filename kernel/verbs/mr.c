// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory regions: creation and destruction. Addresses are kernel addresses
 * throughout: the core maps our scatter lists by ib_dma_*'s virtual flavour.
 */
#include "verbs.h"

#include <linux/log2.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <rdma/iter.h>

/* Registered memory of one region: page counts stay far inside 32 bits. */
#define KWARP_MAX_BLOCK_SHIFT	30
#define KWARP_STAG_TRIES	64

/* ---- STags --------------------------------------------------------------- */

/*
 * Nobody can guess an STag from others (RFC 5042 5.3.1): index and key are
 * random. Index 0 is not used, so no STag is 0. @state is what a look-up finds
 * from the first moment on.
 */
static int mr_publish(struct kwarp_device *dev, struct kwarp_mr *mr,
		      enum kwarp_mr_state state)
{
	int i, ret = -EBUSY;
	u32 stag;

	mr->state = state;
	init_completion(&mr->unused);
	refcount_set(&mr->refs, 1);
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

static struct kwarp_mr *mr_new(struct ib_pd *pd, int access)
{
	struct kwarp_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return NULL;
	mr->pd = pd;
	mr->access = access;
	mr->shift = PAGE_SHIFT;
	return mr;
}

/* Everything but the table entry. */
static void mr_free(struct kwarp_mr *mr)
{
	ib_umem_release(mr->umem);
	kvfree(mr->blocks);
	kvfree(mr->staged);
	/* A look-up may still try to get a reference, in vain. */
	kfree_rcu(mr, rcu);
}

int kwarp_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct kwarp_device *dev = to_kdev(ibmr->device);
	struct kwarp_mr *mr = to_kmr(ibmr);

	might_sleep();
	/* Not found any more; those who hold it see the state at their next access. */
	xa_erase(&dev->mrs, mr->stag >> 8);
	WRITE_ONCE(mr->state, KWARP_MR_INVALID);
	kwarp_mr_put(mr);
	/* A pass of an engine does not sleep: this is short. */
	wait_for_completion(&mr->unused);
	mr_free(mr);
	return 0;
}

/* ---- user memory --------------------------------------------------------- */

static int check_access(int access)
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

/*
 * One block size for the region, as large as its physical layout allows: then
 * an address needs a shift and a table look-up. The blocks' alignment follows
 * the memory, not the IOVA: @first absorbs the difference.
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
	/* No warning for what a user can ask for. */
	mr->blocks = kvcalloc(nr, sizeof(*mr->blocks),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
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
	}
	mr->nr_blocks = i;
	return i == nr ? 0 : -EINVAL;
}

/**
 * kwarp_reg_user_mr() - register memory of the calling process
 * @pd:		protection domain
 * @start:	address in the process
 * @length:	octets
 * @iova:	address under which the region is to be accessed
 * @access:	IB_ACCESS_* flags
 * @udata:	must be empty
 *
 * Return: region or ERR_PTR().
 */
struct ib_mr *kwarp_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				u64 iova, int access, struct ib_udata *udata)
{
	struct kwarp_mr *mr;
	int ret;

	might_sleep();
	ret = check_access(access);
	if (ret)
		return ERR_PTR(ret);
	ret = kwarp_udata_empty(udata);
	if (ret)
		return ERR_PTR(ret);
	if (access & IB_ZERO_BASED)
		iova = 0;
	if (!length || length > KWARP_MAX_MR_SIZE || iova + length < iova)
		return ERR_PTR(-EINVAL);

	mr = mr_new(pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->iova = iova;
	mr->length = length;
	mr->umem = kwarp_umem_get(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		ret = PTR_ERR(mr->umem);
		mr->umem = NULL;
		goto err_mr;
	}
	ret = mr_fill_blocks(mr);
	if (ret)
		goto err_mr;
	ret = mr_publish(to_kdev(pd->device), mr, KWARP_MR_VALID);
	if (ret)
		goto err_mr;
	return &mr->ibmr;

err_mr:
	mr_free(mr);
	return ERR_PTR(ret);
}

/* ---- kernel consumers ---------------------------------------------------- */

struct ib_mr *kwarp_get_dma_mr(struct ib_pd *pd, int access)
{
	struct kwarp_mr *mr;
	int ret;

	ret = check_access(access);
	if (ret)
		return ERR_PTR(ret);
	mr = mr_new(pd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->dma = true;
	mr->length = U64_MAX;
	ret = mr_publish(to_kdev(pd->device), mr, KWARP_MR_VALID);
	if (ret) {
		mr_free(mr);
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
	mr = mr_new(pd, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->invalidatable = true;
	mr->max_blocks = max_num_sg;
	mr->blocks = kvcalloc(max_num_sg, sizeof(*mr->blocks), GFP_KERNEL);
	mr->staged = kvcalloc(max_num_sg, sizeof(*mr->staged), GFP_KERNEL);
	if (!mr->blocks || !mr->staged)
		goto err_mr;
	ret = mr_publish(to_kdev(pd->device), mr, KWARP_MR_INVALID);
	if (ret)
		goto err_mr;
	return &mr->ibmr;

err_mr:
	mr_free(mr);
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

	if (!mr->invalidatable || !is_power_of_2(ibmr->page_size) ||
	    ibmr->page_size < SZ_4K ||
	    ilog2(ibmr->page_size) > KWARP_MAX_BLOCK_SHIFT)
		return -EINVAL;
	mr->nr_staged = 0;
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, stage_page);
}
