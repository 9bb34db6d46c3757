// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Registered memory: lookup, checks, addresses. stag.c changes the validity of STags.
 *
 * An access takes a reference and then reads the state; an invalidation writes the state
 * and then waits for the references. Both have a full barrier in between, so at least one
 * of them sees the other's write.
 */
#include "core/stag.h"

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>

/* Bytes for which kwarp_mr_locate() looks, if the range is not longer. */
#define KWARP_MR_NEAR	(16 * 1024U)

/* Get a reference to the entry of an STag's index, or NULL. kwarp_mr_put() drops it. */
struct kwarp_mr *kwarp_mr_get(struct kwarp_device *dev, u32 stag)
{
	struct kwarp_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, stag >> 8);
	if (mr) {
		/* Lock before counting: wait_others() blocks on the lock of those counted. */
		mr_use(mr);
		if (!refcount_inc_not_zero(&mr->refs)) {
			mr_unuse(mr);
			mr = NULL;
		}
	}
	rcu_read_unlock();
	/* Count before reading the state; pairs with the barrier in wait_others(). */
	smp_mb();
	return mr;
}

/* Drop a reference of the table, or of change_begin(). Context: any. */
void kwarp_mr_drop(struct kwarp_mr *mr)
{
	if (refcount_dec_and_test(&mr->refs))
		complete(&mr->unused);
}

/**
 * kwarp_mr_put() - drop the reference of a lookup
 * @mr:	region or window; may be freed when this returns
 *
 * Context: the task that did the lookup; does not sleep.
 */
void kwarp_mr_put(struct kwarp_mr *mr)
{
	/* RCU keeps the entry until mr_unuse() returns: the reference may be the last. */
	rcu_read_lock();
	kwarp_mr_drop(mr);
	mr_unuse(mr);
	rcu_read_unlock();
}

/*
 * A region of all memory has no page list to check against. If a consumer grants remote
 * rights to such a region, the peer must reach neither beyond the direct map nor a hole in it.
 * virt_addr_valid() knows holes by multiples of 2 MiB; the end of memory need not be one.
 */
static bool dma_range_ok(u64 addr, u64 len, int access)
{
	u64 at, end = addr + len;

	if (!len || !(access & KWARP_ACCESS_REMOTE))
		return true;
	if (end - 1 > ULONG_MAX)
		return false;
	for (at = addr; at < end; at = round_down(at, SZ_2M) + SZ_2M)
		if (!virt_addr_valid((void *)(uintptr_t)at))
			return false;
	return virt_addr_valid((void *)(uintptr_t)(end - 1));
}

static enum kwarp_mem_err mr_check(const struct kwarp_mr *mr,
				   const struct kwarp_mem_accessor *user,
				   const struct kwarp_mr_range *r)
{
	/* A window does not grant local access. */
	if (kwarp_mr_window(mr) && !(r->access & KWARP_ACCESS_REMOTE))
		return KWARP_MEM_STAG;
	if (!mr_associated(mr, r->pd, user))
		return KWARP_MEM_PD;
	if (r->access & ~mr->access)
		return KWARP_MEM_ACCESS;
	if (r->addr + r->len < r->addr)
		return KWARP_MEM_WRAP;
	if (mr->kind == KWARP_MR_DMA)
		return dma_range_ok(r->addr, r->len, r->access) ? KWARP_MEM_OK :
								  KWARP_MEM_BOUNDS;
	return in_bounds(mr, r->addr, r->len) ? KWARP_MEM_OK : KWARP_MEM_BOUNDS;
}

/**
 * kwarp_mr_access() - find a region and check an access to it
 * @cache:	cache of the pass; @cache->mr is the region found, until the cache is put
 *		or used again
 * @range:	memory to be accessed
 *
 * Context: any; does not sleep.
 * Return: KWARP_MEM_OK or the reason to refuse.
 */
enum kwarp_mem_err kwarp_mr_access(struct kwarp_mr_cache *cache,
				   const struct kwarp_mr_range *range)
{
	struct kwarp_mr *mr = cache->mr;

	if (mr && mr_valid(mr, range->stag))
		goto found;
	do {
		kwarp_mr_cache_put(cache);
		mr = kwarp_mr_get(cache->user->dev, range->stag);
		if (!mr)
			return KWARP_MEM_STAG;
		cache->mr = mr;
		if (mr_valid(mr, range->stag))
			goto found;
		/* The successor was in the table before the state became REPLACED. */
	} while (smp_load_acquire(&mr->state) == KWARP_MR_REPLACED);
	return KWARP_MEM_STAG;

found:
	return mr_check(mr, cache->user, range);
}

/**
 * kwarp_mr_ptr() - kernel address of a tagged offset
 * @mr:		region from kwarp_mr_access()
 * @addr:	address or tagged offset in the range that was checked
 * @len:	in: bytes wanted, > 0; out: how many of them are contiguous from the result
 *
 * Return: kernel address.
 */
void *kwarp_mr_ptr(const struct kwarp_mr *mr, u64 addr, u32 *len)
{
	u64 off, size, room;
	void *ptr;
	u32 i;

	if (mr->kind == KWARP_MR_DMA)
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

/**
 * kwarp_mr_locate() - locate memory, for this access and for the next ones
 * @cache:	cache of the pass
 * @range:	range for which kwarp_mr_access() has granted access last, or a part of it
 * @len:	out: bytes of @range that are contiguous from the result
 *
 * kwarp_mr_near() finds the contiguous memory from the result on, the next 16 KiB of the region
 * at most unless @range is longer: a short message costs few steps. Until the cache is put, its
 * reference lets an invalidation wait, so the access stays granted.
 *
 * Return: kernel address. Context: any; does not sleep.
 */
u8 *kwarp_mr_locate(struct kwarp_mr_cache *cache, const struct kwarp_mr_range *range, u32 *len)
{
	const struct kwarp_mr *mr = cache->mr;
	u32 run;

	/* At most KWARP_MAX_MSG_SIZE. */
	*len = range->len;
	if (mr->kind == KWARP_MR_DMA) {
		cache->near.len = 0;
		return kwarp_mr_ptr(mr, range->addr, len);
	}
	run = min_t(u64, mr->length - (range->addr - mr->iova), max(*len, KWARP_MR_NEAR));
	cache->ptr = kwarp_mr_ptr(mr, range->addr, &run);
	cache->near = *range;
	cache->near.len = run;
	*len = min(*len, run);
	return cache->ptr;
}
