/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * User/kernel interface of kwarp: queue rings shared by mmap, and the
 * driver-private parts of the uverbs commands.
 *
 * Rules
 *  - Every index is a free-running __u32; the slot is index & (size - 1),
 *    sizes are powers of two. A reader masks each index of the other side.
 *  - The kernel copies a work request out of its ring exactly once and trusts
 *    only the copy. The kernel's own state is never kept in these pages: the
 *    words that the kernel writes there are copies for user space to read.
 *  - Producers publish with a store-release, consumers read with a load-acquire.
 *  - All fields are in host byte order unless marked otherwise. Reserved fields
 *    are written as zero and ignored when read.
 *  - Command structures grow at their end. The kernel treats a shorter request
 *    as one padded with zeros, down to the length of its first version, and
 *    refuses a longer one (EOPNOTSUPP) if the part unknown to the kernel is not
 *    zero. The kernel writes as much of a reply as there is room for, and zeros
 *    after the part known to the kernel.
 */
#ifndef KWARP_ABI_H
#define KWARP_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/kwarp_user_ioctl_verbs.h>

#define KWARP_ABI_VERSION	1

/* "kw": private to kwarp, outside of the kernel's enum rdma_driver_id. */
#define KWARP_DRIVER_ID		0x6b77

#define KWARP_MAX_SGE		16	/* per work request */
#define KWARP_MAX_INLINE	512	/* bytes */

/* ---- work requests ---------------------------------------------------- */

enum kwarp_opcode {
	KWARP_OP_WRITE		= 0,
	KWARP_OP_WRITE_IMM	= 1,
	KWARP_OP_SEND		= 2,
	KWARP_OP_SEND_IMM	= 3,
	KWARP_OP_SEND_INV	= 4,
	KWARP_OP_READ		= 5,
	KWARP_OP_READ_INV	= 6,
	KWARP_OP_CMP_SWAP	= 7,
	KWARP_OP_FETCH_ADD	= 8,
	KWARP_OP_LOCAL_INV	= 9,
	KWARP_OP_BIND_MW	= 10,
	/* For kernel consumers only: refused in a ring of user space. */
	KWARP_OP_REG_MR		= 11,
	KWARP_OP_LAST,
	/* In completions only. */
	KWARP_OP_RECV		= 16,
	KWARP_OP_RECV_IMM	= 17,
};

enum kwarp_wqe_flags {
	KWARP_WQE_SIGNALED	= 1 << 0,
	KWARP_WQE_FENCE		= 1 << 1,	/* wait for earlier reads */
	KWARP_WQE_SOLICITED	= 1 << 2,
	KWARP_WQE_INLINE	= 1 << 3,
};

struct kwarp_sge {
	__aligned_u64	addr;
	__u32		length;
	__u32		lkey;
};

/*
 * Send queue element: this header, then either num_sge scatter/gather elements
 * or, with KWARP_WQE_INLINE, inline_len bytes of payload. The distance
 * between elements is sq_stride of the create_qp response.
 */
struct kwarp_sqe {
	__aligned_u64	wr_id;
	__u8		opcode;		/* enum kwarp_opcode */
	__u8		flags;		/* enum kwarp_wqe_flags */
	__u16		num_sge;
	__u32		ex;		/* immediate data (network order) or STag */
	__aligned_u64	raddr;		/* remote tagged offset */
	__u32		rkey;		/* remote STag */
	__u32		inline_len;
	/*
	 * CMP_SWAP: compare, swap, mask of compare, mask of swap.
	 * FETCH_ADD: value, unused, mask of the top bit of each field but the
	 * last (RFC 7306 5.1), unused. BIND_MW: the region's STag, length,
	 * access flags; ex is the window's STag, rkey the window's next STag,
	 * raddr the tagged offset in the region at which the window begins.
	 */
	__aligned_u64	arg[4];
};

/* Receive queue element: this header, then num_sge scatter elements. */
struct kwarp_rqe {
	__aligned_u64	wr_id;
	__u16		num_sge;
	__u16		reserved16;
	__u32		reserved32;
};

/* ---- completions ------------------------------------------------------ */

