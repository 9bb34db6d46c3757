/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Verbs: validate, create, destroy, translate. dev/device.c has the operations table;
 * each object type has its own file. All but post.c run in process context and may sleep.
 */
#ifndef _KWARP_VERBS_H
#define _KWARP_VERBS_H

#include <rdma/uverbs_ioctl.h>

#include "core/cq.h"
#include "core/mem.h"
#include "kwarp.h"
#include "rdmap/stream.h"

struct ib_dmah;

#define KWARP_MAX_MR_SIZE	BIT_ULL(40)	/* bytes */

/* dev/device.c */

int kwarp_device_add(const char *name, struct net_device *netdev, struct net *net);

/* dev/port.c */
int kwarp_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata);
void kwarp_get_dev_fw_str(struct ib_device *ibdev, char *str);
int kwarp_query_port(struct ib_device *ibdev, u32 port,
		     struct ib_port_attr *attr);
int kwarp_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable);
int kwarp_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int kwarp_query_gid(struct ib_device *ibdev, u32 port, int index,
		    union ib_gid *gid);

bool kwarp_netdev_active(const struct net_device *netdev);
/* limits.c */

unsigned int kwarp_object_limit(enum kwarp_object kind);
int kwarp_object_take(struct kwarp_device *dev, enum kwarp_object kind);
void kwarp_object_give(struct kwarp_device *dev, enum kwarp_object kind);

/* mr.c, mr_user.c, mr_dmabuf.c */
struct ib_mr *kwarp_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				u64 iova, int access, struct ib_dmah *dmah,
				struct ib_udata *udata);
struct ib_mr *kwarp_reg_dmabuf_mr(struct ib_pd *pd, u64 offset, u64 length,
				  u64 iova, int fd, int access,
				  struct ib_dmah *dmah,
				  struct uverbs_attr_bundle *attrs);
struct ib_mr *kwarp_get_dma_mr(struct ib_pd *pd, int access);
struct ib_mr *kwarp_alloc_mr(struct ib_pd *pd, enum ib_mr_type type,
			     u32 max_num_sg);
int kwarp_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		    unsigned int *sg_offset);
int kwarp_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);
struct ib_mr *kwarp_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				  u64 length, u64 iova, int access,
				  struct ib_pd *pd, struct ib_udata *udata);

/* mw.c */

/**
 * struct kwarp_mw - a memory window
 * @ibmw:	the core's part
 * @mr:		entry of the STag table, with the type and the binding
 */
struct kwarp_mw {
	struct ib_mw ibmw;
	struct kwarp_mr *mr;
};

static inline struct kwarp_mw *to_kmw(struct ib_mw *ibmw)
{
	return container_of(ibmw, struct kwarp_mw, ibmw);
}

int kwarp_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata);
int kwarp_dealloc_mw(struct ib_mw *ibmw);

/* cq.c */
void kwarp_cq_device_init(struct kwarp_device *dev);
void kwarp_cq_device_exit(struct kwarp_device *dev);
int kwarp_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		    struct uverbs_attr_bundle *attrs);
int kwarp_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int kwarp_resize_cq(struct ib_cq *ibcq, unsigned int cqe,
		    struct ib_udata *udata);

/* srq.c */
int kwarp_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata);
int kwarp_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		     enum ib_srq_attr_mask mask, struct ib_udata *udata);
int kwarp_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int kwarp_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);

/* qp.c, qp_create.c */

/* Access rights that iw_cm grants to the peer of every connection. */
#define KWARP_QP_ACCESS_DEFAULT	(IB_ACCESS_REMOTE_WRITE | \
				 IB_ACCESS_REMOTE_READ)

/* Set the rights of a QP whose consumer sets none. Context: qp->mutex, or a new QP. */
void kwarp_qp_default_access(struct kwarp_qp *qp);
int kwarp_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		    struct ib_udata *udata);
int kwarp_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		    struct ib_udata *udata);
int kwarp_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init_attr);
int kwarp_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);

/* post.c; @wr is NULL for a user's doorbell. Context: any; a doorbell: process. */
int kwarp_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
int kwarp_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);
int kwarp_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

/* attach.c: driver-specific methods */
extern const struct uapi_definition kwarp_uapi_defs[];

/* qp_create.c; also for shared queues */
void kwarp_rq_layout(struct kwarp_rq *rq, u32 max_wr, u32 max_sge);

/* mmap.c: ring memory shared with user space */

/**
 * struct kwarp_mmap_entry - memory that a process may map
 * @rdma_entry:	the core's part
 * @mem:	whole pages, freed by kwarp_mmap_free()
 */
struct kwarp_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	void *mem;
};

void *kwarp_ring_alloc(struct ib_udata *udata, size_t len,
		       struct rdma_user_mmap_entry **entry);
void kwarp_ring_free(void *mem, struct rdma_user_mmap_entry *entry);
int kwarp_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma);
void kwarp_mmap_free(struct rdma_user_mmap_entry *entry);

/* ---- driver-private data of commands ------------------------------------- */

int kwarp_udata_empty(struct ib_udata *udata);
int kwarp_udata_request(struct ib_udata *udata, void *req, size_t len, size_t min);
int kwarp_respond(void __user *to, size_t room, const void *resp, size_t len);
int kwarp_udata_respond(struct ib_udata *udata, const void *resp, size_t len);
#endif /* _KWARP_VERBS_H */
