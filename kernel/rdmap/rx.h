/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The receive engine: verified ULPDUs -> placement -> delivery. Everything here runs with
 * the socket lock held.
 */
#ifndef _KWARP_RDMAP_RX_H
#define _KWARP_RDMAP_RX_H

#include "rdmap/qp.h"

/*
 * Allocate the queues for qp->params, as far as they are not there, or too small. Context:
 * process; not attached. Return: 0 or -ENOMEM, then kwarp_rx_free() follows.
 */
int kwarp_rx_alloc(struct kwarp_qp *qp);

/* A new stream, with the memory allocated. */
void kwarp_rx_begin(struct kwarp_qp *qp);
void kwarp_rx_free(struct kwarp_qp *qp);

/**
 * kwarp_rx_run() - process the ULPDUs that have arrived
 * @qp:		attached queue pair
 * @llp:	its connection
 *
 * Consumes what it processed in one step, then answers read requests. What exceeds the
 * limits of a pass (enum kwarp_rx_limits) is left to kwarp_rx_continue().
 * Context: socket lock held; softirq or process.
 * Return: false if something is left, or if a pass that found an error is still running:
 * the end of the stream must not be reported yet.
 */
bool kwarp_rx_run(struct kwarp_qp *qp, struct kwarp_llp *llp);

/**
 * kwarp_rx_continue() - run the next pass, if one ended before the queue was empty
 * @qp:		attached queue pair
 * @llp:	its connection
 *
 * For qp->rest only. The end of the stream is reported after the last pass.
 * Context: process, socket lock held.
 */
void kwarp_rx_continue(struct kwarp_qp *qp, struct kwarp_llp *llp);

/**
 * kwarp_rx_stop() - stop for good and return the receive being filled
 * @qp:		queue pair
 *
 * Context: socket lock held, or no connection attached.
 */
void kwarp_rx_stop(struct kwarp_qp *qp);

#endif /* _KWARP_RDMAP_RX_H */
