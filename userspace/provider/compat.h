/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All differences between the versions of rdma-core's private provider
 * interface, selected by its number (config.h) or, where versions with the same
 * number differ, by CMakeLists.txt.
 */
#ifndef KWARP_COMPAT_H
#define KWARP_COMPAT_H

#include <infiniband/driver.h>

/* 57: a caller may open the device's command and async descriptors itself. */
static inline int kwarp_cmd_get_context(struct verbs_context *vctx,
					struct ibv_get_context *cmd,
					size_t cmd_size,
					struct ib_uverbs_get_context_resp *resp,
					size_t resp_size)
{
#if IBVERBS_PABI_VERSION >= 57
	return ibv_cmd_get_context(vctx, cmd, cmd_size, NULL, resp, resp_size);
#else
	return ibv_cmd_get_context(vctx, cmd, cmd_size, resp, resp_size);
#endif
}

/* 59: a CQ may be placed in memory of the caller's choice. */
static inline int kwarp_cmd_create_cq_ex(
	struct ibv_context *ctx, const struct ibv_cq_init_attr_ex *attr,
	struct verbs_cq *vcq, struct ibv_create_cq_ex *cmd, size_t cmd_size,
	struct ib_uverbs_ex_create_cq_resp *resp, size_t resp_size)
{
#if IBVERBS_PABI_VERSION >= 59
	return ibv_cmd_create_cq_ex(ctx, attr, NULL, vcq, cmd, cmd_size, resp,
				    resp_size, 0);
#else
	return ibv_cmd_create_cq_ex(ctx, attr, vcq, cmd, cmd_size, resp,
				    resp_size, 0);
#endif
}

/* Version 54, private ABI 34 as before: a driver may add attributes. */
static inline int kwarp_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					  size_t length, uint64_t iova, int fd,
					  int access, struct verbs_mr *vmr)
{
#ifdef KWARP_RDMA_CORE_BEFORE_54
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr);
#else
	return ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				     NULL);
#endif
}

#endif /* KWARP_COMPAT_H */
