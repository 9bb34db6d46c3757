/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* State of the send engine. All of it is protected by the socket lock. */
#ifndef _KWARP_RDMAP_OUT_H
#define _KWARP_RDMAP_OUT_H

#include "core/wq.h"
#include "llp/ulpdu.h"
#include "proto/terminate.h"

enum kwarp_tx_limits {
	KWARP_TX_BUDGET		= 4,		/* batches before the socket lock is released */
	KWARP_TX_LOCALS		= 64,		/* requests per batch that send nothing */
	KWARP_TX_PIECE		= 128 * 1024,	/* bytes of a region located at once */
	KWARP_TX_FILL_LEN	= 16 * 1024,	/* longest message begun in a partial segment */
	KWARP_TX_BURST		= 4,		/* requests after the last peer message: a burst */
	KWARP_TX_BURST_LONG	= 64,		/* requests between two peer messages: a stream */
};

/* Limits of doorbell coalescing (coalesce.c). */
enum kwarp_pause_limits {
	KWARP_PAUSE_PASSES	= 4,		/* passes of an engine in the first period */
	KWARP_PAUSE_MIN_NS	= 20 * 1000,	/* shortest period, ... */
	KWARP_PAUSE_MAX_NS	= 200 * 1000,	/* ... longest, and ... */
	KWARP_PAUSE_PER_QP_NS	= 1000,		/* ... at least so much per paused queue pair */
	/* Pauses end so long after the last one began: per paused queue pair, and at most. */
	KWARP_PAUSE_END_QP_NS	= 500 * 1000,
	KWARP_PAUSE_END_NS	= 5000 * 1000,
	KWARP_PAUSE_QPS		= 256,		/* paused queue pairs with the same send CQ */
	KWARP_PAUSE_WAKES	= 16,		/* engines woken at once */
	KWARP_PAUSE_STRETCH_NS	= 2000 * 1000,	/* time in which timers run engines on a CPU */
};

/* Kinds of messages, in order of precedence; the last two take turns. */
enum kwarp_tx_kind {
	KWARP_TX_IDLE,		/* none: between messages */
	KWARP_TX_TERMINATE,	/* tx->term_msg; nothing follows it */
	KWARP_TX_RTR,		/* tx->rtr: the initiator's first message, of length zero */
	KWARP_TX_ACK_READ,		/* a zero-length RDMA Read (ack.c) */
	KWARP_TX_SQ,		/* tx->wqe, of the send queue */
	KWARP_TX_RESPONSE,	/* the response to an inbound read */
};

/**
 * struct kwarp_tx_msg - the message being segmented into FPDUs
 * @kind:	enum kwarp_tx_kind
 * @slot:	SQ slot (KWARP_TX_SQ)
 * @opcode:	RDMAP opcode on the wire
 * @imm:	an RDMA Write that Immediate Data follows (KWARP_TX_SQ)
 * @raw:	@data includes the DDP header (Terminate)
 * @tagged:	DDP model
 * @data:	payload in kernel memory (inline data, headers); NULL if it comes from the
 *		gather elements or from the source of an inbound read
 * @qn:		DDP queue (untagged)
 * @msn:	message sequence number (untagged)
 * @inv_stag:	STag of a Send with Invalidate, or data of a Send with Immediate
 * @stag:	remote STag (tagged)
 * @to:		remote tagged offset of the first byte (tagged)
 * @len:	total payload bytes
 * @done:	bytes put into FPDUs
 * @cur_sge:	gather element in progress
 * @cur_off:	bytes consumed of @cur_sge, or of @data, or of the source
 */
struct kwarp_tx_msg {
	u8 kind;
	u32 slot;
	u8 opcode;
	bool imm;
	bool raw;
	bool tagged;
	const u8 *data;
	u32 qn;
	u32 msn;
	u32 inv_stag;
	u32 stag;
	u64 to;
	u32 len;
	u32 done;
	u16 cur_sge;
	u32 cur_off;
};

/* State of the send engine: during a connection, only a later one may replace it. */
enum kwarp_tx_state {
	KWARP_TX_WAIT,		/* nothing is taken from the send queue yet */
	KWARP_TX_WAIT_CLOSING,	/* as WAIT; kwarp_qp_start() makes it CLOSING */
	KWARP_TX_RUNNING,	/* kwarp_qp_start() was called */
	KWARP_TX_CLOSING,	/* as RUNNING; FIN when the send queue is drained */
	KWARP_TX_ANSWERING,	/* a Terminate follows: only responses are begun */
	KWARP_TX_STOPPED,	/* nothing more is built; what is built is sent, then FIN */
	KWARP_TX_FIN_SENT,	/* FIN follows all bytes */
	KWARP_TX_DEAD,		/* nothing can be sent any more */
};

