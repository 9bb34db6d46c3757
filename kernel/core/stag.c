// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What changes the meaning of an STag: invalidation, fast registration, and
 * binding a memory window. Creation and destruction are the verbs'.
 *
 * One pass at a time changes an entry: it puts it in state BUSY, then waits for
 * those that still use it. It holds no other entry, and does not sleep.
 */
#include "stag.h"

#include <linux/log2.h>
#include <linux/rcupdate.h>

u64 kwarp_mr_generation(void)
{
	static atomic64_t last;

	return atomic64_inc_return(&last);
}

/* The caller holds the reference that counts as ours. */
static void wait_others(const struct kwarp_mr *mr)
{
	/* The new state before the count; pairs with the barrier in kwarp_mr_get(). */
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
					const struct kwarp_qp *qp)
{
	if (!mr_associated(mr, qp->ibqp.pd, qp))
		return KWARP_MEM_PD;
	if (!mr->invalidatable)
		return KWARP_MEM_ACCESS;
	/* One of two that come at once does it: they would wait for each other. */
	if (cmpxchg(&mr->state, KWARP_MR_VALID, KWARP_MR_BUSY) !=
	    KWARP_MR_VALID)
		return KWARP_MEM_STAG;
	/* It may have got another binder since we looked. */
	if (!mr_associated(mr, qp->ibqp.pd, qp)) {
		smp_store_release(&mr->state, KWARP_MR_VALID); /* as it was */
		return KWARP_MEM_PD;
	}
	wait_others(mr);
	kwarp_mw_release(mr);
	smp_store_release(&mr->state, KWARP_MR_INVALID); /* mw_claim() */
	return KWARP_MEM_OK;
}

enum kwarp_mem_err kwarp_mr_invalidate(const struct kwarp_qp *qp, u32 stag)
{
	struct kwarp_mr *mr = kwarp_mr_get(qp->dev, stag);
	enum kwarp_mem_err err = KWARP_MEM_STAG;

	if (!mr)
		return err;
	if (mr_valid(mr, stag))
		err = mr_invalidate(mr, qp);
	kwarp_mr_put(mr);
	return err;
}

enum kwarp_mem_err kwarp_mr_invalidate_local(const struct kwarp_qp *qp,
					     u32 stag)
{
	struct kwarp_mr *mr = kwarp_mr_get(qp->dev, stag);
	enum kwarp_mem_err err;

	if (!mr)
		return KWARP_MEM_STAG;
	if (mr->window && READ_ONCE(mr->stag) != stag) {
		kwarp_mr_put(mr);
		return KWARP_MEM_STAG;
	}
	err = mr_invalidate(mr, qp);
	rcu_read_lock();
	kwarp_mr_put(mr);
	/* Somebody else's doing is to be complete, too; he waited for us so far. */
	while (err == KWARP_MEM_STAG && READ_ONCE(mr->state) == KWARP_MR_BUSY)
		cpu_relax();
	rcu_read_unlock();
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
	mr->gen = kwarp_mr_generation();
	WRITE_ONCE(mr->stag, key);
	/* Pairs with the acquire in mr_valid(). */
	smp_store_release(&mr->state, KWARP_MR_VALID);
	return 0;
}

/* ---- memory windows ------------------------------------------------------- */

/* What can be seen before the window is claimed: a refusal disturbs nobody. */
static bool mw_bindable(const struct kwarp_mr *mw, const struct kwarp_qp *qp,
			const struct kwarp_mw_bind *bind, u32 state)
{
	if (!mw->window || mw->pd != qp->ibqp.pd ||
	    bind->key >> 8 != bind->window >> 8)
		return false;
	/* Type 2 is closed by invalidation only. */
	return !mw->invalidatable ||
	       (bind->length && state != KWARP_MR_VALID);
}

/*
 * A window for its one changer, in state BUSY, referenced, or NULL; @state is
 * what it was. No reference is held while somebody else changes it, as he waits
 * for references; he does not sleep.
 */
