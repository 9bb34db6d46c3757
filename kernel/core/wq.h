/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Send and receive queues: rings, slots, in-order completion, flush. The queues do not know
 * their queue pair, which sets what may be posted and taken (enum kwarp_wq_mode), the CQ,
 * and the QP number in completions.
 */
#ifndef _KWARP_CORE_WQ_H
#define _KWARP_CORE_WQ_H

#include <rdma/kwarp-abi.h>
#include "core/cq.h"
#include "core/wr_op.h"
#include "kwarp.h"
#include "proto/sq_window.h"

/* Treatment of requests, as the queue pair's state requires. */
enum kwarp_wq_mode {
	KWARP_WQ_CLOSED,	/* none may be posted */
	KWARP_WQ_HELD,		/* posted requests wait */
	KWARP_WQ_OPEN,		/* posted requests are processed */
	KWARP_WQ_ENDING,	/* (send queue) those before @last are processed, others wait */
	KWARP_WQ_FLUSHED,	/* posted requests are flushed: error states */
};

/**
 * struct kwarp_sqe_copy - the single copy of an SQ element, used for processing
 * @hdr:	header; @hdr.inline_len is the length of the payload in any form, @hdr.arg is valid
 *		for atomic and local operations
 * @sge:	hdr.num_sge elements; their addresses and keys have not been validated
 * @data:	KWARP_WQE_INLINE: hdr.inline_len bytes of payload
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
 * @cq:		CQ for completions; constant, like the following up to @sig_all
 * @qpn:	number of the queue pair
 * @kernel:	the queue belongs to a kernel consumer
 * @ctl:	control block, shared with user space for a user's queue
 * @ring:	elements, @stride apart, shared likewise
 * @stride:	bytes between elements
 * @max_sge:	granted at creation
 * @max_inline:	granted at creation
 * @sig_all:	every element is signalled
 * @ops:	mask of BIT(enum kwarp_opcode) that may be posted; set before @mode is OPEN
 * @vendor_err:	for completions with an error: the error as in the Terminate
 * @rest:	completes elements beyond KWARP_WQ_PIECE
 * @lock:	irqsave; protects the fields below and, with the QP's other locks, its
 *		state. Until @mode is FLUSHED, the socket lock instead protects
 *		@window.fetched, @window.built and the slots that are not DONE
 * @mode:	enum kwarp_wq_mode; for user space @ctl->closed tells whether it is CLOSED
 * @prod:	producer index of a kernel QP (a user's is @ctl->user_idx)
 * @window:	the elements that were fetched and not delivered; @window.slots and
 *		@window.size are constant; @ctl->kern_idx is a copy of @window.done
 * @last:	KWARP_WQ_ENDING: the elements from this one on are not processed
 * @flush_to:	a flush ends at this element
 * @delivering:	a context delivers completions, also those that become due meanwhile
 * @discard:	the QP is being destroyed or reset: elements complete without a completion
 */
struct kwarp_sq {
	spinlock_t lock;	/* see above */
	struct kwarp_cq *cq;
	u32 qpn;
	bool kernel;
	u8 mode;
	u16 vendor_err;
	u32 ops;
	struct kwarp_ring_ctl *ctl;
	void *ring;
	u32 stride;
	u16 max_sge;
	u16 max_inline;
	bool sig_all;
	struct kwarp_sq_window window;
	u32 prod;
	u32 last;
	u32 flush_to;
	bool delivering;
	bool discard;
	struct work_struct rest;
};

/**
 * struct kwarp_rq - receive queue
 * @cq:		CQ for completions, NULL for a shared queue; constant, like the
 *		following up to @user, except that a resize changes @ctl, @ring and @size
 *		of a shared queue under @lock
 * @qpn:	number of the queue pair
 * @ctl:	control block
 * @ring:	elements, @stride apart
 * @stride:	bytes between elements
 * @size:	elements, power of two; 0: the QP has no queue of its own
 * @max_sge:	granted at creation
 * @user:	@ctl and @ring are shared with user space
 * @vendor_err:	as in a send queue
 * @rest:	flushes elements beyond KWARP_WQ_PIECE
 * @lock:	irqsave; protects the fields below. Until @mode is FLUSHED, the socket lock
 *		instead protects @fetched of a QP's own queue
 * @mode:	enum kwarp_wq_mode; a shared queue is always OPEN
 * @prod:	producer index of a kernel consumer (a user's is @ctl->user_idx)
 * @fetched:	elements before this index have been copied out; @ctl->kern_idx is a copy
 * @flush_to:	a flush ends at this element
 * @flushing:	a context is flushing
 * @discard:	the QP is being destroyed or reset: nothing is flushed
 */
