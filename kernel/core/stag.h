/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What mem.c and stag.c share: an STag's entry at one moment. */
#ifndef _KWARP_CORE_STAG_H
#define _KWARP_CORE_STAG_H

#include "mem.h"
#include "qp.h"

#define KWARP_ACCESS_REMOTE	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_ATOMIC)

/* The entry of an STag's index, referenced, or NULL. */
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

/* May this QP use the STag at all? A window of type 2 is its binder's alone. */
static inline bool mr_associated(const struct kwarp_mr *mr,
				 const struct ib_pd *pd,
				 const struct kwarp_qp *qp)
{
	return mr->pd == pd && (!mr->qp_id || (qp && mr->qp_id == qp->id));
}

#endif /* _KWARP_CORE_STAG_H */
