/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared receive queues: one queue of receives for several QPs. */
#ifndef _KWARP_CORE_SRQ_H
#define _KWARP_CORE_SRQ_H

#include "wq.h"

/**
 * struct kwarp_srq - a shared receive queue
 * @ibsrq:	core's part
 * @dev:	device
 * @rq:		the queue; its lock protects all of this, also against a resize
 * @mutex:	modify_srq; sleeping
 * @limit:	armed: an event is due when fewer elements are left; 0: not armed
 * @told:	there was an event, and @told_at is what rq.fetched was then
 * @told_at:	see above
 * @id:		number for humans
 * @mem:	memory of the control block and the ring
 * @mmap:	entry of a user's queue, else NULL
 */
struct kwarp_srq {
	struct ib_srq ibsrq;
	struct kwarp_device *dev;
	struct kwarp_rq rq;
	struct mutex mutex;	/* see above */
	u32 limit;
	bool told;
	u32 told_at;
	u32 id;
	void *mem;
	struct rdma_user_mmap_entry *mmap;
};

static inline struct kwarp_srq *to_ksrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct kwarp_srq, ibsrq);
}

/**
 * kwarp_srq_fetch() - take the next element for a message
 * @srq:	shared receive queue
 * @wqe:	receives the copy
 *
 * Raises IB_EVENT_SRQ_LIMIT_REACHED if that leaves fewer than the armed limit,
 * which disarms it. Return: as kwarp_rq_fetch(). Context: any.
 */
int kwarp_srq_fetch(struct kwarp_srq *srq, struct kwarp_rqe_copy *wqe);

/**
 * kwarp_srq_arm() - set the limit
 * @srq:	shared receive queue
 * @limit:	elements, 0 disarms
 *
 * If fewer are there already, the event comes at once: nothing would take an
 * element out of an empty queue and so raise it later. If nothing was taken since
 * the last event, it has told of that: the next one comes when something is taken.
 * Context: any.
 */
void kwarp_srq_arm(struct kwarp_srq *srq, u32 limit);

/**
 * kwarp_srq_move() - go on in other ring memory
 * @srq:	shared receive queue
 * @mem:	zeroed: control block and @size elements behind it
 * @size:	power of two
 *
 * Elements that were not taken are copied with their indices.
 *
 * Return: 0, or -EINVAL if there are more of them than @size.
 */
int kwarp_srq_move(struct kwarp_srq *srq, void *mem, u32 size);

int kwarp_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

#endif /* _KWARP_CORE_SRQ_H */
