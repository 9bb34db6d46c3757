// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Send and receive queues.
 *
 * A ring may be shared with user space. The kernel ignores a producer index that is out of
 * range, and validates and uses only copies of the elements.
 */
#include "core/wq.h"

#include "core/cq.h"

#define REAP_BATCH	8	/* completions per CQ lock */

/* Bytes of an SQ element's header without the arguments, which few operations have. */
#define SQE_BASE	offsetof(struct kwarp_sqe, arg)

/* ---- indices ----------------------------------------------------------- */

/* Elements before the index can be read now: pairs with the poster's release. */
static u32 load_index(const u32 *idx)
{
	return smp_load_acquire(idx); /* see above */
}

/* The poster may reuse elements before the index: pairs with the poster's acquire. */
static void publish_index(u32 *idx, u32 val)
{
	smp_store_release(idx, val); /* see above */
}

/*
 * Return: elements posted and not fetched. A user's producer index that is out of range, also
 * one that moved backwards, posts nothing. In KWARP_WQ_ENDING without those that are not processed.
 * Context: any. The number is stable under the socket lock, or under sq->lock once the state is
 * ERR.
 */
static u32 sq_posted(const struct kwarp_sq *sq)
{
	u32 fetched = READ_ONCE(sq->window.fetched);
	u32 prod = READ_ONCE(sq->mode) == KWARP_WQ_ENDING ? sq->last :
		   load_index(sq->kernel ? &sq->prod : &sq->ctl->user_idx);

	return kwarp_window_posted(&sq->window, fetched, prod);
}

static u32 rq_prod(const struct kwarp_rq *rq)
{
	u32 prod;

	if (!rq->user)
		return load_index(&rq->prod);
	prod = load_index(&rq->ctl->user_idx);
	return prod - rq->fetched > rq->size ? rq->fetched : prod;
}

static void ring_wakeup(struct kwarp_ring_ctl *ctl, bool need)
{
	WRITE_ONCE(ctl->flags, need ? KWARP_RING_NEED_WAKEUP : 0);
}

/* Does the provider report posts without polls in between? The hint affects timing only. */
bool kwarp_sq_bursts(const struct kwarp_sq *sq)
{
	return !sq->kernel && READ_ONCE(sq->ctl->arm) == KWARP_SQ_BURST;
}

static bool sq_flushed(const struct kwarp_sq *sq)
{
	return READ_ONCE(sq->mode) == KWARP_WQ_FLUSHED;
}

static bool sq_is_open(const struct kwarp_sq *sq)
{
	u8 mode = READ_ONCE(sq->mode);

	return mode == KWARP_WQ_OPEN || mode == KWARP_WQ_ENDING;
}

/* Process what has been posted, nothing that is posted later. Context: socket lock held, too. */
void kwarp_sq_end(struct kwarp_sq *sq)
{
	lockdep_assert_held(&sq->lock);
	sq->last = sq->window.fetched + sq_posted(sq);
	WRITE_ONCE(sq->mode, KWARP_WQ_ENDING);
}

/* ---- fetching ---------------------------------------------------------- */

/* Copy @num elements, mostly one, from a ring. */
static __always_inline void copy_sge(struct kwarp_sge *dst, const void *src, u32 num)
{
	if (likely(num == 1))
		memcpy(dst, src, sizeof(*dst));
	else
		memcpy(dst, src, num * sizeof(*dst));
}

/* Copy the rest of an element and validate the copy; @src may be shared with a user. */
static __always_inline int sqe_finish(const struct kwarp_sq *sq, struct kwarp_sqe_copy *wqe,
				      const void *src)
{
	u8 flags, opcode = wqe->hdr.opcode;
	u64 total;

	if (opcode >= KWARP_OP_LAST || !(sq->ops & BIT(opcode)))
		return -EINVAL;
	flags = kwarp_wr_flags_of(opcode);
	if (unlikely(flags & (KWARP_WR_LOCAL | KWARP_WR_ATOMIC)))
		memcpy(wqe->hdr.arg, src + SQE_BASE, sizeof(wqe->hdr.arg));
	if (flags & KWARP_WR_LOCAL) {
		wqe->hdr.inline_len = 0;
		return 0;
	}
	if (wqe->hdr.flags & KWARP_WQE_INLINE) {
		if (!(flags & KWARP_WR_INLINE) ||
		    wqe->hdr.inline_len > sq->max_inline)
			return -EINVAL;
		memcpy(wqe->data, src + sizeof(wqe->hdr), wqe->hdr.inline_len);
		return 0;
	}
	if (wqe->hdr.num_sge > sq->max_sge)
		return -EINVAL;
	copy_sge(wqe->sge, src + sizeof(wqe->hdr), wqe->hdr.num_sge);
	/* Check the copy: the compiler must not read the shared memory again. */
	barrier();
	total = kwarp_sge_total(wqe->sge, wqe->hdr.num_sge);
	/* The result of an atomic operation has 8 bytes. */
	if (total > KWARP_MAX_MSG_SIZE || (flags & KWARP_WR_ATOMIC && total != sizeof(u64)))
		return -EMSGSIZE;
	wqe->hdr.inline_len = total;
	return 0;
}

