/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Per-device counters, shown by `rdma statistic`; names in stats.c. */
#ifndef _KWARP_CTL_STATS_H
#define _KWARP_CTL_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

enum kwarp_counter {
	KWARP_STAT_TX_FPDUS,
	KWARP_STAT_TX_OCTETS,
	KWARP_STAT_TX_MARKERS,
	KWARP_STAT_RX_FPDUS,
	KWARP_STAT_RX_OCTETS,
	KWARP_STAT_RX_MARKERS,
	KWARP_STAT_TX_TERMINATE,
	KWARP_STAT_RX_TERMINATE,
	KWARP_STAT_CRC_ERR,
	KWARP_STAT_MARKER_ERR,
	KWARP_STAT_LENGTH_ERR,
	KWARP_STAT_LLP_LOST,		/* stream ended inside an FPDU, or reset */
	KWARP_STAT_DDP_TAGGED_ERR,
	KWARP_STAT_DDP_UNTAGGED_ERR,
	KWARP_STAT_RDMAP_PROT_ERR,	/* remote protection */
	KWARP_STAT_RDMAP_OP_ERR,	/* remote operation */
	KWARP_STAT_LOCAL_ERR,		/* our consumer's work request was wrong */
	KWARP_STAT_CONNECT,
	KWARP_STAT_ACCEPT,
	KWARP_STAT_REJECT_TX,
	KWARP_STAT_REJECT_RX,
	KWARP_STAT_STARTUP_KEY_ERR,
	KWARP_STAT_STARTUP_REV_ERR,
	KWARP_STAT_STARTUP_LEN_ERR,
	KWARP_STAT_STARTUP_TIMEOUT,
	KWARP_STAT_STARTUP_CLOSED,	/* closed or reset before set-up was done */
	KWARP_STAT_STARTUP_NEGOTIATION,	/* IRD/ORD or RTR mismatch */
	KWARP_STAT_BACKLOG_DROP,
	KWARP_STAT_FALLBACK,		/* rev 2 refused, rev 1 tried */
	KWARP_STAT_CQ_OVERFLOW,
	KWARP_STAT_COUNT
};

struct kwarp_stats {
	u64 v[KWARP_STAT_COUNT];
};

/* Context: any. @dev is a struct kwarp_device pointer. */
#define kwarp_count_n(dev, id, n)	this_cpu_add((dev)->stats->v[id], (n))
#define kwarp_count(dev, id)		kwarp_count_n(dev, id, 1)

struct ib_device;
struct rdma_hw_stats;

struct rdma_hw_stats *kwarp_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port);
int kwarp_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index);

#endif /* _KWARP_CTL_STATS_H */