struct kwarp_rq {
	spinlock_t lock;	/* see above */
	struct kwarp_cq *cq;
	u32 qpn;
	u16 vendor_err;
	u8 mode;
	struct kwarp_ring_ctl *ctl;
	void *ring;
	u32 stride;
	u32 size;
	u16 max_sge;
	bool user;
	u32 fetched;
	u32 prod;
	u32 flush_to;
	bool flushing;
	bool discard;
	struct work_struct rest;
};

/*
 * Maximum number of elements of one queue that one context completes, because that may be
 * a softirq with the socket lock held. A worker completes the rest, in equal portions.
 */
#define KWARP_WQ_PIECE	256

/* Call once per queue pair, before any other function. */
void kwarp_wq_init(struct kwarp_sq *sq, struct kwarp_rq *rq);
void kwarp_wq_discard(struct kwarp_sq *sq, struct kwarp_rq *rq);
void kwarp_wq_stop(struct kwarp_sq *sq, struct kwarp_rq *rq);

/* Return: bytes of @num elements, mostly one. */
static __always_inline u64 kwarp_sge_total(const struct kwarp_sge *sge, u32 num)
{
	u64 sum = num ? sge[0].length : 0;
	u32 i;

	for (i = 1; i < num; i++)
		sum += sge[i].length;
	return sum;
}

static inline void *kwarp_sq_elem(const struct kwarp_sq *sq, u32 idx)
{
	return sq->ring + (size_t)(idx & (sq->window.size - 1)) * sq->stride;
}

static inline void *kwarp_rq_elem(const struct kwarp_rq *rq, u32 idx)
{
	return rq->ring + (size_t)(idx & (rq->size - 1)) * rq->stride;
}

int kwarp_sq_fetch(struct kwarp_sq *sq, struct kwarp_sqe_copy *wqe, u32 *slot);

/* Are elements posted that have not been fetched? Context: as for sq_posted(). */
bool kwarp_sq_pending(const struct kwarp_sq *sq);
bool kwarp_sq_prepare_sleep(struct kwarp_sq *sq);
bool kwarp_sq_prepare_pause(struct kwarp_sq *sq);
bool kwarp_sq_bursts(const struct kwarp_sq *sq);
void kwarp_sq_end(struct kwarp_sq *sq);

/* The engine is running: posts need no doorbell from now on. Socket lock held. */
void kwarp_sq_cancel_sleep(struct kwarp_sq *sq);
void kwarp_sq_complete(struct kwarp_sq *sq, u32 slot, u8 status);
void kwarp_sq_set_flush_status(struct kwarp_sq *sq, u8 status);

/* The payload of @slot is copied: kwarp_sq_complete_built() may report it. */
void kwarp_sq_mark_built(struct kwarp_sq *sq, u32 slot);

/* Complete all elements in state BUILT with success. Socket lock held. */
void kwarp_sq_complete_built(struct kwarp_sq *sq);
void kwarp_sq_ack(struct kwarp_sq *sq, u32 end);
void kwarp_sq_peer_terminated(struct kwarp_sq *sq, u32 opcodes, u8 status);
bool kwarp_sq_drained(const struct kwarp_sq *sq);

/* Return: elements posted and not taken. @rq->lock held. */
u32 kwarp_rq_posted(const struct kwarp_rq *rq);
int kwarp_rq_take(struct kwarp_rq *rq, struct kwarp_rqe_copy *wqe);
bool kwarp_rq_peek(const struct kwarp_rq *rq, u32 ahead,
		   struct kwarp_rqe_copy *wqe);
void kwarp_rq_complete(const struct kwarp_rq *rq, struct kwarp_cqe *cqe);
void kwarp_wq_flush(struct kwarp_sq *sq, struct kwarp_rq *rq);
void kwarp_wq_flush_here(struct kwarp_sq *sq, struct kwarp_rq *rq);
void kwarp_wq_flush_later(struct kwarp_sq *sq, struct kwarp_rq *rq);
void kwarp_wq_reset(struct kwarp_sq *sq, struct kwarp_rq *rq);

#endif /* _KWARP_CORE_WQ_H */
