/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The send engine: send queue and inbound reads -> ULPDUs -> lower layer.
 * Everything here runs with the socket lock held.
 */
#ifndef _KWARP_RDMAP_TX_H
#define _KWARP_RDMAP_TX_H

#include "rdmap/qp.h"

/* As in rx.h */
int kwarp_tx_alloc(struct kwarp_qp *qp);
void kwarp_tx_begin(struct kwarp_qp *qp);
void kwarp_tx_free(struct kwarp_qp *qp);

/**
 * kwarp_tx_run() - send until there is nothing to do, TCP is full, or the budget ends
 * @qp:		attached queue pair
 * @llp:	its connection
 * @budget:	maximum number of batches
 *
 * When TCP is full, the write-space event resumes it, in the receive path; when the
 * budget is used up, the next acknowledgment does, or, with little in flight, the worker,
 * queued after others. It asks user space for a doorbell only when it goes idle.
 * Context: socket lock held; softirq or process.
 */
void kwarp_tx_run(struct kwarp_qp *qp, struct kwarp_llp *llp, int budget);

/**
 * kwarp_tx_build() - build a batch of what is to be sent (build.c)
 * @qp:		attached queue pair
 * @llp:	its connection
 *
 * A work request that fails ends the batch: tx->failed.
 *
 * Return: bytes built, 0 if there is nothing to send now, -ENOMEM.
 * Context: socket lock held, no batch open.
 */
int kwarp_tx_build(struct kwarp_qp *qp, struct kwarp_llp *llp);

/**
 * kwarp_tx_due() - what is to be sent next? (message.c)
 * @qp:		attached queue pair, between messages
 * @llp:	its connection
 *
 * The only place that knows the order of messages. A responder that waits for the peer's
 * first FPDU sends nothing before it, except answers and a Terminate.
 *
 * Return: the kind; %KWARP_TX_SQ if the send queue has an element, although that may send
 * nothing, fail or have to wait. Context: socket lock held.
 */
enum kwarp_tx_kind kwarp_tx_due(const struct kwarp_qp *qp,
				const struct kwarp_llp *llp);

/**
 * kwarp_tx_next() - start the next message (message.c)
 * @qp:		attached queue pair
 * @llp:	its connection
 * @cache:	the pass' region cache
 *
 * Return: true if tx->msg describes a message. Context: as kwarp_tx_build().
 */
bool kwarp_tx_next(struct kwarp_qp *qp, const struct kwarp_llp *llp,
		   struct kwarp_mr_cache *cache);

/* The RDMA Write in tx->msg has been sent: make its Immediate Data the next message. */
void kwarp_tx_immediate(struct kwarp_qp *qp);

/* ack.c; socket lock held */

/* The message of a work request, in tx->msg, has been sent. */
void kwarp_tx_sent(struct kwarp_qp *qp);

/* Complete requests that need not wait for the peer, or no longer. */
void kwarp_tx_complete_sent(struct kwarp_qp *qp);

/* Will a fence follow the message in tx->msg? */
bool kwarp_tx_fence_follows(const struct kwarp_qp *qp);

/**
 * kwarp_tx_fence_due() - is a fence the next message to send?
 * @qp:		queue pair
 * @reads:	reads outstanding
 *
 * One at a time: the next fence covers what is sent meanwhile.
 *
 * Return: true if so: send it and call kwarp_tx_fenced().
 */
bool kwarp_tx_fence_due(const struct kwarp_qp *qp, u32 reads);

/* A fence is sent. Return: the SQ slot after the last one that it covers. */
u32 kwarp_tx_fenced(struct kwarp_qp *qp);

/**
 * kwarp_tx_local_error() - a work request failed
 * @qp:		queue pair
 * @slot:	its SQ slot
 * @status:	enum kwarp_wc_status
 *
 * It is completed; the error is raised after the batch, see tx->failed.
 */
void kwarp_tx_local_error(struct kwarp_qp *qp, u32 slot, u8 status);

/* Can the engine take from the send queue, as far as its own state allows? */
bool kwarp_tx_can_fetch(const struct kwarp_qp *qp);

/* Take the socket lock and run, if a connection is attached. Context: process. */
void kwarp_tx_enter(struct kwarp_qp *qp);

/* Queue the engine on kwarp_wq. Context: any, any locks. */
void kwarp_tx_kick(struct kwarp_qp *qp);

/*
 * Queue both engines for what a pass, or a process holding the socket lock, left over.
 * This may take arbitrarily long, so it gets no priority over programs: kwarp_rest_wq, or
 * the workqueue of a program's socket. Context: any, any locks.
 */
void kwarp_tx_defer(struct kwarp_qp *qp);

/* coalesce.c */

void kwarp_tx_linger_init(struct kwarp_qp *qp);

/* Context: process, may sleep; the engine has stopped for good. */
void kwarp_tx_linger_exit(struct kwarp_qp *qp);

/* The engine was called. Context: socket lock held. */
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
 * @qp:		queue pair
 * @err:	error to report
 * @seg:	as for kwarp_qp_raise(), the only caller
 * @seg_len:	as for kwarp_qp_raise()
 * @ulpdu_len:	as for kwarp_qp_raise()
 */
void kwarp_tx_terminate(struct kwarp_qp *qp, const struct kwarp_term_err *err,
			const u8 *seg, u32 seg_len, u32 ulpdu_len);

/* Stop building for good. Context: socket lock held, or no connection attached. */
void kwarp_tx_stop(struct kwarp_qp *qp);

#endif /* _KWARP_RDMAP_TX_H */
