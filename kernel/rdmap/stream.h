/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A queue pair and its connection: attach, end, and the single path for errors. */
#ifndef _KWARP_RDMAP_STREAM_H
#define _KWARP_RDMAP_STREAM_H

#include "rdmap/qp.h"

/**
 * kwarp_qp_expect() - accepted, but the initiator's last startup frame is still expected
 * @qp:		idle queue pair
 *
 * The QP's consumer may treat it as connected. Context: process.
 */
void kwarp_qp_expect(struct kwarp_qp *qp);

/**
 * kwarp_qp_prepare() - allocate the memory of a connection
 * @qp:		queue pair that the connection has claimed, not attached
 * @llp:	the connection; it may have no socket yet
 * @params:	the most that may be agreed on; a later call may say more, or less
 *
 * In a call of the QP's owner, before a worker needs the memory: that one must not wait for
 * an account that the owner may have exhausted. Context: process, may sleep.
 * Return: 0 or -ENOMEM; then nothing is left.
 */
int kwarp_qp_prepare(struct kwarp_qp *qp, struct kwarp_llp *llp,
		     const struct kwarp_qp_params *params);

/* Undo kwarp_qp_prepare(); idempotent. Context: process; not attached. */
void kwarp_qp_unprepare(struct kwarp_qp *qp, struct kwarp_llp *llp);

/**
 * kwarp_qp_attach() - attach a connection in Full Operation to a QP
 * @qp:		idle queue pair: in RTS from then on, or, with a partner, as modify_qp
 *		sets it
 * @llp:	connected, all startup bytes consumed; both sides take references
 * @params:	agreed parameters
 *
 * Allocates the read queues, switches the socket's callbacks to the engines and processes
 * what has already arrived. Nothing is sent yet: kwarp_qp_start() starts the send engine;
 * for a rendezvous responder the first FPDU does.
 * Context: process, may sleep.
 * Return: 0, -EISCONN if the QP is not idle, -ENOMEM, -ECONNRESET if a program holds its
 * socket's lock.
 */
int kwarp_qp_attach(struct kwarp_qp *qp, struct kwarp_llp *llp,
		    const struct kwarp_qp_params *params);

/**
 * kwarp_qp_start() - let the send engine run (it still honours wait_first)
 * @qp:		attached queue pair
 *
 * Separate from attach, so that the CM can deliver ESTABLISHED first.
 * Context: process.
 */
void kwarp_qp_start(struct kwarp_qp *qp);

/**
 * kwarp_qp_detach() - undo kwarp_qp_attach()
 * @llp:	connection; not an error if no QP is attached
 *
 * On return no engine runs on it, the QP is in ERR and flushed, and the
 * references are dropped. Context: process, may sleep; not under qp->mutex.
 */
void kwarp_qp_detach(struct kwarp_llp *llp);

/**
 * kwarp_qp_raise() - the single path for an error of the connection
 * @qp:		queue pair, socket lock held
 * @err:	the error; selects the Terminate's layer, type and code
 * @seg:	first bytes of the offending DDP segment for the Terminate, or NULL
 * @seg_len:	bytes in @seg
 * @ulpdu_len:	length of the offending ULPDU, for the DDP Segment Length field
 *
 * The receive engine stops for good, the Terminate is queued after what TCP has already
 * been given, the state becomes ERR, everything is flushed, and the consumer gets an
 * async event and the CM KWARP_LLP_EV_QP_ERR. Only the first error counts.
 * Context: any in which the socket lock is held.
 */
void kwarp_qp_raise(struct kwarp_qp *qp, enum kwarp_err err,
		    const u8 *seg, u32 seg_len, u32 ulpdu_len);

/**
 * kwarp_qp_fail() - the connection is dead: no Terminate can be sent
 * @qp:		queue pair, socket lock held
 *
 * For a Terminate from the peer, or on the consumer's request: ERR and flush, and the CM
 * gets KWARP_LLP_EV_QP_ERR. The end of the stream has its own events.
 */
void kwarp_qp_fail(struct kwarp_qp *qp);

/**
 * kwarp_qp_disconnect() - end the connection from this side
 * @qp:		queue pair, its mutex held
 * @abrupt:	false: RTS -> SQD, finish the send queue, then FIN;
 *		true: ERR and flush now; what TCP has accepted is still delivered
 *
 * Context: process, may sleep.
 */
void kwarp_qp_disconnect(struct kwarp_qp *qp, bool abrupt);

/* Report an asynchronous event of the QP to its consumer, if it has a handler. Context: any. */
void kwarp_qp_event(struct kwarp_qp *qp, enum ib_event_type type);

/**
 * kwarp_qp_unreachable() - there will be no connection
 * @qp:		queue pair in rendezvous, qp->mutex held, nothing attached
 *
 * ERR; the oldest send completes with RETRY_EXC_ERR, everything else is flushed, and the
 * consumer gets an event. Context: process.
 */
void kwarp_qp_unreachable(struct kwarp_qp *qp);

/**
 * kwarp_qp_check_lost() - fail the QP if a request waits for a partner that has gone
 * @qp:		queue pair
 *
 * It fails like a request that is never acknowledged, and as late: this leaves time for a
 * program that has all its data and is about to end. Context: process.
 */
void kwarp_qp_check_lost(struct kwarp_qp *qp);

#endif /* _KWARP_RDMAP_STREAM_H */
