/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Every difference between the versions of rdma-core's private provider
 * interface, told apart by its number (config.h).
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

#endif /* KWARP_COMPAT_H */