/**
 * kwarp_sq_fetch() - copy the next send element from the ring
 * @sq:		send queue, socket lock held
 * @wqe:	receives the copy
 * @slot:	receives its index for kwarp_sq_complete()
 *
 * Counts, sizes and opcode are checked here, on the copy; addresses and keys are checked
 * when they are used.
 *
 * Return: 1 if an element was fetched, 0 if none is posted or @sq->mode forbids it; a negative
 * errno if an element was fetched that is malformed: -EMSGSIZE for its length, else -EINVAL.
 * @slot is valid then, too: the caller completes it with an error.
 */
int kwarp_sq_fetch(struct kwarp_sq *sq, struct kwarp_sqe_copy *wqe, u32 *slot)
{
	struct kwarp_slot *s;
	const void *src;
	u32 idx;
	int ret;

	/* Until the state is ERR, this index changes under the socket lock only. */
	idx = sq->window.fetched;
	if (!sq_is_open(sq) || !sq_posted(sq))
		return 0;
	src = kwarp_sq_elem(sq, idx);
	memcpy(&wqe->hdr, src, SQE_BASE);
	barrier();
	s = kwarp_window_fetch(&sq->window, wqe->hdr.wr_id, wqe->hdr.opcode,
			       sq->sig_all || (wqe->hdr.flags & KWARP_WQE_SIGNALED));

	/* The ring's slot belongs to the kernel until kern_idx passes it. */
	*slot = idx;
	ret = sqe_finish(sq, wqe, src);
	if (ret)
		return ret;
	s->len = wqe->hdr.inline_len;
	return 1;
}

bool kwarp_sq_pending(const struct kwarp_sq *sq)
{
	return sq_posted(sq);
}

static bool sq_may_sleep(struct kwarp_sq *sq)
{
	if (!kwarp_sq_pending(sq))
		return true;
	kwarp_sq_cancel_sleep(sq);
	return false;
}

/**
 * kwarp_sq_prepare_sleep() - the engine is about to sleep: request a doorbell
 * @sq:		send queue; socket lock held, or no connection attached
 *
 * Return: true if the engine may sleep, false if an element was posted meanwhile.
 */
bool kwarp_sq_prepare_sleep(struct kwarp_sq *sq)
{
	if (!sq->kernel) {
		ring_wakeup(sq->ctl, true);
		/* Pairs with the barrier between a user's post and the read of the flags. */
		smp_mb();
	}
	return sq_may_sleep(sq);
}

/* The same without a request, because a timer will wake the engine: posts are coalesced. */
bool kwarp_sq_prepare_pause(struct kwarp_sq *sq)
{
	WRITE_ONCE(sq->ctl->flags, KWARP_RING_COALESCE);
	return sq_may_sleep(sq);
}

void kwarp_sq_cancel_sleep(struct kwarp_sq *sq)
{
	if (!sq->kernel)
		ring_wakeup(sq->ctl, false);
}

/*
 * Are all posted elements DONE? Their completions may not have been delivered yet. Socket
 * lock held, or no connection attached.
 */
bool kwarp_sq_drained(const struct kwarp_sq *sq)
{
	return !kwarp_sq_pending(sq) && kwarp_window_all_done(&sq->window);
}

/* ---- completing -------------------------------------------------------- */

static void slot_to_cqe(const struct kwarp_sq *sq, const struct kwarp_slot *s,
			struct kwarp_cqe *cqe)
{
	memset(cqe, 0, sizeof(*cqe));
	cqe->wr_id = s->wr_id;
	cqe->qp_num = sq->qpn;
	cqe->opcode = s->opcode;
	cqe->status = s->status;
	cqe->byte_len = s->len;
	if (s->status)
		cqe->vendor_err = READ_ONCE(sq->vendor_err);
}