/* Messages not yet known to be delivered, on connections with acknowledgments. */
enum kwarp_tx_unacked {
	KWARP_TX_ACKED,		/* none, except those that the outstanding read covers */
	KWARP_TX_UNACKED,	/* some that no acknowledging read covers */
	KWARP_TX_AWAITED,	/* as UNACKED, and a completion depends on one of them */
};

/**
 * struct kwarp_coalesce - doorbell coalescing (coalesce.c)
 * @peer_at:	sq.window.fetched when the peer last sent an RDMA Write, Send or Immediate Data;
 *		read without the socket lock
 * @paused_at:	sq.window.fetched when the engine last paused
 * @pass_start:	time when the current pass began, or 0 if the program was in no burst then
 * @pass:	duration of the last pass, ns; not updated while sq.window.fetched is @paused_at
 * @stream:	KWARP_TX_BURST_LONG requests or more were fetched between the last two messages of
 *		the peer: these are no answers, but may be credits of the program's flow control
 * @paused:	this pass has interrupted a pause
 * @short_idle:	this pass began shortly after another one, of any QP with the same send CQ
 *
 * @pass and @short_idle are valid while the program is in a burst.
 */
struct kwarp_coalesce {
	u32 peer_at;
	u32 paused_at;
	u64 pass_start;
	u64 pass;
	bool stream;
	bool paused;
	bool short_idle;
};

/**
 * struct kwarp_tx - send engine state
 * @state:	enum kwarp_tx_state
 * @prefer_sq:	the send queue goes before responses when both have work
 * @send_msn:	next MSN on queue 0
 * @read_msn:	next MSN on queue 1
 * @atomic_msn:	next MSN on queue 3
 * @stag_base:	random number of the connection, from which sink STags of reads are made
 * @held:	@wqe is fetched and waits for outstanding reads: IB_SEND_FENCE, or ORD
 * @held_slot:	SQ slot of the held @wqe
 * @locals:	requests of this batch that send nothing; or their limit, to take none
 * @msg:	message in progress
 * @wqe:	SQ element of the message in progress, or held
 * @failed:	error of a work request or response, to be raised after the batch
 * @failed_status: enum kwarp_wc_status of the failed work request, or KWARP_WC_SUCCESS
 * @failed_slot:	its SQ slot
 * @failed_len:	bytes of @failed_seg
 * @failed_seg:	the offending segment for the Terminate
 * @unacked:	enum kwarp_tx_unacked (qp->params.ack)
 * @ack_read_out:	an acknowledging read is outstanding (ack.c)
 * @coalesce:	doorbell coalescing
 * @rtr:	RTR message to send (set by the CM): RDMAP opcode + 1, or 0
 * @term_len:	bytes of @term_msg if it is to be sent, otherwise 0
 * @term_msg:	complete ULPDU of the Terminate
 * @ctrl:	payload of the request, Atomic Response or Immediate Data in progress
 */
struct kwarp_tx {
	u8 state;
	bool prefer_sq;
	u32 send_msn;
	u32 read_msn;
	u32 atomic_msn;
	u32 stag_base;
	bool held;
	u32 held_slot;
	u32 locals;
	struct kwarp_tx_msg msg;
	struct kwarp_sqe_copy *wqe;
	enum kwarp_err failed;
	u8 failed_status;
	u32 failed_slot;
	u32 failed_len;
	u8 failed_seg[KWARP_ULPDU_SEG_MAX];
	u8 unacked;
	bool ack_read_out;
	struct kwarp_coalesce coalesce;
	u8 rtr;
	u32 term_len;
	u8 term_msg[KWARP_TERM_MAX];
	u8 ctrl[KWARP_RDMAP_ATOMIC_REQ_LEN];
};

/* Context: socket lock held. */
static inline void kwarp_tx_to(struct kwarp_tx *tx, enum kwarp_tx_state state)
{
	tx->state = max_t(u8, tx->state, state);
}

#endif /* _KWARP_RDMAP_OUT_H */
