// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Fast registration: lists, addresses, keys, all kinds of invalidation. */
#include "ktest.h"
#include "mem.h"

#include <linux/mm.h>

#define ALL	((u32)KT_PAGES * (u32)PAGE_SIZE)

static struct kt_op op;

/* The client writes the whole region; check the data. */
static int written(struct kt_env *e, u8 seed)
{
	int ret;

	kt_fill(e->a, seed);
	ret = kt_write_all(&e->p.client, e->a, e->b) ? :
	      kt_settle(&e->p.client, e->a, e->b);
	return ret ? : kt_filled(e->b, seed) ? 0 : KT_WRONG_DATA;
}

static void registration(struct kt_env *e)
{
	struct kt_side *server = &e->p.server;
	u32 max = server->id->device->attrs.max_fast_reg_page_list_len;
	struct ib_mr *mr = e->b->mr;
	int ret;

	kt_tap("the device has lists of at least 512 pages",
	       max < KT_PAGES);
	kt_tap("REG_MR of 512 pages", kt_reg(server, e->b, KT_ACCESS));
	kt_tap("writes to each page", written(e, 1));
	kt_tap("LOCAL_INV", kt_local_inv(server, e->b));
	kt_tap("LOCAL_INV of an invalid region", kt_local_inv(server, e->b));
	kt_tap("REG_MR once more, writes", kt_reg(server, e->b, KT_ACCESS) ? :
					   written(e, 2));

	ret = kt_local_inv(server, e->b);
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	kt_tap("REG_MR of the same pages without ib_map_mr_sg()",
	       ret ? : kt_reg_mapped(server, e->b, KT_ACCESS) ? : written(e, 5));

	kt_tap("REG_MR with other upper bits of the address",
	       kt_local_inv(server, e->b) ? : kt_map(e->b, KT_PAGES));
	mr->iova = lower_32_bits(mr->iova) | 0xabcdULL << 32;
	kt_tap("writes to that address",
	       kt_reg_mapped(server, e->b, KT_ACCESS) ? : written(e, 3));

	kt_tap("REG_MR of a region that begins at zero",
	       kt_local_inv(server, e->b) ? : kt_map(e->b, KT_PAGES));
	mr->iova = 0;
	kt_tap("writes to addresses from zero",
	       kt_reg_mapped(server, e->b, KT_ACCESS) ? : written(e, 4));
	kt_tap("LOCAL_INV of that region", kt_local_inv(server, e->b));
}

/* The region begins inside a page and ends at a page boundary. */
static void at_an_offset(struct kt_env *e)
{
	struct ib_sge sge = kt_page(&e->p.client, e->a, 0);
	struct kt_side *server = &e->p.server;
	struct ib_mr *mr = e->b->mr;
	unsigned int offset = 100;
	int ret;

	kt_fill(e->b, 0);
	memset(page_address(e->a->page[0]), 0xee, PAGE_SIZE);
	ib_update_fast_reg_key(mr, ib_inc_rkey(mr->rkey));
	ret = ib_map_mr_sg(mr, e->b->sg, 2, &offset, PAGE_SIZE) != 2 ||
	      mr->length != 2 * PAGE_SIZE - 100;
	kt_tap("ib_map_mr_sg() from an offset", ret);
	sge.length = PAGE_SIZE;
	ret = kt_reg_mapped(server, e->b, KT_ACCESS) ? :
	      kt_rdma(&e->p.client, IB_WR_RDMA_WRITE, sge, mr->iova,
		      mr->rkey) ? :
	      kt_settle(&e->p.client, e->a, e->b);
	if (!ret && (memchr_inv(page_address(e->b->page[0]), 0, 100) ||
		     memchr_inv(page_address(e->b->page[0]) + 100, 0xee,
				PAGE_SIZE - 100) ||
		     memchr_inv(page_address(e->b->page[1]), 0xee, 100) ||
		     memchr_inv(page_address(e->b->page[1]) + 100, 7,
				PAGE_SIZE - 100)))
		ret = KT_WRONG_DATA;
	kt_tap("a write from an offset is placed right", ret);
	kt_tap("LOCAL_INV of a region with an offset", kt_local_inv(server, e->b));
}

