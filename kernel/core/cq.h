/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The engines' interface to completion queues. */
#ifndef _KWARP_CORE_CQ_H
#define _KWARP_CORE_CQ_H

#include <linux/hrtimer.h>
#include <rdma/kwarp-abi.h>

#include "core/cq_marks.h"
#include "kwarp.h"

/* Elements copied per hold of the lock when a ring moves. */
#define KWARP_CQ_MOVE_RUN	256U

/**
 * struct kwarp_pause - queue pairs with the same send CQ whose engines are paused
 * @timer:	softirq; looks at the rings; queued, or running, while there are queue pairs
 * @lock:	disables softirqs, a leaf of the lock order; protects the fields below
 * @qps:	the queue pairs, by pause_link
 * @num:	their number
 * @period:	of @timer, ns; longer with many queue pairs
 * @active:	time when a new pause last began; ns, CLOCK_MONOTONIC
 */
struct kwarp_pause {
	struct hrtimer timer;
	spinlock_t lock;	/* see above */
	struct list_head qps;
	u32 num;
	u64 period;
	u64 active;
};

/**
 * struct kwarp_cq - a completion queue
 * @ibcq:	RDMA core's part
 * @dev:	device
 * @id:		number shown to users
 * @timestamps:	elements carry the time of their creation
 * @clock_offset: CLOCK_MONOTONIC of the creator's time namespace minus that of the machine, ns
 * @timer:	ends the delay of a due event; started while @due only
 * @mutex:	serialises resize_cq, protects @mem and @mmap; sleeping
 * @mem:	memory of @ctl and @ring
 * @mmap:	mmap entry of a user's CQ; always NULL for a kernel CQ
 * @lock:	irqsave, a leaf of the lock order; protects the fields below
 * @ctl:	control block, shared with user space for a user's CQ
 * @ring:	@size elements after @ctl; of a user's CQ the kernel reads them only to
 *		copy them to another ring
 * @size:	elements, power of two
 * @prod:	producer index; @ctl->kern_idx is a copy
 * @wrapped:	@size elements or more have been pushed
 * @cons:	consumer index of a kernel CQ (a user's is @ctl->user_idx)
 * @arm:	enum kwarp_cq_arm of a kernel CQ (a user's is @ctl->arm)
 * @marks:	last event and last solicited element; @ctl->event_idx is a copy of
 *		@marks.event
 * @since_event: completions since the last event
 * @mod_count:	moderation: completions per event; 0: no limit
 * @mod_period:	moderation: microseconds for which a due event is delayed; 0: no limit
 * @due:	a due event is being delayed
 * @overflow:	completions were lost: nothing more is added
 * @napi_id:	NAPI instance that polls of an empty user's CQ poll, or 0 (cq_napi.c); written
 *		under the lock
 * @idle_since:	time when a send engine that completes to the CQ last went idle during a burst;
 *		ns, CLOCK_MONOTONIC; READ_ONCE() and WRITE_ONCE() (rdmap/coalesce.c)
 * @pause:	doorbell coalescing of the QPs whose send CQ this is; unused in a kernel CQ
 * @context:	the user's device context; NULL for a kernel CQ
 * @cqs_node:	entry of @context->cqs
 */
struct kwarp_cq {
	struct ib_cq ibcq;
	struct kwarp_device *dev;
	struct mutex mutex;	/* see above */
	spinlock_t lock;	/* see above */
	struct kwarp_ring_ctl *ctl;
	struct kwarp_cqe *ring;
	u32 size;
	u32 prod;
	u32 cons;
	u32 arm;
	struct kwarp_cq_marks marks;
	u32 since_event;
	u16 mod_count;
	u16 mod_period;
	bool due;
	bool overflow;
	bool wrapped;
	bool timestamps;
	u32 napi_id;
	u64 idle_since;
	struct kwarp_pause pause;
	struct kwarp_ucontext *context;
	struct list_head cqs_node;
	u32 id;
	s64 clock_offset;
	struct hrtimer timer;
	void *mem;
	struct rdma_user_mmap_entry *mmap;
};

static inline struct kwarp_cq *to_kcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct kwarp_cq, ibcq);
}

/* How soon a consumer wants to see a completion, in ascending order. */
enum kwarp_urgency {
	KWARP_UNSOLICITED,
	KWARP_SOLICITED,	/* the peer has requested an event */
	KWARP_URGENT,		/* an error: do not delay the event */
};

void kwarp_cq_push(struct kwarp_cq *cq, const struct kwarp_cqe *cqe, u32 nr,
		   enum kwarp_urgency urgency);

/*
 * Have a worker fail the queue pairs whose CQ has overflowed. It looks at all queue pairs of the
 * device, so it does not run right after another pass. Context: any.
 */
static inline void kwarp_cq_fail_users(struct kwarp_device *dev)
{
	queue_delayed_work(kwarp_rest_wq, &dev->overflow_work, msecs_to_jiffies(10));
}

int kwarp_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int kwarp_cq_arm(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int kwarp_cq_moderate(struct ib_cq *ibcq, u16 count, u16 period);
void kwarp_cq_forget_qp(struct kwarp_cq *cq, u32 qpn);
int kwarp_cq_move(struct kwarp_cq *cq, void *mem, u32 size);

void kwarp_cq_napi_init(struct kwarp_cq *cq, struct kwarp_ucontext *context);
void kwarp_cq_napi_exit(struct kwarp_cq *cq);
void kwarp_cq_set_napi(struct kwarp_cq *cq, u32 id);
void kwarp_cq_poll_napi(struct kwarp_cq *cq);

/* The engine received data for the CQ from this NAPI instance; 0: unknown, or no policy poll_us. */
static inline void kwarp_cq_follow_napi(struct kwarp_cq *cq, u32 id)
{
	if (unlikely(READ_ONCE(cq->napi_id) != id))
		kwarp_cq_set_napi(cq, id);
}

#endif /* _KWARP_CORE_CQ_H */
