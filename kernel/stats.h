/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Per-device counters, shown by `rdma statistic`; names in verbs/stats.c. */
#ifndef _KWARP_STATS_H
#define _KWARP_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

enum kwarp_counter {
	KWARP_STAT_TX_FPDUS,
	KWARP_STAT_TX_OCTETS,
	KWARP_STAT_TX_MARKERS,
	KWARP_STAT_RX_FPDUS,
	KWARP_STAT_RX_OCTETS,
	KWARP_STAT_RX_MARKERS,
	KWARP_STAT_RX_CONTINUED,	/* passes that left data in the queue */
	KWARP_STAT_OOO_PLACED,		/* FPDUs placed early */
	KWARP_STAT_OOO_PLACED_OCTETS,	/* their payload */
	KWARP_STAT_OOO_DELIVERED,	/* delivered in their turn without a copy */
	KWARP_STAT_OOO_REPLACED,	/* placed early, and again in their turn */
	KWARP_STAT_TX_TERMINATE,
	KWARP_STAT_RX_TERMINATE,
	KWARP_STAT_LLP_LOST,		/* reset; FIN in a message or before a response */
	/* Errors by class: layer and type of the Terminate. */
	KWARP_STAT_MPA_ERR,
	KWARP_STAT_DDP_TAGGED_ERR,
	KWARP_STAT_DDP_UNTAGGED_ERR,
	KWARP_STAT_RDMAP_PROT_ERR,	/* remote protection */
	KWARP_STAT_RDMAP_OP_ERR,	/* remote operation */
	KWARP_STAT_LOCAL_ERR,		/* invalid work request of our consumer */
	/* The same errors by subject. */
	KWARP_STAT_CRC_ERR,
	KWARP_STAT_MARKER_ERR,
	KWARP_STAT_CHUNK_ERR,		/* SCTP: PPID, order, stream, length */
	KWARP_STAT_SSN_ERR,
	KWARP_STAT_SESSION_ERR,
	KWARP_STAT_LENGTH_ERR,		/* of an FPDU, or too short for its headers */
	KWARP_STAT_VERSION_ERR,
	KWARP_STAT_OPCODE_ERR,		/* or queue number */
	KWARP_STAT_SEQUENCE_ERR,	/* MSN, MO */
	KWARP_STAT_NO_BUFFER_ERR,
	KWARP_STAT_TOO_LONG_ERR,	/* message longer than its buffer */
	KWARP_STAT_STAG_ERR,
	KWARP_STAT_BOUNDS_ERR,
	KWARP_STAT_ACCESS_ERR,
	/* The counters above also exist for each QP. Connection setup: */
	KWARP_STAT_QP,
	KWARP_STAT_CONNECT = KWARP_STAT_QP,
	KWARP_STAT_ACCEPT,
	KWARP_STAT_REJECT_TX,
	KWARP_STAT_REJECT_RX,
	KWARP_STAT_RDMAC,		/* connections of revision 0 */
	KWARP_STAT_TX_RTR_FRAME,	/* Rtr frames of the 2007 proposal */
	KWARP_STAT_RX_RTR_FRAME,
	KWARP_STAT_STARTUP_KEY_ERR,	/* includes the next one */
	KWARP_STAT_STARTUP_ROLE_ERR,	/* a startup frame of another type */
	KWARP_STAT_STARTUP_REV_ERR,
	KWARP_STAT_STARTUP_LEN_ERR,
	KWARP_STAT_STARTUP_TIMEOUT,
	KWARP_STAT_STARTUP_CLOSED,	/* closed or reset before setup was complete */
	KWARP_STAT_STARTUP_NEGOTIATION,	/* the sum of the next three */
	KWARP_STAT_STARTUP_IRD_ERR,
	KWARP_STAT_STARTUP_RTR_ERR,
	KWARP_STAT_STARTUP_CRC_ERR,	/* required by policy, refused by the peer */
	KWARP_STAT_BACKLOG_DROP,
	KWARP_STAT_LINGER_DROP,		/* displaced by others that linger */
	KWARP_STAT_FALLBACK,		/* rev 2 refused, rev 1 tried */
	KWARP_STAT_PATH_FAILURE,	/* SCTP: one of several paths failed */
	KWARP_STAT_RDV_REFUSED,		/* no queue pair expects this peer */
	KWARP_STAT_RDV_ADDR_ERR,	/* not from the address of its GID */
	KWARP_STAT_RDV_PSN_ERR,		/* everything but the PSNs matched */
	KWARP_STAT_RDV_TIMEOUT,		/* the partner was not found */
	KWARP_STAT_RDV_OFF,		/* modify_qp refused: no rendezvous_port */
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

#endif /* _KWARP_STATS_H */
