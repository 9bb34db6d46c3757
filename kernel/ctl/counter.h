/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Counters of single queue pairs, for `rdma statistic qp`. */
#ifndef _KWARP_CTL_COUNTER_H
#define _KWARP_CTL_COUNTER_H

#include "../kwarp.h"

struct ib_qp;
struct rdma_counter;
struct rdma_hw_stats;

/* Their names are those of the port (stats.c), as the core wants it. */
struct rdma_hw_stats *kwarp_counter_alloc_stats(struct rdma_counter *counter);
int kwarp_counter_dealloc(struct rdma_counter *counter);
int kwarp_counter_update_stats(struct rdma_counter *counter);

/* kwarp_counter_bind(), kwarp_counter_unbind() are declared in compat.h. */

/**
 * kwarp_counter_bound() - what queue pairs' counters hold of the device's sums
 * @dev:	device
 * @sum:	gets what the core will add again by itself
 *
 * The core shows a port's counter as the port's own value plus those of all
 * queue pairs' counters, past and present: hardware counts either here or there.
 * Context: process.
 */
void kwarp_counter_bound(struct kwarp_device *dev,
			 u64 sum[KWARP_STAT_COUNT]);

#endif /* _KWARP_CTL_COUNTER_H */
