// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Regions over dma-buf: memory of another driver. kwarp does no DMA, so the buffer must be
 * memory that the CPU can access, not device registers. The exporter maps it for the kernel
 * and keeps it in place while it is mapped.
 */
#include "verbs/mr.h"

#include <linux/dma-buf.h>
#include <linux/slab.h>

KWARP_IMPORT_DMA_BUF();

void kwarp_dmabuf_put(struct kwarp_mr *mr)
{
	struct dma_buf *dmabuf = mr->dmabuf;

	if (!dmabuf)
		return;
	dma_buf_end_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	dma_buf_vunmap_unlocked(dmabuf, &mr->dmabuf_map);
	dma_buf_put(dmabuf);
	mr->dmabuf = NULL;
}

static int buffer_ok(const struct dma_buf *dmabuf, u64 offset, u64 length,
		     int access)
{
	if (offset > dmabuf->size || length > dmabuf->size - offset)
		return -EINVAL;
	/* As for mmap(): a descriptor opened for reading only grants no write access. */
	if (ib_access_writable(access) &&
	    !(dmabuf->file->f_mode & FMODE_WRITE))
		return -EACCES;
	return dmabuf->ops->vmap ? 0 : -EOPNOTSUPP;
}

/* Takes over the reference on @dmabuf on success. */
static int buffer_map(struct kwarp_mr *mr, struct dma_buf *dmabuf)
{
	int ret;

	ret = dma_buf_vmap_unlocked(dmabuf, &mr->dmabuf_map);
	if (ret)
		return ret;
	ret = -EOPNOTSUPP;
	if (mr->dmabuf_map.is_iomem)
		goto err_map;
	/* CPU access lasts as long as the region, since peers access it at any time. */
	ret = dma_buf_begin_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	if (ret)
		goto err_map;
	mr->dmabuf = dmabuf;
	return 0;

err_map:
	dma_buf_vunmap_unlocked(dmabuf, &mr->dmabuf_map);
	return ret;
}

/* The mapping is contiguous in kernel addresses: use blocks of the largest size. */
static int fill_blocks(struct kwarp_mr *mr, u64 offset)
{
	const u64 size = BIT_ULL(KWARP_MAX_BLOCK_SHIFT);
	u32 nr = DIV_ROUND_UP_ULL(mr->length, size);
	u32 i;

	mr->blocks = kvcalloc(nr, sizeof(*mr->blocks), GFP_KERNEL_ACCOUNT);
	if (!mr->blocks)
		return -ENOMEM;
	for (i = 0; i < nr; i++)
		mr->blocks[i] = mr->dmabuf_map.vaddr + offset + i * size;
	mr->nr_blocks = nr;
	mr->max_blocks = nr;
	mr->shift = KWARP_MAX_BLOCK_SHIFT;
	return 0;
}

struct ib_mr *kwarp_reg_dmabuf_mr(struct ib_pd *pd, u64 offset, u64 length,
				  u64 iova, int fd, int access,
				  struct ib_dmah *dmah,
				  struct uverbs_attr_bundle *attrs)
{
	struct dma_buf *dmabuf;
	struct kwarp_mr *mr;
	int ret;

	might_sleep();
	/* DMA handles require hardware. */
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	ret = kwarp_check_access(access);
	if (ret)
		return ERR_PTR(ret);
	if (!length || length > KWARP_MAX_MR_SIZE || iova + length < iova)
		return ERR_PTR(-EINVAL);
	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return ERR_CAST(dmabuf);
	ret = buffer_ok(dmabuf, offset, length, access);
	if (ret)
		goto err_buf;
	ret = -ENOMEM;
	mr = kwarp_mr_new(pd, access);
	if (!mr)
		goto err_buf;
	ret = buffer_map(mr, dmabuf);
	if (ret) {
		kwarp_mr_free(mr);
		goto err_buf;
	}
	mr->iova = iova;
	mr->length = length;
	mr->ibmr.iova = iova;
	mr->ibmr.length = length;
	ret = fill_blocks(mr, offset);
	if (!ret)
		ret = kwarp_mr_publish(to_kdev(pd->device), mr, KWARP_MR_VALID);
	if (ret) {
		kwarp_mr_free(mr);
		return ERR_PTR(ret);
	}
	return &mr->ibmr;

err_buf:
	dma_buf_put(dmabuf);
	return ERR_PTR(ret);
}
