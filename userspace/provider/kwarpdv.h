/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kwarp's direct interface: operations that verbs and rdma_cm do not offer.
 * Header only, nothing to link: the functions issue the driver's own methods on
 * the context of a QP that libibverbs has made.
 *
 * All functions return 0 or an errno (positive). See Documentation/attach.rst,
 * in particular for the meaning of the program's descriptor afterwards.
 */
#ifndef KWARPDV_H
#define KWARPDV_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include <infiniband/verbs.h>
#include <rdma/kwarp-abi.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct kwarpdv_attach_attr - how MPA is to start on a TCP connection
 * @form:	request and reply (RFC 5044 7.1.3, RFC 6581), Start Keys
 *		(draft-culley-iwarp-mpa-03), or no startup frames (draft -02)
 * @role:	initiator or responder; draft -03 calls these passive and active: the
 *		responder is the side that sent the last streaming message. Without
 *		startup frames both sides may send FPDUs at once
 * @crc:	ask for CRC32c. CRCs are off only if neither side asks; OFF is refused
 *		(EPERM) unless the device's policy is "off": RFC 5044 4.4
 * @markers:	ask the peer for markers
 * @p2p:	initiator: ask for the peer-to-peer model (RFC 6581 9.2; with revision
 *		1 the Rtr frame of 2007)
 * @mpa_rev:	with request and reply: highest revision, 1 or 2; 0 for that of the
 *		policy. There is no retry with a lower one
 * @flags:	enum kwarp_attach_flags
 * @ird:	inbound RDMA Reads, 0 for none; at most what the policy allows
 * @ord:	outbound RDMA Reads; likewise
 * @timeout_ms:	limit of each wait for the peer, up to 600000; 0 for the policy's value
 * @message:	last streaming message, sent before MPA starts, or NULL
 * @message_len: its length, up to 4096 bytes
 * @private_data: for request and reply, or NULL
 * @private_data_len: up to 512 bytes; 508 with revision 2
 */
struct kwarpdv_attach_attr {
	enum kwarp_attach_form form;
	enum kwarp_attach_role role;
	enum kwarp_attach_choice crc;
	enum kwarp_attach_choice markers;
	enum kwarp_attach_choice p2p;
	uint8_t mpa_rev;
	uint16_t flags;
	uint16_t ird;
	uint16_t ord;
	uint32_t timeout_ms;
	const void *message;
	size_t message_len;
	const void *private_data;
	size_t private_data_len;
};

/**
 * struct kwarpdv_attach_result - how startup ended
 * @agreed:	parameters in force, valid if the QP is connected
 * @private_data: agreed.private_data_len bytes from the peer; also those of a
 *		rejection (ECONNREFUSED)
 */
struct kwarpdv_attach_result {
	struct kwarp_attach_result agreed;
	uint8_t private_data[KWARP_ATTACH_PRIVATE_DATA_MAX];
};

/* ---- a method call, laid out as the kernel expects it --------------------- */

#define KWARPDV_CMD_ATTRS	5

struct kwarpdv_cmd {
	uint64_t buf[(sizeof(struct ib_uverbs_ioctl_hdr) +
		      KWARPDV_CMD_ATTRS * sizeof(struct ib_uverbs_attr)) /
		     sizeof(uint64_t)];
};

static inline struct ib_uverbs_ioctl_hdr *
kwarpdv_cmd_hdr(struct kwarpdv_cmd *cmd)
{
	return (struct ib_uverbs_ioctl_hdr *)cmd->buf;
}

