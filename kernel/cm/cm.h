/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connection manager: iw_cm operations and the endpoint state machine. */
#ifndef _KWARP_CM_H
#define _KWARP_CM_H

#include <rdma/iw_cm.h>

#include "../kwarp.h"

struct kwarp_qp;

int kwarp_cm_init(void);
void kwarp_cm_exit(void);

/* iw_* operations of the device. Process context. */
int kwarp_cm_connect(struct iw_cm_id *id, struct iw_cm_conn_param *params);
int kwarp_cm_accept(struct iw_cm_id *id, struct iw_cm_conn_param *params);
int kwarp_cm_reject(struct iw_cm_id *id, const void *pdata, u8 pd_len);
int kwarp_cm_create_listen(struct iw_cm_id *id, int backlog);
int kwarp_cm_destroy_listen(struct iw_cm_id *id);
void kwarp_cm_qp_add_ref(struct ib_qp *ibqp);
void kwarp_cm_qp_rem_ref(struct ib_qp *ibqp);
struct ib_qp *kwarp_cm_get_qp(struct ib_device *ibdev, int qpn);

/**
 * kwarp_cm_qp_gone() - a QP is being destroyed: end what it is used for
 * @qp:		queue pair in ERR, with the caller's reference
 *
 * Raises KWARP_LLP_EV_QP_GONE for its connection, be it attached or still being
 * made. Returns at once; connection and iw_cm drop their references soon, so
 * destroy_qp calls this and then waits for qp->free, without qp->mutex.
 * Context: process.
 */
void kwarp_cm_qp_gone(struct kwarp_qp *qp);

/**
 * kwarp_cm_device_down() - the netdev or device goes: end every endpoint
 * @dev:	device
 * @wait:	the device goes: listeners, too, and wait until nothing is left; no
 *		new connection or listener may come, so ib_unregister_device() is
 *		through
 *
 * Context: process, may sleep.
 */
void kwarp_cm_device_down(struct kwarp_device *dev, bool wait);

#endif /* _KWARP_CM_H */
