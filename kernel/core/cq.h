/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Completion queues as the engines see them. */
#ifndef _KWARP_CORE_CQ_H
#define _KWARP_CORE_CQ_H

#include <linux/hrtimer.h>
#include <rdma/kwarp-abi.h>

#include "../kwarp.h"
#include "cq_marks.h"

struct kwarp_qp;

/**
 * struct kwarp_cq - a completion queue
 * @ibcq:	core's part
 * @dev:	device
 * @mutex:	resize_cq; sleeping
 * @lock:	protects all below; irqsave; leaf of the lock order
 * @ctl:	control block, shared with user space for a user's CQ
 * @ring:	@size elements behind @ctl, never read by the kernel for a user's CQ
 * @size:	elements, power of two
 * @prod:	producer index; @ctl->kern_idx is its copy
 * @cons:	consumer index of a kernel CQ (a user's is @ctl->user_idx)
 * @arm:	enum kwarp_cq_arm of a kernel CQ (a user's is @ctl->arm)
 * @marks:	last event and last solicited element; @ctl->event_idx is a copy of
 *		the former
 * @untold:	completions since the last event
 * @mod_count:	moderation: completions for an event; 0: no matter how many
 * @mod_period:	moderation: microseconds for which an event that is due is held
 *		back; 0: not by time
 * @due:	an event is held back
 * @timer:	ends that; runs only while @due
 * @overflow:	elements were lost: dead
 * @timestamps:	elements tell when they were made; constant
 * @id:		number for humans
 * @mem:	memory of @ctl and @ring
 * @mmap:	entry of a user's CQ, else NULL
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
	u32 untold;
	u16 mod_count;
	u16 mod_period;
	bool due;
	bool overflow;
	bool timestamps;
	u32 id;
	struct hrtimer timer;
	void *mem;
	struct rdma_user_mmap_entry *mmap;
};

static inline struct kwarp_cq *to_kcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct kwarp_cq, ibcq);
}

/**
 * kwarp_cq_push() - add completions and notify if the CQ is armed for them
 * @cq:		completion queue
 * @cqe:	the completions, copied
 * @nr:		how many
 * @solicited:	count for an arm of KWARP_CQ_ARM_SOLICITED (errors always do)
 *
 * On overflow the others are lost, the CQ is marked dead and
 * IB_EVENT_CQ_ERR is raised once; only this CQ's users are affected
 * (RFC 5042 6.4.3.2). Context: any, takes @cq->lock.
 */
void kwarp_cq_push(struct kwarp_cq *cq, const struct kwarp_cqe *cqe, u32 nr,
		   bool solicited);

/**
 * kwarp_cq_poll() - ib_poll_cq of kernel consumers
 * @ibcq:	completion queue
 * @num:	most completions wanted
 * @wc:		room for them
 *
 * Return: completions written to @wc. Context: any.
 */
int kwarp_cq_poll(struct ib_cq *ibcq, int num, struct ib_wc *wc);

/**
 * kwarp_cq_arm() - ib_req_notify_cq, for user consumers on a CQ with elements
 * @ibcq:	completion queue
 * @flags:	which completion, and whether those missed count
 *
 * A user's CQ fires at once if elements of that kind wait that no event has told
 * of: as with hardware, which compares with the consumer index, a program that
 * arms late (or for the first time) misses nothing.
 *
 * Return: 0, or 1 if IB_CQ_REPORT_MISSED_EVENTS was asked and elements wait.
 * Context: any.
 */
int kwarp_cq_arm(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);

/**
 * kwarp_cq_moderate() - modify_cq: fewer events
 * @ibcq:	completion queue
 * @count:	completions for which one event is enough; 0: any number
 * @period:	microseconds for which an event is held back; 0: for ever
 *
 * Whichever is first; both 0 is no moderation, what a CQ is made with. With a
 * @count alone an event comes with the completion that makes it full, and not
 * before. A completion with an error is told at once, and a dead CQ is.
 *
 * Return: 0. Context: any.
 */
int kwarp_cq_moderate(struct ib_cq *ibcq, u16 count, u16 period);

/**
 * kwarp_cq_forget_qp() - a kernel QP goes: its completions must not be polled
 * @cq:	completion queue
 * @qp:	QP that is being destroyed
 */
void kwarp_cq_forget_qp(struct kwarp_cq *cq, struct kwarp_qp *qp);

/**
 * kwarp_cq_move() - go on in other ring memory
 * @cq:		completion queue
 * @mem:	zeroed: control block and @size elements behind it
 * @size:	power of two
 *
 * Elements that were not polled are copied with their indices, and the arming
 * goes along: nothing is lost and no event comes twice.
 *
 * Return: 0, or -EINVAL if there are more of them than @size. Context: any.
 */
int kwarp_cq_move(struct kwarp_cq *cq, void *mem, u32 size);

#endif /* _KWARP_CORE_CQ_H */
