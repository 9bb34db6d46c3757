// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Matching of kwarp devices by libibverbs, contexts, and the table of
 * operations.
 */
#include <errno.h>
#include <stdlib.h>

#include "compat.h"
#include "kwarp.h"
#include "kwarp_provider_abi.h"

static void kwarp_free_context(struct ibv_context *ibctx);

static const struct verbs_context_ops kwarp_context_ops = {
	.alloc_mw = kwarp_alloc_mw,
	.alloc_parent_domain = kwarp_alloc_parent_domain,
	.alloc_pd = kwarp_alloc_pd,
	.alloc_td = kwarp_alloc_td,
	.bind_mw = kwarp_bind_mw,
	.create_cq = kwarp_create_cq,
	.create_cq_ex = kwarp_create_cq_ex,
	.create_qp = kwarp_create_qp,
	.create_qp_ex = kwarp_create_qp_ex,
	.create_srq = kwarp_create_srq,
	.dealloc_mw = kwarp_dealloc_mw,
	.dealloc_pd = kwarp_dealloc_pd,
	.dealloc_td = kwarp_dealloc_td,
	.dereg_mr = kwarp_dereg_mr,
	.destroy_cq = kwarp_destroy_cq,
	.destroy_qp = kwarp_destroy_qp,
	.destroy_srq = kwarp_destroy_srq,
	.free_context = kwarp_free_context,
	.import_mr = kwarp_import_mr,
	.import_pd = kwarp_import_pd,
	.modify_cq = kwarp_modify_cq,
	.modify_qp = kwarp_modify_qp,
	.modify_srq = kwarp_modify_srq,
	.poll_cq = kwarp_poll_cq,
	.post_recv = kwarp_post_recv,
	.post_send = kwarp_post_send,
	.post_srq_recv = kwarp_post_srq_recv,
	.query_device_ex = kwarp_query_device_ex,
	.query_port = kwarp_query_port,
	.query_qp = kwarp_query_qp,
	.query_rt_values = kwarp_query_rt_values,
	.query_srq = kwarp_query_srq,
	.reg_dmabuf_mr = kwarp_reg_dmabuf_mr,
	.reg_mr = kwarp_reg_mr,
	.req_notify_cq = kwarp_req_notify_cq,
	.rereg_mr = kwarp_rereg_mr,
	.resize_cq = kwarp_resize_cq,
	.unimport_mr = kwarp_unimport_mr,
	.unimport_pd = kwarp_unimport_pd,
};

/* libibverbs has compared the device's ABI version, not that of the context. */
static bool speaks_our_abi(struct verbs_context *vctx,
			   const struct kwarp_uresp_alloc_ctx *resp)
{
	if (resp->abi_version == KWARP_ABI_VERSION &&
	    resp->cqe_size == sizeof(struct kwarp_cqe))
		return true;

	verbs_err(vctx,
		  "kernel has ABI %u with CQEs of %u bytes, provider %u with %zu\n",
		  resp->abi_version, resp->cqe_size, KWARP_ABI_VERSION,
		  sizeof(struct kwarp_cqe));
	return false;
}

static struct verbs_context *kwarp_alloc_context(struct ibv_device *ibdev,
						 int cmd_fd, void *unused)
{
	struct kwarp_alloc_ctx cmd = {
		.drv_payload.features = KWARP_FEATURE_ATTACH,
	};
	struct kwarp_alloc_ctx_resp resp = {};
	struct kwarp_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, vctx,
					   KWARP_DRIVER_ID);
	if (!ctx)
		return NULL;

	ret = kwarp_cmd_get_context(&ctx->vctx, &cmd.ibv_cmd, sizeof(cmd),
				    &resp.ibv_resp, sizeof(resp));
	if (!ret && !speaks_our_abi(&ctx->vctx, &resp.drv_payload))
		ret = EPROTONOSUPPORT;
	if (ret) {
		verbs_uninit_context(&ctx->vctx);
		free(ctx);
		errno = ret;
		return NULL;
	}

	kwarp_burst_init(ctx);
	verbs_set_ops(&ctx->vctx, &kwarp_context_ops);
	return &ctx->vctx;
}

/*
 * Import the context of another process by its command fd. That process has
 * compared the ABI already.
 */
static struct verbs_context *kwarp_import_context(struct ibv_device *ibdev,
						  int cmd_fd)
{
	struct kwarp_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, vctx,
					   KWARP_DRIVER_ID);
	if (!ctx)
		return NULL;

	ret = ibv_cmd_query_context(&ctx->vctx.context, NULL);
	if (ret) {
		verbs_uninit_context(&ctx->vctx);
		free(ctx);
		errno = ret;
		return NULL;
	}

	kwarp_burst_init(ctx);
	verbs_set_ops(&ctx->vctx, &kwarp_context_ops);
	return &ctx->vctx;
}

static void kwarp_free_context(struct ibv_context *ibctx)
{
	struct kwarp_context *ctx =
		container_of(ibctx, struct kwarp_context, vctx.context);

	kwarp_burst_exit(ctx);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static struct verbs_device *kwarp_alloc_device(struct verbs_sysfs_dev *unused)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void kwarp_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

static const struct verbs_match_ent kwarp_match_table[] = {
	VERBS_DRIVER_ID(KWARP_DRIVER_ID),
	VERBS_NAME_MATCH("kwarp", NULL),
	{},
};

/*
 * Users choose device names freely, so a name alone matches only if the kernel
 * does not report the driver id.
 */
static bool kwarp_match_device(struct verbs_sysfs_dev *sysfs_dev)
{
	return sysfs_dev->match && (sysfs_dev->driver_id == KWARP_DRIVER_ID ||
				    sysfs_dev->driver_id == RDMA_DRIVER_UNKNOWN);
}

static const struct verbs_device_ops kwarp_device_ops = {
	.name = "kwarp",
	.match_min_abi_version = KWARP_ABI_VERSION,
	.match_max_abi_version = KWARP_ABI_VERSION,
	.match_table = kwarp_match_table,
	.match_device = kwarp_match_device,
	.alloc_context = kwarp_alloc_context,
	.alloc_device = kwarp_alloc_device,
	.import_context = kwarp_import_context,
	.uninit_device = kwarp_uninit_device,
};

PROVIDER_DRIVER(kwarp, kwarp_device_ops);
