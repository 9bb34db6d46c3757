/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared receive queues: one queue of receives for several QPs. */
#ifndef _KWARP_CORE_SRQ_H
#define _KWARP_CORE_SRQ_H

#include "core/wq.h"

/* Elements copied per hold of the lock when a ring moves. */
#define KWARP_SRQ_MOVE_RUN	256U

/**
 * struct kwarp_srq - a shared receive queue
 * @ibsrq:	RDMA core's part
 * @dev:	device
 * @id:		number shown to users
 * @mutex:	serialises modify_srq, protects @mem and @mmap; sleeping
 * @mem:	memory of the control block and the ring
 * @mmap:	mmap entry of a user's queue, otherwise NULL
 * @rq:		the queue; rq.lock protects the fields below and, unlike in a QP, the
 *		pointers to the ring, which modify_srq changes
 * @limit:	raise an event when fewer elements are left; 0: not armed
 * @limit_raised: an event has been raised
 * @limit_raised_at: value of rq.fetched at the last event
 */
struct kwarp_srq {
	struct ib_srq ibsrq;
	struct kwarp_device *dev;
	u32 id;
	struct mutex mutex;	/* see above */
	void *mem;
	struct rdma_user_mmap_entry *mmap;
	struct kwarp_rq rq;
	u32 limit;
	bool limit_raised;
	u32 limit_raised_at;
};

static inline struct kwarp_srq *to_ksrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct kwarp_srq, ibsrq);
}

int kwarp_srq_fetch(struct kwarp_srq *srq, struct kwarp_rqe_copy *wqe);
void kwarp_srq_arm(struct kwarp_srq *srq, u32 limit);
int kwarp_srq_move(struct kwarp_srq *srq, void *mem, u32 size);

#endif /* _KWARP_CORE_SRQ_H */