/* More registrations than there are keys. */
static void key_renewal(struct kt_env *e)
{
	struct ib_sge sge = kt_page(&e->p.client, e->a, 0);
	u8 *to = page_address(e->b->page[0]);
	struct kt_side *server = &e->p.server;
	u32 before = e->b->mr->rkey;
	int i, ret = 0;

	sge.length = 8;
	for (i = 0; i < 300 && !ret; i++) {
		memset(page_address(e->a->page[0]), i, 8);
		ret = kt_map(e->b, 1) ? :
		      kt_reg_mapped(server, e->b, KT_ACCESS) ? :
		      kt_rdma(&e->p.client, IB_WR_RDMA_WRITE, sge,
			      e->b->mr->iova, e->b->mr->rkey) ? :
		      kt_settle(&e->p.client, e->a, e->b) ? :
		      kt_local_inv(server, e->b);
		if (!ret && memchr_inv(to, (u8)i, 8))
			ret = KT_WRONG_DATA;
		if (!ret && (e->b->mr->rkey == before ||
			     (e->b->mr->rkey ^ before) >> 8))
			ret = -EIO;
		before = e->b->mr->rkey;
	}
	kt_tap("300 keys of one region, one after the other", ret);
}

/* As ULPs do: registration and notification of the peer in one list. */
static void in_one_list(struct kt_env *e)
{
	struct ib_sge sge = kt_page(&e->p.server, e->b, 0);
	struct ib_send_wr tell = {
		.opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_send_wr inv = { .opcode = IB_WR_LOCAL_INV };
	struct ib_reg_wr reg = { .wr.opcode = IB_WR_REG_MR };
	static struct kt_op told, quiet;
	int ret;

	ret = kt_recv(&e->p.client, NULL, e->a, 1, &op) ? :
	      kt_reg(&e->p.server, e->b, KT_ACCESS);
	inv.ex.invalidate_rkey = e->b->mr->rkey;
	ret = ret ? : kt_map(e->b, KT_PAGES);
	reg.mr = e->b->mr;
	reg.key = e->b->mr->rkey;
	reg.access = KT_ACCESS;
	kt_op_init(&told);
	kt_op_init(&quiet);
	inv.wr_cqe = &quiet.cqe;
	reg.wr.wr_cqe = &quiet.cqe;
	tell.wr_cqe = &told.cqe;
	inv.next = &reg.wr;
	reg.wr.next = &tell;
	ret = ret ? : ib_post_send(e->p.server.id->qp, &inv, NULL) ? :
	      kt_op_wait(&e->p.server, &told) ? :
	      kt_op_wait(&e->p.client, &op) ? : written(e, 9);
	kt_tap("LOCAL_INV, REG_MR and SEND in one list", ret);
	kt_tap("unsignalled requests have no completion",
	       completion_done(&quiet.done));
}

static void send_with_inv(struct kt_env *e)
{
	u32 rkey = e->b->mr->rkey;
	int ret;

	ret = kt_recv(&e->p.server, NULL, e->b, 0, &op) ? :
	      kt_send(&e->p.client, e->a, rkey) ? :
	      kt_op_wait(&e->p.server, &op);
	kt_tap("SEND_WITH_INV", ret);
	kt_tap("the completion reports the invalidation",
	       !(op.wc.wc_flags & IB_WC_WITH_INVALIDATE) ||
	       op.wc.ex.invalidate_rkey != rkey);
	/* REG_MR is refused while the region is valid. */
	kt_tap("the region can be registered again",
	       kt_reg(&e->p.server, e->b, KT_ACCESS));
}

static int read_into(struct kt_env *e, enum ib_wr_opcode opcode)
{
	struct ib_sge sge = {
		.addr = e->a->mr->iova, .length = ALL, .lkey = e->a->mr->lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1,
			.ex.invalidate_rkey = e->a->mr->rkey },
		.remote_addr = e->b->mr->iova, .rkey = e->b->mr->rkey,
	};

	return kt_do(&e->p.client, &wr.wr);
}