/*
 * Take the oldest element out of the window, if it is DONE, or if the queue is flushed. Sets
 * *@deliver if the element has a completion, which is then in @cqe.
 */
static bool sq_take(struct kwarp_sq *sq, struct kwarp_cqe *cqe, bool *deliver)
{
	struct kwarp_sq_window *w = &sq->window;
	u8 flush = sq_flushed(sq) ? KWARP_WC_WR_FLUSH_ERR : 0;
	const struct kwarp_slot *s;

	lockdep_assert_held(&sq->lock);
	if (w->done == READ_ONCE(w->fetched)) {
		const struct kwarp_sqe *sqe = kwarp_sq_elem(sq, w->fetched);

		if (!flush || !sq_posted(sq) || (s32)(sq->flush_to - w->fetched) <= 0)
			return false;
		kwarp_window_fetch(w, READ_ONCE(sqe->wr_id), READ_ONCE(sqe->opcode), true);
	}
	s = kwarp_window_oldest(w, flush);
	if (!s)
		return false;
	*deliver = !sq->discard && (s->status || s->signaled);
	if (*deliver)
		slot_to_cqe(sq, s, cqe);
	kwarp_window_retire(w);
	return true;
}

/*
 * Deliver completions in order, up to KWARP_WQ_PIECE elements. No lock is held while the
 * CQ's handler runs, because the handler may post; @delivering keeps the order if two contexts
 * get here concurrently. Return: false if a worker has to continue.
 */
static bool sq_deliver(struct kwarp_sq *sq)
{
	struct kwarp_cqe cqe[REAP_BATCH] __uninitialized;
	u32 budget = KWARP_WQ_PIECE;
	unsigned long flags;
	bool deliver;
	u32 n;

	spin_lock_irqsave(&sq->lock, flags);
	if (sq->delivering) {
		spin_unlock_irqrestore(&sq->lock, flags);
		return true;
	}
	sq->delivering = true;
	do {
		for (n = 0; budget && n < REAP_BATCH; n += deliver, budget--)
			if (!sq_take(sq, &cqe[n], &deliver))
				break;
		publish_index(&sq->ctl->kern_idx, sq->window.done);
		if (!n)
			break;
		spin_unlock_irqrestore(&sq->lock, flags);
		kwarp_cq_push(sq->cq, cqe, n, KWARP_UNSOLICITED);
		spin_lock_irqsave(&sq->lock, flags);
	} while (budget);
	/* The queue is empty. The status is not for requests that are posted later. */
	if (budget && sq_flushed(sq) && !sq_posted(sq))
		sq->window.flush_status = 0;
	WARN_ON_ONCE(IS_ENABLED(CONFIG_LOCKDEP) && !kwarp_window_valid(&sq->window));
	sq->delivering = false;
	spin_unlock_irqrestore(&sq->lock, flags);
	return budget;
}

static void sq_reap(struct kwarp_sq *sq)
{
	if (!sq_deliver(sq))
		queue_work(kwarp_rest_wq, &sq->rest);
}

static void sq_rest_work(struct work_struct *work)
{
	sq_reap(container_of(work, struct kwarp_sq, rest));
}

/**
 * kwarp_sq_set_flush_status() - set the status of the oldest incomplete element
 * @sq:		send queue whose QP is about to enter ERR
 * @status:	enum kwarp_wc_status, instead of a flush status
 */
void kwarp_sq_set_flush_status(struct kwarp_sq *sq, u8 status)
{
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->window.flush_status = status;
	spin_unlock_irqrestore(&sq->lock, flags);
}

/**
 * kwarp_sq_complete() - complete an element; completions are delivered in order
 * @sq:		send queue
 * @slot:	from kwarp_sq_fetch()
 * @status:	enum kwarp_wc_status; an error is delivered even if unsignalled
 *
 * Has no effect on an element that was flushed meanwhile. Takes @sq->lock.
 */
void kwarp_sq_complete(struct kwarp_sq *sq, u32 slot, u8 status)
{
	unsigned long flags;
	bool live;

	spin_lock_irqsave(&sq->lock, flags);
	live = kwarp_window_finish(&sq->window, slot, status);
	spin_unlock_irqrestore(&sq->lock, flags);
	if (live)
		sq_reap(sq);
}

/*
 * The next two functions need the socket lock only: until the state is ERR, slots that are
 * not DONE are accessed under that lock.
 */
