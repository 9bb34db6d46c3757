// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Registered memory: look-up, checks, addresses, validity.
 *
 * An access takes a reference and then looks at the state; who invalidates
 * writes the state and then waits for the references. With a full barrier on
 * both sides at least one of them sees the other.
 */
#include "mem.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>

/* The region of an STag's index, referenced, or NULL. */
static struct kwarp_mr *mr_get(struct kwarp_device *dev, u32 stag)
{
	struct kwarp_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> 8);
	if (mr && !refcount_inc_not_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	/* The count before the state; pairs with the barrier in mr_wait_others(). */
	smp_mb();
	return mr;
}

void kwarp_mr_put(struct kwarp_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->unused);
}

static bool mr_valid(const struct kwarp_mr *mr, u32 stag)
{
	/* Pairs with the release in kwarp_mr_fast_reg(). */
	return smp_load_acquire(&mr->state) == KWARP_MR_VALID &&
	       READ_ONCE(mr->stag) == stag;
}

/*
 * A region over all of memory has no page list to be checked against. The peer
 * of a consumer who grants rights to such a one must not lead us out of the
 * direct map.
 */
static bool dma_range_ok(u64 addr, u64 len, int access)
{
	const int remote = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
			   IB_ACCESS_REMOTE_ATOMIC;

	if (!len || !(access & remote))
		return true;
	return virt_addr_valid((void *)(uintptr_t)addr) &&
	       virt_addr_valid((void *)(uintptr_t)(addr + len - 1));
}

static enum kwarp_mem_err mr_check(const struct kwarp_mr *mr,
				   const struct ib_pd *pd, u64 addr, u64 len,
				   int access)
{
	if (mr->pd != pd)
		return KWARP_MEM_PD;
	if (access & ~mr->access)
		return KWARP_MEM_ACCESS;
	if (addr + len < addr)
		return KWARP_MEM_WRAP;
	if (mr->dma)
		return dma_range_ok(addr, len, access) ? KWARP_MEM_OK :
							 KWARP_MEM_BOUNDS;
	if (addr < mr->iova || addr - mr->iova > mr->length ||
	    len > mr->length - (addr - mr->iova))
		return KWARP_MEM_BOUNDS;
	return KWARP_MEM_OK;
}

enum kwarp_mem_err kwarp_mr_access(struct kwarp_device *dev,
				   struct kwarp_mr_cache *cache,
				   struct ib_pd *pd, u32 stag, u64 addr,
				   u64 len, int access, struct kwarp_mr **mrp)
{
	struct kwarp_mr *mr = cache->mr;

	if (!mr || !mr_valid(mr, stag)) {
		kwarp_mr_cache_put(cache);
		mr = mr_get(dev, stag);
		if (!mr)
			return KWARP_MEM_STAG;
		cache->mr = mr;
		if (!mr_valid(mr, stag))
			return KWARP_MEM_STAG;
	}
	*mrp = mr;
	return mr_check(mr, pd, addr, len, access);
}

void *kwarp_mr_ptr(const struct kwarp_mr *mr, u64 addr, u32 *len)
{
	u64 off, size, room;
	void *ptr;
	u32 i;

	if (mr->dma)
		return (void *)(uintptr_t)addr;

	size = 1ULL << mr->shift;
	off = addr - mr->iova + mr->first;
	i = off >> mr->shift;
	off &= size - 1;
	ptr = mr->blocks[i] + off;
	room = size - off;
	while (room < *len && i + 1 < mr->nr_blocks &&
	       mr->blocks[i + 1] == mr->blocks[i] + size) {
		room += size;
		i++;
	}
	*len = min_t(u64, *len, room);
	return ptr;
}

/* The caller holds the reference that counts as ours. */
static void mr_wait_others(const struct kwarp_mr *mr)
{
	/* The new state before the count; pairs with the barrier in mr_get(). */
	smp_mb();
	/*
	 * Ours and the table's. If a deregistration has just dropped that one, it
	 * waits for all others itself.
	 */
	while (refcount_read(&mr->refs) > 2)
		cpu_relax();
	/* What the others did to the memory was before what comes now. */
	smp_mb();
}

static enum kwarp_mem_err mr_invalidate(struct kwarp_mr *mr,
					const struct ib_pd *pd)
{
	if (mr->pd != pd)
		return KWARP_MEM_PD;
	if (!mr->invalidatable)
		return KWARP_MEM_ACCESS;
	/* One of two that come at once does it: they would wait for each other. */
	if (cmpxchg(&mr->state, KWARP_MR_VALID, KWARP_MR_INVALID) !=
	    KWARP_MR_VALID)
		return KWARP_MEM_STAG;
	mr_wait_others(mr);
	return KWARP_MEM_OK;
}

enum kwarp_mem_err kwarp_mr_invalidate(struct kwarp_device *dev,
				       struct ib_pd *pd, u32 stag)
{
	struct kwarp_mr *mr = mr_get(dev, stag);
	enum kwarp_mem_err err = KWARP_MEM_STAG;

	if (!mr)
		return err;
	if (mr_valid(mr, stag))
		err = mr_invalidate(mr, pd);
	kwarp_mr_put(mr);
	return err;
}

enum kwarp_mem_err kwarp_mr_invalidate_local(struct kwarp_device *dev,
					     struct ib_pd *pd, u32 stag)
{
	struct kwarp_mr *mr = mr_get(dev, stag);
	enum kwarp_mem_err err;

	if (!mr)
		return KWARP_MEM_STAG;
	err = mr_invalidate(mr, pd);
	kwarp_mr_put(mr);
	return err == KWARP_MEM_STAG ? KWARP_MEM_OK : err;
}

int kwarp_mr_fast_reg(struct kwarp_mr *mr, struct ib_pd *pd, u32 key,
		      int access)
{
	const int known = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
			  IB_ACCESS_OPTIONAL;
	const struct ib_mr *ibmr = &mr->ibmr;
	u32 first, shift;

	if (!mr->invalidatable || mr->pd != pd || (access & ~known) ||
	    READ_ONCE(mr->state) != KWARP_MR_INVALID)
		return -EINVAL;
	if (key >> 8 != mr->stag >> 8 || !mr->nr_staged)
		return -EINVAL;
	if (ibmr->iova + ibmr->length < ibmr->iova)
		return -EINVAL;
	/* Consumers may replace the upper bits of the address, not the offset. */
	first = ibmr->iova & (ibmr->page_size - 1);
	shift = ilog2(ibmr->page_size);
	if (first + ibmr->length > (u64)mr->nr_staged << shift)
		return -EINVAL;

	swap(mr->blocks, mr->staged);
	mr->nr_blocks = mr->nr_staged;
	mr->nr_staged = 0;
	mr->iova = ibmr->iova;
	mr->length = ibmr->length;
	mr->first = first;
	mr->shift = shift;
	mr->access = access;
	WRITE_ONCE(mr->stag, key);
	/* Pairs with the acquire in mr_valid(). */
	smp_store_release(&mr->state, KWARP_MR_VALID);
	return 0;
}
