/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The engines' interface to registered memory: STag lookup, checks, addresses.
 * verbs/mr*.c creates and destroys regions, verbs/mw.c windows.
 */
#ifndef _KWARP_CORE_MEM_H
#define _KWARP_CORE_MEM_H

#include <linux/iosys-map.h>
#include <rdma/kwarp-abi.h>

#include "kwarp.h"

struct dma_buf;
struct ib_umem;

enum kwarp_mr_state {
	KWARP_MR_INVALID,	/* allocated or invalidated: no access */
	KWARP_MR_VALID,
	KWARP_MR_BUSY,		/* the holder of the change lock is changing it: no access */
	KWARP_MR_REPLACED,	/* another entry has its STag: look it up again */
};

/* The kind of memory that an STag denotes. */
enum kwarp_mr_kind {
	KWARP_MR_PAGES,		/* memory of a user, registered by reg_mr */
	KWARP_MR_DMA,		/* all kernel addresses (get_dma_mr); no page list */
	KWARP_MR_FAST,		/* allocated for fast registration */
	KWARP_MR_WINDOW_1,	/* memory window of type 1 */
	KWARP_MR_WINDOW_2,
};

/*
 * May atomic operations access a dma-buf? An exporter may map its buffer without the cache, which
 * the importer cannot see, and there the atomic instructions of most CPUs fault or do not end.
 */
#define KWARP_DMABUF_ATOMIC	(IS_ENABLED(CONFIG_X86_64) || IS_ENABLED(CONFIG_X86_32))

/**
 * struct kwarp_mr - a memory region, or a memory window
 * @ibmr:	RDMA core's part; a kernel consumer changes the key in lkey and rkey long
 *		before its REG_MR runs, so they are not used for checks
 * @kind:	enum kwarp_mr_kind
 * @pd:		protection domain
 * @max_blocks:	entries allocated for @blocks, and for @staged
 * @umem:	pinned user memory or NULL
 * @dmabuf:	another driver's buffer, mapped at @dmabuf_map, or NULL
 * @dmabuf_map:	kernel mapping of @dmabuf
 * @dmabuf_attach: attachment that keeps @dmabuf in place
 * @shared:	@blocks belong to another entry
 * @counted:	counts against the device's limit; after a reregistration the successor
 *		counts instead
 * @rcu:	freeing is delayed for lookups under RCU
 * @refs:	one for the table entry, one for each pass that uses or changes the entry
 * @unused:	completed when @refs reaches zero; deregistration waits for it
 * @users:	PREEMPT_RT: read-held along with each reference of a lookup, so that a wait
 *		for the references blocks on this lock instead of spinning
 * @windows:	bound windows of a region; -1 during deregistration and reregistration:
 *		no window may be bound
 * @change:	held by the pass that invalidates the STag or binds the window, and while the
 *		entry is retired
 * @retired:	deregistered: no pass may change the entry any more; under @change
 * @state:	enum kwarp_mr_state; checked with a reference held, for each access or for the
 *		memory that kwarp_mr_locate() has found
 * @stag:	current STag: index << 8 | key
 * @gen:	unique number of the registration, across all regions
 * @access:	IB_ACCESS_* flags
 * @iova:	first valid tagged offset
 * @length:	bytes from @iova
 * @first:	offset of @iova in the first block
 * @shift:	log2 of the block size
 * @blocks:	kernel addresses of the blocks
 * @nr_blocks:	valid entries of @blocks
 * @region:	of a bound window: the region that owns @blocks and counts the window in
 *		its @windows
 * @user:	of a bound window of type 2: kwarp_mem_accessor.id of the binding QP; otherwise 0
 * @staged:	page list of ib_map_mr_sg() until REG_MR swaps it with @blocks, which may
 *		be accessible until then
 * @nr_staged:	valid entries of @staged
 * @remapped:	@staged is later than @blocks
 *
 * The fields from @stag to @user are constant for a pass that has found @state VALID, as
 * long as the pass holds its reference. They change in other states only, by REG_MR in
 * INVALID or under @change, and while the entry is not in the table.
 */
struct kwarp_mr {
	struct ib_mr ibmr;
	enum kwarp_mr_kind kind;
	struct ib_pd *pd;
	u32 max_blocks;
	struct ib_umem *umem;
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *dmabuf_attach;
	struct iosys_map dmabuf_map;
	bool shared;
	bool counted;
	struct rcu_head rcu;
	refcount_t refs;
	struct completion unused;
#ifdef CONFIG_PREEMPT_RT
	rwlock_t users;
#endif
	atomic_t windows;
	spinlock_t change;	/* see above */
	bool retired;
	u32 state;
	u32 stag;
	u64 gen;
	int access;
	u64 iova;
	u64 length;
	u32 first;
	u32 shift;
	void **blocks;
	u32 nr_blocks;
	struct kwarp_mr *region;
	u64 user;
	void **staged;
	u32 nr_staged;
	bool remapped;
};

/* May the STag be invalidated, by LOCAL_INV or by Send with Invalidate? */
static inline bool kwarp_mr_invalidatable(const struct kwarp_mr *mr)
{
	return mr->kind == KWARP_MR_FAST || mr->kind == KWARP_MR_WINDOW_2;
}

