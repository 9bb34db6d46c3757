// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ring memory. A mapping holds references to the pages: it stays readable after
 * its queue, or the device, is gone.
 */
#include "verbs.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

void *kwarp_ring_alloc(struct ib_udata *udata, size_t len,
		       struct rdma_user_mmap_entry **entry)
{
	struct kwarp_mmap_entry *e;
	struct kwarp_ucontext *ctx;
	void *mem;
	int ret;

	*entry = NULL;
	mem = vmalloc_user(len);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	if (!udata)
		return mem;

	e = kzalloc(sizeof(*e), GFP_KERNEL);
	if (!e) {
		ret = -ENOMEM;
		goto err_mem;
	}
	e->mem = mem;
	ctx = rdma_udata_to_drv_context(udata, struct kwarp_ucontext, ibuctx);
	ret = rdma_user_mmap_entry_insert(&ctx->ibuctx, &e->rdma_entry, len);
	if (ret)
		goto err_entry;
	*entry = &e->rdma_entry;
	return mem;

err_entry:
	kfree(e);
err_mem:
	vfree(mem);
	return ERR_PTR(ret);
}

void kwarp_ring_free(void *mem, struct rdma_user_mmap_entry *entry)
{
	if (entry)
		rdma_user_mmap_entry_remove(entry);
	else
		vfree(mem);
}

void kwarp_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct kwarp_mmap_entry *e =
		container_of(entry, struct kwarp_mmap_entry, rdma_entry);

	vfree(e->mem);
	kfree(e);
}

int kwarp_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct kwarp_mmap_entry *e;
	int ret;

	/* A private copy would be of no use to either side. */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	entry = rdma_user_mmap_entry_get(ctx, vma);
	if (!entry)
		return -EINVAL;
	e = container_of(entry, struct kwarp_mmap_entry, rdma_entry);
	ret = remap_vmalloc_range(vma, e->mem, 0);
	rdma_user_mmap_entry_put(entry);
	return ret;
}
