/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared by the files for registered memory. */
#ifndef _KWARP_VERBS_MR_H
#define _KWARP_VERBS_MR_H

#include "verbs/verbs.h"

/*
 * Maximum block size: the counts of the largest region stay well within 32
 * bits.
 */
#define KWARP_MAX_BLOCK_SHIFT	30

/*
 * Return: 0, -EOPNOTSUPP for an unknown flag, -EINVAL for an invalid
 * combination.
 */
int kwarp_check_access(int access);

/* Allocate an empty region or window. Return: NULL if there is no memory. */
struct kwarp_mr *kwarp_mr_new(struct ib_pd *pd, int access);

/**
 * kwarp_mr_publish() - count it, assign an STag and add it to the table
 * @dev:	device
 * @mr:		region or window
 * @state:	initial state that lookups see
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int kwarp_mr_publish(struct kwarp_device *dev, struct kwarp_mr *mr,
		     enum kwarp_mr_state state);

/* Remove it from the table; on return it has no users. Context: process. */
void kwarp_mr_retire(struct kwarp_device *dev, struct kwarp_mr *mr);

/* Free a region or window that is not in the table. Context: process. */
void kwarp_mr_free(struct kwarp_mr *mr);

/* mr_dmabuf.c: release the buffer of a region, if it has one. */
void kwarp_dmabuf_put(struct kwarp_mr *mr);

#endif /* _KWARP_VERBS_MR_H */