void kwarp_sq_mark_built(struct kwarp_sq *sq, u32 slot)
{
	if (!sq_flushed(sq))
		kwarp_window_mark_built(&sq->window, slot);
}

void kwarp_sq_complete_built(struct kwarp_sq *sq)
{
	if (sq->window.built == sq->window.fetched || sq_flushed(sq))
		return;
	if (kwarp_window_finish_built(&sq->window))
		sq_reap(sq);
}

/**
 * kwarp_sq_ack() - the peer has acknowledged messages: complete those in state BUILT
 * @sq:		send queue, socket lock held
 * @end:	first slot that is not acknowledged
 */
void kwarp_sq_ack(struct kwarp_sq *sq, u32 end)
{
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	kwarp_window_ack(&sq->window, end);
	spin_unlock_irqrestore(&sq->lock, flags);
	sq_reap(sq);
}

/**
 * kwarp_sq_peer_terminated() - the peer's Terminate reports an error in a message
 * @sq:		send queue whose QP is about to enter ERR, socket lock held
 * @opcodes:	mask of BIT(enum kwarp_opcode): possible opcodes of the message
 * @status:	enum kwarp_wc_status of the oldest unacknowledged element with such an
 *		opcode, before which BUILT ones complete with success; if there is none, of
 *		the oldest element
 *
 * The flush that follows delivers the completions.
 */
void kwarp_sq_peer_terminated(struct kwarp_sq *sq, u32 opcodes, u8 status)
{
	struct kwarp_sq_window *w = &sq->window;
	unsigned long flags;
	u32 idx;

	spin_lock_irqsave(&sq->lock, flags);
	idx = kwarp_window_find_built(w, opcodes);
	kwarp_window_ack(w, idx);
	/* Without such an element, @idx is that of the oldest one. */
	if (idx == w->done)
		w->flush_status = status;
	else
		kwarp_window_finish(w, idx, status);
	spin_unlock_irqrestore(&sq->lock, flags);
}

/* ---- receive queue ------------------------------------------------------ */

static u32 rq_posted(const struct kwarp_rq *rq)
{
	return rq_prod(rq) - rq->fetched;
}

u32 kwarp_rq_posted(const struct kwarp_rq *rq)
{
	lockdep_assert_held(&rq->lock);
	return rq_posted(rq);
}

/* Copy an element and validate the copy. Return: 0 or -EINVAL. */
static __always_inline int rq_copy(const struct kwarp_rq *rq, u32 idx,
				   struct kwarp_rqe_copy *wqe)
{
	const void *src = kwarp_rq_elem(rq, idx);

	memcpy(&wqe->hdr, src, sizeof(wqe->hdr));
	barrier();
	if (wqe->hdr.num_sge > rq->max_sge)
		return -EINVAL;
	copy_sge(wqe->sge, src + sizeof(wqe->hdr), wqe->hdr.num_sge);
	barrier();
	return 0;
}

/**
 * kwarp_rq_take() - copy the next element from a receive queue
 * @rq:		receive queue; the socket lock is held, or the queue's lock if shared
 * @wqe:	receives the copy
 *
 * Return: 0; -ENOBUFS if none can be taken; -EINVAL if a malformed one was taken: the caller
 * completes its wr_id with KWARP_WC_LOC_QP_OP_ERR.
 */
int kwarp_rq_take(struct kwarp_rq *rq, struct kwarp_rqe_copy *wqe)
{
	int ret;

	/* The lock keeps @mode. Until FLUSHED, no context without the lock takes elements. */
	if (READ_ONCE(rq->mode) == KWARP_WQ_FLUSHED || !rq->size ||
	    !rq_posted(rq))
		return -ENOBUFS;
	ret = rq_copy(rq, rq->fetched, wqe);
	/* The copy is complete: the ring's slot is free, also for a kernel consumer. */
	smp_store_release(&rq->fetched, rq->fetched + 1);
	publish_index(&rq->ctl->kern_idx, rq->fetched);
	return ret;
}

/**
 * kwarp_rq_peek() - copy a posted element without taking it
 * @rq:		a QP's own receive queue, socket lock held
 * @ahead:	0 for the element that kwarp_rq_take() would take next
 * @wqe:	receives the copy
 *
 * A user may still change the element, although programs must not: the copy that
 * kwarp_rq_take() makes later may be different.
 *
 * Return: true if there is a well-formed element.
 */
