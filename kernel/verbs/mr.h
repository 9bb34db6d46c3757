/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the files about registered memory share. */
#ifndef _KWARP_VERBS_MR_H
#define _KWARP_VERBS_MR_H

#include "verbs.h"

/* Of a block: the counts of the largest region stay far inside 32 bits. */
#define KWARP_MAX_BLOCK_SHIFT	30

/* 0, -EOPNOTSUPP for a flag that we do not know, -EINVAL for a combination. */
int kwarp_check_access(int access);

/* A region or window with nothing in it, or NULL. */
struct kwarp_mr *kwarp_mr_new(struct ib_pd *pd, int access);

/**
 * kwarp_mr_publish() - count it, give it an STag and put it in the table
 * @dev:	device
 * @mr:		region or window
 * @state:	what a look-up finds from the first moment on
 *
 * Context: process. Return: 0 or -ENOMEM.
 */
int kwarp_mr_publish(struct kwarp_device *dev, struct kwarp_mr *mr,
		     enum kwarp_mr_state state);

/* Out of the table; nobody uses it any more on return. Context: process. */
void kwarp_mr_retire(struct kwarp_device *dev, struct kwarp_mr *mr);

/* Frees what is not in the table. Context: process. */
void kwarp_mr_free(struct kwarp_mr *mr);

/* mr_dmabuf.c: gives back the buffer of a region, if it has one. */
void kwarp_dmabuf_put(struct kwarp_mr *mr);

#endif /* _KWARP_VERBS_MR_H */
