/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Send and receive queues: rings, slots, in-order completion, flush. They do not know the
 * queue pair: it sets what may be posted and taken (enum kwarp_wq_gate), and the
 * destination and number of completions.
 */
#ifndef _KWARP_CORE_WQ_H
#define _KWARP_CORE_WQ_H

#include <rdma/kwarp-abi.h>
#include "core/wr_op.h"
#include "kwarp.h"

struct kwarp_cq;

/* What the queue pair's state permits. */
enum kwarp_wq_gate {
	KWARP_WQ_CLOSED,	/* nothing may be posted */
	KWARP_WQ_HELD,		/* posted requests wait */
	KWARP_WQ_OPEN,		/* posted requests are processed */
	KWARP_WQ_FLUSHED,	/* posted requests are flushed: the queue pair is in an
				 * error state
				 */
};

enum kwarp_slot_state {
	KWARP_SLOT_PENDING,	/* fetched, in progress */
	KWARP_SLOT_BUILT,	/* its payload is copied, success not reported yet */
	KWARP_SLOT_DONE,	/* completed, perhaps after one that is not */
};

/**
 * struct kwarp_slot - the kernel's record of a fetched SQ element
 * @wr_id:	the consumer's tag
 * @len:	bytes, for the completion
 * @opcode:	enum kwarp_opcode
 * @signaled:	a completion is requested on success
 * @state:	enum kwarp_slot_state
 * @status:	enum kwarp_wc_status once done
 */
struct kwarp_slot {
	u64 wr_id;
	u32 len;
	u8 opcode;
	u8 signaled : 1;
	u8 state;
	u8 status;
};

/**
 * struct kwarp_sqe_copy - the single copy of an SQ element, used for processing
 * @hdr:	header
 * @sge:	hdr.num_sge elements; only their number has been validated
 * @data:	or hdr.inline_len bytes, in a kernel copy
 *
 * An engine's copy has only as much memory as the ring's stride, the maximum size of an
 * element of the queue.
 */
struct kwarp_sqe_copy {
	struct kwarp_sqe hdr;
	union {
		struct kwarp_sge sge[KWARP_MAX_SGE];
		u8 data[KWARP_MAX_INLINE];
	};
};

struct kwarp_rqe_copy {
	struct kwarp_rqe hdr;
	struct kwarp_sge sge[KWARP_MAX_SGE];
};

/**
 * struct kwarp_sq - send queue
 * @lock:	protects the indices, @slots, @gate and, with the socket lock, the state
 *		of the queue pair
 * @cq:		CQ for completions; constant
 * @qpn:	number of the queue pair; constant
 * @kernel:	belongs to a kernel consumer; constant
 * @ctl:	control block (user: shared)
 * @ring:	elements, @stride apart (user: shared)
 * @stride:	bytes between elements
 * @size:	elements, power of two
 * @max_sge:	granted at creation
 * @max_inline:	granted at creation
 * @sig_all:	every element is signalled
 * @slots:	@size entries, kernel memory
 * @done:	elements before it are completed; @ctl->kern_idx is a copy
 * @fetched:	elements before it were copied out
 * @built:	elements before it are not in state BUILT
 * @reaping:	another context delivers completions and handles the rest
 * @blame:	status for the oldest element in the next flush, or 0
 * @gate:	enum kwarp_wq_gate; @ctl->closed is a copy of one of its values
 * @ops:	mask of BIT(enum kwarp_opcode) that may be posted; constant while @gate is
 *		OPEN
 * @vendor_err:	for completions with an error: the error as in the Terminate
 * @prod:	producer index of a kernel QP (a user's is @ctl->user_idx)
 * @rest:	delivers what one context left over: KWARP_WQ_PIECE
 */
struct kwarp_sq {
	spinlock_t lock;	/* see above */
	struct kwarp_cq *cq;
	u32 qpn;
	bool kernel;
	u8 gate;
	u16 vendor_err;
	u32 ops;
	struct kwarp_ring_ctl *ctl;
	void *ring;
	u32 stride;
	u32 size;
	u16 max_sge;
	u16 max_inline;
	bool sig_all;
	struct kwarp_slot *slots;
	u32 done;
	u32 fetched;
	u32 built;
	u32 prod;
	bool reaping;
	u8 blame;
	struct work_struct rest;
};

