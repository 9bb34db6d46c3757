// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queue pairs: create, modify, query, destroy. Building requests is wr.c. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <ccan/minmax.h>

#include "kwarp.h"
#include "kwarp_provider_abi.h"

static bool map_has_queue(const struct kwarp_map *map, uint32_t ctl_offset,
			  uint32_t offset, uint32_t num, uint32_t stride)
{
	return kwarp_map_has_ctl(map, ctl_offset) &&
	       kwarp_map_has_ring(map, offset, num, stride);
}

static void set_wq(struct kwarp_wq *wq, const struct kwarp_map *map,
		   uint32_t ctl_offset, uint32_t offset, uint32_t num,
		   uint32_t stride)
{
	wq->ctl = (struct kwarp_ring_ctl *)(map->base + ctl_offset);
	wq->ring = map->base + offset;
	wq->mask = num - 1;
	wq->stride = stride;
}

/* The largest element that the granted capabilities allow must fit the stride. */
static bool strides_hold(const struct kwarp_uresp_create_qp *resp,
			 const struct ibv_qp_cap *cap)
{
	uint64_t sge = sizeof(struct kwarp_sge);

	return sizeof(struct kwarp_sqe) + cap->max_send_sge * sge <=
		       resp->sq_stride &&
	       sizeof(struct kwarp_sqe) + (uint64_t)cap->max_inline_data <=
		       resp->sq_stride &&
	       (!resp->num_rqe ||
		sizeof(struct kwarp_rqe) + cap->max_recv_sge * sge <=
			resp->rq_stride);
}

static bool layout_is_sound(const struct kwarp_map *map,
			    const struct kwarp_uresp_create_qp *resp,
			    const struct ibv_qp_cap *cap)
{
	return strides_hold(resp, cap) &&
	       map_has_queue(map, resp->sq_ctl_offset, resp->sq_offset,
			     resp->num_sqe, resp->sq_stride) &&
	       (!resp->num_rqe ||
		map_has_queue(map, resp->rq_ctl_offset, resp->rq_offset,
			      resp->num_rqe, resp->rq_stride));
}

static int map_qp(struct kwarp_qp *qp, struct ibv_context *ctx,
		  const struct kwarp_uresp_create_qp *resp,
		  const struct ibv_qp_cap *cap)
{
	int ret;

	ret = kwarp_map(&qp->map, ctx, resp->mmap_key, resp->mmap_size);
	if (ret)
		return ret;

	if (!layout_is_sound(&qp->map, resp, cap)) {
		kwarp_unmap(&qp->map);
		return EPROTO;
	}

	set_wq(&qp->sq, &qp->map, resp->sq_ctl_offset, resp->sq_offset,
	       resp->num_sqe, resp->sq_stride);
	qp->sq.limit = min_t(uint32_t, cap->max_send_wr, resp->num_sqe);
	qp->sq.max_sge = cap->max_send_sge;
	qp->sq.max_inline = cap->max_inline_data;

	/* Without its own receive queue, the QP has an RQ without ring and room. */
	if (resp->num_rqe) {
		set_wq(&qp->rq, &qp->map, resp->rq_ctl_offset, resp->rq_offset,
		       resp->num_rqe, resp->rq_stride);
		qp->rq.limit = min_t(uint32_t, cap->max_recv_wr, resp->num_rqe);
		qp->rq.max_sge = cap->max_recv_sge;
	}
	pthread_spin_init(&qp->sq.lock, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&qp->rq.lock, PTHREAD_PROCESS_PRIVATE);
	return 0;
}

