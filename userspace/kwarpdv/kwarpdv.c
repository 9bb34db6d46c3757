// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * kwarp's direct interface as a library, for rdma-core, which has its own functions to
 * call a driver's methods. Programs without libkwarp use the inline functions in
 * kwarpdv.h.
 */
#include <errno.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/kwarp-abi.h>

#include "kwarp.h"
#include "kwarpdv.h"

int kwarpdv_attach_start(struct ibv_qp *qp, int fd,
			 const struct kwarpdv_attach_attr *attr)
{
	struct kwarp_attach_params params = {
		.form = attr->form,
		.role = attr->role,
		.crc = attr->crc,
		.markers = attr->markers,
		.p2p = attr->p2p,
		.mpa_rev = attr->mpa_rev,
		.flags = attr->flags,
		.ird = attr->ird,
		.ord = attr->ord,
		.timeout_ms = attr->timeout_ms,
	};
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, KWARP_METHOD_QP_ATTACH,
			       5);

	if (!kwarpdv_is_supported(qp->context->device) ||
	    attr->message_len > KWARP_ATTACH_MESSAGE_MAX ||
	    attr->private_data_len > KWARP_ATTACH_PRIVATE_DATA_MAX)
		return EINVAL;
	/* The core's functions omit the attribute for -1. */
	if (fd < 0)
		return EBADF;
	fill_attr_in_obj(cmd, KWARP_ATTR_ATTACH_QP, qp->handle);
	fill_attr_in_fd(cmd, KWARP_ATTR_ATTACH_FD, fd);
	fill_attr_in_ptr(cmd, KWARP_ATTR_ATTACH_PARAMS, &params);
	if (attr->message_len)
		fill_attr_in(cmd, KWARP_ATTR_ATTACH_MESSAGE, attr->message,
			     attr->message_len);
	if (attr->private_data_len)
		fill_attr_in(cmd, KWARP_ATTR_ATTACH_PRIVATE_DATA,
			     attr->private_data, attr->private_data_len);
	return execute_ioctl(qp->context, cmd);
}

int kwarpdv_attach_wait(struct ibv_qp *qp, uint32_t ms,
			struct kwarpdv_attach_result *result)
{
	struct kwarpdv_attach_result local;
	int ret;

	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP,
			       KWARP_METHOD_QP_ATTACH_WAIT, 4);

	if (!kwarpdv_is_supported(qp->context->device))
		return EINVAL;
	if (!result)
		result = &local;
	memset(result, 0, sizeof(*result));
	fill_attr_in_obj(cmd, KWARP_ATTR_ATTACH_WAIT_QP, qp->handle);
	fill_attr_in_uint32(cmd, KWARP_ATTR_ATTACH_WAIT_MS, ms);
	fill_attr_out_ptr(cmd, KWARP_ATTR_ATTACH_WAIT_RESULT, &result->agreed);
	fill_attr_out(cmd, KWARP_ATTR_ATTACH_WAIT_PRIVATE_DATA,
		      result->private_data, sizeof(result->private_data));
	ret = execute_ioctl(qp->context, cmd);
	return ret ? ret : result->agreed.status;
}

int kwarpdv_attach(struct ibv_qp *qp, int fd,
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