/**
 * struct kwarp_rq - receive queue
 * @lock:	protects the indices and @gate
 * @cq:		CQ for completions, NULL for a shared queue; constant
 * @qpn:	number of the queue pair; constant
 * @ctl:	control block (user: shared)
 * @ring:	elements, @stride apart (user: shared)
 * @stride:	bytes between elements
 * @size:	elements, power of two, or zero
 * @max_sge:	granted at creation
 * @user:	@ctl and @ring are shared with user space
 * @fetched:	elements before it were copied out; @ctl->kern_idx is a copy
 * @prod:	producer index of a kernel consumer (a user's is @ctl->user_idx)
 * @reaping:	another context is flushing and handles the rest
 * @gate:	as in a send queue; a shared queue is always open
 * @vendor_err:	as in a send queue
 * @rest:	as in a send queue, for the flush
 */
struct kwarp_rq {
	spinlock_t lock;	/* see above */
	struct kwarp_cq *cq;
	u32 qpn;
	u16 vendor_err;
	u8 gate;
	struct kwarp_ring_ctl *ctl;
	void *ring;
	u32 stride;
	u32 size;
	u16 max_sge;
	bool user;
	u32 fetched;
	u32 prod;
	bool reaping;
	struct work_struct rest;
};

/*
 * Completions of one queue that one context delivers at most, since it may be a softirq, with
 * the socket lock. A worker delivers the rest, as many at a time.
 */
#define KWARP_WQ_PIECE	256

/* Once per queue pair, before anything else. */
void kwarp_wq_init(struct kwarp_sq *sq, struct kwarp_rq *rq);
void kwarp_wq_stop(struct kwarp_sq *sq, struct kwarp_rq *rq);

static inline void *kwarp_sq_elem(const struct kwarp_sq *sq, u32 idx)
{
	return sq->ring + (size_t)(idx & (sq->size - 1)) * sq->stride;
}

static inline void *kwarp_rq_elem(const struct kwarp_rq *rq, u32 idx)
{
	return rq->ring + (size_t)(idx & (rq->size - 1)) * rq->stride;
}

int kwarp_sq_fetch(struct kwarp_sq *sq, struct kwarp_sqe_copy *wqe, u32 *slot);

/* Would kwarp_sq_fetch() return an element? Socket lock held. */
bool kwarp_sq_pending(const struct kwarp_sq *sq);
bool kwarp_sq_idle(struct kwarp_sq *sq, bool linger);
bool kwarp_sq_bursts(const struct kwarp_sq *sq);

/* The engine is running: posts need no doorbell from here on. Socket lock held. */
void kwarp_sq_busy(struct kwarp_sq *sq);
void kwarp_sq_complete(struct kwarp_sq *sq, u32 slot, u8 status);
void kwarp_sq_blame(struct kwarp_sq *sq, u8 status);

/* The payload of @slot is copied: kwarp_sq_complete_built() may report it. */
void kwarp_sq_mark_built(struct kwarp_sq *sq, u32 slot);

/* Complete all marked elements with success. Socket lock held. */
void kwarp_sq_complete_built(struct kwarp_sq *sq);
void kwarp_sq_ack(struct kwarp_sq *sq, u32 end);
void kwarp_sq_refused(struct kwarp_sq *sq, u32 opcodes, u8 status);
bool kwarp_sq_drained(const struct kwarp_sq *sq);

/* Return: elements posted and not taken. @rq->lock held. */
u32 kwarp_rq_posted(const struct kwarp_rq *rq);
int kwarp_rq_take(struct kwarp_rq *rq, struct kwarp_rqe_copy *wqe);
bool kwarp_rq_peek(const struct kwarp_rq *rq, u32 ahead,
		   struct kwarp_rqe_copy *wqe);
void kwarp_rq_complete(const struct kwarp_rq *rq, struct kwarp_cqe *cqe,
		       bool solicited);
void kwarp_wq_flush(struct kwarp_sq *sq, struct kwarp_rq *rq);
void kwarp_wq_reset(struct kwarp_sq *sq, struct kwarp_rq *rq);

#endif /* _KWARP_CORE_WQ_H */
