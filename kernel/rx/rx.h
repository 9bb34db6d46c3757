/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The receive engine: TCP's receive queue -> verified FPDUs -> placement ->
 * delivery. Everything here runs with the socket lock held.
 */
#ifndef _KWARP_RX_H
#define _KWARP_RX_H

#include "../core/wq.h"
#include "../kwarp.h"

/*
 * What a pass does at most, give or take one FPDU: nothing else runs on the CPU
 * meanwhile, and an invalidation may wait for it. 256 KiB are copied and checked in
 * 0.1 ms where there are instructions for CRC32c, in some 0.3 ms where not; a small
 * FPDU takes up to a microsecond with its completion. Segments that GRO has put
 * together are 64 KiB, so that a pass ends before the queue only when much comes at
 * once: a gap has been closed, or the lock was held for long.
 */
enum kwarp_rx_limits {
	KWARP_RX_OCTETS		= 256 * 1024,
	KWARP_RX_FPDUS		= 1024,
	KWARP_RX_INVALIDATION	= 16,	/* so many FPDUs is one that invalidates */
};

struct kwarp_llp;
struct kwarp_ooo;
struct kwarp_qp;

/**
 * struct kwarp_read - one of our RDMA Reads or atomics on its way
 * @atomic:	an Atomic Operation: @sink_stag is its request identifier
 * @internal:	an RTR message, or @fence: no work request's
 * @fence:	what was sent before it is acknowledged by its answer
 * @slot:	SQ slot to complete; fence: behind the last that it covers
 * @sink_stag:	STag we named as data sink: valid for this read only, never in
 *		the STag table, so no RDMA Write can use it
 * @sink_to:	tagged offset of the first octet
 * @len:	octets asked for
 * @done:	octets placed
 * @num_sge:	scatter elements
 * @cur_sge:	element in work
 * @cur_off:	octets of it placed
 * @invalidate:	invalidate @inv_stag before completing (READ_WITH_INV)
 * @inv_stag:	local STag
 * @sge:	qp->sq.max_sge elements
 */
struct kwarp_read {
	bool atomic;
	bool internal;
	bool fence;
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
 * struct kwarp_inread - an RDMA Read Request of the peer, waiting for the send engine
 * @atomic:	an Atomic Request, executed: @sink_stag is its request identifier and
 *		@src_to the value found
 * @src_stag:	our region
 * @src_to:	its tagged offset
 * @sink_stag:	peer's sink
 * @sink_to:	peer's tagged offset
 * @len:	octets
 */
struct kwarp_inread {
	bool atomic;
	u32 src_stag;
	u64 src_to;
	u32 sink_stag;
	u64 sink_to;
	u32 len;
};

/**
 * struct kwarp_recv - the untagged message that is being received on queue 0
 * @active:	an element has been taken
 * @wqe:	its copy
 * @cur_sge:	scatter element in work
 * @cur_off:	octets of it filled
 * @size:	of all scatter elements
 * @len:	octets placed: the next segment's MO
 */
struct kwarp_recv {
	bool active;
	struct kwarp_rqe_copy *wqe;
	u16 cur_sge;
	u32 cur_off;
	u64 size;
	u32 len;
};

/**
 * struct kwarp_rx - receive engine state
 * @pos:	stream offset of the next octet since Full Operation, modulo 2^32
 * @stopped:	an error was raised or the connection ended: deliver nothing
 * @more:	a pass has ended before the queue: qp->rest is queued and comes for the
 *		rest, and nobody else takes any of it
 * @ending:	a pass has found an error, or a Terminate, and sends what goes before it:
 *		what TCP takes in meanwhile is not looked at
 * @got_first:	an FPDU was processed (a responder may send from then on)
 * @send_msn:	expected on queue 0
 * @read_msn:	expected on queue 1
 * @atomic_msn:	expected on queue 3
 * @write_len:	octets of the RDMA Write in progress
 * @written:	octets of the last one that is complete, for the Immediate Data
 *		behind it
 * @recv:	Send in progress
 * @reads:	our outstanding reads, ring of entries @read_stride apart
 * @ord:	size of @reads, power of two
 * @read_stride:	octets
 * @read_head:	oldest outstanding read
 * @read_tail:	next free one
 * @inreads:	peer's requests, a ring
 * @ird:	size of @inreads, power of two; params.ird may be less
 * @in_head:	next to answer (send engine)
 * @in_tail:	next free one
 * @ooo:	out-of-order placement, or NULL
 */
struct kwarp_rx {
	u32 pos;
	bool stopped;
	bool more;
	bool ending;
	bool got_first;
	u32 send_msn;
	u32 read_msn;
	u32 atomic_msn;
	u32 write_len;
	u32 written;
	struct kwarp_recv recv;
	void *reads;
	u32 ord;
	u32 read_stride;
	u32 read_head;
	u32 read_tail;
	struct kwarp_inread *inreads;
	u32 ird;
	u32 in_head;
	u32 in_tail;
	struct kwarp_ooo *ooo;
};

static inline struct kwarp_inread *kwarp_rx_inread(struct kwarp_rx *rx, u32 idx)
{
	return &rx->inreads[idx & (rx->ird - 1)];
}

static inline struct kwarp_read *kwarp_rx_read(struct kwarp_rx *rx, u32 idx)
{
	return rx->reads + (size_t)(idx & (rx->ord - 1)) * rx->read_stride;
}

/* Allocates the queues for qp->params. Process context. */
int kwarp_rx_init(struct kwarp_qp *qp);
void kwarp_rx_free(struct kwarp_qp *qp);

/**
 * kwarp_rx_run() - process the complete FPDUs in TCP's receive queue
 * @qp:		attached queue pair
 * @llp:	its connection
 * @left:	set to the octets left in the queue as an incomplete FPDU
 *
 * Consumes what it processed in one step; leaves an incomplete FPDU to TCP and
 * sets the low-water mark to what is missing. Then answers read requests. What is
 * beyond a pass' limits (enum kwarp_rx_limits) is left to kwarp_rx_continue().
 * Context: socket lock held; softirq or process.
 * Return: false if that is so, or if a pass that found an error is still at it: no end
 * of the stream may be told of yet.
 */
bool kwarp_rx_run(struct kwarp_qp *qp, struct kwarp_llp *llp, u32 *left);

/**
 * kwarp_rx_continue() - the next pass, if one has ended before the queue
 * @qp:		attached queue pair
 * @llp:	its connection
 *
 * For qp->rest only. An end of the stream is told of behind the last pass.
 * Context: process, socket lock held.
 */
void kwarp_rx_continue(struct kwarp_qp *qp, struct kwarp_llp *llp);

/**
 * kwarp_rx_early() - place what can be placed of the segments behind a gap
 * @qp:		attached queue pair with out-of-order placement
 * @llp:	its connection
 *
 * Delivers nothing. Context: socket lock held; softirq or process.
 */
void kwarp_rx_early(struct kwarp_qp *qp, struct kwarp_llp *llp);

/**
 * kwarp_rx_stop() - stop for good and return the receive that was being filled
 *
 * Context: socket lock held, or no connection attached.
 */
void kwarp_rx_stop(struct kwarp_qp *qp);

#endif /* _KWARP_RX_H */
