// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Verbs of the device and its port. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "kwarp.h"

int kwarp_query_device_ex(struct ibv_context *ctx,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t ver;
	int ret;

	ret = ibv_cmd_query_device_any(ctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	/* major.minor.patch, as packed by the kernel's kwarp_query_device() */
	ver = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(ver >> 32) & 0xffff,
		 (unsigned int)(ver >> 16) & 0xffff,
		 (unsigned int)ver & 0xffff);
	return 0;
}

int kwarp_query_port(struct ibv_context *ctx, uint8_t port,
		     struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd = {};
	int ret;

	ret = ibv_cmd_query_port(ctx, port, attr, &cmd, sizeof(cmd));
	/*
	 * The kernel's port has a P_Key for rdma_cm alone. libfabric takes a port
	 * with P_Keys for one of InfiniBand, and its GIDs for addresses of AF_IB.
	 */
	if (!ret)
		attr->pkey_tbl_len = 0;
	return ret;
}

/* The raw clock is that of completion timestamps: CLOCK_MONOTONIC in ns. */
int kwarp_query_rt_values(struct ibv_context *ctx,
			  struct ibv_values_ex *values)
{
	uint32_t wanted = values->comp_mask;
	struct timespec now;

	values->comp_mask = 0;
	if (wanted & ~IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (wanted) {
		if (clock_gettime(CLOCK_MONOTONIC, &now))
			return errno;
		values->raw_clock = now;
		/* As other providers do, where a long has room for it. */
		if (sizeof(long) > 4) {
			values->raw_clock.tv_sec = 0;
			values->raw_clock.tv_nsec += now.tv_sec * 1000000000LL;
		}
		values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	}
	return 0;
}
