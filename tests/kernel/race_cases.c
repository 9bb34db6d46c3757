// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory that is invalidated while the peer writes to it. The case looks for a copy that
 * continues after the invalidation. The suite sets FPDUs as large as MPA allows, so each
 * Write is one copy; the moment of invalidation varies between rounds; the last byte of
 * the copy is checked.
 */
#include "ktest.h"
#include "mem.h"

#include <linux/kthread.h>
#include <linux/mm.h>

#define CHUNK	15	/* pages in one Write: less than an FPDU */
#define BATCH	8	/* Writes in one list */
#define ROUNDS	48
#define WRITTEN	0xaa
#define CLOSED	0x55

struct writer {
	struct kt_env *e;
	struct completion over;
};

/* Write until the peer refuses. */
static int write_on(void *arg)
{
	struct writer *w = arg;
	struct kt_side *s = &w->e->p.client;
	struct ib_rdma_wr wr[BATCH] = {};
	struct ib_sge sge[CHUNK];
	struct kt_op op;
	int i;

	for (i = 0; i < CHUNK; i++) {
		sge[i] = kt_page(s, w->e->a, i);
		memset(page_address(w->e->a->page[i]), WRITTEN, PAGE_SIZE);
	}
	for (i = 0; i < BATCH; i++) {
		wr[i].wr.opcode = IB_WR_RDMA_WRITE;
		wr[i].wr.sg_list = sge;
		wr[i].wr.num_sge = CHUNK;
		wr[i].wr.wr_cqe = &op.cqe;
		wr[i].remote_addr = w->e->b->mr->iova;
		wr[i].rkey = w->e->b->mr->rkey;
		if (i)
			wr[i - 1].wr.next = &wr[i].wr;
	}
	wr[BATCH - 1].wr.send_flags = IB_SEND_SIGNALED;
	do {
		kt_op_init(&op);
		if (ib_post_send(s->id->qp, &wr[0].wr, NULL))
			break;
		cond_resched();
	} while (!kt_op_wait(s, &op));
	/*
	 * Failed requests complete even if unsignalled: none may refer to freed memory.
	 */
	ib_drain_qp(s->id->qp);
	complete_all(&w->over);
	return 0;
}

/*
 * Wait until some Writes have been placed, then for a time that varies.
 * Return: 0 or -ETIMEDOUT.
 */
static int under_way(u8 *last, int round)
{
	unsigned long end = jiffies + KT_PATIENCE;
	int n, spin;

	for (n = 0; n < 2; n++) {
		WRITE_ONCE(*last, 0);
		while (READ_ONCE(*last) != WRITTEN) {
			if (time_after(jiffies, end))
				return -ETIMEDOUT;
			cond_resched();
		}
	}
	for (spin = 0; spin < round * 50; spin++)
		cpu_relax();
	return 0;
}

/* Return: 0, 1 if a copy was late, or negative errno. */
static int one_round(struct kt_env *other, struct kt_env *e, int round)
{
	struct writer w = { .e = e };
	struct kt_side *s = &other->p.server;
	int ret, idle;
	u8 *last;

	ret = kt_reg(s, e->b, KT_ACCESS);
	if (ret)
		return -EIO;
	init_completion(&w.over);
	last = page_address(e->b->page[CHUNK - 1]) + PAGE_SIZE - 1;
	if (IS_ERR(kthread_run(write_on, &w, "ktest")))
		return -ENOMEM;
	idle = under_way(last, round);
	ret = kt_local_inv(s, e->b) ? : idle;
	WRITE_ONCE(*last, CLOSED);
	/* The writer ends when it is refused, or at the latest when the QP is drained. */
	if (!wait_for_completion_timeout(&w.over, KT_PATIENCE))
		ret = -ETIMEDOUT;
	ib_drain_qp(e->p.server.id->qp);
	wait_for_completion(&w.over);
	return ret ? : READ_ONCE(*last) != CLOSED;
}

/*
 * The region is invalidated on a queue pair other than the one that is written to: after
 * completion nothing more may be placed.
 */
static int closed_under_traffic(struct kt_env *other, int round)
{
	static struct kt_env e;
	int ret;

	/* In the other's domain, which is required for the invalidation. */
	memset(&e, 0, sizeof(e));
	e.p.poll = IB_POLL_WORKQUEUE;
	e.p.server_pd = other->p.server.pd;
	ret = kt_pair_open(&e.p);
	if (ret)
		return ret;
	e.a = kt_mem_new(e.p.client.pd);
	e.b = kt_mem_new(e.p.server.pd);
	ret = e.a && e.b ? one_round(other, &e, round) : -ENOMEM;
	kt_env_close(&e);
	return ret;
}

/**
 * struct invalidation - what a handler posts
 * @qp:		queue pair, other than that of the handler
 * @rkey:	region that has been filled
 * @op:		the request
 */
struct invalidation {
	struct ib_qp *qp;
	u32 rkey;
	struct kt_op op;
};

static void invalidate(struct invalidation *inv)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV, .send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = inv->rkey, .wr_cqe = &inv->op.cqe,
	};

	ib_post_send(inv->qp, &wr, NULL);
}

static void invalidate_on_completion(struct ib_cq *cq, void *context)
{
	invalidate(context);
}

