// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ring memory. A mapping holds references to the pages, so a process can still read them
 * after the queue or the device is gone.
 */
#include "verbs/verbs.h"

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

/*
 * Do not use vmalloc_user(), which charges no memory cgroup; so map_pages() maps the pages
 * one by one. A user beyond the limit gets an error, no OOM kill and no log message. Many users'
 * rings have one page, which needs no mapping of its own in the kernel.
 */
static void *alloc_mem(bool user, size_t len)
{
	gfp_t gfp = GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN;

	if (!user)
		return __vmalloc(len, gfp);
	gfp |= __GFP_ACCOUNT;
	if (len == PAGE_SIZE)
		return (void *)__get_free_page(gfp | __GFP_RETRY_MAYFAIL);
	return __vmalloc(len, gfp | KWARP_VMALLOC_MAYFAIL);
}

static void free_mem(void *mem)
{
	if (is_vmalloc_addr(mem))
		vfree(mem);
	else
		free_page((unsigned long)mem);
}

static struct page *page_of(const void *mem)
{
	return is_vmalloc_addr(mem) ? vmalloc_to_page(mem) : virt_to_page(mem);
}

/**
 * kwarp_ring_alloc() - memory for rings
 * @udata:	udata of the creating command, NULL for a kernel consumer
 * @len:	bytes, whole pages
 * @entry:	set to the mmap entry for user space; NULL for a kernel consumer
 *
 * A user's memory is charged to the memory control group of the calling process.
 *
 * Return: zeroed memory or ERR_PTR(-ENOMEM); free it with kwarp_ring_free().
 */
void *kwarp_ring_alloc(struct ib_udata *udata, size_t len,
		       struct rdma_user_mmap_entry **entry)
{
	struct kwarp_mmap_entry *e;
	struct kwarp_ucontext *ctx;
	void *mem;
	int ret;

	*entry = NULL;
	mem = alloc_mem(udata, len);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	if (!udata)
		return mem;

	e = kzalloc(sizeof(*e), GFP_KERNEL_ACCOUNT);
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
	free_mem(mem);
	return ERR_PTR(ret);
}

void kwarp_ring_free(void *mem, struct rdma_user_mmap_entry *entry)
{
	if (entry)
		rdma_user_mmap_entry_remove(entry);
	else
		free_mem(mem);
}

void kwarp_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct kwarp_mmap_entry *e =
		container_of(entry, struct kwarp_mmap_entry, rdma_entry);

	free_mem(e->mem);
	kfree(e);
}

/* rdma_user_mmap_entry_get() has checked that mapping and memory are of equal length. */
static int map_pages(struct vm_area_struct *vma,
		     const struct kwarp_mmap_entry *e)
{
	size_t off;
	int ret;

	for (off = 0; off < vma->vm_end - vma->vm_start; off += PAGE_SIZE) {
		ret = vm_insert_page(vma, vma->vm_start + off, page_of(e->mem + off));
		if (ret)
			return ret;
	}
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return 0;
}

int kwarp_mmap(struct ib_ucontext *ctx, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry;
	struct kwarp_mmap_entry *e;
	int ret;

	/* Kernel and user space communicate through the pages: refuse a private copy. */
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	entry = rdma_user_mmap_entry_get(ctx, vma);
	if (!entry)
		return -EINVAL;
	e = container_of(entry, struct kwarp_mmap_entry, rdma_entry);
	ret = map_pages(vma, e);
	rdma_user_mmap_entry_put(entry);
	return ret;
}
