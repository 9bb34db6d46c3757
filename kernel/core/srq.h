/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared receive queues: one queue of receives for several QPs. */
#ifndef _KWARP_CORE_SRQ_H
#define _KWARP_CORE_SRQ_H

#include "core/wq.h"

/* Elements that move to another ring in one hold of the lock. */
#define KWARP_SRQ_MOVE_RUN	256U

/**
 * struct kwarp_srq - a shared receive queue
 * @ibsrq:	the core's part
 * @dev:	device
 * @rq:		the queue; its lock protects everything here, also against a resize
 * @mutex:	serialises modify_srq; sleeping
 * @limit:	if not 0: an event is due when fewer elements are left; 0: not armed
 * @told:	an event was raised, and @told_at is the value of rq.fetched then
 * @told_at:	see above
 * @id:		number shown to users
 * @mem:	memory of the control block and the ring
 * @mmap:	mmap entry of a user's queue, otherwise NULL
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

int kwarp_srq_fetch(struct kwarp_srq *srq, struct kwarp_rqe_copy *wqe);
void kwarp_srq_arm(struct kwarp_srq *srq, u32 limit);
int kwarp_srq_move(struct kwarp_srq *srq, void *mem, u32 size);

#endif /* _KWARP_CORE_SRQ_H */
