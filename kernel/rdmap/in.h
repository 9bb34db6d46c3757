/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* State of the receive engine. All of it is protected by the socket lock. */
#ifndef _KWARP_RDMAP_IN_H
#define _KWARP_RDMAP_IN_H

#include "core/wq.h"

struct kwarp_early_rx;

/**
 * struct kwarp_read - one of our outstanding RDMA Reads or atomics
 * @atomic:	an Atomic Operation: @sink_stag is its request identifier
 * @internal:	an RTR message or an acknowledging read: belongs to no work request
 * @acks:	its response acknowledges the messages sent before it (ack.c)
 * @slot:	SQ slot to complete; of an acknowledging read: the slot after the last one covered
 * @sink_stag:	STag we advertised as data sink: valid for this read only, never in the
 *		STag table, so no RDMA Write can use it
 * @sink_to:	tagged offset of the first byte
 * @len:	bytes requested
 * @done:	bytes placed
 * @num_sge:	scatter elements
 * @cur_sge:	scatter element in progress
 * @cur_off:	bytes placed in @cur_sge
 * @invalidate:	invalidate @inv_stag before completion (KWARP_OP_READ_INV)
 * @inv_stag:	local STag
 * @sge:	scatter elements, with room for qp->sq.max_sge
 */
struct kwarp_read {
	bool atomic;
	bool internal;
	bool acks;
	u32 slot;
	u32 sink_stag;
	u64 sink_to;
	u32 len;
	u32 done;
	u16 num_sge;
	u16 cur_sge;
	u32 cur_off;
	bool invalidate;
	u32 inv_stag;
	struct kwarp_sge sge[];
};

/**
 * struct kwarp_ird_entry - an inbound RDMA Read Request whose response is not sent yet
 * @atomic:	an Atomic Request, already executed: @sink_stag is its request identifier
 *		and @src_to the original value
 * @src_stag:	STag of our source region
 * @src_to:	tagged offset in the source
 * @sink_stag:	STag of the peer's sink
 * @sink_to:	tagged offset in the sink
 * @len:	bytes
 */
struct kwarp_ird_entry {
	bool atomic;
	u32 src_stag;
	u64 src_to;
	u32 sink_stag;
	u64 sink_to;
	u32 len;
};

/**
 * struct kwarp_recv - the untagged message being received on queue 0
 * @active:	a receive queue element has been taken
 * @wqe:	copy of that element
 * @cur_sge:	scatter element in progress
 * @cur_off:	bytes placed in @cur_sge
 * @size:	total size of all scatter elements
 * @len:	bytes placed, which is also the MO expected next
 */
struct kwarp_recv {
	bool active;
	struct kwarp_rqe_copy *wqe;
	u16 cur_sge;
	u32 cur_off;
	u64 size;
	u32 len;
};

/* State of the receive engine. A connection begins with RUNNING. */
enum kwarp_rx_state {
	KWARP_RX_RUNNING,
	KWARP_RX_DEFERRED,	/* a pass ended before the queue was empty: qp->rest is queued,
				 * and no pass begins until it runs
				 */
	KWARP_RX_STOPPED,	/* an error was raised or the connection ended: deliver nothing */
};

/**
 * struct kwarp_rx - receive engine state
 * @ulpdus:	ULPDUs processed since Full Operation, modulo 2^32
 * @state:	enum kwarp_rx_state
 * @got_first:	an FPDU was processed (from then on a responder may send)
 * @send_msn:	MSN expected on queue 0
 * @read_msn:	MSN expected on queue 1
 * @atomic_msn:	MSN expected on queue 3
 * @write_len:	bytes of the RDMA Write in progress
 * @written:	length of the last complete RDMA Write, for the Immediate Data after it
 * @recv:	Send being received
 * @ord_queue:	our outstanding reads: a ring of entries that are @read_stride bytes apart
 * @ord:	entries of @ord_queue, power of two
 * @read_stride: bytes from one entry of @ord_queue to the next
 * @read_head:	oldest outstanding read
 * @read_tail:	next free entry of @ord_queue
 * @ird_queue:	inbound requests whose response is not sent yet: a ring
 * @ird:	entries of @ird_queue, power of two; the IRD granted may be less
 * @in_head:	next request to answer; moved by the send engine
 * @in_tail:	next free entry of @ird_queue
 * @early:	state of early placement, or NULL
 */
struct kwarp_rx {
	u32 ulpdus;
	enum kwarp_rx_state state;
	bool got_first;
	u32 send_msn;
	u32 read_msn;
	u32 atomic_msn;
	u32 write_len;
	u32 written;
	struct kwarp_recv recv;
	void *ord_queue;
	u32 ord;
	u32 read_stride;
	u32 read_head;
	u32 read_tail;
	struct kwarp_ird_entry *ird_queue;
	u32 ird;
	u32 in_head;
	u32 in_tail;
	struct kwarp_early_rx *early;
};

static inline struct kwarp_ird_entry *kwarp_rx_inread(struct kwarp_rx *rx, u32 idx)
{
	return &rx->ird_queue[idx & (rx->ird - 1)];
}

static inline struct kwarp_read *kwarp_rx_read(struct kwarp_rx *rx, u32 idx)
{
	return rx->ord_queue + (size_t)(idx & (rx->ord - 1)) * rx->read_stride;
}

#endif /* _KWARP_RDMAP_IN_H */