bool kwarp_rq_peek(const struct kwarp_rq *rq, u32 ahead,
		   struct kwarp_rqe_copy *wqe)
{
	/* No other context takes elements: see kwarp_rq_take(). */
	if (READ_ONCE(rq->mode) == KWARP_WQ_FLUSHED || !rq->size ||
	    ahead >= rq_posted(rq))
		return false;
	return !rq_copy(rq, rq->fetched + ahead, wqe);
}

/**
 * kwarp_rq_complete() - deliver the completion of a receive that failed or was flushed
 * @rq:		the QP's own receive queue, even if the receive is from a shared queue
 * @cqe:	wr_id, opcode, status, byte_len, flags, ex filled in by the caller
 */
void kwarp_rq_complete(const struct kwarp_rq *rq, struct kwarp_cqe *cqe)
{
	cqe->qp_num = rq->qpn;
	if (cqe->status)
		cqe->vendor_err = READ_ONCE(rq->vendor_err);
	kwarp_cq_push(rq->cq, cqe, 1, KWARP_UNSOLICITED);
}

/* Take the oldest element, if the queue is flushed, and set its completion @cqe. */
static bool rq_take_flushed(struct kwarp_rq *rq, struct kwarp_cqe *cqe)
{
	const struct kwarp_rqe *rqe = kwarp_rq_elem(rq, rq->fetched);

	lockdep_assert_held(&rq->lock);
	if (READ_ONCE(rq->mode) != KWARP_WQ_FLUSHED || !rq_posted(rq) ||
	    (s32)(rq->flush_to - rq->fetched) <= 0)
		return false;
	*cqe = (struct kwarp_cqe){
		.wr_id = READ_ONCE(rqe->wr_id),
		.qp_num = rq->qpn,
		.opcode = KWARP_OP_RECV,
		.status = KWARP_WC_WR_FLUSH_ERR,
		.vendor_err = READ_ONCE(rq->vendor_err),
	};
	rq->fetched++;
	return true;
}

/* Like sq_deliver(). */
static bool rq_deliver_flushed(struct kwarp_rq *rq)
{
	struct kwarp_cqe cqe[REAP_BATCH];
	u32 budget = KWARP_WQ_PIECE;
	unsigned long flags;
	u32 n;

	spin_lock_irqsave(&rq->lock, flags);
	if (rq->flushing) {
		spin_unlock_irqrestore(&rq->lock, flags);
		return true;
	}
	rq->flushing = true;
	do {
		for (n = 0; budget && n < REAP_BATCH; n++, budget--)
			if (!rq_take_flushed(rq, &cqe[n]))
				break;
		if (!n)
			break;
		publish_index(&rq->ctl->kern_idx, rq->fetched);
		spin_unlock_irqrestore(&rq->lock, flags);
		kwarp_cq_push(rq->cq, cqe, n, KWARP_UNSOLICITED);
		spin_lock_irqsave(&rq->lock, flags);
	} while (budget);
	rq->flushing = false;
	spin_unlock_irqrestore(&rq->lock, flags);
	return budget;
}

static void rq_flush(struct kwarp_rq *rq)
{
	if (rq->size && !rq_deliver_flushed(rq))
		queue_work(kwarp_rest_wq, &rq->rest);
}

static void rq_rest_work(struct work_struct *work)
{
	rq_flush(container_of(work, struct kwarp_rq, rest));
}

/*
 * Let the flush take all that is posted now. A user's later posts ring the doorbell, because the
 * rings keep KWARP_RING_NEED_WAKEUP: otherwise the flush of a ring whose producer index moves on
 * would go on without an end, and without a system call of the user.
 */
static void begin_flush(struct kwarp_sq *sq, struct kwarp_rq *rq)
{
	unsigned long flags;

	if (!sq->kernel) {
		ring_wakeup(sq->ctl, true);
		if (rq->size)
			ring_wakeup(rq->ctl, true);
		/* The flush sees a post that missed the flag, or the post sees the flag. */
		smp_mb();
	}
	spin_lock_irqsave(&sq->lock, flags);
	sq->flush_to = sq->window.fetched + sq_posted(sq);
	spin_unlock_irqrestore(&sq->lock, flags);
	if (!rq->size)
		return;
	spin_lock_irqsave(&rq->lock, flags);
	rq->flush_to = rq->fetched + (rq->discard ? 0 : rq_posted(rq));
	spin_unlock_irqrestore(&rq->lock, flags);
}

