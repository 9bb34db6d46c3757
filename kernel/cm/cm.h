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

/**
 * kwarp_cm_qp_gone() - a QP is being destroyed: end its connection
 * @qp:		queue pair in ERR, with the caller's reference
 *
 * Raises KWARP_LLP_EV_QP_GONE for its connection, attached or still being set up. Returns
 * immediately; connection and iw_cm drop their references soon, so destroy_qp calls this
 * and then waits for qp->free, without qp->mutex.
 * Context: process.
 */
void kwarp_cm_qp_gone(struct kwarp_qp *qp);

/**
 * kwarp_cm_qp_leave() - end the connection of a queue pair, and the search for a partner
 * @qp:		queue pair in ERR, its mutex not held
 *
 * Context: process, may sleep, but does not wait for the network.
 * Return: 0: no connection is attached, and none will be; -ERESTARTSYS: the calling process is
 * being killed, and one may still end.
 */
int kwarp_cm_qp_leave(struct kwarp_qp *qp);

/* Initialise (including dev->lock) and free a device; no endpoint is left at exit. */
void kwarp_cm_device_init(struct kwarp_device *dev);
void kwarp_cm_device_exit(struct kwarp_device *dev);

/**
 * kwarp_cm_device_down() - the netdev or device is going away: end every endpoint
 * @dev:	device
 * @wait:	the device is being removed: end listeners, too, and wait until nothing is
 *		left; no new connection or listener may be created, so
 *		ib_unregister_device() has finished
 *
 * Context: process, may sleep.
 * Return: true if there was an endpoint, listeners included.
 */
bool kwarp_cm_device_down(struct kwarp_device *dev, bool wait);

/**
 * kwarp_cm_readdress() - the netdev's addresses may have changed
 * @dev:	device
 *
 * Listeners for all addresses follow soon. Context: any.
 */
void kwarp_cm_readdress(struct kwarp_device *dev);

struct net_device *kwarp_cm_path(struct net *net, const char *name);

/* Policy paths, under @dev->lock. Context: any. */
void kwarp_cm_get_paths(struct kwarp_device *dev, struct kwarp_paths *paths);
void kwarp_cm_set_paths(struct kwarp_device *dev, const struct kwarp_paths *paths);

/* What a program has passed: NULL and 0 if nothing. */
struct kwarp_bytes {
	const void *p;
	u32 len;
};

/**
 * kwarp_cm_attach() - start MPA on a program's TCP socket
 * @qp:		queue pair in INIT; the caller holds a reference
 * @fd:		descriptor of the calling process
 * @p:		parameters, not yet validated
 * @msg:	last streaming message, at most KWARP_ATTACH_MESSAGE_MAX bytes
 * @pd:		private data, at most KWARP_MPA_PD_MAX bytes
 *
 * Starts the setup; kwarp_cm_attach_wait() reports its result. On failure the socket is
 * unchanged. Context: process.
 *
 * Return: 0; -EINVAL (parameters; QP not in INIT), -EALREADY (an earlier attach is still
 * in progress), -ENODEV, -ENOMEM, or as kwarp_llp_take().
 */
int kwarp_cm_attach(struct kwarp_qp *qp, int fd,
		    const struct kwarp_attach_params *p,
		    const struct kwarp_bytes *msg,
		    const struct kwarp_bytes *pd);

/**
 * kwarp_cm_attach_wait() - wait for the end of startup
 * @qp:		queue pair; the caller holds a reference
 * @ms:		limit, milliseconds, up to KWARP_ATTACH_WAIT_MAX_MS
 * @res:	result
 * @pd:		gets the peer's private data: room for KWARP_MPA_PD_MAX bytes
 *
 * Context: process.
 * Return: 0 if startup has ended, with the outcome in @res->status; -EAGAIN if it has
 * not, -ERESTARTSYS, -ENOENT if nothing was attached.
 */
int kwarp_cm_attach_wait(struct kwarp_qp *qp, u32 ms,
			 struct kwarp_attach_result *res, u8 *pd);

/* A QP without a connection is being freed: drop its last attach. */
void kwarp_cm_attach_forget(struct kwarp_qp *qp);

/**
 * kwarp_rdv_init() - a queue pair is being created
 * @qp:		queue pair
 */
void kwarp_rdv_init(struct kwarp_qp *qp);

/**
 * kwarp_rdv_begin() - INIT to RTR: start looking for the partner
 * @qp:		queue pair in INIT, its mutex held
 * @attr:	ah_attr with sgid_attr, dest_qp_num, rq_psn, max_dest_rd_atomic
 *
 * Returns immediately. Posted requests are sent when the partner has been found; if it is
 * not found by a deadline (three times the policy's startup_timeout_ms, from here and
 * again from RTS), kwarp_qp_unreachable() is called. Context: process.
 *
 * Return: 0; -EOPNOTSUPP if the policy has no rendezvous_port; -EINVAL if the path does
 * not lead from an address of this device to the address of a single host, or the
 * families differ and the destination is another device; -EBUSY if another connection has
 * claimed the QP.
 */
int kwarp_rdv_begin(struct kwarp_qp *qp, const struct ib_qp_attr *attr);

/**
 * kwarp_rdv_sends() - RTR to RTS
 * @qp:		queue pair in rendezvous, its mutex held
 * @attr:	sq_psn, max_rd_atomic
 *
 * Context: process.
 *
 * Return: 0; -EINVAL if the partner that was found expects another PSN: then the queue
 * pair is in ERR, and its connection ends.
 */
int kwarp_rdv_sends(struct kwarp_qp *qp, const struct ib_qp_attr *attr);

/**
 * kwarp_rdv_cancel() - end the search for a partner
 * @qp:		queue pair in ERR, its mutex not held
 *
 * Context: process, may sleep, but does not wait for the network.
 */
void kwarp_rdv_cancel(struct kwarp_qp *qp);

/**
 * kwarp_rdv_set_port() - set the policy rendezvous_port, where this device listens
 * @dev:	device
 * @port:	TCP port, 0: do not listen
 *
 * Port 0 or the end of the namespace closes its listener. Context: process, may sleep.
 * Return: 0; -ENODEV; -EADDRINUSE or another error of the socket layer: then there is no
 * listener.
 */
int kwarp_rdv_set_port(struct kwarp_device *dev, u16 port);

#endif /* _KWARP_CM_H */
