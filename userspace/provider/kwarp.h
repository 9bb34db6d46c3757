/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The provider's objects and operations. Operations follow libibverbs'
 * convention: 0 or a positive errno; pointers are NULL with errno set.
 */
#ifndef KWARP_H
#define KWARP_H

#include <stdatomic.h>

#include <ccan/list.h>

#include <infiniband/driver.h>

#include "ring.h"

struct kwarp_context {
	struct verbs_context vctx;
	pthread_spinlock_t lock;
	struct list_head deferred;	/* queue pairs with a deferred doorbell */
	bool any_deferred;		/* written under the lock */
};

/* A protection domain, or a parent domain that stands for one. */
struct kwarp_pd {
	struct ibv_pd ibpd;
	struct kwarp_pd *parent;	/* parent domain: its PD; else NULL */
	struct kwarp_td *td;
	atomic_uint users;		/* parent domains that refer to it */
};

/* A thread domain has no effect: queues are locked with it, too. */
struct kwarp_td {
	struct ibv_td ibtd;
	atomic_uint users;
};

#define KWARP_EVENT_POLLS	256	/* polls without arming: not event-driven */
#define KWARP_BURST		3	/* posts without a poll in between */

/* A completion queue: the kernel produces, the provider consumes. */
struct kwarp_cq {
	struct verbs_cq vcq;
	bool single_threaded;		/* promised by the program: no lock */
	pthread_spinlock_t lock;	/* protects the fields below */
	struct kwarp_map map;
	struct kwarp_ring_ctl *ctl;
	struct kwarp_cqe *ring;
	uint32_t mask;
	uint32_t cons;		/* next element to read */
	uint32_t prod;		/* kernel's index when last read */
	uint32_t events;	/* polls left as event-driven; readable without the lock */
	/* Accessed without the lock; see burst.c. */
	uint32_t posts;		/* since a poll, on all QPs; at most KWARP_BURST */
	bool bursts;		/* posts was KWARP_BURST when it was reset last */
	struct kwarp_cqe cur;		/* between start_poll and end_poll */
	pthread_t poller;		/* the thread that is between them, or 0 */
};

/* A shared receive queue. */
struct kwarp_srq {
	struct verbs_srq vsrq;
	struct kwarp_map map;
	struct kwarp_wq rq;
};

/* A batch of ibv_wr_*(); the send queue's lock is held all the time. */
struct kwarp_batch {
	uint32_t start;			/* producer index at ibv_wr_start() */
	int err;			/* first error: the whole batch fails */
	struct kwarp_sqe *sqe;		/* request under construction, or NULL */
};

struct kwarp_qp {
	struct verbs_qp vqp;
	struct kwarp_map map;
	struct kwarp_wq sq;
	struct kwarp_wq rq;
	struct kwarp_batch batch;
	struct list_node link;		/* in the context's deferred */
	bool deferred;			/* written under the context's lock */
	unsigned int ringing;		/* threads in kwarp_ring_all() with it */
};

static inline struct kwarp_pd *to_kpd(struct ibv_pd *ibpd)
{
	return container_of(ibpd, struct kwarp_pd, ibpd);
}

static inline struct kwarp_srq *to_ksrq(struct ibv_srq *ibsrq)
{
	return container_of(ibsrq, struct kwarp_srq, vsrq.srq);
}

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
int kwarp_resize_cq(struct ibv_cq *ibcq, int cqe);
int kwarp_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int kwarp_destroy_cq(struct ibv_cq *ibcq);
int kwarp_poll_cq(struct ibv_cq *ibcq, int num, struct ibv_wc *wc);
int kwarp_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Removes the completions of a QP that was reset or destroyed. */
void kwarp_cq_forget_qp(struct kwarp_cq *cq, uint32_t qp_num);
/* Maps a new CQ; 0 or an errno. */
int kwarp_cq_init(struct kwarp_cq *cq, struct ibv_context *ctx,
		  const struct kwarp_uresp_create_cq *resp);
