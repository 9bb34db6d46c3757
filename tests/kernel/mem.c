// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "mem.h"

#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#define CHUNK	KT_SEND_SGE	/* pages in one Write */

void kt_fill(struct kt_mem *m, u8 seed)
{
	int i;

	for (i = 0; i < KT_PAGES; i++)
		memset(page_address(m->page[i]), (u8)(seed + i * 7), PAGE_SIZE);
}

bool kt_filled(struct kt_mem *m, u8 seed)
{
	int i;

	for (i = 0; i < KT_PAGES; i++) {
		if (memchr_inv(page_address(m->page[i]), (u8)(seed + i * 7),
			       PAGE_SIZE))
			return false;
	}
	return true;
}

void kt_mem_free(struct kt_mem *m)
{
	int i;

	if (!m)
		return;
	if (m->mr)
		ib_dereg_mr(m->mr);
	for (i = 0; i < KT_PAGES; i++) {
		if (m->page[i])
			__free_page(m->page[i]);
	}
	kvfree(m);
}

struct kt_mem *kt_mem_new(struct ib_pd *pd)
{
	struct kt_mem *m = kvzalloc(sizeof(*m), GFP_KERNEL);
	int i;

	if (!m)
		return NULL;
	sg_init_table(m->sg, KT_PAGES);
	for (i = 0; i < KT_PAGES; i++) {
		m->page[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!m->page[i])
			goto err;
		sg_set_page(&m->sg[i], m->page[i], PAGE_SIZE, 0);
	}
	m->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, KT_PAGES);
	if (IS_ERR(m->mr)) {
		m->mr = NULL;
		goto err;
	}
	/* The device is virtual, so no unmapping is needed. */
	if (ib_dma_map_sg(pd->device, m->sg, KT_PAGES, DMA_BIDIRECTIONAL) !=
	    KT_PAGES)
		goto err;
	return m;
err:
	kt_mem_free(m);
	return NULL;
}

struct ib_sge kt_page(struct kt_side *s, struct kt_mem *m, int page)
{
	return (struct ib_sge) {
		.addr = (uintptr_t)page_address(m->page[page]),
		.length = PAGE_SIZE, .lkey = s->pd->local_dma_lkey,
	};
}

int kt_map(struct kt_mem *m, int pages)
{
	ib_update_fast_reg_key(m->mr, ib_inc_rkey(m->mr->rkey));
	return ib_map_mr_sg(m->mr, m->sg, pages, NULL, PAGE_SIZE) == pages ?
	       0 : -EINVAL;
}

int kt_reg_mapped(struct kt_side *s, struct kt_mem *m, int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode = IB_WR_REG_MR, .mr = m->mr, .key = m->mr->rkey,
		.access = access,
	};

	return kt_do(s, &wr.wr);
}

int kt_reg(struct kt_side *s, struct kt_mem *m, int access)
{
	return kt_map(m, KT_PAGES) ? : kt_reg_mapped(s, m, access);
}

int kt_local_inv(struct kt_side *s, struct kt_mem *m)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV, .ex.invalidate_rkey = m->mr->rkey,
	};

	return kt_do(s, &wr);
}

int kt_rdma(struct kt_side *s, enum ib_wr_opcode opcode, struct ib_sge sge,
	    u64 remote, u32 rkey)
{
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = remote, .rkey = rkey,
	};

	return kt_do(s, &wr.wr);
}

int kt_write_all(struct kt_side *s, struct kt_mem *from, struct kt_mem *to)
{
	struct ib_sge sge[CHUNK];
	int page, i, ret;

	for (page = 0; page < KT_PAGES; page += CHUNK) {
		struct ib_rdma_wr wr = {
			.wr = { .opcode = IB_WR_RDMA_WRITE, .sg_list = sge,
				.num_sge = CHUNK },
			.remote_addr = to->mr->iova + page * PAGE_SIZE,
			.rkey = to->mr->rkey,
		};

		for (i = 0; i < CHUNK; i++)
			sge[i] = kt_page(s, from, page + i);
		ret = kt_do(s, &wr.wr);
		if (ret)
			return ret;
	}
	return 0;
}

int kt_settle(struct kt_side *s, struct kt_mem *any, struct kt_mem *to)
{
	struct ib_sge sge = kt_page(s, any, 0);

	return kt_rdma(s, IB_WR_RDMA_READ, sge, to->mr->iova, to->mr->rkey);
}

int kt_send(struct kt_side *s, struct kt_mem *m, u32 inv)
{
	struct ib_sge sge = kt_page(s, m, 0);
	struct ib_send_wr wr = {
		.opcode = inv ? IB_WR_SEND_WITH_INV : IB_WR_SEND,
		.sg_list = &sge, .num_sge = 1, .ex.invalidate_rkey = inv,
	};

	return kt_do(s, &wr);
}

int kt_recv(struct kt_side *s, struct ib_srq *srq, struct kt_mem *m, int page,
	    struct kt_op *op)
{
	struct ib_sge sge = kt_page(s, m, page);
	struct ib_recv_wr wr = {
		.wr_cqe = &op->cqe, .sg_list = &sge, .num_sge = 1,
	};

	kt_op_init(op);
	return srq ? ib_post_srq_recv(srq, &wr, NULL) :
		     ib_post_recv(s->id->qp, &wr, NULL);
}

int kt_env_open(struct kt_env *e, enum ib_poll_context poll)
{
	int ret;

	memset(e, 0, sizeof(*e));
	e->p.poll = poll;
	ret = kt_pair_open(&e->p);
	if (ret)
		return ret;
	e->a = kt_mem_new(e->p.client.pd);
	e->b = kt_mem_new(e->p.server.pd);
	if (e->a && e->b)
		return 0;
	kt_env_close(e);
	return -ENOMEM;
}

void kt_env_close(struct kt_env *e)
{
	kt_mem_free(e->a);
	kt_mem_free(e->b);
	kt_pair_close(&e->p);
	memset(e, 0, sizeof(*e));
}
