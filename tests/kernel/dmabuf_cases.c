// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Regions over a dma-buf whose exporter moves the memory unless told otherwise. */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/fdtable.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "conn.h"
#include "ktest.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif

/**
 * struct exporter - a buffer of one page
 * @mem:	its memory
 * @attached:	number of attachments
 * @pinned:	number of pins
 * @mapped:	number of kernel mappings
 * @early:	a mapping was made before an attachment, or before a pin
 */
static struct exporter {
	void *mem;
	int attached;
	int pinned;
	int mapped;
	bool early;
} exporter;

static int do_attach(struct dma_buf *buf, struct dma_buf_attachment *attach)
{
	exporter.attached++;
	return 0;
}

static void do_detach(struct dma_buf *buf, struct dma_buf_attachment *attach)
{
	exporter.attached--;
}

static int do_pin(struct dma_buf_attachment *attach)
{
	dma_resv_assert_held(attach->dmabuf->resv);
	exporter.pinned++;
	return 0;
}

static void do_unpin(struct dma_buf_attachment *attach)
{
	dma_resv_assert_held(attach->dmabuf->resv);
	exporter.pinned--;
}

static struct sg_table *do_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	return ERR_PTR(-EIO);
}

static void do_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
		     enum dma_data_direction dir)
{
}

static int do_vmap(struct dma_buf *buf, struct iosys_map *map)
{
	exporter.mapped++;
	exporter.early |= !exporter.attached || (buf->ops->pin && !exporter.pinned);
	iosys_map_set_vaddr(map, exporter.mem);
	return 0;
}

static void do_vunmap(struct dma_buf *buf, struct iosys_map *map)
{
	exporter.mapped--;
	exporter.early |= !exporter.attached || (buf->ops->pin && !exporter.pinned);
}

static void do_release(struct dma_buf *buf)
{
}

/* The exporter keeps memory in place for each attachment. */
static const struct dma_buf_ops fixed_ops = {
	.attach = do_attach, .detach = do_detach,
	.map_dma_buf = do_map, .unmap_dma_buf = do_unmap,
	.vmap = do_vmap, .vunmap = do_vunmap, .release = do_release,
};

/* The exporter moves memory that is not pinned. */
static const struct dma_buf_ops moving_ops = {
	.attach = do_attach, .detach = do_detach, .pin = do_pin, .unpin = do_unpin,
	.map_dma_buf = do_map, .unmap_dma_buf = do_unmap,
	.vmap = do_vmap, .vunmap = do_vunmap, .release = do_release,
};

static int expect(int attached, int pinned, int mapped)
{
	return exporter.attached == attached && exporter.pinned == pinned &&
	       exporter.mapped == mapped && !exporter.early ? 0 : -EPROTO;
}

static int region(struct ib_pd *pd, int fd, bool pins)
{
	struct ib_device *dev = pd->device;
	struct ib_mr *mr;
	int ret;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
	mr = dev->ops.reg_user_mr_dmabuf(pd, 0, PAGE_SIZE, 0, fd, IB_ACCESS_LOCAL_WRITE, NULL,
					 NULL);
#else
	mr = dev->ops.reg_user_mr_dmabuf(pd, 0, PAGE_SIZE, 0, fd, IB_ACCESS_LOCAL_WRITE, NULL);
#endif
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	mr->device = dev;
	mr->pd = pd;
	ret = expect(1, pins, 1);
	return dev->ops.dereg_mr(mr, NULL) ? : ret ? : expect(0, 0, 0);
}

static int with_exporter(const struct dma_buf_ops *ops)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct kt_side side = {};
	struct dma_buf *buf;
	int fd, ret;

	exporter = (struct exporter) { .mem = kzalloc(PAGE_SIZE, GFP_KERNEL) };
	info.ops = ops;
	info.size = PAGE_SIZE;
	info.flags = O_RDWR;
	info.priv = &exporter;
	buf = exporter.mem ? dma_buf_export(&info) : ERR_PTR(-ENOMEM);
	if (IS_ERR(buf)) {
		kfree(exporter.mem);
		return PTR_ERR(buf);
	}
	ret = kt_side_alone(&side);
	fd = ret ? ret : dma_buf_fd(buf, O_CLOEXEC);
	if (fd < 0) {
		dma_buf_put(buf);
		ret = fd;
	} else {
		ret = region(side.pd, fd, ops->pin);
		close_fd(fd);
	}
	kt_side_close(&side);
	kfree(exporter.mem);
	return ret;
}

void kt_dmabuf_cases(void)
{
	kt_tap("dmabuf.region__attached_while_mapped", with_exporter(&fixed_ops));
	kt_tap("dmabuf.region__pinned_while_mapped", with_exporter(&moving_ops));
}
