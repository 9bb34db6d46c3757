/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Early placement: out-of-order ULPDUs are placed on arrival, but delivered in order.
 * All functions but kwarp_early_alloc() and kwarp_early_free() need the socket lock.
 */
#ifndef _KWARP_RDMAP_EARLY_H
#define _KWARP_RDMAP_EARLY_H

#include "proto/early.h"
#include "rdmap/pass.h"

/**
 * struct kwarp_early_rx - additional receive state of a connection with early placement
 * @ledger:	ULPDUs that were placed early
 * @wqe:	copy of the posted receive that early_send() examines
 * @e:		storage of @ledger
 */
struct kwarp_early_rx {
	struct kwarp_ledger ledger;
	struct kwarp_rqe_copy wqe;
	struct kwarp_early e[];
};

/* Make rx.early match params.early. Context: process. Return: 0 or -ENOMEM. */
int kwarp_early_alloc(struct kwarp_qp *qp);
void kwarp_early_free(struct kwarp_qp *qp);
bool kwarp_early_is_placed(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr,
			   u64 addr, u32 len);
void kwarp_early_withdraw(struct kwarp_rx_pass *pass, const struct kwarp_mr *mr,
			  u64 addr, u32 len);

/* Translate a range, access checked, to kernel addresses. */
void kwarp_early_extent(const struct kwarp_mr *mr, u64 addr, u32 len,
			struct kwarp_extent *mem);
void kwarp_rx_early(struct kwarp_qp *qp, struct kwarp_llp *llp);

#endif /* _KWARP_RDMAP_EARLY_H */
