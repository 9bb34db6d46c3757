// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The operations of work requests. */
#include "core/wr_op.h"

#include <rdma/ib_verbs.h>

#include "proto/rdmap.h"

#define F_SEND	KWARP_WR_SEND
#define F_WRITE	KWARP_WR_WRITE
#define F_READ	KWARP_WR_READ
#define F_ATOMIC	KWARP_WR_ATOMIC
#define F_LOCAL	KWARP_WR_LOCAL
#define F_INL	KWARP_WR_INLINE
#define F_USER	KWARP_WR_USER
#define F_KERNEL	KWARP_WR_KERNEL
#define F_ALL	(KWARP_WR_USER | KWARP_WR_KERNEL)

#define EXT_7306	KWARP_RDMAP_EXT_7306
#define EXT_OWN		KWARP_RDMAP_EXT_OWN

const struct kwarp_wr_op kwarp_wr_ops[KWARP_OP_LAST] = {
	[KWARP_OP_WRITE]	= { F_ALL | F_WRITE | F_INL, 0, IB_WC_RDMA_WRITE },
	/* F_SEND, because the Immediate Data take a receive of the peer. */
	[KWARP_OP_WRITE_IMM]	= { F_ALL | F_WRITE | F_SEND | F_INL, EXT_7306,
				    IB_WC_RDMA_WRITE },
	[KWARP_OP_SEND]		= { F_ALL | F_SEND | F_INL, 0, IB_WC_SEND },
	[KWARP_OP_SEND_IMM]	= { F_ALL | F_SEND | F_INL, EXT_OWN, IB_WC_SEND },
	[KWARP_OP_SEND_INV]	= { F_ALL | F_SEND | F_INL, 0, IB_WC_SEND },
	[KWARP_OP_READ]		= { F_ALL | F_READ, 0, IB_WC_RDMA_READ },
	[KWARP_OP_READ_INV]	= { F_KERNEL | F_READ, 0, IB_WC_RDMA_READ },
	[KWARP_OP_CMP_SWAP]	= { F_ALL | F_READ | F_ATOMIC, EXT_7306,
				    IB_WC_COMP_SWAP },
	[KWARP_OP_FETCH_ADD]	= { F_ALL | F_READ | F_ATOMIC, EXT_7306,
				    IB_WC_FETCH_ADD },
	[KWARP_OP_LOCAL_INV]	= { F_ALL | F_LOCAL, 0, IB_WC_LOCAL_INV },
	/* Kernel consumers have no windows, so wc is not used. */
	[KWARP_OP_BIND_MW]	= { F_USER | F_LOCAL, 0, 0 },
	[KWARP_OP_REG_MR]	= { F_KERNEL | F_LOCAL, 0, IB_WC_REG_MR },
};

/* Return: bit mask of the opcodes that have any of @flags. */
u32 kwarp_wr_mask(u8 flags)
{
	u32 mask = 0;
	u8 op;

	for (op = 0; op < KWARP_OP_LAST; op++)
		if (kwarp_wr_is(op, flags))
			mask |= BIT(op);
	return mask;
}

/*
 * Return: bit mask of the opcodes that @poster, KWARP_WR_USER or KWARP_WR_KERNEL, may post with
 * the extensions @ext.
 */
u32 kwarp_wr_allowed(u8 poster, u8 ext)
{
	u32 mask = kwarp_wr_mask(poster);
	u8 op;

	for (op = 0; op < KWARP_OP_LAST; op++)
		if (kwarp_wr_ops[op].ext & ~ext)
			mask &= ~BIT(op);
	return mask;
}
