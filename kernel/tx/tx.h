/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The send engine: send queue and inbound reads -> FPDU batches -> LLP.
 * Everything here runs with the socket lock held.
 */
#ifndef _KWARP_TX_H
#define _KWARP_TX_H

#include <linux/bvec.h>

#include "../core/wq.h"
#include "../kwarp.h"
#include "../proto/terminate.h"

struct kwarp_inread;
struct kwarp_llp;
struct kwarp_mr_cache;
struct kwarp_qp;

enum kwarp_tx_limits {
	KWARP_TX_BATCH		= 64 * 1024,	/* octets built per call to TCP */
	KWARP_TX_BVECS		= 96,		/* pieces of a batch */
	KWARP_TX_BUDGET		= 4,		/* batches before the socket lock is let go */
	KWARP_TX_LOCALS		= 64,		/* requests that send nothing, for a batch */
	KWARP_TX_BURST		= 4,		/* requests in a row that make a burst */
	/* Sleep behind one without a doorbell, in passes of the engine. */
	KWARP_TX_LINGER_PASSES	= 4,
	KWARP_TX_LINGER_MIN_NS	= 20 * 1000,
	KWARP_TX_LINGER_MAX_NS	= 200 * 1000,
};

enum kwarp_tx_msg_kind {
	KWARP_TX_IDLE,		/* between messages */
	KWARP_TX_SQ,		/* sending tx->wqe */
	KWARP_TX_RESPONSE,	/* sending the response to an inbound read */
	KWARP_TX_INTERNAL,	/* RTR or Terminate: nobody waits for it */
};

/**
 * struct kwarp_tx_msg - the message that is being cut into FPDUs
 * @kind:	where it comes from
 * @slot:	SQ slot (KWARP_TX_SQ)
 * @opcode:	RDMAP opcode on the wire
 * @imm:	Immediate Data is to follow (SQ)
 * @raw:	@data has the DDP header already (Terminate)
 * @tagged:	DDP model
 * @data:	payload in kernel memory (inline, headers), else gather elements
 * @qn:		DDP queue (untagged)
 * @msn:	message sequence number (untagged)
 * @inv_stag:	STag that a Send with Invalidate names, or our immediate data
 * @stag:	remote STag (tagged)
 * @to:		remote tagged offset of the first octet
 * @len:	payload octets in all
 * @done:	octets put in FPDUs
 * @cur_sge:	gather element in work
 * @cur_off:	octets of it done
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

/* A piece of the batch: pages, and whether a segment must end with it. */
struct kwarp_tx_run {
	u16 bv_end;	/* index behind its last bio_vec */
	bool eor;
};

/**
 * struct kwarp_tx_buf - built FPDUs that TCP has not taken yet
 * @bv:		pieces, one page reference each
 * @nr:		pieces in use
 * @first:	piece that TCP takes next
 * @runs:	ends of runs; a run is handed to TCP in one call
 * @nr_runs:	runs in use
 * @first_run:	run that TCP takes next
 * @len:	octets in all
 */
struct kwarp_tx_buf {
	struct bio_vec bv[KWARP_TX_BVECS];
	struct kwarp_tx_run runs[KWARP_TX_BVECS];
	u16 nr;
	u16 first;
	u16 nr_runs;
	u16 first_run;
	u32 len;
};

/**
 * struct kwarp_tx - send engine state
 * @pos:	stream offset of the next octet since Full Operation, modulo 2^32
 * @running:	the send queue may be served (kwarp_qp_start() was called)
 * @active:	kwarp_tx_run() is on the stack: TCP may process the backlog inside
 *		a send and so call the receive engine, which must not enter again
 * @stopped:	nothing more is built, only @buf is drained
 * @dead:	@buf cannot be sent either
 * @closing:	FIN when the send queue is drained
 * @fin_sent:	FIN is behind all octets
 * @prefer_sq:	whose turn it is when both have work
 * @send_msn:	next on queue 0
 * @read_msn:	next on queue 1
 * @atomic_msn:	next on queue 3
 * @stag_base:	source of sink STags for reads
 * @held:	@wqe is fetched and waits: for reads before a fence, or for ORD
 * @held_slot:	its SQ slot
 * @locals:	requests that send nothing, done for this batch
 * @msg:	message in progress
 * @wqe:	its element
 * @buf:	built FPDUs, or NULL
 * @unacked:	something was sent that no fence covers (qp->params.ack)
 * @unacked_sig:	somebody waits for its completion
 * @fence_out:	a fence, the zero-length RDMA Read, has not come back
 * @quiet:	SQ slot that was next when the peer last said something by itself
 * @lingered:	SQ slot that was next when @qp->linger was started last
 * @slept:	when the engine went to sleep last; ns, CLOCK_MONOTONIC
 * @woke:	when the pass in work began, or 0 if the program did not burst then
 * @pass:	what the last pass that fetched something took, ns
 * @brisk:	it had not slept for long; all four valid while the program bursts
 * @rtr:	RTR message still to send (cm): RDMAP opcode + 1, or 0
 * @term:	a Terminate is to be sent
 * @term_len:	octets of @term_msg
 * @term_msg:	its ULPDU, ready
 * @ctrl:	payload of the request, Atomic Response or Immediate Data in progress
 */
struct kwarp_tx {
	u32 pos;
	bool running;
	bool active;
	bool stopped;
	bool dead;
	bool closing;
	bool fin_sent;
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
	struct kwarp_tx_buf *buf;
	bool unacked;
	bool unacked_sig;
	bool fence_out;
	bool brisk;
	u32 quiet;
	u32 lingered;
	u64 slept;
	u64 woke;
	u64 pass;
	u8 rtr;
	bool term;
	u32 term_len;
	u8 term_msg[KWARP_TERM_MAX];
	u8 ctrl[KWARP_RDMAP_ATOMIC_REQ_LEN];
};

