/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One pass of the receive engine: state shared by placement and delivery. */
#ifndef _KWARP_RDMAP_PASS_H
#define _KWARP_RDMAP_PASS_H

#include "core/cq.h"
#include "core/mem.h"
#include "llp/ulpdu.h"
#include "proto/ddp.h"
#include "proto/rdmap.h"
#include "rdmap/qp.h"

/*
 * Limits of one pass, exceeded by at most one FPDU: nothing else runs on the CPU
 * meanwhile, and an invalidation may wait for the pass. Copying and checking 256 KiB
 * takes 0.1 ms with CRC32c instructions and about 0.3 ms without; a small FPDU takes up
 * to a microsecond including its completion. GRO merges segments to at most 64 KiB, so a
 * pass reaches a limit only when much data becomes readable at once: a gap was closed, or
 * the socket lock was held for long.
 */
enum kwarp_rx_limits {
	KWARP_RX_BYTES		= 256 * 1024,
	KWARP_RX_ULPDUS		= 1024,
	KWARP_RX_INVALIDATION	= 16,	/* cost of a ULPDU that invalidates, in ULPDUs */
};

/* Receive completions delivered together; few, because the stack in softirq is small. */
#define KWARP_RX_CQES		4

/**
 * struct kwarp_rx_run - where the next segments of the message in progress belong
 * @dst:	address of the next byte
 * @room:	contiguous bytes from there on; 0 if unknown: place the segment by its header
 * @need:	rights of the queue pair that are needed meanwhile
 * @filled:	count the bytes placed: in the message, and in the scatter element
 * @no_element:	the second of these counters in an RDMA Write, which has no elements
 */
struct kwarp_rx_run {
	u8 *dst;
	u32 room;
	int need;
	u32 *filled[2];
	u32 no_element;
};

/**
 * struct kwarp_rx_pass - one pass of the receive engine
 * @qp:		queue pair
 * @cache:	the region used last
 * @answers:	found: responses are due
 * @first:	found: the first FPDU of the connection
 * @terminated:	found: the peer's Terminate
 * @more:	a limit was reached before the end of the queue
 * @bytes:	bytes of the ULPDUs processed
 * @cost:	work done, in units of a small ULPDU
 * @nr_cqes:	completions waiting in @cqes
 * @run:	the message in progress
 * @early:	set if ULPDUs were placed early, perhaps the one in progress; otherwise NULL
 * @u:		ULPDU in progress
 * @hdr:	DDP header of @u, then of the next segment of its message. @hdr.ctl is
 *		KWARP_DDP_CTL_NONE unless the message has payload
 * @op:		RDMAP's description of @hdr.opcode
 * @plain:	next byte of its payload, if the rest of the payload is contiguous; otherwise NULL
 * @pl:		the rest of its payload, if @plain is NULL
 * @flat:	reader of @pl, if the ULPDU is contiguous but for markers
 * @cqes:	completions to be delivered
 */
struct kwarp_rx_pass {
	struct kwarp_qp *qp;
	struct kwarp_mr_cache cache;
	bool answers;
	bool first;
	bool terminated;
	bool more;
	u32 bytes;
	u32 cost;
	u32 nr_cqes;
	struct kwarp_rx_run run;
	struct kwarp_early_rx *early;
	struct kwarp_ulpdu u;
	struct kwarp_ddp_hdr hdr;
	const struct kwarp_rdmap_op *op;
	const u8 *plain;
	struct kwarp_payload pl;
	struct kwarp_reader flat;
	struct kwarp_cqe cqes[KWARP_RX_CQES];
};

/*
 * Initialise the fields before @u. The fields from @u on, which are most of the structure, are
 * set before they are read, except @hdr.ctl. A pass often processes a single small message.
 */
static inline void kwarp_rx_pass_init(struct kwarp_rx_pass *pass, struct kwarp_qp *qp)
{
	memset(pass, 0, offsetof(struct kwarp_rx_pass, u));
	pass->qp = qp;
	pass->cache.user = &qp->memory;
	pass->hdr.ctl = KWARP_DDP_CTL_NONE;
}

/* Begin with the payload of the ULPDU in progress, after a header of @hdr_len bytes. */
static inline void kwarp_rx_begin_payload(struct kwarp_rx_pass *pass, u32 hdr_len)
{
	const struct kwarp_ulpdu *u = &pass->u;

	pass->plain = kwarp_ulpdu_plain(u, hdr_len);
	if (likely(pass->plain))
		return;
	if (u->flat)
		kwarp_payload_flat(&pass->pl, &pass->flat, u->flat, &u->frame, hdr_len);
	else
		kwarp_payload_init(&pass->pl, u->r, &u->frame, hdr_len);
}

/* Copy the next @len bytes of the payload, which has as many. */
static inline void kwarp_rx_take_payload(struct kwarp_rx_pass *pass, u8 *dst, u32 len)
{
	if (likely(pass->plain)) {
		memcpy(dst, pass->plain, len);
		pass->plain += len;
		return;
	}
	WARN_ON_ONCE(kwarp_payload_copy(&pass->pl, dst, len) != len);
}

/* Must the ULPDU in progress, the peer's first, be an RTR indication? */
static inline bool kwarp_rx_rtr_due(const struct kwarp_qp *qp)
{
	return qp->params.rtr && !qp->rx.got_first && !qp->rx.ulpdus;
}

#endif /* _KWARP_RDMAP_PASS_H */
