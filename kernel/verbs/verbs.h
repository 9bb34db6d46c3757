/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Verbs: validate, create, destroy, translate. The operations table is
 * device.c; each noun has its file. All run in process context and may sleep.
 */
#ifndef _KWARP_VERBS_H
#define _KWARP_VERBS_H

#include "../core/cq.h"
#include "../core/mem.h"
#include "../core/qp.h"
#include "../kwarp.h"

/* device.c */
struct kwarp_device *kwarp_device_add(const char *name,
				      struct net_device *netdev);
int kwarp_driver_init(void);
void kwarp_driver_exit(void);

/* mmap.c: ring memory shared with user space */
struct kwarp_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	void *mem;	/* vmalloc_user(); freed by mmap_free */
};

int kwarp_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma);
void kwarp_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* _KWARP_VERBS_H */
