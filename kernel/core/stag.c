// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Changes to the meaning of an STag: invalidation, fast registration, and binding of
 * memory windows. The verbs create and destroy entries.
 *
 * A pass that invalidates or binds an entry holds the entry's change lock, sets the state
 * to BUSY, then waits for the other users. The pass holds no reference to another entry,
 * and does not sleep.
 */
#include "core/stag.h"

#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/rcupdate.h>

u64 kwarp_mr_generation(void)
{
	static atomic64_t last;

	return atomic64_inc_return(&last);
}

/*
 * Get the entry of an STag's index for exclusive change, locked and referenced, if it is
 * in @user's protection domain: a queue pair waits for no lock of another domain. Nobody
 * waits for the lock with a reference held, because its holder waits for references.
 */
static struct kwarp_mr *change_begin(const struct kwarp_mem_accessor *user, u32 stag)
{
	struct kwarp_mr *mr;

	lockdep_assert_in_softirq();
	rcu_read_lock();
	mr = xa_load(&user->dev->mrs, stag >> 8);
	if (mr && mr->pd == user->pd) {
		spin_lock(&mr->change);
		if (mr->retired || !refcount_inc_not_zero(&mr->refs)) {
			spin_unlock(&mr->change);
			mr = NULL;
		} else {
			__release(&mr->change); /* for sparse: change_end() unlocks */
		}
	} else {
		mr = NULL;
	}
	rcu_read_unlock();
	return mr;
}

static void change_end(struct kwarp_mr *mr)
{
	__acquire(&mr->change); /* from change_begin(); sparse cannot follow */
	rcu_read_lock();
	kwarp_mr_drop(mr);
	spin_unlock(&mr->change);
	rcu_read_unlock();
}

/* Wait for the entry's other users. The caller holds the change lock and a reference. */
static void wait_others(struct kwarp_mr *mr)
{
	lockdep_assert_held(&mr->change);
	/* Write the new state before reading the count; pairs with kwarp_mr_get(). */
	smp_mb();
	/* Ours and the table's remain, which a deregistration drops under the change lock only. */
	while (refcount_read(&mr->refs) > 2)
		mr_wait_user(mr);
	/* The other users' accesses come before anything that follows. */
	smp_mb();
}

static enum kwarp_mem_err mr_invalidate(struct kwarp_mr *mr,
					const struct kwarp_mem_accessor *user)
{
	lockdep_assert_held(&mr->change);
	if (!mr_associated(mr, user->pd, user))
		return KWARP_MEM_PD;
	if (!kwarp_mr_invalidatable(mr))
		return KWARP_MEM_ACCESS;
	if (READ_ONCE(mr->state) != KWARP_MR_VALID)
		return KWARP_MEM_STAG;
	WRITE_ONCE(mr->state, KWARP_MR_BUSY);
	wait_others(mr);
	kwarp_mw_release(mr);
	smp_store_release(&mr->state, KWARP_MR_INVALID); /* mr_valid() */
	return KWARP_MEM_OK;
}

/**
 * kwarp_mr_invalidate() - invalidate for an incoming Send with Invalidate
 * @user:	queue pair that received it
 * @stag:	STag; key and state must match, and a window must be bound by @user
 *
 * After return no access under the STag begins. The function spins until passes of other
 * engines that use the entry have ended. This wait is bounded, because such passes run with
 * bottom halves disabled and do not sleep. With PREEMPT_RT, where they can be preempted,
 * the wait blocks on a lock.
 * Context: softirq or bottom halves disabled; the caller must have put its cache,
 * otherwise two passes could wait for each other.
 * Return: KWARP_MEM_OK or the reason; KWARP_MEM_ACCESS if the STag is never invalidated.
 */
enum kwarp_mem_err kwarp_mr_invalidate(const struct kwarp_mem_accessor *user,
				       u32 stag)
{
	struct kwarp_mr *mr = change_begin(user, stag);
	enum kwarp_mem_err err = KWARP_MEM_STAG;

	if (!mr)
		return err;
	if (mr_valid(mr, stag))
		err = mr_invalidate(mr, user);
	change_end(mr);
	return err;
}

/**
 * kwarp_mr_invalidate_local() - invalidate for LOCAL_INV, or the sink of a READ_INV
 * @user:	queue pair to which the request was posted
 * @stag:	STag; for a region allocated for fast registration the key is ignored
 *
 * As kwarp_mr_invalidate(), but our own consumer may name an STag that is already invalid,
 * and the kernel's rdma_rw names the previous key of its READ_INV's sink.
 * Return: KWARP_MEM_OK or the reason.
 */
enum kwarp_mem_err kwarp_mr_invalidate_local(const struct kwarp_mem_accessor *user,
					     u32 stag)
{
	struct kwarp_mr *mr = change_begin(user, stag);
	enum kwarp_mem_err err = KWARP_MEM_STAG;

	if (!mr)
		return err;
	if (!kwarp_mr_window(mr) || mr->stag == stag) {
		err = mr_invalidate(mr, user);
		if (err == KWARP_MEM_STAG) /* already invalid */
			err = KWARP_MEM_OK;
	}
	change_end(mr);
	return err;
}

/**
 * kwarp_mr_fast_reg() - REG_MR: activate the page list that was mapped last
 * @mr:		region allocated for fast registration
 * @pd:		protection domain of the QP
 * @key:	new STag; only its low eight bits may differ from the old STag
 * @access:	IB_ACCESS_* flags
 *
 * Address, length and page size are those of @mr->ibmr at the time of the call.
 * Context: any; the caller keeps the order of the consumer's send queue.
 * Return: 0; -EINVAL if the region is valid, in another protection domain, not allocated
 * for fast registration or not mapped, or if @key or @access is invalid.
 */
