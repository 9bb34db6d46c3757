/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connection manager: iw_cm operations and the endpoint state machine. */
#ifndef _KWARP_CM_H
#define _KWARP_CM_H

#include <rdma/iw_cm.h>

#include "kwarp.h"

struct kwarp_attach_params;
struct kwarp_attach_result;
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
struct kwarp_qp *kwarp_iw_qp_target(struct ib_qp *ibqp);
struct ib_qp *kwarp_iw_qp_take(const struct iw_cm_id *id, u32 qpn);
struct ib_qp *kwarp_iw_qp_grant(const struct iw_cm_id *id, u32 qpn);
int kwarp_iw_qp_init(void);
void kwarp_iw_qp_exit(void);
void kwarp_cm_qp_gone(struct kwarp_qp *qp);
int kwarp_cm_qp_leave(struct kwarp_qp *qp);

/* A device's endpoints: initialise, free. No endpoint is left at exit. */
void kwarp_cm_device_init(struct kwarp_device *dev);
void kwarp_cm_device_exit(struct kwarp_device *dev);
bool kwarp_cm_device_down(struct kwarp_device *dev);
void kwarp_cm_device_drain(struct kwarp_device *dev);
void kwarp_cm_readdress(struct kwarp_device *dev);
struct net *kwarp_addr_net(struct kwarp_device *dev, int *ifindex);
struct net_device *kwarp_cm_path(struct net *net, const char *name);

/* Read and write policy paths under dev->lock. Context: any. */
void kwarp_cm_get_paths(struct kwarp_device *dev, struct kwarp_paths *paths);
void kwarp_cm_set_paths(struct kwarp_device *dev, const struct kwarp_paths *paths);

/* Bytes passed by a program: NULL and 0 if none. */
struct kwarp_bytes {
	const void *p;
	u32 len;
};

int kwarp_cm_attach(struct kwarp_qp *qp, int fd,
		    const struct kwarp_attach_params *p,
		    const struct kwarp_bytes *msg,
		    const struct kwarp_bytes *pd);
int kwarp_cm_attach_wait(struct kwarp_qp *qp, u32 ms,
			 struct kwarp_attach_result *res, u8 *pd);

/* Drop the result of the last attach; the QP is being freed. */
void kwarp_cm_attach_forget(struct kwarp_qp *qp);
void kwarp_rdv_init(struct kwarp_qp *qp);
int kwarp_rdv_begin(struct kwarp_qp *qp, const struct ib_qp_attr *attr);
int kwarp_rdv_sends(struct kwarp_qp *qp, const struct ib_qp_attr *attr);
void kwarp_rdv_cancel(struct kwarp_qp *qp);
int kwarp_rdv_set_port(struct kwarp_device *dev, u16 port);

#endif /* _KWARP_CM_H */
