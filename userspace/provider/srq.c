// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Shared receive queues. Posting is post.c. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <ccan/minmax.h>

#include "kwarp.h"
#include "kwarp_provider_abi.h"

static bool layout_is_sound(const struct kwarp_map *map,
			    const struct kwarp_uresp_create_srq *resp,
			    uint32_t max_sge)
{
	return sizeof(struct kwarp_rqe) +
		       (uint64_t)max_sge * sizeof(struct kwarp_sge) <=
	       resp->rq_stride &&
	       kwarp_map_has_ctl(map, resp->ctl_offset) &&
	       kwarp_map_has_ring(map, resp->rq_offset, resp->num_rqe,
				  resp->rq_stride);
}

/* Map a new or resized queue; a resized one keeps its indices and lock. */
static int map_srq(struct kwarp_srq *srq, struct ibv_context *ctx,
		   const struct kwarp_uresp_create_srq *resp,
		   uint32_t max_wr, uint32_t max_sge)
{
	struct kwarp_map map;
	int ret;

	ret = kwarp_map(&map, ctx, resp->mmap_key, resp->mmap_size);
	if (ret)
		return ret;
	if (!layout_is_sound(&map, resp, max_sge)) {
		kwarp_unmap(&map);
		return EPROTO;
	}
	kwarp_unmap(&srq->map);
	srq->map = map;
	srq->rq.ctl = (struct kwarp_ring_ctl *)(map.base + resp->ctl_offset);
	srq->rq.ring = map.base + resp->rq_offset;
	srq->rq.mask = resp->num_rqe - 1;
	srq->rq.stride = resp->rq_stride;
	srq->rq.limit = min_t(uint32_t, max_wr, resp->num_rqe);
	srq->rq.max_sge = max_sge;
	return 0;
}

struct ibv_srq *kwarp_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct kwarp_create_srq_resp resp = {};
	struct kwarp_create_srq cmd = {};
	struct kwarp_srq *srq;
	int ret;

	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return NULL;

	/* This puts the granted values into attr->attr. */
	ret = ibv_cmd_create_srq(pd, &srq->vsrq.srq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;
	ret = map_srq(srq, pd->context, &resp.drv_payload, attr->attr.max_wr,
		      attr->attr.max_sge);
	if (ret)
		goto err_destroy;

	pthread_spin_init(&srq->rq.lock, PTHREAD_PROCESS_PRIVATE);
	return &srq->vsrq.srq;

err_destroy:
	ibv_cmd_destroy_srq(&srq->vsrq.srq);
err_free:
	free(srq);
	errno = ret;
	return NULL;
}

/*
 * The kernel copies posted elements into the new ring; no thread posts
 * meanwhile. If the new ring cannot be mapped, the queue is dead.
 */
static int resize_srq(struct kwarp_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	struct ibv_srq *ibsrq = &srq->vsrq.srq;
	struct kwarp_uresp_create_srq resp = {};
	struct kwarp_modify_srq cmd = {
		.drv_payload.resp_addr = (uintptr_t)&resp,
		.drv_payload.resp_len = sizeof(resp),
	};
	int ret;

	pthread_spin_lock(&srq->rq.lock);
	ret = ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd.ibv_cmd, sizeof(cmd));
	if (!ret) {
		ret = map_srq(srq, ibsrq->context, &resp, resp.num_rqe,
			      srq->rq.max_sge);
		if (ret)
			srq->rq.ctl->flags = KWARP_RING_ERROR;
	}
	pthread_spin_unlock(&srq->rq.lock);
	/* The lock is not fair: give waiting threads a chance to take it. */
	sched_yield();
	return ret;
}

int kwarp_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int mask)
{
	struct ibv_modify_srq cmd = {};

	if (mask & IBV_SRQ_MAX_WR)
		return resize_srq(to_ksrq(ibsrq), attr, mask);
	return ibv_cmd_modify_srq(ibsrq, attr, mask, &cmd, sizeof(cmd));
}

int kwarp_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

int kwarp_destroy_srq(struct ibv_srq *ibsrq)
{
	struct kwarp_srq *srq = to_ksrq(ibsrq);
	int ret;

	/* If the kernel refuses (a QP uses it), the queue must keep working. */
	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;

	kwarp_unmap(&srq->map);
	pthread_spin_destroy(&srq->rq.lock);
	free(srq);
	return 0;
}