/* The values are those of enum ibv_wc_status and enum ib_wc_status. */
enum kwarp_wc_status {
	KWARP_WC_SUCCESS		= 0,
	KWARP_WC_LOC_LEN_ERR		= 1,
	KWARP_WC_LOC_QP_OP_ERR		= 2,
	KWARP_WC_LOC_PROT_ERR		= 4,
	KWARP_WC_WR_FLUSH_ERR		= 5,
	KWARP_WC_MW_BIND_ERR		= 6,
	KWARP_WC_BAD_RESP_ERR		= 7,
	KWARP_WC_LOC_ACCESS_ERR		= 8,
	KWARP_WC_REM_INV_REQ_ERR	= 9,
	KWARP_WC_REM_ACCESS_ERR		= 10,
	KWARP_WC_REM_OP_ERR		= 11,
	KWARP_WC_RETRY_EXC_ERR		= 12,
	KWARP_WC_RNR_RETRY_EXC_ERR	= 13,
	KWARP_WC_FATAL_ERR		= 19,
	KWARP_WC_GENERAL_ERR		= 21,
};

enum kwarp_cqe_flags {
	KWARP_CQE_WITH_IMM	= 1 << 0,
	KWARP_CQE_WITH_INV	= 1 << 1,
};

/* 64 bytes. */
struct kwarp_cqe {
	__aligned_u64	wr_id;
	__u32		qp_num;
	__u32		byte_len;
	__u8		opcode;		/* enum kwarp_opcode */
	__u8		status;		/* enum kwarp_wc_status */
	__u16		flags;		/* enum kwarp_cqe_flags */
	__u32		ex;		/* immediate data (network order) or invalidated STag */
	__aligned_u64	timestamp;	/* CLOCK_MONOTONIC of the CQ's creator, ns */
	__u32		vendor_err;	/* layer << 12 | etype << 8 | code of the Terminate, or 0 */
	__u32		reserved32;
	__aligned_u64	reserved[3];
};

/* ---- ring control ----------------------------------------------------- */

enum kwarp_ring_flags {
	/* Announce new elements by the command POST_SEND or POST_RECV. */
	KWARP_RING_NEED_WAKEUP	= 1 << 0,
	/* The ring is dead: a CQ overflowed, or the device is gone. */
	KWARP_RING_ERROR	= 1 << 1,
	/*
	 * SQ: a timer will make the engine check the ring soon. A program that
	 * waits for completions may announce new elements nevertheless.
	 */
	KWARP_RING_COALESCE	= 1 << 2,
	/*
	 * CQ: if the ring is empty, the command POLL_CQ polls the network for a limited time;
	 * the command returns no completions.
	 */
	KWARP_RING_POLL		= 1 << 3,
};

/* User space's hint in the arm field of an SQ; affects timing only. */
enum kwarp_sq_hint {
	KWARP_SQ_SINGLE		= 0,
	KWARP_SQ_BURST		= 1,	/* consecutive posts without a poll */
};

enum kwarp_cq_arm {
	KWARP_CQ_ARM_NONE	= 0,
	KWARP_CQ_ARM_SOLICITED	= 1,
	KWARP_CQ_ARM_ANY	= 2,
};

/*
 * The two halves have one writer each and are in different cache lines.
 * SQ, RQ: user is the producer. CQ: the kernel is the producer.
 */
struct kwarp_ring_ctl {
	__u32	user_idx;	/* SQ, RQ: producer index; CQ: consumer index */
	/* CQ: enum kwarp_cq_arm, cleared by the kernel when it fires; SQ: enum kwarp_sq_hint */
	__u32	arm;
	__u32	user_reserved[14];
	/* SQ: elements completed; RQ: elements taken; CQ: producer index */
	__u32	kern_idx;
	__u32	flags;		/* enum kwarp_ring_flags */
	__u32	event_idx;	/* CQ: producer index at the last event */
	__u32	closed;		/* SQ, RQ: not zero if the QP's state allows no posts */
	__u32	kern_reserved[12];
};

/* ---- uverbs private data ---------------------------------------------- */

/* Optional features, used only if both sides know them. */
enum kwarp_features {
	KWARP_FEATURE_ATTACH	= 1 << 0,	/* methods for attached sockets */
};

/* Optional: a provider that sends no request knows no features. */
struct kwarp_ureq_alloc_ctx {
	__u32	comp_mask;	/* requirements: must be 0, else EOPNOTSUPP */
	__u32	reserved;
	__aligned_u64	features; /* known enum kwarp_features; others are ignored */
};

