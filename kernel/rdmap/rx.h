/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The receive engine: verified ULPDUs -> placement -> delivery. Everything here runs with
 * the socket lock held.
 */
#ifndef _KWARP_RDMAP_RX_H
#define _KWARP_RDMAP_RX_H

#include "rdmap/qp.h"

int kwarp_rx_alloc(struct kwarp_qp *qp);

/* A new stream, with the memory allocated. */
void kwarp_rx_begin(struct kwarp_qp *qp);
void kwarp_rx_free(struct kwarp_qp *qp);
bool kwarp_rx_run(struct kwarp_qp *qp, struct kwarp_llp *llp);
void kwarp_rx_continue(struct kwarp_qp *qp, struct kwarp_llp *llp);
void kwarp_rx_stop(struct kwarp_qp *qp);

#endif /* _KWARP_RDMAP_RX_H */
