/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The driver of a stream's engines: runs them, and acts on what their passes find. Socket lock
 * held, unless noted.
 */
#ifndef _KWARP_RDMAP_DRIVE_H
#define _KWARP_RDMAP_DRIVE_H

#include "rdmap/qp.h"

void kwarp_drive(struct kwarp_qp *qp, struct kwarp_llp *llp, u8 work);
void kwarp_drive_enter(struct kwarp_qp *qp);
void kwarp_drive_await(struct kwarp_qp *qp);

/* Functions of qp->work, qp->rest and qp->retry; no locks held */
void kwarp_drive_work(struct work_struct *work);
void kwarp_drive_rest_work(struct work_struct *work);
void kwarp_drive_retry_work(struct work_struct *work);

#endif /* _KWARP_RDMAP_DRIVE_H */
