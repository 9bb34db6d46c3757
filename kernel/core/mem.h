/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Registered memory as the engines see it: STag look-up, checks, addresses.
 * Creation and destruction are verbs/mr*.c for regions, verbs/mw.c for windows.
 */
#ifndef _KWARP_CORE_MEM_H
#define _KWARP_CORE_MEM_H

#include <linux/iosys-map.h>

#include "../kwarp.h"

struct dma_buf;
struct ib_umem;
struct kwarp_qp;

enum kwarp_mr_state {
	KWARP_MR_INVALID,	/* allocated or invalidated: no access */
	KWARP_MR_VALID,
	KWARP_MR_BUSY,		/* one pass is changing it: no access */
	KWARP_MR_REPLACED,	/* another one has its STag: look again */
};

/**
 * struct kwarp_mr - a memory region, or a memory window
 * @ibmr:	core's part; a kernel consumer changes the key in lkey and rkey long
 *		before his REG_MR runs, so they decide nothing
 * @stag:	the STag in force: index << 8 | key; changed by REG_MR only
 * @gen:	a number that no other registration has, of this or another region; with
 *		the reference held in state VALID it is constant
 * @refs:	one for the table entry, one for each access in progress
 * @unused:	completed when @refs reaches zero; deregistration waits for it
 * @pd:		protection domain
 * @state:	enum kwarp_mr_state; checked at each access, with the reference held
 * @access:	IB_ACCESS_* flags
 * @invalidatable:	made for fast registration, or a window of type 2: REG_MR or
 *		BIND_MW, LOCAL_INV, Send with Invalidate
 * @window:	a memory window: grants the peer access to a part of @region
 * @region:	of a bound window: the region whose @blocks are its own, too; it
 *		counts in the region's @windows
 * @qp_id:	of a bound window of type 2: kwarp_qp.id of the QP that bound it; else 0
 * @windows:	bound windows of a region; -1 when no more may be bound, because it is
 *		being deregistered
 * @dma:	covers all kernel addresses (get_dma_mr); no page list
 * @iova:	first valid tagged offset
 * @length:	octets from @iova
 * @first:	offset of @iova in the first block
 * @shift:	log2 of the block size
 * @blocks:	kernel address of each block, @nr_blocks of them
 * @nr_blocks:	valid entries
 * @max_blocks:	entries allocated
 * @staged:	page list of ib_map_mr_sg() until REG_MR exchanges it for @blocks:
 *		the old registration may still be accessible meanwhile
 * @nr_staged:	valid entries of @staged
 * @umem:	pinned user memory or NULL
 * @dmabuf:	buffer of another driver, mapped at @dmabuf_map, or NULL
 * @dmabuf_map:	its kernel mapping
 * @shared:	@blocks belong to another one
 * @counted:	against the device's limit; of a region that was replaced its successor
 *		is
 * @rcu:	delayed freeing after a look-up under RCU
 */
struct kwarp_mr {
	struct ib_mr ibmr;
	u32 stag;
	u64 gen;
	refcount_t refs;
	struct completion unused;
	struct ib_pd *pd;
	u32 state;
	bool invalidatable;
	bool window;
	bool dma;
	bool shared;
	bool counted;
	int access;
	struct kwarp_mr *region;
	u64 qp_id;
	atomic_t windows;
	u64 iova;
	u64 length;
	u32 first;
	u32 shift;
	void **blocks;
	u32 nr_blocks;
	u32 max_blocks;
	void **staged;
	u32 nr_staged;
	struct ib_umem *umem;
	struct dma_buf *dmabuf;
	struct iosys_map dmabuf_map;
	struct rcu_head rcu;
};

static inline struct kwarp_mr *to_kmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct kwarp_mr, ibmr);
}

/**
 * enum kwarp_mem_err - why an access is refused, in the order of the checks
 * @KWARP_MEM_OK:	it is not
 * @KWARP_MEM_STAG:	no such STag, wrong key, or not valid now
 * @KWARP_MEM_PD:	of another protection domain, or a window of another QP
 * @KWARP_MEM_ACCESS:	right is missing
 * @KWARP_MEM_WRAP:	address + length wraps
 * @KWARP_MEM_BOUNDS:	outside of the region
 */
enum kwarp_mem_err {
	KWARP_MEM_OK = 0,
	KWARP_MEM_STAG,
	KWARP_MEM_PD,
	KWARP_MEM_ACCESS,
	KWARP_MEM_WRAP,
	KWARP_MEM_BOUNDS,
};

/**
 * struct kwarp_mr_cache - the region an engine pass used last
 * @qp:	QP whose pass it is; without it windows of type 2 stay closed
 * @mr:	referenced region or NULL
 *
 * Lives in one pass of one engine (no sleeping while it holds a region), so
 * deregistration waits for microseconds at most. Always emptied with
 * kwarp_mr_cache_put() at the end of the pass.
 */
struct kwarp_mr_cache {
	const struct kwarp_qp *qp;
	struct kwarp_mr *mr;
};

