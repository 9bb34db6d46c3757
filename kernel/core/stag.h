/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared by mem.c and stag.c: the entry of an STag at one moment. */
#ifndef _KWARP_CORE_STAG_H
#define _KWARP_CORE_STAG_H

#include "core/mem.h"

#define KWARP_ACCESS_REMOTE	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC)

/*
 * Begin and end of a lookup's reference, and the wait for it. With PREEMPT_RT the pass
 * that holds a reference can be preempted, so spinning might never end: the pass holds a
 * lock, through which it inherits the priority of the thread that waits. Otherwise a pass
 * is not preempted, and we spin until the count has dropped.
 */
#ifdef CONFIG_PREEMPT_RT
static inline void mr_use(struct kwarp_mr *mr)
{
	read_lock(&mr->users);
}

static inline void mr_unuse(struct kwarp_mr *mr)
{
	read_unlock(&mr->users);
}

static inline void mr_wait_user(struct kwarp_mr *mr)
{
	write_lock(&mr->users);
	write_unlock(&mr->users);
}
#else
static inline void mr_use(struct kwarp_mr *mr) {}
static inline void mr_unuse(struct kwarp_mr *mr) {}
static inline void mr_wait_user(struct kwarp_mr *mr)
{
	cpu_relax();
}
#endif

struct kwarp_mr *kwarp_mr_get(struct kwarp_device *dev, u32 stag);

static inline bool mr_valid(const struct kwarp_mr *mr, u32 stag)
{
	/* Pairs with the release in kwarp_mr_fast_reg(). */
	return smp_load_acquire(&mr->state) == KWARP_MR_VALID &&
	       READ_ONCE(mr->stag) == stag;
}

static inline bool in_bounds(const struct kwarp_mr *mr, u64 addr, u64 len)
{
	return addr >= mr->iova && addr - mr->iova <= mr->length &&
	       len <= mr->length - (addr - mr->iova);
}

/* May this user use the STag? A window of type 2 is for the QP that bound it only. */
static inline bool mr_associated(const struct kwarp_mr *mr,
				 const struct ib_pd *pd,
				 const struct kwarp_mem_accessor *user)
{
	return mr->pd == pd && (!mr->user || mr->user == user->id);
}

#endif /* _KWARP_CORE_STAG_H */
