/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The operations of work requests: one table. */
#ifndef _KWARP_CORE_WR_OP_H
#define _KWARP_CORE_WR_OP_H

#include <linux/types.h>
#include <rdma/kwarp-abi.h>

enum kwarp_wr_flags {
	KWARP_WR_SEND	= 1 << 0,	/* a message for the peer's receive queue */
	KWARP_WR_WRITE	= 1 << 1,	/* an RDMA Write */
	KWARP_WR_READ	= 1 << 2,	/* counts as an outbound read (ORD) */
	KWARP_WR_ATOMIC	= 1 << 3,	/* an atomic operation, whose result is 8 bytes */
	KWARP_WR_LOCAL	= 1 << 4,	/* sends nothing and has no payload */
	KWARP_WR_INLINE	= 1 << 5,	/* may have its payload in the element */
	KWARP_WR_USER	= 1 << 6,	/* programs may post it */
	KWARP_WR_KERNEL	= 1 << 7,	/* kernel consumers may post it */
};

/**
 * struct kwarp_wr_op - an operation
 * @flags:	KWARP_WR_*
 * @ext:	KWARP_RDMAP_EXT_* that the connection must have, or 0
 * @wc:		enum ib_wc_opcode of a kernel consumer's completion
 */
struct kwarp_wr_op {
	u8 flags;
	u8 ext;
	u8 wc;
};

/* Indexed by enum kwarp_opcode. */
extern const struct kwarp_wr_op kwarp_wr_ops[KWARP_OP_LAST];

/* KWARP_WR_* of @opcode, which is below KWARP_OP_LAST. */
static inline u8 kwarp_wr_flags_of(u8 opcode)
{
	return kwarp_wr_ops[opcode].flags;
}

/* Has @opcode, below KWARP_OP_LAST, any of @flags? */
static inline bool kwarp_wr_is(u8 opcode, u8 flags)
{
	return kwarp_wr_flags_of(opcode) & flags;
}

u32 kwarp_wr_mask(u8 flags);
u32 kwarp_wr_allowed(u8 poster, u8 ext);

#endif /* _KWARP_CORE_WR_OP_H */
