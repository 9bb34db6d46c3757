// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Registered memory: look-up, checks, addresses. What makes an STag valid, and
 * invalid again, is stag.c.
 *
 * An access takes a reference and then looks at the state; who invalidates
 * writes the state and then waits for the references. With a full barrier on
 * both sides at least one of them sees the other.
 */
#include "stag.h"

#include <linux/mm.h>
#include <linux/rcupdate.h>

struct kwarp_mr *kwarp_mr_get(struct kwarp_device *dev, u32 stag)
{
	struct kwarp_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> 8);
	if (mr && !refcount_inc_not_zero(&mr->refs))
		mr = NULL;
	rcu_read_unlock();
	/* The count before the state; pairs with the barrier in wait_others(). */
	smp_mb();
	return mr;
}

void kwarp_mr_put(struct kwarp_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->unused);
}

/*
 * A region over all of memory has no page list to be checked against. The peer
 * of a consumer who grants rights to such a one must not lead us out of the
 * direct map.
 */
static bool dma_range_ok(u64 addr, u64 len, int access)
{
	if (!len || !(access & KWARP_ACCESS_REMOTE))
		return true;
	return virt_addr_valid((void *)(uintptr_t)addr) &&
	       virt_addr_valid((void *)(uintptr_t)(addr + len - 1));
}

static enum kwarp_mem_err mr_check(const struct kwarp_mr *mr,
				   const struct ib_pd *pd,
				   const struct kwarp_qp *qp, u64 addr,
				   u64 len, int access)
{
	/* A window is no key to local memory. */
	if (mr->window && !(access & KWARP_ACCESS_REMOTE))
		return KWARP_MEM_STAG;
	if (!mr_associated(mr, pd, qp))
		return KWARP_MEM_PD;
	if (access & ~mr->access)
		return KWARP_MEM_ACCESS;
	if (addr + len < addr)
		return KWARP_MEM_WRAP;
	if (mr->dma)
		return dma_range_ok(addr, len, access) ? KWARP_MEM_OK :
							 KWARP_MEM_BOUNDS;
	return in_bounds(mr, addr, len) ? KWARP_MEM_OK : KWARP_MEM_BOUNDS;
}

enum kwarp_mem_err kwarp_mr_access(struct kwarp_device *dev,
				   struct kwarp_mr_cache *cache,
				   struct ib_pd *pd, u32 stag, u64 addr,
				   u64 len, int access, struct kwarp_mr **mrp)
{
	struct kwarp_mr *mr = cache->mr;

	if (mr && mr_valid(mr, stag))
		goto found;
	do {
		kwarp_mr_cache_put(cache);
		mr = kwarp_mr_get(dev, stag);
		if (!mr)
			return KWARP_MEM_STAG;
		cache->mr = mr;
		if (mr_valid(mr, stag))
			goto found;
		/* Its successor was in the table before it said so. */
	} while (smp_load_acquire(&mr->state) == KWARP_MR_REPLACED);
	return KWARP_MEM_STAG;

found:
	*mrp = mr;
	return mr_check(mr, pd, cache->qp, addr, len, access);
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