int kwarp_tx_init(struct kwarp_qp *qp);
void kwarp_tx_free(struct kwarp_qp *qp);

/**
 * kwarp_tx_run() - send until there is nothing to do, TCP is full, or the budget ends
 * @qp:		attached queue pair
 * @llp:	its connection
 * @budget:	most batches
 *
 * When TCP is full, write space goes on, in the receive path; when the budget is
 * used up the next acknowledgment does, or, with little in flight, the worker,
 * queued behind others. Asks user space for a doorbell only when it goes idle.
 * Context: socket lock held; softirq or process.
 */
void kwarp_tx_run(struct kwarp_qp *qp, struct kwarp_llp *llp, int budget);

/**
 * kwarp_tx_build() - fill tx->buf with FPDUs from what is to be sent (build.c)
 *
 * Return: octets built, 0 if there is nothing to send now, -ENOMEM.
 * Context: socket lock held, no tx->buf.
 */
int kwarp_tx_build(struct kwarp_qp *qp, struct kwarp_llp *llp);

/**
 * kwarp_tx_next() - choose the next message (message.c)
 * @llp:	its connection
 * @cache:	the pass' region cache
 *
 * Return: true if tx->msg describes one. Context: as kwarp_tx_build().
 */
bool kwarp_tx_next(struct kwarp_qp *qp, const struct kwarp_llp *llp,
		   struct kwarp_mr_cache *cache);

/* The RDMA Write in tx->msg is sent: make its Immediate Data the next message. */
void kwarp_tx_immediate(struct kwarp_qp *qp);

/* ack.c; socket lock held */

/* The message of a work request, in tx->msg, is sent. */
void kwarp_tx_sent(struct kwarp_qp *qp);

/* Complete what need not, or need not any more, wait for the peer. */
void kwarp_tx_complete_sent(struct kwarp_qp *qp);

/* Will a fence follow the message in tx->msg? */
bool kwarp_tx_fence_follows(const struct kwarp_qp *qp);

/**
 * kwarp_tx_fence_due() - is a fence the next thing to send
 * @qp:		queue pair
 * @reads:	reads outstanding
 *
 * One at a time: what is sent meanwhile is covered by the next.
 *
 * Return: true if so: send it, and call kwarp_tx_fenced().
 */
bool kwarp_tx_fence_due(struct kwarp_qp *qp, u32 reads);

/* A fence goes out. Return: SQ slot behind the last one that it covers. */
u32 kwarp_tx_fenced(struct kwarp_qp *qp);

/**
 * kwarp_tx_local_error() - a work request cannot be served
 * @slot:	its SQ slot
 * @status:	enum kwarp_wc_status
 * @err:	what the peer is told
 */
void kwarp_tx_local_error(struct kwarp_qp *qp, u32 slot, u8 status,
			  enum kwarp_err err);

/* Can the engine take from the send queue, as far as it knows? */
bool kwarp_tx_can_fetch(const struct kwarp_qp *qp);

/* Take the socket lock and run, if a connection is attached. Process context. */
void kwarp_tx_enter(struct kwarp_qp *qp);

/* Queue the engine on qp->wq. Context: any, any locks. */
void kwarp_tx_kick(struct kwarp_qp *qp);

/*
 * Queue both engines for what a pass, or a process with the socket lock, has left. That
 * may be without end, so it has no priority over programs: kwarp_rest_wq, or that of a
 * program's socket. Context: any, any locks.
 */
void kwarp_tx_defer(struct kwarp_qp *qp);

/* linger.c */

void kwarp_tx_linger_init(struct kwarp_qp *qp);

/* Context: process, may sleep; the engine has stopped for good. */
void kwarp_tx_linger_exit(struct kwarp_qp *qp);

/* The engine has been called. Socket lock held. */
void kwarp_tx_woken(struct kwarp_qp *qp);

/**
 * kwarp_tx_linger() - may the engine sleep without asking for a doorbell?
 * @qp:		queue pair, socket lock held; the engine has nothing to do
 *
 * Return: true if so: a timer will wake it.
 */
bool kwarp_tx_linger(struct kwarp_qp *qp);

/* qp->work and qp->retry */
void kwarp_tx_work(struct work_struct *work);
void kwarp_tx_rest_work(struct work_struct *work);
void kwarp_tx_retry_work(struct work_struct *work);

/**
 * kwarp_tx_rtr() - send the RFC 6581 ready-to-receive message first
 * @qp:		attached, not started queue pair
 * @opcode:	RDMAP_WRITE, RDMAP_READ_REQUEST or RDMAP_SEND, zero length
 *
 * The consumer sees no completion of it. Context: process.
 */
void kwarp_tx_rtr(struct kwarp_qp *qp, u8 opcode);

/**
 * kwarp_tx_terminate() - build nothing more, send a Terminate and FIN
 * @err:	what to say
 * Other arguments as for kwarp_qp_raise(), which is the only caller.
 */
void kwarp_tx_terminate(struct kwarp_qp *qp, const struct kwarp_term_err *err,
			const u8 *seg, u32 seg_len, u32 ulpdu_len);

/* Stop building for good. Socket lock held, or nothing attached. */
void kwarp_tx_stop(struct kwarp_qp *qp);

#endif /* _KWARP_TX_H */
