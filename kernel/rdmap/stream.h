/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A queue pair and its connection: attach, detach, disconnect, errors. */
#ifndef _KWARP_RDMAP_STREAM_H
#define _KWARP_RDMAP_STREAM_H

#include "rdmap/qp.h"

void kwarp_qp_accepted(struct kwarp_qp *qp);
int kwarp_qp_prepare(struct kwarp_qp *qp, struct kwarp_llp *llp,
		     const struct kwarp_qp_params *params);

/* Undo kwarp_qp_prepare(); idempotent. Context: process; not attached. */
void kwarp_qp_unprepare(struct kwarp_qp *qp, struct kwarp_llp *llp);
int kwarp_qp_attach(struct kwarp_qp *qp, struct kwarp_llp *llp,
		    const struct kwarp_qp_params *params);
void kwarp_qp_start(struct kwarp_qp *qp);
void kwarp_qp_detach(struct kwarp_llp *llp);
void kwarp_qp_terminate(struct kwarp_qp *qp, enum kwarp_err err,
			const u8 *seg, u32 seg_len, u32 ulpdu_len);
void kwarp_qp_fail(struct kwarp_qp *qp);
void kwarp_qp_break(struct kwarp_qp *qp);
void kwarp_qp_disconnect(struct kwarp_qp *qp, enum kwarp_ending ending);

/* Report an asynchronous event of the QP to its consumer, if it has a handler. Context: any. */
void kwarp_qp_event(struct kwarp_qp *qp, enum ib_event_type type);
void kwarp_qp_fail_search(struct kwarp_qp *qp);
void kwarp_qp_check_lost(struct kwarp_qp *qp);

#endif /* _KWARP_RDMAP_STREAM_H */
