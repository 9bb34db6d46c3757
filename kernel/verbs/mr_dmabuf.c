// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Regions over dma-buf: memory of another driver. kwarp does no DMA, so the buffer must be
 * memory that the CPU can access, not device registers. The exporter maps it for the kernel.
 * A mapping alone does not keep the memory in place: an exporter may swap it out or move it into
 * its device. An attachment does, with a pin if the exporter has such an operation.
 */
#include "verbs/mr.h"

#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/slab.h>

KWARP_IMPORT_DMA_BUF();

static void moved(struct dma_buf_attachment *attach)
{
	/* Not called for a pinned buffer. */
}

/* In the order of the fields, because the name of the second one differs between kernels. */
static const struct dma_buf_attach_ops attach_ops = { false, moved };

/* Let the exporter keep the memory in place. Return: the attachment or ERR_PTR(). */
static struct dma_buf_attachment *buffer_hold(struct dma_buf *dmabuf, struct device *dev)
{
	struct dma_buf_attachment *attach;
	int ret;

	/*
	 * The kinds of exporter and importer must be the same: otherwise kernel 6.12 maps the
	 * buffer for DMA at once, which kwarp's device cannot do.
	 */
	if (!dmabuf->ops->pin)
		return dma_buf_attach(dmabuf, dev);
	attach = dma_buf_dynamic_attach(dmabuf, dev, &attach_ops, NULL);
	if (IS_ERR(attach))
		return attach;
	dma_resv_lock(dmabuf->resv, NULL);
	ret = dma_buf_pin(attach);
	dma_resv_unlock(dmabuf->resv);
	if (!ret)
		return attach;
	dma_buf_detach(dmabuf, attach);
	return ERR_PTR(ret);
}

static void buffer_release(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	if (dmabuf->ops->pin) {
		dma_resv_lock(dmabuf->resv, NULL);
		dma_buf_unpin(attach);
		dma_resv_unlock(dmabuf->resv);
	}
	dma_buf_detach(dmabuf, attach);
}

void kwarp_dmabuf_put(struct kwarp_mr *mr)
{
	struct dma_buf *dmabuf = mr->dmabuf;

	if (!dmabuf)
		return;
	dma_buf_end_cpu_access(dmabuf, DMA_BIDIRECTIONAL);
	dma_buf_vunmap_unlocked(dmabuf, &mr->dmabuf_map);
	buffer_release(dmabuf, mr->dmabuf_attach);
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

	mr->dmabuf_attach = buffer_hold(dmabuf, &mr->pd->device->dev);
	if (IS_ERR(mr->dmabuf_attach))
		return PTR_ERR(mr->dmabuf_attach);
	ret = dma_buf_vmap_unlocked(dmabuf, &mr->dmabuf_map);
	if (ret)
		goto err_attach;
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
err_attach:
	buffer_release(dmabuf, mr->dmabuf_attach);
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
	if (dmah || ((access & IB_ACCESS_REMOTE_ATOMIC) && !KWARP_DMABUF_ATOMIC))
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
