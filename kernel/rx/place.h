/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* One verified DDP segment: where its payload goes, and what it completes. */
#ifndef _KWARP_RX_PLACE_H
#define _KWARP_RX_PLACE_H

#include "../core/mem.h"
#include "../core/qp.h"
#include "../proto/ddp.h"
#include "../proto/errors.h"
#include "../proto/rdmap.h"
#include "stream.h"

struct kwarp_early;

/* Enough for every header that is interpreted; the rest is payload. */
#define KWARP_RX_SEG_MAX	(KWARP_DDP_UNTAGGED_LEN + \
				 KWARP_RDMAP_ATOMIC_REQ_LEN)

/* Completions of receives that are delivered together; a softirq is short of stack. */
#define KWARP_RX_CQES		4

/**
 * struct kwarp_rx_pass - one run of the receive engine
 * @qp:		queue pair
 * @sk:		its socket
 * @cache:	region used last
 * @kick_tx:	the send engine has got work
 * @terminated:	the peer's Terminate was received
 * @more:	it has reached a limit before the end of the queue
 * @need:	octets of the FPDU at the end that is not complete; else 0
 * @fpdus:	processed in this run
 * @cost:	what it has done, counted in small FPDUs
 * @nr_cqes:	completions that wait in @cqes
 * @cqes:	room for KWARP_RX_CQES
 * @fpdu:	FPDU in work, verified
 * @flat:	its first octet, if it lies contiguous; else NULL
 * @stream:	at its first octet, unless @flat
 * @hdr:	its DDP header
 * @seg:	first octets of its ULPDU
 * @seg_len:	how many of them are valid
 * @ulpdu_len:	octets of the ULPDU
 * @ooo:	something was placed early, perhaps the FPDU in work; else NULL
 * @sure:	with @ooo: what is remembered of others is still so
 * @base:	with @ooo: sequence number less stream position
 * @early:	what is remembered of the FPDU in work, which has not changed since
 *		it was placed; or NULL
 */
struct kwarp_rx_pass {
	struct kwarp_qp *qp;
	struct sock *sk;
	struct kwarp_mr_cache cache;
	bool kick_tx;
	bool terminated;
	bool more;
	u32 need;
	u32 fpdus;
	u32 cost;
	u32 nr_cqes;
	struct kwarp_cqe *cqes;
	const struct kwarp_fpdu *fpdu;
	const u8 *flat;
	struct kwarp_stream stream;
	struct kwarp_ddp_hdr hdr;
	u8 seg[KWARP_RX_SEG_MAX];
	u32 seg_len;
	u32 ulpdu_len;
	struct kwarp_ooo *ooo;
	bool sure;
	u32 base;
	const struct kwarp_early *early;
};

/* Is the FPDU in work the peer's first, and to be an RTR indication? */
static inline bool kwarp_rx_rtr_due(const struct kwarp_qp *qp)
{
	return qp->params.rtr && !qp->rx.got_first && !qp->rx.pos;
}

/**
 * kwarp_rx_segment() - place and deliver one verified segment
 * @pass:	with fpdu, stream, seg set
 *
 * Return: KWARP_ERR_NONE or what to raise. Context: socket lock held, bottom
 * halves disabled.
 */
enum kwarp_err kwarp_rx_segment(struct kwarp_rx_pass *pass);

/**
 * kwarp_rx_copy() - copy the next payload octets to a place
 * @pl:		payload iterator
 * @mr:		region, checked for the range
 * @addr:	address in it
 * @len:	octets
 */
void kwarp_rx_copy(struct kwarp_payload *pl, const struct kwarp_mr *mr,
		   u64 addr, u32 len);

/**
 * kwarp_rx_deliver() - completions of receives, to the CQ
 * @solicited:	the last one asks for an event
 *
 * Before any other completion that the pass gives, and at its end.
 */
void kwarp_rx_deliver(struct kwarp_rx_pass *pass, bool solicited);

/**
 * kwarp_rx_put() - have the next payload octets in their place
 * @pass:	with the FPDU in work
 *
 * Other arguments as for kwarp_rx_copy(), which it calls unless exactly these octets
 * were placed there early.
 */
void kwarp_rx_put(struct kwarp_rx_pass *pass, struct kwarp_payload *pl,
		  const struct kwarp_mr *mr, u64 addr, u32 len);

/* Queue 0: Send and Immediate Data (send.c). */
enum kwarp_err kwarp_rx_send(struct kwarp_rx_pass *pass,
			     struct kwarp_payload *pl, u32 len);

/**
 * kwarp_rx_check_request() - queue 1: the next request, and room for its answer?
 * @pass:	a request
 *
 * Return: KWARP_ERR_NONE or what to raise.
 */
enum kwarp_err kwarp_rx_check_request(struct kwarp_rx_pass *pass);

/**
 * kwarp_rx_queue_answer() - take a request's place in the queue of answers
 * @pass:	a request that was checked
 *
 * Return: the entry, to be filled in; the send engine looks at it after the pass.
 */
struct kwarp_inread *kwarp_rx_queue_answer(struct kwarp_rx_pass *pass);

/* What RDMAP calls a refused access to the target of a request. */
enum kwarp_err kwarp_rx_source_err(enum kwarp_mem_err err);

/**
 * kwarp_rx_read_place() - scatter what answers one of our reads or atomics
 * @rd:		the oldest one
 * @pl:		where the octets come from
 * @len:	how many, not more than are still missing
 *
 * Return: KWARP_ERR_NONE or what to raise; then the work request is completed.
 */
enum kwarp_err kwarp_rx_read_place(struct kwarp_rx_pass *pass,
				   struct kwarp_read *rd,
				   struct kwarp_payload *pl, u32 len);

/* The oldest of our reads and atomics is answered. Return: as above. */
enum kwarp_err kwarp_rx_read_done(struct kwarp_rx_pass *pass,
				  struct kwarp_read *rd);

/* Queues 1 and 3: Atomic Request and Response (atomic.c). */
enum kwarp_err kwarp_rx_atomic_request(struct kwarp_rx_pass *pass);
enum kwarp_err kwarp_rx_atomic_response(struct kwarp_rx_pass *pass);

#endif /* _KWARP_RX_PLACE_H */
