/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * User/kernel interface of kwarp: queue rings shared by mmap, and the
 * driver-private parts of the uverbs commands.
 *
 * Rules
 *  - Every index is a free-running __u32; the slot is index & (size - 1),
 *    sizes are powers of two. Whoever reads an index of the other side masks it.
 *  - The kernel copies a work request out of its ring exactly once and trusts
 *    only the copy. The kernel's own state is never kept in these pages: what it
 *    writes here is a copy for user space to read.
 *  - Producers publish with a store-release, consumers read with a load-acquire.
 *  - All fields are in the host's byte order unless marked otherwise. Reserved
 *    fields are written as zero and ignored when read.
 */
#ifndef KWARP_ABI_H
#define KWARP_ABI_H

#include <linux/types.h>

#define KWARP_ABI_VERSION	1

/* Agreed with the provider; outside the kernel's enum rdma_driver_id ("kw"). */
#define KWARP_DRIVER_ID		0x6b77

#define KWARP_MAX_SGE		16	/* per work request */
#define KWARP_MAX_INLINE	512	/* octets */

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
	/* The next ones are for kernel consumers: refused in a user's ring. */
	KWARP_OP_REG_MR		= 11,
	KWARP_OP_LAST,
	/* Only in completions. */
	KWARP_OP_RECV		= 16,
	KWARP_OP_RECV_IMM	= 17,
};

enum kwarp_wqe_flags {
	KWARP_WQE_SIGNALED	= 1 << 0,
	KWARP_WQE_FENCE		= 1 << 1,	/* wait for reads posted before */
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
 * or, with KWARP_WQE_INLINE, inline_len octets of payload. The distance
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
	 * CMP_SWAP: compare, swap, mask of compare, mask of swap. FETCH_ADD:
	 * value, -, top bit of each field but the last (RFC 7306 5.1), -.
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

/* Numerically the values of enum ibv_wc_status and enum ib_wc_status. */
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
	KWARP_WC_FATAL_ERR		= 19,
	KWARP_WC_GENERAL_ERR		= 21,
};

enum kwarp_cqe_flags {
	KWARP_CQE_WITH_IMM	= 1 << 0,
	KWARP_CQE_WITH_INV	= 1 << 1,
};

/* 64 octets. */
struct kwarp_cqe {
	__aligned_u64	wr_id;
	__u32		qp_num;
	__u32		byte_len;
	__u8		opcode;		/* enum kwarp_opcode */
	__u8		status;		/* enum kwarp_wc_status */
	__u16		flags;		/* enum kwarp_cqe_flags */
	__u32		ex;		/* immediate data (network order) or invalidated STag */
	__aligned_u64	timestamp;	/* CLOCK_MONOTONIC, ns */
	__u32		vendor_err;	/* layer << 12 | etype << 8 | code of the Terminate, or 0 */
	__u32		reserved32;
	__aligned_u64	reserved[3];
};

/* ---- ring control ----------------------------------------------------- */

enum kwarp_ring_flags {
	/* Tell the kernel of new elements by the POST_SEND/POST_RECV command. */
	KWARP_RING_NEED_WAKEUP	= 1 << 0,
	/* The ring is dead: a CQ overflowed, or the device is gone. */
	KWARP_RING_ERROR	= 1 << 1,
};

enum kwarp_cq_arm {
	KWARP_CQ_ARM_NONE	= 0,
	KWARP_CQ_ARM_SOLICITED	= 1,
	KWARP_CQ_ARM_ANY	= 2,
};

/*
 * The two halves have one writer each and lie in different cache lines.
 * SQ, RQ: user is the producer. CQ: the kernel is the producer.
 */
struct kwarp_ring_ctl {
	__u32	user_idx;	/* SQ, RQ: producer index; CQ: consumer index */
	__u32	arm;		/* CQ: enum kwarp_cq_arm, cleared by the kernel when it fires */
	__u32	user_reserved[14];
	__u32	kern_idx;	/* SQ, RQ: elements completed; CQ: producer index */
	__u32	flags;		/* enum kwarp_ring_flags */
	__u32	event_idx;	/* CQ: producer index at the last event */
	__u32	kern_reserved[13];
};

/* ---- uverbs private data ---------------------------------------------- */

struct kwarp_uresp_alloc_ctx {
	__u32	abi_version;
	__u32	max_inline;	/* octets per WQE */
	__u32	cqe_size;	/* sizeof(struct kwarp_cqe) */
	__u32	reserved;
};

/*
 * One mapping holds a CQ: struct kwarp_ring_ctl at offset 0, elements at
 * cqe_offset.
 */
struct kwarp_uresp_create_cq {
	__aligned_u64	mmap_key;	/* offset for mmap() on the command fd */
	__u32		mmap_size;	/* octets, whole pages */
	__u32		cqe_offset;
	__u32		num_cqe;	/* power of two */
	__u32		cq_id;
};

/*
 * One mapping holds both queues of a QP: the control blocks at sq_ctl_offset
 * and rq_ctl_offset, the elements at sq_offset and rq_offset. num_rqe is zero
 * for a QP without receives of its own.
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
	__u32		sq_stride;	/* octets */
	__u32		rq_stride;	/* octets */
};

struct kwarp_uresp_create_srq {
	__aligned_u64	mmap_key;
	__u32		mmap_size;
	__u32		rq_offset;
	__u32		num_rqe;
	__u32		rq_stride;
};

#endif /* KWARP_ABI_H */
