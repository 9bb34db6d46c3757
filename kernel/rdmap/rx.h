/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The receive engine: verified ULPDUs -> placement -> delivery. All functions need the
 * socket lock if a connection is attached.
 */
#ifndef _KWARP_RDMAP_RX_H
#define _KWARP_RDMAP_RX_H

#include "rdmap/pass.h"
#include "rdmap/qp.h"

int kwarp_rx_alloc(struct kwarp_qp *qp);

/* Reset the engine for a new stream; the allocated memory stays. */
void kwarp_rx_begin(struct kwarp_qp *qp);
void kwarp_rx_free(struct kwarp_qp *qp);
enum kwarp_err kwarp_rx_pull(struct kwarp_rx_pass *pass, struct kwarp_llp *llp);
void kwarp_rx_resume(struct kwarp_qp *qp);
void kwarp_rx_stop(struct kwarp_qp *qp);

#endif /* _KWARP_RDMAP_RX_H */
