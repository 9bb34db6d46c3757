/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counters of single queue pairs, for `rdma statistic qp`. */
#ifndef _KWARP_VERBS_COUNTER_H
#define _KWARP_VERBS_COUNTER_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>

#include "kwarp.h"

struct kwarp_qp;
struct rdma_hw_stats;

/* The core needs a driver's struct for allocation; this one adds no fields. */
struct kwarp_rdma_counter {
	struct rdma_counter core;
};

void kwarp_counter_init(struct rdma_counter *counter);

/* Uses the names of the port's counters (stats.c), as the core requires. */
struct rdma_hw_stats *kwarp_counter_alloc_stats(struct rdma_counter *counter);
int kwarp_counter_dealloc(struct rdma_counter *counter);
int kwarp_counter_update_stats(struct rdma_counter *counter);
int kwarp_counter_bind(struct rdma_counter *counter, struct ib_qp *ibqp, u32 port);
int kwarp_counter_unbind(struct ib_qp *ibqp, u32 port);
int kwarp_counter_leave(struct kwarp_qp *qp);
void kwarp_counter_bound(struct kwarp_device *dev,
			 u64 sum[KWARP_STAT_COUNT]);

#endif /* _KWARP_VERBS_COUNTER_H */
