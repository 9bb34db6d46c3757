/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Rings shared with the kernel: their mapping, and the only accesses to the
 * shared words.
 *
 * Memory order. The kernel is just another CPU, so C11's memory model applies
 * (by the compiler's __atomic functions, as the ABI's words are plain __u32),
 * not the DMA barriers of util/udma_barrier.h:
 *  - elements before the index: producers publish with a release store,
 *    consumers read the index with an acquire load;
 *  - a side that goes to sleep stores its own word (NEED_WAKEUP, arm), then
 *    loads the other side's index; the other side stores its index, then loads
 *    that word. Only full barriers in between keep a wakeup from being lost.
 */
#ifndef KWARP_RING_H
#define KWARP_RING_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rdma/kwarp-abi.h>

#include <infiniband/verbs.h>

struct kwarp_map {
	uint8_t *base;
	size_t len;
};

/* Return: 0 or an errno. */
int kwarp_map(struct kwarp_map *map, struct ibv_context *ctx, uint64_t key,
	      size_t len);
void kwarp_unmap(struct kwarp_map *map);

/* Does the mapping hold a control block at @off, properly aligned? */
bool kwarp_map_has_ctl(const struct kwarp_map *map, uint32_t off);

/* Does the mapping hold @num (a power of two) elements at @off? */
bool kwarp_map_has_ring(const struct kwarp_map *map, uint32_t off,
			uint32_t num, uint32_t stride);

static inline uint32_t kwarp_load_relaxed(__u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint32_t kwarp_load_acquire(__u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void kwarp_store_release(__u32 *word, uint32_t val)
{
	__atomic_store_n(word, val, __ATOMIC_RELEASE);
}

static inline void kwarp_full_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/*
 * A work queue: the provider produces, the kernel consumes. All fields except
 * @limit, @max_sge and @max_inline are accessed under @lock only.
 */
struct kwarp_wq {
	pthread_spinlock_t lock;
	struct kwarp_ring_ctl *ctl;
	uint8_t *ring;
	uint32_t mask;
	uint32_t stride;
	uint32_t prod;		/* next element to write */
	uint32_t done;		/* kernel's index when last read */
	uint32_t limit;		/* maximum of outstanding elements, as granted */
	uint32_t max_sge;
	uint32_t max_inline;
};

/* Copies @num scatter/gather elements, mostly one, behind a request's header. */
static inline void kwarp_copy_sges(void *dst, const struct ibv_sge *src,
				   uint32_t num)
{
	if (num == 1)
		memcpy(dst, src, sizeof(*src));
	else if (num)
		memcpy(dst, src, num * sizeof(*src));
}

/* Atomics of verbs have no masks, and a single field. */
static inline void kwarp_sqe_set_atomic(struct kwarp_sqe *sqe,
					uint64_t compare_add, uint64_t swap)
{
	uint64_t mask = sqe->opcode == KWARP_OP_CMP_SWAP ? ~0ULL : 0;

	sqe->arg[0] = compare_add;
	sqe->arg[1] = swap;
	sqe->arg[2] = mask;
	sqe->arg[3] = mask;
}

/* A bind; the caller sets the window's next key and the address. */
static inline void kwarp_sqe_set_bind(struct kwarp_sqe *sqe,
				      const struct ibv_mw *mw,
				      const struct ibv_mw_bind_info *info)
{
	sqe->ex = mw->rkey;
	sqe->arg[0] = info->mr ? info->mr->lkey : 0;
	sqe->arg[1] = info->length;
	sqe->arg[2] = info->mw_access_flags;
}

static inline void *kwarp_wq_slot(const struct kwarp_wq *wq)
{
	return wq->ring + (size_t)(wq->prod & wq->mask) * wq->stride;
}

/*
 * Reads the kernel's cache line only if the queue seems full. Acquire: the
 * element must not be overwritten before the kernel has read it.
 */
static inline bool kwarp_wq_full(struct kwarp_wq *wq)
{
	if (wq->prod - wq->done < wq->limit)
		return false;
	wq->done = kwarp_load_acquire(&wq->ctl->kern_idx);
	return wq->prod - wq->done >= wq->limit;
}

/* Errno for a full ring: ENOMEM, or EIO if the ring is dead (device gone). */
static inline int kwarp_wq_full_error(const struct kwarp_wq *wq)
{
	return kwarp_load_relaxed(&wq->ctl->flags) & KWARP_RING_ERROR ? EIO :
									ENOMEM;
}

/* 0 if the QP's state allows posts; else EINVAL, or EIO if the ring is dead. */
static inline int kwarp_wq_closed(const struct kwarp_wq *wq)
{
	if (!kwarp_load_relaxed(&wq->ctl->closed))
		return 0;
	return kwarp_load_relaxed(&wq->ctl->flags) & KWARP_RING_ERROR ? EIO :
									EINVAL;
}

/*
 * Publish all elements before @prod. Return: the kernel's flags, read after the
 * index is visible: a kernel that missed the index has set NEED_WAKEUP before.
 */
static inline uint32_t kwarp_wq_publish(struct kwarp_wq *wq)
{
	kwarp_store_release(&wq->ctl->user_idx, wq->prod);
	kwarp_full_barrier();
	return kwarp_load_relaxed(&wq->ctl->flags);
}

#endif /* KWARP_RING_H */