/**
 * kwarp_mr_access() - find a region and check one access to it
 * @dev:	device
 * @cache:	the pass' cache; holds the returned region
 * @pd:		protection domain of the QP
 * @stag:	STag, as lkey or rkey
 * @addr:	address or tagged offset
 * @len:	octets; zero is checked like any other length
 * @access:	IB_ACCESS_* rights needed, all of them; 0 for local read. A window
 *		has remote rights only
 * @mrp:	the region, valid until the cache is put or used again
 *
 * Context: any; does not sleep.
 * Return: KWARP_MEM_OK or why not.
 */
enum kwarp_mem_err kwarp_mr_access(struct kwarp_device *dev,
				   struct kwarp_mr_cache *cache,
				   struct ib_pd *pd, u32 stag, u64 addr,
				   u64 len, int access, struct kwarp_mr **mrp);

/**
 * kwarp_mr_ptr() - kernel address of an address inside a checked region
 * @mr:		region from kwarp_mr_access()
 * @addr:	address within the checked range
 * @len:	octets wanted, > 0; on return those contiguous from the result on
 *
 * Return: the address.
 */
void *kwarp_mr_ptr(const struct kwarp_mr *mr, u64 addr, u32 *len);

/**
 * kwarp_mr_invalidate() - an arriving Send with Invalidate
 * @qp:		queue pair on which it came
 * @stag:	STag; key and state must be right, and a window must be one that @qp bound
 *
 * When it returns no access under the STag begins; those of other engines that
 * run at this moment are waited for by spinning: a pass that holds a region runs
 * with bottom halves disabled and does not sleep, so the wait is bounded.
 * Context: softirq or bottom halves disabled; the caller must have put its cache,
 * or two passes could wait for each other.
 * Return: KWARP_MEM_OK or why not; KWARP_MEM_ACCESS if it may not be invalidated.
 */
enum kwarp_mem_err kwarp_mr_invalidate(const struct kwarp_qp *qp, u32 stag);

/**
 * kwarp_mr_invalidate_local() - LOCAL_INV, or the sink of a READ_INV
 * @qp:		queue pair to which it was posted
 * @stag:	STag; of a region made for fast registration the key does not matter
 *
 * As above, but by our own consumer: he may name an STag that is invalid already,
 * and the kernel's rdma_rw names the key that its READ_INV's sink had before.
 * Return: KWARP_MEM_OK or why not.
 */
enum kwarp_mem_err kwarp_mr_invalidate_local(const struct kwarp_qp *qp,
					     u32 stag);

/**
 * kwarp_mr_fast_reg() - REG_MR: put the staged page list in force
 * @mr:		region, made for fast registration
 * @pd:		protection domain of the QP
 * @key:	new STag; only its low eight bits may differ from the old one
 * @access:	IB_ACCESS_* flags
 *
 * Address, length and page size are those of @mr->ibmr at this moment.
 * Context: any; the caller keeps the consumer's order (his send queue).
 * Return: 0; -EINVAL if the region is valid, of another protection domain, not
 * made for it, not mapped, or if @key or @access make no sense.
 */
int kwarp_mr_fast_reg(struct kwarp_mr *mr, struct ib_pd *pd, u32 key,
		      int access);

/**
 * struct kwarp_mw_bind - what a BIND_MW asks for
 * @window:	STag of the window; its key does not matter
 * @key:	STag from now on; only its low eight bits may differ
 * @lkey:	region
 * @addr:	where the window begins, as the region counts
 * @length:	octets; zero unbinds a window of type 1
 * @access:	IB_ACCESS_REMOTE_*, IB_ZERO_BASED
 */
struct kwarp_mw_bind {
	u32 window;
	u32 key;
	u32 lkey;
	u64 addr;
	u64 length;
	int access;
};

/**
 * kwarp_mw_bind() - BIND_MW: open a window on a part of a region
 * @qp:		queue pair to which it was posted
 * @bind:	what is wanted
 *
 * A window of type 1 may be bound already: it moves, and nobody gets at the old
 * place any more when this returns. One of type 2 must have been invalidated;
 * from now on it belongs to @qp. Context: as kwarp_mr_invalidate().
 * Return: 0; -EINVAL if something does not fit, and nothing has changed.
 */
int kwarp_mw_bind(const struct kwarp_qp *qp, const struct kwarp_mw_bind *bind);

/* A window that is going away lets go of its region. Nobody else holds it. */
void kwarp_mw_release(struct kwarp_mr *mw);

/* The number of a registration that begins, before it becomes valid. Context: any. */
u64 kwarp_mr_generation(void);

/* Drops the reference that a look-up took. */
void kwarp_mr_put(struct kwarp_mr *mr);

static inline void kwarp_mr_cache_put(struct kwarp_mr_cache *cache)
{
	if (cache->mr) {
		kwarp_mr_put(cache->mr);
		cache->mr = NULL;
	}
}

#endif /* _KWARP_CORE_MEM_H */