struct ibv_qp *kwarp_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr)
{
	struct kwarp_create_qp_resp resp = {};
	struct kwarp_create_qp cmd = {};
	struct kwarp_qp *qp;
	int ret;

	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	/* This puts the granted capabilities into attr->cap. */
	ret = ibv_cmd_create_qp(pd, &qp->vqp.qp, attr, &cmd.ibv_cmd,
				sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;

	ret = map_qp(qp, pd->context, &resp.drv_payload, &attr->cap);
	if (ret)
		goto err_destroy;
	return &qp->vqp.qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free:
	free(qp);
	errno = ret;
	return NULL;
}

/* Return: 0 or an errno; clears bits of @mask that carry no information. */
static int check_attr_ex(const struct ibv_qp_init_attr_ex *attr, uint32_t *mask)
{
	if ((*mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && !attr->create_flags)
		*mask &= ~IBV_QP_INIT_ATTR_CREATE_FLAGS;
	if (*mask & ~(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	if (!(*mask & IBV_QP_INIT_ATTR_PD))
		return EINVAL;
	if ((*mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    (attr->send_ops_flags & ~(uint64_t)KWARP_SEND_OPS))
		return EOPNOTSUPP;
	return 0;
}

struct ibv_qp *kwarp_create_qp_ex(struct ibv_context *ctx,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct kwarp_create_qp_resp resp = {};
	struct ibv_qp_init_attr_ex ask = {};
	struct kwarp_create_qp cmd = {};
	struct kwarp_qp *qp;
	int ret;

	/* An older program has fewer members, and its mask tells which. */
	memcpy(&ask, attr, offsetof(struct ibv_qp_init_attr_ex, create_flags));
	if (ask.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ask.send_ops_flags = attr->send_ops_flags;
	ret = check_attr_ex(attr, &ask.comp_mask);
	if (ret) {
		errno = ret;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return NULL;

	ret = ibv_cmd_create_qp_ex(ctx, &qp->vqp, &ask, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;
	attr->cap = ask.cap;
	ret = map_qp(qp, ctx, &resp.drv_payload, &ask.cap);
	if (ret)
		goto err_destroy;

	if (ask.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		kwarp_set_wr_ops(&qp->vqp.qp_ex);
		qp->vqp.comp_mask |= VERBS_QP_EX;
	}
	return &qp->vqp.qp;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free:
	free(qp);
	errno = ret;
	return NULL;
}

/*
 * The kernel may have emptied the rings and reset the indices: take them over.
 */
static void load_indices(struct kwarp_wq *wq)
{
	if (!wq->ctl)
		return;
	pthread_spin_lock(&wq->lock);
	wq->prod = kwarp_load_relaxed(&wq->ctl->user_idx);
	wq->done = kwarp_load_acquire(&wq->ctl->kern_idx);
	pthread_spin_unlock(&wq->lock);
}

static void state_changed(struct kwarp_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	if (state != IBV_QPS_RESET && state != IBV_QPS_INIT)
		return;
	load_indices(&qp->sq);
	load_indices(&qp->rq);
	kwarp_cq_forget_qp(to_kcq(ibqp->send_cq), ibqp->qp_num);
	if (ibqp->recv_cq != ibqp->send_cq)
		kwarp_cq_forget_qp(to_kcq(ibqp->recv_cq), ibqp->qp_num);
}

/*
 * The kernel binds a QP to a counter (`rdma statistic qp set ... auto`) if the
 * transition to INIT names a port. rdma_cm names none for iWARP, so add it.
 */
int kwarp_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_modify_qp cmd = {};
	struct ibv_qp_attr named = {};
	int ret;

	kwarp_ring_now(to_kqp(ibqp));

	if ((mask & IBV_QP_STATE) && !(mask & IBV_QP_PORT) &&
	    attr->qp_state == IBV_QPS_INIT) {
		/* A program built with older headers has no rate_limit. */
		memcpy(&named, attr, offsetof(struct ibv_qp_attr, rate_limit));
		named.port_num = 1;
		attr = &named;
		mask |= IBV_QP_PORT;
	}
	ret = ibv_cmd_modify_qp(ibqp, attr, mask, &cmd, sizeof(cmd));
	if (!ret && (mask & IBV_QP_STATE))
		state_changed(to_kqp(ibqp), attr->qp_state);
	return ret;
}

int kwarp_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd = {};

	return ibv_cmd_query_qp(ibqp, attr, mask, init_attr, &cmd, sizeof(cmd));
}

int kwarp_destroy_qp(struct ibv_qp *ibqp)
{
	struct kwarp_qp *qp = to_kqp(ibqp);
	int ret;

	kwarp_ring_end(qp);
	/* The rings stay mapped until the kernel no longer reads them. */
	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;

	kwarp_cq_forget_qp(to_kcq(ibqp->send_cq), ibqp->qp_num);
	if (ibqp->recv_cq != ibqp->send_cq)
		kwarp_cq_forget_qp(to_kcq(ibqp->recv_cq), ibqp->qp_num);

	kwarp_unmap(&qp->map);
	pthread_spin_destroy(&qp->sq.lock);
	pthread_spin_destroy(&qp->rq.lock);
	free(qp);
	return 0;
}