/**
 * kwarp_wq_flush_later() - let workers do what kwarp_wq_flush() does
 * @sq:		send queue of a kernel consumer's queue pair in ERR
 * @rq:		its receive queue
 *
 * Context: any.
 */
void kwarp_wq_flush_later(struct kwarp_sq *sq, struct kwarp_rq *rq)
{
	begin_flush(sq, rq);
	queue_work(kwarp_rest_wq, &sq->rest);
	if (rq->size)
		queue_work(kwarp_rest_wq, &rq->rest);
}

/**
 * kwarp_wq_flush() - complete all posted requests with KWARP_WC_WR_FLUSH_ERR
 * @sq:		send queue of a queue pair in ERR
 * @rq:		its receive queue
 *
 * After KWARP_WQ_PIECE requests of a queue a worker continues. A receive that a message is
 * filling has been taken already: kwarp_rx_stop() flushes it. Context: any.
 */
void kwarp_wq_flush(struct kwarp_sq *sq, struct kwarp_rq *rq)
{
	begin_flush(sq, rq);
	sq_reap(sq);
	rq_flush(rq);
}

/**
 * kwarp_wq_flush_here() - do what kwarp_wq_flush() does, without a worker
 * @sq:		send queue of a user's queue pair in ERR
 * @rq:		its receive queue
 *
 * For a doorbell, so that the time is that of the program. Context: process, may sleep.
 */
void kwarp_wq_flush_here(struct kwarp_sq *sq, struct kwarp_rq *rq)
{
	might_sleep();
	begin_flush(sq, rq);
	while (!sq_deliver(sq))
		cond_resched();
	while (rq->size && !rq_deliver_flushed(rq))
		cond_resched();
}

void kwarp_wq_init(struct kwarp_sq *sq, struct kwarp_rq *rq)
{
	spin_lock_init(&sq->lock);
	spin_lock_init(&rq->lock);
	INIT_WORK(&sq->rest, sq_rest_work);
	INIT_WORK(&rq->rest, rq_rest_work);
}

/**
 * kwarp_wq_discard() - deliver no completions from now on, except of receives that are taken
 * @sq:		send queue of a queue pair that is being destroyed or reset
 * @rq:		its receive queue
 *
 * The flush must not fill a CQ that other queue pairs use: a program does not count its
 * completions, not even those of unsignaled requests. Until kwarp_wq_reset(). Context: any.
 */
void kwarp_wq_discard(struct kwarp_sq *sq, struct kwarp_rq *rq)
{
	unsigned long flags;

	spin_lock_irqsave(&sq->lock, flags);
	sq->discard = true;
	spin_unlock_irqrestore(&sq->lock, flags);
	spin_lock_irqsave(&rq->lock, flags);
	rq->discard = true;
	rq->flush_to = rq->fetched;
	spin_unlock_irqrestore(&rq->lock, flags);
}

/**
 * kwarp_wq_stop() - discard the completions that workers have not delivered yet
 * @sq:		send queue of a queue pair in ERR, or without other users
 * @rq:		its receive queue
 *
 * Context: process, may sleep.
 */
void kwarp_wq_stop(struct kwarp_sq *sq, struct kwarp_rq *rq)
{
	might_sleep();
	cancel_work_sync(&sq->rest);
	cancel_work_sync(&rq->rest);
}

/*
 * Empty both queues for RESET and set the indices to zero. No connection is attached.
 * Context: process, may sleep.
 */
void kwarp_wq_reset(struct kwarp_sq *sq, struct kwarp_rq *rq)
{
	unsigned long flags;

	kwarp_wq_stop(sq, rq);
	spin_lock_irqsave(&sq->lock, flags);
	kwarp_window_reset(&sq->window);
	sq->prod = 0;
	sq->flush_to = 0;
	sq->discard = false;
	WRITE_ONCE(sq->vendor_err, 0);
	memset(sq->ctl, 0, sizeof(*sq->ctl));
	spin_unlock_irqrestore(&sq->lock, flags);

	spin_lock_irqsave(&rq->lock, flags);
	rq->fetched = 0;
	rq->prod = 0;
	rq->flush_to = 0;
	rq->discard = false;
	WRITE_ONCE(rq->vendor_err, 0);
	if (rq->ctl)
		memset(rq->ctl, 0, sizeof(*rq->ctl));
	spin_unlock_irqrestore(&rq->lock, flags);
}