static void read_with_inv(struct kt_env *e)
{
	struct kt_side *client = &e->p.client;
	int ret;

	kt_tap("REG_MR of a sink", kt_reg(client, e->a, IB_ACCESS_LOCAL_WRITE));
	kt_fill(e->b, 77);
	ret = read_into(e, IB_WR_RDMA_READ_WITH_INV);
	kt_tap("READ_WITH_INV of 2 MiB",
	       ret ? : kt_filled(e->a, 77) ? 0 : KT_WRONG_DATA);
	kt_tap("the sink can be registered again",
	       kt_reg(client, e->a, IB_ACCESS_LOCAL_WRITE));
	ret = read_into(e, IB_WR_RDMA_READ_WITH_INV);
	kt_fill(e->b, 78);
	/* This ends the connection. */
	kt_tap("an invalidated sink is not written to",
	       ret ? : read_into(e, IB_WR_RDMA_READ) != IB_WC_LOC_PROT_ERR ? -EACCES :
		       kt_filled(e->a, 77) ? 0 : KT_WRONG_DATA);
}

static int atomic(struct kt_env *e, enum ib_wr_opcode opcode, u64 compare_add,
		  u64 swap, u64 compare_add_mask, u64 swap_mask)
{
	struct ib_sge sge = kt_page(&e->p.client, e->a, 0);
	struct ib_atomic_wr wr = {
		.wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 },
		.remote_addr = e->b->mr->iova, .rkey = e->b->mr->rkey,
		.compare_add = compare_add, .swap = swap,
		.compare_add_mask = compare_add_mask, .swap_mask = swap_mask,
	};

	sge.length = sizeof(u64);
	return kt_do(&e->p.client, &wr.wr);
}

static void masked_atomics(struct kt_env *e)
{
	u64 *word = page_address(e->b->page[0]);
	u64 *found = page_address(e->a->page[0]);
	struct ib_qp_attr attr = { .qp_access_flags = KT_ACCESS };
	int ret;

	ret = ib_modify_qp(e->p.server.id->qp, &attr, IB_QP_ACCESS_FLAGS);
	*word = 0x11111111ffffffffULL;
	/* Two fields of 32 bits: the carry out of the lower one is dropped. */
	ret = ret ? : atomic(e, IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
			     0x0000000100000001ULL, 0, BIT_ULL(31), 0);
	kt_tap("masked FetchAdd: two fields",
	       ret ? : *found != 0x11111111ffffffffULL ||
		       *word != 0x1111111200000000ULL);
	ret = atomic(e, IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
		     0x11ULL << 56, 0xabULL, 0xffULL << 56, 0xff);
	kt_tap("masked CmpSwap: one byte compared, one swapped",
	       ret ? : *word != 0x11111112000000abULL);
	ret = atomic(e, IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
		     0x12ULL << 56, 0xcdULL, 0xffULL << 56, 0xff);
	kt_tap("masked CmpSwap: not equal, not swapped",
	       ret ? : *found != 0x11111112000000abULL || *word != *found);
}

void kt_region_cases(void)
{
	static struct kt_env e;
	int ret = kt_env_open(&e, IB_POLL_WORKQUEUE);

	kt_tap("connect", ret);
	if (ret)
		return;
	registration(&e);
	at_an_offset(&e);
	key_renewal(&e);
	in_one_list(&e);
	masked_atomics(&e);
	send_with_inv(&e);
	read_with_inv(&e);
	kt_env_close(&e);
}
