/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The provider's objects and operations. Operations follow libibverbs'
 * convention: 0 or a positive errno; pointers are NULL with errno set.
 */
#ifndef KWARP_H
#define KWARP_H

#include <infiniband/driver.h>

#include "ring.h"

struct kwarp_context {
	struct verbs_context vctx;
};

/* A completion queue: the kernel produces, we consume. */
struct kwarp_cq {
	struct verbs_cq vcq;
	pthread_spinlock_t lock;	/* all below */
	struct kwarp_map map;
	struct kwarp_ring_ctl *ctl;
	struct kwarp_cqe *ring;
	uint32_t mask;
	uint32_t cons;		/* next element to read */
	uint32_t prod;		/* kernel's index when last looked at */
};

struct kwarp_qp {
	struct verbs_qp vqp;
	struct kwarp_map map;
	struct kwarp_wq sq;
	struct kwarp_wq rq;
};

static inline struct kwarp_cq *to_kcq(struct ibv_cq *ibcq)
{
	return container_of(ibcq, struct kwarp_cq, vcq.cq);
}

static inline struct kwarp_qp *to_kqp(struct ibv_qp *ibqp)
{
	return container_of(ibqp, struct kwarp_qp, vqp.qp);
}

/* cq.c */
struct ibv_cq *kwarp_create_cq(struct ibv_context *ctx, int cqe,
			       struct ibv_comp_channel *channel, int vector);
int kwarp_destroy_cq(struct ibv_cq *ibcq);
int kwarp_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc);
int kwarp_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Completions of a QP that is gone are not to be polled. */
void kwarp_cq_forget_qp(struct kwarp_cq *cq, uint32_t qp_num);

/* mr.c */
struct ibv_mr *kwarp_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access);
int kwarp_dereg_mr(struct verbs_mr *vmr);
int kwarp_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		   void *addr, size_t length, int access);
struct ibv_mr *kwarp_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				   size_t length, uint64_t iova, int fd,
				   int access);
struct ibv_mw *kwarp_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int kwarp_dealloc_mw(struct ibv_mw *mw);
int kwarp_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *bind);

/* post.c */
int kwarp_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int kwarp_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);

/* qp.c */
struct ibv_qp *kwarp_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
int kwarp_destroy_qp(struct ibv_qp *ibqp);
int kwarp_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int kwarp_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr);

/* verbs.c */
struct ibv_pd *kwarp_alloc_pd(struct ibv_context *ctx);
int kwarp_dealloc_pd(struct ibv_pd *pd);
int kwarp_query_device_ex(struct ibv_context *ctx,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t attr_size);
int kwarp_query_port(struct ibv_context *ctx, uint8_t port,
		     struct ibv_port_attr *attr);

#endif /* KWARP_H */
