/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The uverbs commands with private data of kwarp, as libibverbs lays them out.
 */
#ifndef KWARP_PROVIDER_ABI_H
#define KWARP_PROVIDER_ABI_H

#include <infiniband/kern-abi.h>
#include <rdma/kwarp-abi.h>

/*
 * DECLARE_DRV_CMD requires an unnamed copy of each private struct, which
 * rdma-core generates only for the headers in its own list. This provider uses
 * only the named member drv_payload, so the unnamed copy may be empty.
 */
#define _STRUCT_kwarp_ureq_alloc_ctx	struct {}
#define _STRUCT_kwarp_uresp_alloc_ctx	struct {}
#define _STRUCT_kwarp_uresp_create_cq	struct {}
#define _STRUCT_kwarp_uresp_create_qp	struct {}
#define _STRUCT_kwarp_uresp_create_srq	struct {}
#define _STRUCT_kwarp_ureq_modify_srq	struct {}

DECLARE_DRV_CMD(kwarp_alloc_ctx, IB_USER_VERBS_CMD_GET_CONTEXT,
		kwarp_ureq_alloc_ctx, kwarp_uresp_alloc_ctx);
DECLARE_DRV_CMD(kwarp_create_cq, IB_USER_VERBS_CMD_CREATE_CQ,
		empty, kwarp_uresp_create_cq);
DECLARE_DRV_CMD(kwarp_create_cq_ex, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		empty, kwarp_uresp_create_cq);
DECLARE_DRV_CMD(kwarp_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		empty, kwarp_uresp_create_cq);
DECLARE_DRV_CMD(kwarp_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		empty, kwarp_uresp_create_qp);
DECLARE_DRV_CMD(kwarp_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		empty, kwarp_uresp_create_srq);
DECLARE_DRV_CMD(kwarp_modify_srq, IB_USER_VERBS_CMD_MODIFY_SRQ,
		kwarp_ureq_modify_srq, empty);

#endif /* KWARP_PROVIDER_ABI_H */
