// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Accesses and registrations that must be refused, with fast registration. */
#include "ktest.h"
#include "mem.h"

#define ALL	((u32)KT_PAGES * (u32)PAGE_SIZE)

static struct kt_op op;

enum how { OPEN, INVALIDATED, BY_PEER, OLD_KEY, FOREIGN };

static const struct refusal {
	const char *name;
	enum ib_wr_opcode opcode;
	enum how how;
	int access;
	s64 offset;
} refusals[] = {
	{ "no write without that right", IB_WR_RDMA_WRITE, OPEN,
	  IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ },
	{ "no read without that right", IB_WR_RDMA_READ, OPEN,
	  IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE },
	{ "no write to memory for local use", IB_WR_RDMA_WRITE, OPEN,
	  IB_ACCESS_LOCAL_WRITE },
	{ "no read of memory for local use", IB_WR_RDMA_READ, OPEN,
	  IB_ACCESS_LOCAL_WRITE },
	{ "no write over the end", IB_WR_RDMA_WRITE, OPEN, KT_ACCESS, ALL - 4 },
	{ "no read over the end", IB_WR_RDMA_READ, OPEN, KT_ACCESS, ALL - 4 },
	{ "no write before the beginning", IB_WR_RDMA_WRITE, OPEN, KT_ACCESS,
	  -4 },
	{ "no write after LOCAL_INV", IB_WR_RDMA_WRITE, INVALIDATED,
	  KT_ACCESS },
	{ "no read after LOCAL_INV", IB_WR_RDMA_READ, INVALIDATED, KT_ACCESS },
	{ "no write after SEND_WITH_INV", IB_WR_RDMA_WRITE, BY_PEER,
	  KT_ACCESS },
	{ "no read after SEND_WITH_INV", IB_WR_RDMA_READ, BY_PEER, KT_ACCESS },
	{ "no write with the old key", IB_WR_RDMA_WRITE, OLD_KEY,
	  KT_ACCESS },
	{ "no read with the old key", IB_WR_RDMA_READ, OLD_KEY, KT_ACCESS },
	{ "no write to memory of another domain", IB_WR_RDMA_WRITE, FOREIGN,
	  KT_ACCESS },
	{ "no read of memory of another domain", IB_WR_RDMA_READ, FOREIGN,
	  KT_ACCESS },
};

static int close_it(struct kt_env *e, enum how how)
{
	switch (how) {
	case INVALIDATED:
		return kt_local_inv(&e->p.server, e->b);
	case BY_PEER:
		return kt_recv(&e->p.server, NULL, e->b, 100, &op) ? :
		       kt_send(&e->p.client, e->a, e->b->mr->rkey) ? :
		       kt_op_wait(&e->p.server, &op);
	case OLD_KEY:
		return kt_local_inv(&e->p.server, e->b) ? :
		       kt_reg(&e->p.server, e->b, KT_ACCESS);
	default:
		return 0;
	}
}

/* @owner has the region that the client of @e tries to access. */
static int refused(struct kt_env *e, struct kt_env *owner,
		   const struct refusal *r)
{
	struct ib_sge sge = kt_page(&e->p.client, e->a, 0);
	bool write = r->opcode == IB_WR_RDMA_WRITE;
	u64 at;
	u32 key;
	int ret;

	ret = kt_reg(&owner->p.server, owner->b, r->access);
	key = owner->b->mr->rkey;
	ret = ret ? : close_it(owner, r->how);
	if (ret)
		return ret;
	at = owner->b->mr->iova + r->offset;
	kt_fill(e->a, 11);
	kt_fill(owner->b, 22);
	sge.length = 8;
	ret = kt_rdma(&e->p.client, r->opcode, sge, at, key);
	/* A Write completes when it is sent; the request after it fails. */
	if (write)
		ret = ret ? : kt_rdma(&e->p.client, IB_WR_RDMA_READ, sge, at,
				      key);
	if (write ? ret <= 0 : ret != IB_WC_REM_ACCESS_ERR)
		return ret ? : -EACCES;
	return kt_filled(e->a, 11) && kt_filled(owner->b, 22) ? 0 : KT_WRONG_DATA;
}

static void one_refusal(const struct refusal *r)
{
	static struct kt_env e, other;
	int ret = kt_env_open(&e, IB_POLL_WORKQUEUE);

	if (!ret && r->how == FOREIGN) {
		ret = kt_env_open(&other, IB_POLL_WORKQUEUE) ? : refused(&e, &other, r);
		kt_env_close(&other);
	} else if (!ret) {
		ret = refused(&e, &e, r);
	}
	kt_env_close(&e);
	kt_tap(r->name, ret);
}

/* Invalid registrations: each ends its queue pair. */
static void bad_registrations(void)
{
	static const char * const names[] = {
		"no REG_MR of a registered region",
		"no REG_MR with another region's key",
		"no REG_MR without mapped pages",
		"no REG_MR with an unknown right",
		"no REG_MR of another domain's region",
	};
	static struct kt_env e, other;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ret = kt_env_open(&e, IB_POLL_WORKQUEUE) ? : kt_env_open(&other, IB_POLL_WORKQUEUE);
		if (ret) {
			kt_env_close(&e);
			kt_tap(names[i], ret);
			continue;
		}
		switch (i) {
		case 0:
			ret = kt_reg(&e.p.server, e.b, KT_ACCESS) ? :
			      kt_map(e.b, KT_PAGES);
			break;
		case 1:
			ret = kt_map(e.b, KT_PAGES);
			e.b->mr->rkey = other.b->mr->rkey;
			break;
		case 3:
		case 4:
			ret = kt_map(e.b, KT_PAGES) ? :
			      kt_map(other.b, KT_PAGES);
			break;
		}
		if (!ret)
			ret = kt_reg_mapped(&e.p.server,
					    i == 4 ? other.b : e.b,
					    i == 3 ? KT_ACCESS | BIT(19) :
						     KT_ACCESS) <= 0;
		kt_tap(names[i], ret);
		kt_env_close(&other);
		kt_env_close(&e);
	}
}

void kt_refusal_cases(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++)
		one_refusal(&refusals[i]);
	bad_registrations();
}