static inline struct ib_uverbs_attr *
kwarpdv_cmd_attr(struct kwarpdv_cmd *cmd, uint16_t id, size_t len)
{
	struct ib_uverbs_ioctl_hdr *hdr = kwarpdv_cmd_hdr(cmd);
	struct ib_uverbs_attr *attr = &hdr->attrs[hdr->num_attrs++];

	attr->attr_id = id;
	attr->len = (uint16_t)len;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

static inline void kwarpdv_cmd_init(struct kwarpdv_cmd *cmd, uint16_t method,
				    uint16_t qp_id, const struct ibv_qp *qp)
{
	struct ib_uverbs_ioctl_hdr *hdr = kwarpdv_cmd_hdr(cmd);

	memset(cmd, 0, sizeof(*cmd));
	hdr->object_id = UVERBS_OBJECT_QP;
	hdr->method_id = method;
	hdr->driver_id = KWARP_DRIVER_ID;
	kwarpdv_cmd_attr(cmd, qp_id, 0)->data = qp->handle;
}

/* Up to eight bytes are stored in place of the pointer. */
static inline void kwarpdv_cmd_in(struct kwarpdv_cmd *cmd, uint16_t id,
				  const void *p, size_t len)
{
	struct ib_uverbs_attr *attr = kwarpdv_cmd_attr(cmd, id, len);

	if (len <= sizeof(attr->data))
		memcpy(&attr->data, p, len);
	else
		attr->data = (uintptr_t)p;
}

static inline void kwarpdv_cmd_out(struct kwarpdv_cmd *cmd, uint16_t id,
				   void *p, size_t len)
{
	kwarpdv_cmd_attr(cmd, id, len)->data = (uintptr_t)p;
}

static inline int kwarpdv_cmd_run(struct kwarpdv_cmd *cmd,
				  const struct ibv_qp *qp)
{
	struct ib_uverbs_ioctl_hdr *hdr = kwarpdv_cmd_hdr(cmd);

	hdr->length = (uint16_t)(sizeof(*hdr) +
				 hdr->num_attrs * sizeof(hdr->attrs[0]));
	return ioctl(qp->context->cmd_fd, RDMA_VERBS_IOCTL, hdr) ? errno : 0;
}

/* ---- attached sockets ------------------------------------------------------ */

/**
 * kwarpdv_attach_start() - hand a connected TCP socket to a QP
 * @qp:		queue pair of a kwarp device, in state INIT
 * @fd:		socket
 * @attr:	how MPA is to start
 *
 * On success the socket belongs to the QP, and MPA starts in the background. On
 * failure the socket is unchanged. No other thread may be in a call on the socket,
 * and no other process may have it: EBUSY after a quarter of a second.
 *
 * Return: 0; EBADF, ENOTSOCK; EAFNOSUPPORT (not IPv4 or IPv6), ESOCKTNOSUPPORT
 * (no stream), EPROTOTYPE (not TCP: MPTCP, SCTP); ENOTCONN (not established, or
 * one direction closed); EBUSY (attached already, in use by another part of the
 * kernel, another thread or process); EOPNOTSUPP (TLS or another upper layer
 * protocol; TCP_REPAIR; SO_LOCK_FILTER); EPERM (a network namespace of another
 * owner); EALREADY (an attach of this QP has not ended); EINVAL (parameters, QP
 * not in INIT, no QP of kwarp); ENOMEM; ENODEV.
 */
static inline int kwarpdv_attach_start(struct ibv_qp *qp, int fd,
				       const struct kwarpdv_attach_attr *attr)
{
	struct kwarp_attach_params params;
	struct kwarpdv_cmd cmd;

	if (attr->message_len > KWARP_ATTACH_MESSAGE_MAX ||
	    attr->private_data_len > KWARP_ATTACH_PRIVATE_DATA_MAX)
		return EINVAL;
	memset(&params, 0, sizeof(params));
	params.form = (uint8_t)attr->form;
	params.role = (uint8_t)attr->role;
	params.crc = (uint8_t)attr->crc;
	params.markers = (uint8_t)attr->markers;
	params.p2p = (uint8_t)attr->p2p;
	params.mpa_rev = attr->mpa_rev;
	params.flags = attr->flags;
	params.ird = attr->ird;
	params.ord = attr->ord;
	params.timeout_ms = attr->timeout_ms;

	kwarpdv_cmd_init(&cmd, KWARP_METHOD_QP_ATTACH, KWARP_ATTR_ATTACH_QP,
			 qp);
	kwarpdv_cmd_attr(&cmd, KWARP_ATTR_ATTACH_FD, 0)->data_s64 = fd;
	kwarpdv_cmd_in(&cmd, KWARP_ATTR_ATTACH_PARAMS, &params, sizeof(params));
	if (attr->message_len)
		kwarpdv_cmd_in(&cmd, KWARP_ATTR_ATTACH_MESSAGE, attr->message,
			       attr->message_len);
	if (attr->private_data_len)
		kwarpdv_cmd_in(&cmd, KWARP_ATTR_ATTACH_PRIVATE_DATA,
			       attr->private_data, attr->private_data_len);
	return kwarpdv_cmd_run(&cmd, qp);
}

/**
 * kwarpdv_attach_wait() - wait until startup has ended
 * @qp:		queue pair
 * @ms:		limit in milliseconds, capped at 1000; 0 does not wait
 * @result:	how startup ended, or NULL
 *
 * Return: 0 if the QP is in RTS; EAGAIN if startup goes on; EINTR; ENOENT if
 * nothing was attached. Or why there is no connection: ETIMEDOUT, ECONNRESET (the
 * peer has closed it), ECONNREFUSED (rejected), EPROTO (not the frame expected,
 * or no agreement), EMSGSIZE, ENOBUFS, ENOMEM (no memory, or no agreement on IRD),
 * ECONNABORTED (the QP or the device is gone), ENETDOWN (the interface is gone).
 */
static inline int kwarpdv_attach_wait(struct ibv_qp *qp, uint32_t ms,
				      struct kwarpdv_attach_result *result)
{
	struct kwarpdv_attach_result local;
	struct kwarpdv_cmd cmd;
	int ret;

	if (!result)
		result = &local;
	memset(result, 0, sizeof(*result));
	kwarpdv_cmd_init(&cmd, KWARP_METHOD_QP_ATTACH_WAIT,
			 KWARP_ATTR_ATTACH_WAIT_QP, qp);
	kwarpdv_cmd_in(&cmd, KWARP_ATTR_ATTACH_WAIT_MS, &ms, sizeof(ms));
	kwarpdv_cmd_out(&cmd, KWARP_ATTR_ATTACH_WAIT_RESULT, &result->agreed,
			sizeof(result->agreed));
	kwarpdv_cmd_out(&cmd, KWARP_ATTR_ATTACH_WAIT_PRIVATE_DATA,
			result->private_data, sizeof(result->private_data));
	ret = kwarpdv_cmd_run(&cmd, qp);
	return ret ? ret : result->agreed.status;
}

/**
 * kwarpdv_attach() - hand over the socket and wait until startup has ended
 * @qp:		queue pair
 * @fd:		socket
 * @attr:	how MPA is to start
 * @result:	how startup ended, or NULL
 *
 * After EINTR startup goes on: kwarpdv_attach_wait() reports its end, and
 * destroying the QP aborts it. After any other error of the wait the connection
 * is closed.
 *
 * Return: as the two functions above, without EAGAIN.
 */
static inline int kwarpdv_attach(struct ibv_qp *qp, int fd,
				 const struct kwarpdv_attach_attr *attr,
				 struct kwarpdv_attach_result *result)
{
	int ret = kwarpdv_attach_start(qp, fd, attr);

	if (ret)
		return ret;
	do {
		ret = kwarpdv_attach_wait(qp, KWARP_ATTACH_WAIT_MAX_MS, result);
	} while (ret == EAGAIN);
	return ret;
}

#ifdef __cplusplus
}
#endif

#endif /* KWARPDV_H */