static void invalidate_on_event(struct ib_event *ev, void *context)
{
	if (ev->event == IB_EVENT_SRQ_LIMIT_REACHED)
		invalidate(context);
}

/* Read into @e->b by the server, whose completion handler is replaced. */
static int read_into_region(struct kt_env *e, struct invalidation *inv)
{
	struct kt_side *s = &e->p.server;
	struct ib_sge sge = {
		.addr = e->b->mr->iova, .length = PAGE_SIZE, .lkey = e->b->mr->lkey,
	};
	struct kt_op op;
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = IB_WR_RDMA_READ, .send_flags = IB_SEND_SIGNALED,
			.sg_list = &sge, .num_sge = 1, .wr_cqe = &op.cqe,
		},
		.remote_addr = e->a->mr->iova, .rkey = e->a->mr->rkey,
	};

	kt_op_init(&op);
	s->cq->comp_handler = invalidate_on_completion;
	s->cq->cq_context = inv;
	ib_req_notify_cq(s->cq, IB_CQ_NEXT_COMP);
	return ib_post_send(s->id->qp, &wr.wr, NULL) ? : kt_op_wait(s, &op);
}

/*
 * Write into @e->b and send a message, both in one segment of TCP. The message takes the last but
 * one element of the server's shared queue, so the limit is reached.
 */
static int write_and_send(struct kt_env *e)
{
	struct ib_srq_attr attr = { .srq_limit = 2 };
	struct kt_side *c = &e->p.client;
	struct ib_sge sge = {
		.addr = e->a->mr->iova, .length = 64, .lkey = e->a->mr->lkey,
	};
	struct kt_op recv[2], op;
	struct ib_send_wr send = {
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		.sg_list = &sge, .num_sge = 1, .wr_cqe = &op.cqe,
	};
	struct ib_rdma_wr write = {
		.wr = {
			.opcode = IB_WR_RDMA_WRITE, .next = &send,
			.sg_list = &sge, .num_sge = 1,
		},
		.remote_addr = e->b->mr->iova, .rkey = e->b->mr->rkey,
	};
	int i, ret = 0;

	for (i = 0; i < ARRAY_SIZE(recv) && !ret; i++)
		ret = kt_recv(&e->p.server, e->p.srq, e->a, 1 + i, &recv[i]);
	kt_op_init(&op);
	return ret ? : ib_modify_srq(e->p.srq, &attr, IB_SRQ_LIMIT) ? :
	       ib_post_send(c->id->qp, &write.wr, NULL) ? : kt_op_wait(c, &op) ? :
	       kt_op_wait(&e->p.server, &recv[0]);
}

/*
 * A handler, which is called inside the pass that has placed the data, invalidates the region on
 * another queue pair. The invalidation waits for the end of the pass, so it must not run inside the
 * handler. @srq: the handler is that of this shared queue; NULL: that of the CQ.
 */
static int closed_by_handler(struct kt_env *other, struct invalidation *inv, struct ib_srq *srq)
{
	struct kt_side *s = &other->p.server;
	static struct kt_env e;
	int ret;

	memset(&e, 0, sizeof(e));
	e.p.poll = IB_POLL_DIRECT;
	e.p.server_pd = s->pd;
	e.p.srq = srq;
	inv->qp = s->id->qp;
	kt_op_init(&inv->op);
	ret = kt_pair_open(&e.p);
	if (ret)
		return ret;
	e.a = kt_mem_new(e.p.client.pd);
	e.b = kt_mem_new(e.p.server.pd);
	ret = e.a && e.b ? 0 : -ENOMEM;
	ret = ret ? : kt_reg(&e.p.client, e.a, KT_ACCESS);
	ret = ret ? : kt_reg(s, e.b, KT_ACCESS);
	if (!ret) {
		inv->rkey = e.b->mr->rkey;
		ret = (srq ? write_and_send(&e) : read_into_region(&e, inv)) ? :
		      kt_op_wait(s, &inv->op);
	}
	kt_env_close(&e);
	return ret;
}

static int closed_by_event(struct kt_env *other)
{
	struct invalidation inv;
	struct ib_srq_init_attr init = {
		.event_handler = invalidate_on_event, .srq_context = &inv,
		.attr = { .max_wr = 16, .max_sge = 2 },
	};
	struct ib_srq *srq = ib_create_srq(other->p.server.pd, &init);
	int ret;

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	ret = closed_by_handler(other, &inv, srq);
	return ib_destroy_srq_user(srq, NULL) ? : ret;
}

void kt_race_cases(void)
{
	struct invalidation inv;
	static struct kt_env other;
	int i, ret, late = 0;

	/* A consumer that polls learns immediately that the region is invalid. */
	ret = kt_env_open(&other, IB_POLL_DIRECT);
	for (i = 0; i < ROUNDS && ret >= 0; i++) {
		ret = closed_under_traffic(&other, i);
		late += ret == 1;
	}
	kt_tap("LOCAL_INV on another queue pair while the peer writes",
	       ret < 0 ? ret : late ? KT_WRONG_DATA : 0);
	kt_tap("LOCAL_INV on another queue pair by a completion handler",
	       ret < 0 ? ret : closed_by_handler(&other, &inv, NULL));
	kt_tap("LOCAL_INV on another queue pair by the event of a shared queue",
	       ret < 0 ? ret : closed_by_event(&other));
	kt_env_close(&other);
}