enum kwarp_alloc_ctx_comp {
	KWARP_ALLOC_CTX_FEATURES = 1 << 0,	/* features, max_sge, max_attach_message */
};

struct kwarp_uresp_alloc_ctx {
	__u32	abi_version;
	__u32	max_inline;	/* bytes per WQE */
	__u32	cqe_size;	/* sizeof(struct kwarp_cqe) */
	__u32	comp_mask;	/* valid fields below: enum kwarp_alloc_ctx_comp */
	__aligned_u64	features; /* enum kwarp_features known to both sides */
	__u32	max_sge;	/* per WQE */
	__u32	max_attach_message; /* bytes */
};

/*
 * One mapping holds a CQ: struct kwarp_ring_ctl at offset 0, elements at
 * cqe_offset.
 */
struct kwarp_uresp_create_cq {
	__aligned_u64	mmap_key;	/* offset for mmap() on the command fd */
	__u32		mmap_size;	/* bytes, whole pages */
	__u32		cqe_offset;
	__u32		num_cqe;	/* power of two */
	__u32		cq_id;
};

/*
 * One mapping holds both queues of a QP: the control blocks at sq_ctl_offset
 * and rq_ctl_offset, the elements at sq_offset and rq_offset. num_rqe is zero
 * for a QP without its own receive queue.
 */
struct kwarp_uresp_create_qp {
	__aligned_u64	mmap_key;
	__u32		mmap_size;
	__u32		qp_id;
	__u32		sq_ctl_offset;
	__u32		rq_ctl_offset;
	__u32		sq_offset;
	__u32		rq_offset;
	__u32		num_sqe;	/* power of two */
	__u32		num_rqe;	/* power of two or zero */
	__u32		sq_stride;	/* bytes */
	__u32		rq_stride;	/* bytes */
};

/*
 * One mapping holds a shared receive queue: the control block at ctl_offset,
 * elements at rq_offset.
 */
struct kwarp_uresp_create_srq {
	__aligned_u64	mmap_key;
	__u32		mmap_size;
	__u32		rq_offset;
	__u32		num_rqe;	/* power of two */
	__u32		rq_stride;	/* bytes */
	__u32		ctl_offset;
	__u32		srq_id;
};

/*
 * modify_srq with a new size replaces the mapping; a struct
 * kwarp_uresp_create_srq at resp_addr describes the new one, because uverbs has
 * no reply for this command. Elements that have not been taken keep their
 * indices. No thread may post while the command runs.
 */
struct kwarp_ureq_modify_srq {
	__aligned_u64	resp_addr;
	__u32	resp_len;	/* room in bytes; 0: that of version 1, 32 */
	__u32	reserved;
};

/*
 * The reply of resize_cq is a struct kwarp_uresp_create_cq, too: a new mapping,
 * in which elements that were not polled keep their indices. No thread may poll
 * or arm while the command runs.
 */

/* ---- attached sockets --------------------------------------------------- */

/* Methods of UVERBS_OBJECT_QP, described in Documentation/attach.rst. */
enum kwarp_qp_methods {
	KWARP_METHOD_QP_ATTACH = (1U << UVERBS_ID_NS_SHIFT),
	KWARP_METHOD_QP_ATTACH_WAIT,
};

enum kwarp_qp_attach_attrs {
	KWARP_ATTR_ATTACH_QP = (1U << UVERBS_ID_NS_SHIFT),
	KWARP_ATTR_ATTACH_FD,		/* raw descriptor of the socket */
	KWARP_ATTR_ATTACH_PARAMS,	/* struct kwarp_attach_params */
	KWARP_ATTR_ATTACH_MESSAGE,	/* optional: last streaming message */
	KWARP_ATTR_ATTACH_PRIVATE_DATA,	/* optional */
};

enum kwarp_qp_attach_wait_attrs {
	KWARP_ATTR_ATTACH_WAIT_QP = (1U << UVERBS_ID_NS_SHIFT),
	KWARP_ATTR_ATTACH_WAIT_MS,	/* __u32; capped at KWARP_ATTACH_WAIT_MAX_MS */
	KWARP_ATTR_ATTACH_WAIT_RESULT,	/* struct kwarp_attach_result */
	KWARP_ATTR_ATTACH_WAIT_PRIVATE_DATA, /* optional: room for the peer's */
};

#endif /* KWARP_ABI_H */
