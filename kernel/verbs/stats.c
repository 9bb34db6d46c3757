// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The counters' names and sums, for `rdma statistic` and sysfs hw_counters. */
#include "verbs/counter.h"

static const struct rdma_stat_desc descs[] = {
	[KWARP_STAT_TX_FPDUS].name = "tx_fpdus",
	[KWARP_STAT_TX_OCTETS].name = "tx_octets",
	[KWARP_STAT_TX_MARKERS].name = "tx_markers",
	[KWARP_STAT_RX_FPDUS].name = "rx_fpdus",
	[KWARP_STAT_RX_OCTETS].name = "rx_octets",
	[KWARP_STAT_RX_MARKERS].name = "rx_markers",
	[KWARP_STAT_RX_CONTINUED].name = "rx_continued",
	[KWARP_STAT_OOO_PLACED].name = "ooo_placed_fpdus",
	[KWARP_STAT_OOO_PLACED_OCTETS].name = "ooo_placed_octets",
	[KWARP_STAT_OOO_DELIVERED].name = "ooo_delivered_without_copy",
	[KWARP_STAT_OOO_REPLACED].name = "ooo_replaced",
	[KWARP_STAT_TX_TERMINATE].name = "tx_terminate",
	[KWARP_STAT_RX_TERMINATE].name = "rx_terminate",
	[KWARP_STAT_LLP_LOST].name = "llp_lost",
	[KWARP_STAT_MPA_ERR].name = "mpa_errors",
	[KWARP_STAT_DDP_TAGGED_ERR].name = "ddp_tagged_errors",
	[KWARP_STAT_DDP_UNTAGGED_ERR].name = "ddp_untagged_errors",
	[KWARP_STAT_RDMAP_PROT_ERR].name = "rdmap_protection_errors",
	[KWARP_STAT_RDMAP_OP_ERR].name = "rdmap_operation_errors",
	[KWARP_STAT_LOCAL_ERR].name = "local_errors",
	[KWARP_STAT_CRC_ERR].name = "crc_errors",
	[KWARP_STAT_MARKER_ERR].name = "marker_errors",
	[KWARP_STAT_CHUNK_ERR].name = "chunk_errors",
	[KWARP_STAT_SSN_ERR].name = "ssn_errors",
	[KWARP_STAT_SESSION_ERR].name = "session_errors",
	[KWARP_STAT_LENGTH_ERR].name = "length_errors",
	[KWARP_STAT_VERSION_ERR].name = "version_errors",
	[KWARP_STAT_OPCODE_ERR].name = "opcode_errors",
	[KWARP_STAT_SEQUENCE_ERR].name = "sequence_errors",
	[KWARP_STAT_NO_BUFFER_ERR].name = "no_buffer_errors",
	[KWARP_STAT_TOO_LONG_ERR].name = "too_long_errors",
	[KWARP_STAT_STAG_ERR].name = "stag_errors",
	[KWARP_STAT_BOUNDS_ERR].name = "bounds_errors",
	[KWARP_STAT_ACCESS_ERR].name = "access_errors",
	[KWARP_STAT_CONNECT].name = "connects",
	[KWARP_STAT_ACCEPT].name = "accepts",
	[KWARP_STAT_REJECT_TX].name = "tx_rejects",
	[KWARP_STAT_REJECT_RX].name = "rx_rejects",
	[KWARP_STAT_RDMAC].name = "rdmac_connections",
	[KWARP_STAT_TX_RTR_FRAME].name = "tx_rtr_frames",
	[KWARP_STAT_RX_RTR_FRAME].name = "rx_rtr_frames",
	[KWARP_STAT_STARTUP_KEY_ERR].name = "startup_key_errors",
	[KWARP_STAT_STARTUP_ROLE_ERR].name = "startup_role_errors",
	[KWARP_STAT_STARTUP_REV_ERR].name = "startup_revision_errors",
	[KWARP_STAT_STARTUP_LEN_ERR].name = "startup_length_errors",
	[KWARP_STAT_STARTUP_TIMEOUT].name = "startup_timeouts",
	[KWARP_STAT_STARTUP_CLOSED].name = "startup_closed",
	[KWARP_STAT_STARTUP_NEGOTIATION].name = "startup_negotiation_errors",
	[KWARP_STAT_STARTUP_IRD_ERR].name = "startup_ird_errors",
	[KWARP_STAT_STARTUP_RTR_ERR].name = "startup_rtr_errors",
	[KWARP_STAT_STARTUP_CRC_ERR].name = "startup_crc_errors",
	[KWARP_STAT_BACKLOG_DROP].name = "backlog_drops",
	[KWARP_STAT_LINGER_DROP].name = "linger_drops",
	[KWARP_STAT_FALLBACK].name = "revision_fallbacks",
	[KWARP_STAT_PATH_FAILURE].name = "path_failures",
	[KWARP_STAT_RDV_REFUSED].name = "rendezvous_refused",
	[KWARP_STAT_RDV_ADDR_ERR].name = "rendezvous_address_errors",
	[KWARP_STAT_RDV_PSN_ERR].name = "rendezvous_psn_errors",
	[KWARP_STAT_RDV_TIMEOUT].name = "rendezvous_timeouts",
	[KWARP_STAT_RDV_OFF].name = "rendezvous_disabled",
	[KWARP_STAT_CQ_OVERFLOW].name = "cq_overflows",
};

static_assert(ARRAY_SIZE(descs) == KWARP_STAT_COUNT);

struct rdma_hw_stats *kwarp_alloc_hw_port_stats(struct ib_device *ibdev,
						u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

int kwarp_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index)
{
	struct kwarp_device *dev = to_kdev(ibdev);
	u64 bound[KWARP_STAT_COUNT];
	int cpu, i;

	/* Fill in all counters at once; the core caches them for the lifespan. */
	kwarp_counter_bound(dev, bound);
	memset(stats->value, 0, ARRAY_SIZE(descs) * sizeof(stats->value[0]));
	for_each_possible_cpu(cpu) {
		const struct kwarp_stats *s = per_cpu_ptr(dev->stats, cpu);

		for (i = 0; i < ARRAY_SIZE(descs); i++)
			stats->value[i] += READ_ONCE(s->v[i]);
	}
	/* The core adds bound[], which is rarely larger: a QP counts after its device. */
	for (i = 0; i < ARRAY_SIZE(descs); i++)
		stats->value[i] -= min(stats->value[i], bound[i]);
	return ARRAY_SIZE(descs);
}