/*
 * The end of the known completions. A program can overwrite the index: ignore an
 * impossible value. Call this and the following functions under the lock.
 */
static inline uint32_t kwarp_cq_kernel_index(const struct kwarp_cq *cq)
{
	uint32_t end = kwarp_load_acquire(&cq->ctl->kern_idx);

	return end - cq->cons > cq->mask + 1 ? cq->cons : end;
}

/*
 * The next completion, or NULL. The element stays readable until the consumer
 * index passes it. Reads the kernel's cache line only when no known elements are
 * left.
 */
static inline const struct kwarp_cqe *kwarp_cq_head(struct kwarp_cq *cq)
{
	if (cq->cons == cq->prod) {
		cq->prod = kwarp_cq_kernel_index(cq);
		if (cq->cons == cq->prod)
			return NULL;
	}
	return &cq->ring[cq->cons & cq->mask];
}

/* Is the CQ dead, and are all of its elements polled? */
bool kwarp_cq_is_dead(struct kwarp_cq *cq);
/* The CQ is empty: shall kwarp_poll_network() be called? */
static inline bool kwarp_cq_polls_network(const struct kwarp_cq *cq)
{
	return kwarp_load_relaxed(&cq->ctl->flags) & KWARP_RING_POLL;
}

enum ibv_wc_opcode kwarp_cqe_opcode(const struct kwarp_cqe *cqe);

static inline void kwarp_cq_lock(struct kwarp_cq *cq)
{
	if (!cq->single_threaded)
		pthread_spin_lock(&cq->lock);
}

static inline void kwarp_cq_unlock(struct kwarp_cq *cq)
{
	if (!cq->single_threaded)
		pthread_spin_unlock(&cq->lock);
}

/*
 * Takes the lock, unless the calling thread has had it since ibv_start_poll().
 * Return: true if kwarp_cq_leave() has to release the lock.
 */
static inline bool kwarp_cq_enter(struct kwarp_cq *cq)
{
	if (cq->single_threaded ||
	    __atomic_load_n(&cq->poller, __ATOMIC_RELAXED) == pthread_self())
		return false;
	pthread_spin_lock(&cq->lock);
	return true;
}

static inline void kwarp_cq_leave(struct kwarp_cq *cq, bool locked)
{
	if (locked)
		pthread_spin_unlock(&cq->lock);
}

/* Call under the lock. */
static inline void kwarp_cq_polled(struct kwarp_cq *cq)
{
	uint32_t posts = __atomic_load_n(&cq->posts, __ATOMIC_RELAXED);

	if (posts) {
		__atomic_store_n(&cq->bursts, posts == KWARP_BURST,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&cq->posts, 0, __ATOMIC_RELAXED);
	}
	if (cq->events)
		__atomic_store_n(&cq->events, cq->events - 1, __ATOMIC_RELAXED);
}

/* Call under the lock: the program will wait for events from now on. */
static inline void kwarp_cq_armed(struct kwarp_cq *cq)
{
	__atomic_store_n(&cq->events, KWARP_EVENT_POLLS, __ATOMIC_RELAXED);
}

/* Release: the kernel may overwrite elements that have been read. */
static inline void kwarp_cq_release(struct kwarp_cq *cq)
{
	kwarp_store_release(&cq->ctl->user_idx, cq->cons);
}

/* cq_ex.c */
struct ibv_cq_ex *kwarp_create_cq_ex(struct ibv_context *ctx,
				     struct ibv_cq_init_attr_ex *attr);

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
struct ibv_mr *kwarp_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
void kwarp_unimport_mr(struct ibv_mr *mr);

/* pd.c */
struct ibv_pd *kwarp_alloc_pd(struct ibv_context *ctx);
int kwarp_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_td *kwarp_alloc_td(struct ibv_context *ctx,
			      struct ibv_td_init_attr *attr);
int kwarp_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *kwarp_alloc_parent_domain(
	struct ibv_context *ctx, struct ibv_parent_domain_init_attr *attr);
