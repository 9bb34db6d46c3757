/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connection manager: iw_cm operations and the endpoint state machine. */
#ifndef _KWARP_CM_H
#define _KWARP_CM_H

#include <rdma/iw_cm.h>

#include "../kwarp.h"

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
 * kwarp_cm_device_down() - the netdev or device goes: end every endpoint
 * @dev:	device
 * @wait:	also wait until none is left (device removal)
 *
 * Context: process, may sleep.
 */
void kwarp_cm_device_down(struct kwarp_device *dev, bool wait);

#endif /* _KWARP_CM_H */
