/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared by the files for registered memory. */
#ifndef _KWARP_VERBS_MR_H
#define _KWARP_VERBS_MR_H

#include "verbs/verbs.h"

/* log2 of the largest block: an offset in a block fits in 32 bits (kwarp_mr.first). */
#define KWARP_MAX_BLOCK_SHIFT	30

int kwarp_check_access(int access);

/* Allocate an empty region or window. Return: NULL if there is no memory. */
struct kwarp_mr *kwarp_mr_new(struct ib_pd *pd, int access);
int kwarp_mr_publish(struct kwarp_device *dev, struct kwarp_mr *mr,
		     enum kwarp_mr_state state);
void kwarp_mr_retire(struct kwarp_device *dev, struct kwarp_mr *mr);
void kwarp_mr_free(struct kwarp_mr *mr);

/* mr_dmabuf.c: release the dma-buf of a region, if it has one. */
void kwarp_dmabuf_put(struct kwarp_mr *mr);

#endif /* _KWARP_VERBS_MR_H */