/* Is the entry a memory window? A window grants access to a part of @region. */
static inline bool kwarp_mr_window(const struct kwarp_mr *mr)
{
	return mr->kind >= KWARP_MR_WINDOW_1;
}

static inline struct kwarp_mr *to_kmr(struct ib_mr *ibmr)
{
	return container_of(ibmr, struct kwarp_mr, ibmr);
}

/**
 * enum kwarp_mem_err - reason to refuse an access, in the order of the checks
 * @KWARP_MEM_OK:	not refused
 * @KWARP_MEM_STAG:	no such STag, wrong key, or currently not valid
 * @KWARP_MEM_PD:	another protection domain, or a window of another QP
 * @KWARP_MEM_ACCESS:	access right missing
 * @KWARP_MEM_WRAP:	address + length wraps
 * @KWARP_MEM_BOUNDS:	outside the region
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
 * struct kwarp_mem_accessor - queue pair on whose behalf memory is accessed, invalidated or
 * bound
 * @dev:	device
 * @pd:		protection domain
 * @id:		owner of windows of type 2; not 0 and never reused, unlike QP numbers
 */
struct kwarp_mem_accessor {
	struct kwarp_device *dev;
	struct ib_pd *pd;
	u64 id;
};

/**
 * struct kwarp_mr_range - memory to be accessed
 * @pd:		protection domain: the user's, or that of its shared receive queue
 * @stag:	STag, as lkey or rkey
 * @access:	all IB_ACCESS_* rights needed; 0 for local read. A window has remote rights
 *		only
 * @addr:	address or tagged offset
 * @len:	bytes; zero is checked like any other length
 */
struct kwarp_mr_range {
	const struct ib_pd *pd;
	u32 stag;
	int access;
	u64 addr;
	u64 len;
};

/* The next @len bytes of a scatter element, from offset @off on: to be written to. */
static inline struct kwarp_mr_range kwarp_mr_sink(const struct ib_pd *pd,
						  const struct kwarp_sge *sge, u32 off, u32 len)
{
	return (struct kwarp_mr_range){
		.pd = pd,
		.stag = sge->lkey,
		.access = IB_ACCESS_LOCAL_WRITE,
		.addr = sge->addr + off,
		.len = len,
	};
}

/**
 * struct kwarp_mr_cache - the region that an engine pass used last
 * @user:	user of the pass
 * @mr:		referenced region or NULL
 * @near:	memory of @mr for which access is granted, contiguous; empty if the length is 0
 * @ptr:	address of its first byte
 *
 * A cache exists during one pass of one engine, which empties it with kwarp_mr_cache_put()
 * at the end. A pass is limited and does not sleep while it holds a region, so
 * deregistration does not wait for long.
 */
struct kwarp_mr_cache {
	const struct kwarp_mem_accessor *user;
	struct kwarp_mr *mr;
	struct kwarp_mr_range near;
	u8 *ptr;
};

enum kwarp_mem_err kwarp_mr_access(struct kwarp_mr_cache *cache,
				   const struct kwarp_mr_range *range);
u8 *kwarp_mr_locate(struct kwarp_mr_cache *cache, const struct kwarp_mr_range *range, u32 *len);
void *kwarp_mr_ptr(const struct kwarp_mr *mr, u64 addr, u32 *len);
enum kwarp_mem_err kwarp_mr_invalidate(const struct kwarp_mem_accessor *user,
				       u32 stag);
enum kwarp_mem_err kwarp_mr_invalidate_local(const struct kwarp_mem_accessor *user,
					     u32 stag);
int kwarp_mr_fast_reg(struct kwarp_mr *mr, const struct ib_pd *pd, u32 key,
		      int access);

/**
 * struct kwarp_mw_bind - parameters of a BIND_MW
 * @window:	STag of the window; its key is ignored
 * @key:	new STag; only its low eight bits may differ
 * @lkey:	STag of the region
 * @addr:	tagged offset in the region at which the window begins
 * @length:	bytes; zero unbinds a window of type 1
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

int kwarp_mw_bind_region(const struct kwarp_mem_accessor *user,
			 const struct kwarp_mw_bind *bind);
void kwarp_mw_release(struct kwarp_mr *mw);

/* Get a number for a new registration, before it becomes valid. Context: any. */
u64 kwarp_mr_generation(void);
void kwarp_mr_put(struct kwarp_mr *mr);
void kwarp_mr_drop(struct kwarp_mr *mr);

static inline void kwarp_mr_cache_put(struct kwarp_mr_cache *cache)
{
	if (cache->mr) {
		kwarp_mr_put(cache->mr);
		cache->mr = NULL;
		cache->near.len = 0;
	}
}

/**
 * kwarp_mr_near() - address of memory that the pass has located
 * @cache:	cache of the pass
 * @range:	memory to be accessed
 *
 * Return: its address; NULL if it is not within the memory that kwarp_mr_locate() has found: call
 * kwarp_mr_access(). Context: any.
 */
static inline u8 *kwarp_mr_near(const struct kwarp_mr_cache *cache,
				const struct kwarp_mr_range *range)
{
	const struct kwarp_mr_range *near = &cache->near;
	u64 off = range->addr - near->addr;

	if (off >= near->len || range->len > near->len - off || range->stag != near->stag ||
	    range->access != near->access || range->pd != near->pd)
		return NULL;
	return cache->ptr + off;
}

#endif /* _KWARP_CORE_MEM_H */