struct ibv_pd *kwarp_import_pd(struct ibv_context *ctx, uint32_t pd_handle);
void kwarp_unimport_pd(struct ibv_pd *ibpd);

/* post.c */
int kwarp_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int kwarp_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);
int kwarp_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);
/* Ring if the kernel's @flags after a post ask for it; 0 or an errno. */
int kwarp_ring_send_doorbell(struct ibv_qp *ibqp, uint32_t flags);

/* doorbell.c: announces new elements of a send queue; 0 or an errno. */
int kwarp_doorbell(struct ibv_context *ibctx, uint32_t qp_handle);
/* The same for at most KWARP_DOORBELLS send queues; errors are ignored. */
#define KWARP_DOORBELLS	16
void kwarp_doorbells(struct ibv_context *ibctx, const uint32_t *qp_handles,
		     int num);
/* Polls the network, in the kernel, for an empty CQ. Do not hold its lock. */
void kwarp_poll_network(struct ibv_cq *ibcq);

/* burst.c */
void kwarp_burst_init(struct kwarp_context *ctx);
void kwarp_burst_exit(struct kwarp_context *ctx);
/* kwarp_wq_publish() with the hint for bursts; under the send queue's lock. */
uint32_t kwarp_sq_publish(struct kwarp_qp *qp);
/* Defers the doorbell until the program waits; a timer wakes the kernel too. */
void kwarp_ring_later(struct kwarp_qp *qp);
/* Rings a deferred doorbell before the queue pair changes. */
void kwarp_ring_now(struct kwarp_qp *qp);
/* The same before the queue pair is destroyed: no doorbell is in progress then. */
void kwarp_ring_end(struct kwarp_qp *qp);
/* Rings all deferred doorbells of a context. */
void kwarp_ring_all(struct ibv_context *ibctx);

/* The program waits: ring deferred doorbells. Do not call under a CQ's lock. */
static inline void kwarp_waits(struct ibv_context *ibctx)
{
	struct kwarp_context *ctx =
		container_of(ibctx, struct kwarp_context, vctx.context);

	if (__atomic_load_n(&ctx->any_deferred, __ATOMIC_RELAXED))
		kwarp_ring_all(ibctx);
}

/* IBV_SEND_* in the ring's representation. */
static inline uint8_t kwarp_wqe_flags(unsigned int send_flags)
{
	return (send_flags & IBV_SEND_SIGNALED ? KWARP_WQE_SIGNALED : 0) |
	       (send_flags & IBV_SEND_FENCE ? KWARP_WQE_FENCE : 0) |
	       (send_flags & IBV_SEND_SOLICITED ? KWARP_WQE_SOLICITED : 0) |
	       (send_flags & IBV_SEND_INLINE ? KWARP_WQE_INLINE : 0);
}

/* wr.c: ibv_wr_*() */
#define KWARP_SEND_OPS                                                         \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |      \
	 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |                  \
	 IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |        \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |      \
	 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV)
void kwarp_set_wr_ops(struct ibv_qp_ex *qpx);

/* qp.c */
struct ibv_qp *kwarp_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *kwarp_create_qp_ex(struct ibv_context *ctx,
				  struct ibv_qp_init_attr_ex *attr);
int kwarp_destroy_qp(struct ibv_qp *ibqp);
int kwarp_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask);
int kwarp_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask,
		   struct ibv_qp_init_attr *init_attr);

/* srq.c */
struct ibv_srq *kwarp_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr);
int kwarp_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int mask);
int kwarp_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int kwarp_destroy_srq(struct ibv_srq *ibsrq);

/* verbs.c */
int kwarp_query_device_ex(struct ibv_context *ctx,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t attr_size);
int kwarp_query_port(struct ibv_context *ctx, uint8_t port,
		     struct ibv_port_attr *attr);
int kwarp_query_rt_values(struct ibv_context *ctx,
			  struct ibv_values_ex *values);

#endif /* KWARP_H */
