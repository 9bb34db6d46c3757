/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connection manager: iw_cm operations and the endpoint state machine. */
#ifndef _KWARP_CM_H
#define _KWARP_CM_H

#include <rdma/iw_cm.h>

#include "../kwarp.h"

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

/* A device is made, dev->lock included; and freed, with no endpoint left. */
void kwarp_cm_device_init(struct kwarp_device *dev);
void kwarp_cm_device_exit(struct kwarp_device *dev);

/**
 * kwarp_cm_device_down() - the netdev or device goes: end every endpoint
 * @dev:	device
 * @wait:	the device goes: listeners, too, and wait until nothing is left; no
 *		new connection or listener may come, so ib_unregister_device() is
 *		through
 *
 * Context: process, may sleep.
 * Return: there was one, listeners included.
 */
bool kwarp_cm_device_down(struct kwarp_device *dev, bool wait);

/**
 * kwarp_cm_attach() - make a connection from a program's TCP socket
 * @qp:		queue pair in INIT, which the caller keeps
 * @fd:		descriptor of the calling process
 * @p:		parameters, not yet checked
 * @msg:	last streaming message, or NULL
 * @msg_len:	its length, at most KWARP_ATTACH_MESSAGE_MAX
 * @pd:		private data, or NULL
 * @pd_len:	their length, at most KWARP_MPA_PD_MAX
 *
 * Starts; kwarp_cm_attach_wait() tells how it ended. On failure the socket is as
 * it was. Context: process.
 *
 * Return: 0; -EINVAL (parameters; QP not in INIT), -EALREADY (an earlier attach
 * has not ended), -ENODEV, -ENOMEM, or as kwarp_llp_take().
 */
int kwarp_cm_attach(struct kwarp_qp *qp, int fd,
		    const struct kwarp_attach_params *p, const void *msg,
		    u32 msg_len, const void *pd, u16 pd_len);

/**
 * kwarp_cm_attach_wait() - wait for the end of startup
 * @qp:		queue pair, which the caller keeps
 * @ms:		limit, milliseconds, up to KWARP_ATTACH_WAIT_MAX_MS
 * @res:	result
 * @pd:		gets the peer's private data: KWARP_MPA_PD_MAX octets of room
 *
 * Context: process.
 * Return: 0 if startup has ended: @res->status tells how; -EAGAIN if it has not,
 * -ERESTARTSYS, -ENOENT if nothing was attached.
 */
int kwarp_cm_attach_wait(struct kwarp_qp *qp, u32 ms,
			 struct kwarp_attach_result *res, u8 *pd);

/* A QP without a connection is freed: forget its last attach. */
void kwarp_cm_attach_forget(struct kwarp_qp *qp);

/**
 * kwarp_rdv_init() - a queue pair is created
 * @qp:		queue pair
 */
void kwarp_rdv_init(struct kwarp_qp *qp);

/**
 * kwarp_rdv_begin() - INIT to RTR: look for the partner
 * @qp:		queue pair in INIT, its mutex held
 * @attr:	ah_attr with sgid_attr, dest_qp_num, rq_psn, max_dest_rd_atomic
 *
 * Returns at once. Posts go out when the partner has been found; if it has not by
 * a deadline (three times the policy's startup_timeout_ms, from here and again from
 * RTS), kwarp_qp_unreachable() is called. Context: process.
 *
 * Return: 0; -EOPNOTSUPP if the policy has no rendezvous_port; -EINVAL if the
 * path is not between an address of ours and that of a single host, or they are
 * of different families and devices; -EBUSY if another connection has the QP.
 */
int kwarp_rdv_begin(struct kwarp_qp *qp, const struct ib_qp_attr *attr);

/**
 * kwarp_rdv_sends() - RTR to RTS
 * @qp:		queue pair in rendezvous, its mutex held
 * @attr:	sq_psn, max_rd_atomic
 *
 * Context: process.
 *
 * Return: 0; -EINVAL if the partner that was found expects another PSN: then the
 * queue pair is in ERR, and its connection ends.
 */
int kwarp_rdv_sends(struct kwarp_qp *qp, const struct ib_qp_attr *attr);

/**
 * kwarp_rdv_end() - look for no partner any more, leave the one that was found
 * @qp:		queue pair in ERR, its mutex not held
 *
 * On return no connection is attached, and none will be. Context: process, may
 * sleep, but not for the network.
 */
void kwarp_rdv_end(struct kwarp_qp *qp);

/**
 * kwarp_rdv_set_port() - policy rendezvous_port: where partners find this device
 * @dev:	device
 * @port:	TCP port, 0: nowhere
 *
 * Its listener ends with the namespace, or by port 0. Context: process, may sleep.
 * Return: 0; -ENODEV; -EADDRINUSE or what else the socket layer says: then there
 * is none.
 */
int kwarp_rdv_set_port(struct kwarp_device *dev, u16 port);

#endif /* _KWARP_CM_H */