static struct kwarp_mr *mw_claim(const struct kwarp_qp *qp,
				 const struct kwarp_mw_bind *bind, u32 *state)
{
	struct kwarp_mr *mw;

	for (;;) {
		rcu_read_lock();
		mw = xa_load(&qp->dev->mrs, bind->window >> 8);
		*state = mw ? READ_ONCE(mw->state) : KWARP_MR_INVALID;
		if (!mw || !mw_bindable(mw, qp, bind, *state))
			break;
		if (*state == KWARP_MR_BUSY) {
			rcu_read_unlock();
			cpu_relax();
			continue;
		}
		if (!refcount_inc_not_zero(&mw->refs))
			break;
		rcu_read_unlock();
		if (cmpxchg(&mw->state, *state, KWARP_MR_BUSY) == *state)
			return mw;
		kwarp_mr_put(mw);
	}
	rcu_read_unlock();
	return NULL;
}

void kwarp_mw_release(struct kwarp_mr *mw)
{
	if (!mw->region)
		return;
	mw->qp_id = 0;
	/* Whoever finds the count at zero may free the blocks. */
	smp_mb__before_atomic();
	atomic_dec(&mw->region->windows);
	mw->region = NULL;
}

/* The verbs' rules for region and window (RFC 5040 leaves them to the RNIC). */
static bool bind_allowed(const struct kwarp_mr *region,
			 const struct kwarp_mw_bind *bind)
{
	/* Local write is of the region; consumers name it for windows, too. */
	const int known = KWARP_ACCESS_REMOTE | IB_ZERO_BASED |
			  IB_ACCESS_LOCAL_WRITE;
	const int write = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC;

	if (bind->access & ~known || !(region->access & IB_ACCESS_MW_BIND))
		return false;
	if ((bind->access & write) && !(region->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	return bind->addr + bind->length >= bind->addr &&
	       in_bounds(region, bind->addr, bind->length);
}

/* The region of a bind, with @windows counted, or NULL. */
static struct kwarp_mr *region_for(const struct kwarp_qp *qp,
				   const struct kwarp_mw_bind *bind)
{
	struct kwarp_mr *region = kwarp_mr_get(qp->dev, bind->lkey);
	bool ok = false;

	if (!region)
		return NULL;
	/* Counted first: from then on it stays as it is. */
	if (!region->window && !region->dma && !region->invalidatable &&
	    atomic_inc_unless_negative(&region->windows)) {
		ok = mr_valid(region, bind->lkey) &&
		     region->pd == qp->ibqp.pd && bind_allowed(region, bind);
		if (!ok)
			atomic_dec(&region->windows);
	}
	kwarp_mr_put(region);
	return ok ? region : NULL;
}

static void mw_open(struct kwarp_mr *mw, struct kwarp_mr *region,
		    const struct kwarp_mw_bind *bind)
{
	u64 off = bind->addr - region->iova + region->first;
	u32 skip = off >> region->shift;

	mw->gen = kwarp_mr_generation();
	mw->region = region;
	mw->iova = bind->access & IB_ZERO_BASED ? 0 : bind->addr;
	mw->length = bind->length;
	mw->access = bind->access & ~IB_ACCESS_LOCAL_WRITE;
	mw->shift = region->shift;
	mw->first = off & ((1ULL << region->shift) - 1);
	mw->blocks = region->blocks + skip;
	mw->nr_blocks = region->nr_blocks - skip;
}

int kwarp_mw_bind(const struct kwarp_qp *qp, const struct kwarp_mw_bind *bind)
{
	struct kwarp_mr *region = NULL;
	struct kwarp_mr *mw;
	u32 state;

	if (bind->length) {
		region = region_for(qp, bind);
		if (!region)
			return -EINVAL;
	}
	mw = mw_claim(qp, bind, &state);
	if (!mw) {
		if (region)
			atomic_dec(&region->windows);
		return -EINVAL;
	}
	if (state == KWARP_MR_VALID) {
		wait_others(mw);
		kwarp_mw_release(mw);
	}
	state = KWARP_MR_INVALID;
	if (region) {
		mw_open(mw, region, bind);
		mw->qp_id = mw->invalidatable ? qp->id : 0;
		state = KWARP_MR_VALID;
	}
	WRITE_ONCE(mw->stag, bind->key);
	smp_store_release(&mw->state, state); /* mr_valid() */
	kwarp_mr_put(mw);
	return 0;
}
