/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Memory for fast registration, and operations on it. */
#ifndef _KTEST_MEM_H
#define _KTEST_MEM_H

#include "conn.h"

#define KT_PAGES	512

/* Separately allocated pages, and a region that can hold them. */
struct kt_mem {
	struct page *page[KT_PAGES];
	struct scatterlist sg[KT_PAGES];
	struct ib_mr *mr;
};

struct kt_mem *kt_mem_new(struct ib_pd *pd);
void kt_mem_free(struct kt_mem *m);

/* Fill each page with another value. */
void kt_fill(struct kt_mem *m, u8 seed);
bool kt_filled(struct kt_mem *m, u8 seed);

/* Address a page directly, with the domain's own key. */
struct ib_sge kt_page(struct kt_side *s, struct kt_mem *m, int page);

/* Map the first @pages to the region, with a new key. */
int kt_map(struct kt_mem *m, int pages);
/* REG_MR of the pages mapped. */
int kt_reg_mapped(struct kt_side *s, struct kt_mem *m, int access);
/* kt_map() and kt_reg_mapped() for all pages. */
int kt_reg(struct kt_side *s, struct kt_mem *m, int access);
int kt_local_inv(struct kt_side *s, struct kt_mem *m);

/* RDMA Write or Read of up to a page. */
int kt_rdma(struct kt_side *s, enum ib_wr_opcode opcode, struct ib_sge sge,
	    u64 remote, u32 rkey);
/* Write all of @from's pages to the region of @to. */
int kt_write_all(struct kt_side *s, struct kt_mem *from, struct kt_mem *to);
/* Wait until all Writes have arrived, by a Read, whose response follows them. */
int kt_settle(struct kt_side *s, struct kt_mem *any, struct kt_mem *to);

/* SEND page 0, WITH_INV if @inv is not zero. */
int kt_send(struct kt_side *s, struct kt_mem *m, u32 inv);
/* Post a receive for a page, to @srq if there is one. */
int kt_recv(struct kt_side *s, struct ib_srq *srq, struct kt_mem *m, int page,
	    struct kt_op *op);

/**
 * struct kt_env - environment of most cases
 * @p:	a connection
 * @a:	memory of the client
 * @b:	memory of the server
 */
struct kt_env {
	struct kt_pair p;
	struct kt_mem *a;
	struct kt_mem *b;
};

/*
 * @poll: context of both CQs. On failure nothing is left open, and closing is harmless.
 */
int kt_env_open(struct kt_env *e, enum ib_poll_context poll);
void kt_env_close(struct kt_env *e);

#endif /* _KTEST_MEM_H */