int kwarp_mr_fast_reg(struct kwarp_mr *mr, const struct ib_pd *pd, u32 key,
		      int access)
{
	const int known = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
			  IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
			  IB_ACCESS_OPTIONAL;
	const struct ib_mr *ibmr = &mr->ibmr;
	u32 first, shift, nr = mr->remapped ? mr->nr_staged : mr->nr_blocks;

	if (!kwarp_mr_invalidatable(mr) || mr->pd != pd || (access & ~known) ||
	    READ_ONCE(mr->state) != KWARP_MR_INVALID)
		return -EINVAL;
	if (key >> 8 != mr->stag >> 8 || !nr)
		return -EINVAL;
	if (ibmr->iova + ibmr->length < ibmr->iova)
		return -EINVAL;
	/* Consumers may change the upper bits of the address, not the offset in the page. */
	first = ibmr->iova & (ibmr->page_size - 1);
	shift = ilog2(ibmr->page_size);
	if (first + ibmr->length > (u64)nr << shift)
		return -EINVAL;

	/* A consumer may register the same pages again (rtrs). */
	if (mr->remapped) {
		swap(mr->blocks, mr->staged);
		mr->nr_blocks = nr;
		mr->remapped = false;
	}
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

/* Check before the window's state changes, so that a refusal has no side effects. */
static bool mw_bindable(const struct kwarp_mr *mw,
			const struct kwarp_mw_bind *bind, u32 state)
{
	if (!kwarp_mr_window(mw) || bind->key >> 8 != bind->window >> 8)
		return false;
	/* A window of type 2 must be invalidated first. */
	return !kwarp_mr_invalidatable(mw) ||
	       (bind->length && state != KWARP_MR_VALID);
}

/* Return: a window in state BUSY, locked and referenced, or NULL. @state: its old state. */
static struct kwarp_mr *mw_claim(const struct kwarp_mem_accessor *user,
				 const struct kwarp_mw_bind *bind, u32 *state)
{
	struct kwarp_mr *mw = change_begin(user, bind->window);

	if (!mw)
		return NULL;
	*state = READ_ONCE(mw->state);
	if (!mw_bindable(mw, bind, *state)) {
		change_end(mw);
		return NULL;
	}
	WRITE_ONCE(mw->state, KWARP_MR_BUSY);
	return mw;
}

/* Release the region of a window that is being freed or rebound; exclusive access. */
void kwarp_mw_release(struct kwarp_mr *mw)
{
	if (!mw->region)
		return;
	mw->user = 0;
	/* Our accesses come before the decrement: at zero the blocks may be freed. */
	smp_mb__before_atomic();
	atomic_dec(&mw->region->windows);
	mw->region = NULL;
}

/* Rules of verbs for a window and its region; RFC 5040 has none. */
static bool bind_allowed(const struct kwarp_mr *region,
			 const struct kwarp_mw_bind *bind)
{
	/* Local write applies to the region; consumers set it for windows, too. */
	const int known = KWARP_ACCESS_REMOTE | IB_ZERO_BASED |
			  IB_ACCESS_LOCAL_WRITE;
	const int write = IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC;

	if (bind->access & ~known || !(region->access & IB_ACCESS_MW_BIND))
		return false;
	if ((bind->access & write) && !(region->access & IB_ACCESS_LOCAL_WRITE))
		return false;
	if ((bind->access & IB_ACCESS_REMOTE_ATOMIC) && region->dmabuf && !KWARP_DMABUF_ATOMIC)
		return false;
	return bind->addr + bind->length >= bind->addr &&
	       in_bounds(region, bind->addr, bind->length);
}

/* Return: the region of a bind, with @windows incremented, or NULL. */
static struct kwarp_mr *region_for(const struct kwarp_mem_accessor *user,
				   const struct kwarp_mw_bind *bind)
{
	struct kwarp_mr *region = kwarp_mr_get(user->dev, bind->lkey);
	bool ok = false;

	if (!region)
		return NULL;
	/* Increment first: until the decrement the region is not (de)reregistered. */
	if (region->kind == KWARP_MR_PAGES &&
	    atomic_inc_unless_negative(&region->windows)) {
		ok = mr_valid(region, bind->lkey) &&
		     region->pd == user->pd && bind_allowed(region, bind);
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

	lockdep_assert_held(&mw->change);
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

/**
 * kwarp_mw_bind_region() - BIND_MW: bind a window to a part of a region
 * @user:	queue pair to which the request was posted
 * @bind:	parameters
 *
 * A window of type 1 may already be bound: on return the old range is no longer accessible
 * through the window. A window of type 2 must have been invalidated, and belongs to @user
 * when it is bound. Context: as kwarp_mr_invalidate().
 * Return: 0; -EINVAL if a parameter is not valid, and nothing has changed.
 */
int kwarp_mw_bind_region(const struct kwarp_mem_accessor *user,
			 const struct kwarp_mw_bind *bind)
{
	struct kwarp_mr *region = NULL;
	struct kwarp_mr *mw;
	u32 state;

	if (bind->length) {
		region = region_for(user, bind);
		if (!region)
			return -EINVAL;
	}
	mw = mw_claim(user, bind, &state);
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
		mw->user = kwarp_mr_invalidatable(mw) ? user->id : 0;
		state = KWARP_MR_VALID;
	}
	WRITE_ONCE(mw->stag, bind->key);
	smp_store_release(&mw->state, state); /* mr_valid() */
	change_end(mw);
	return 0;
}
