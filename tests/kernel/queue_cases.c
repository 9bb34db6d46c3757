// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Queues: CQ contexts, shared receive queues, draining, results of posting. */
#include "ktest.h"
#include "mem.h"

#include <linux/mm.h>
#include <linux/version.h>

#define ROUNDS	32

static struct kt_op ops[KT_RECV_WR + 1];

/* ---- completion queues ----------------------------------------------------------- */

/* Send @count messages from one side to the other; check that they arrive in order. */
static int messages(struct kt_env *e, bool back, int count)
{
	struct kt_side *from = back ? &e->p.server : &e->p.client;
	struct kt_side *to = back ? &e->p.client : &e->p.server;
	struct kt_mem *source = back ? e->b : e->a;
	struct kt_mem *sink = back ? e->a : e->b;
	int i, ret = 0;

	kt_fill(source, 1);
	for (i = 0; i < count && !ret; i++)
		ret = kt_recv(to, NULL, sink, 1 + i, &ops[i]);
	for (i = 0; i < count && !ret; i++) {
		*(u32 *)page_address(source->page[0]) = i;
		ret = kt_send(from, source, 0);
	}
	for (i = 0; i < count && !ret; i++) {
		ret = kt_op_wait(to, &ops[i]);
		if (!ret && ops[i].wc.byte_len != PAGE_SIZE)
			ret = -EIO;
		if (!ret && *(u32 *)page_address(sink->page[1 + i]) != i)
			ret = KT_WRONG_DATA;
	}
	return ret;
}

static void contexts(void)
{
	static const struct {
		const char *name;
		enum ib_poll_context poll;
	} all[] = {
		{ "IB_POLL_SOFTIRQ", IB_POLL_SOFTIRQ },
		{ "IB_POLL_WORKQUEUE", IB_POLL_WORKQUEUE },
		{ "IB_POLL_UNBOUND_WORKQUEUE", IB_POLL_UNBOUND_WORKQUEUE },
		{ "IB_POLL_DIRECT", IB_POLL_DIRECT },
	};
	static struct kt_env e;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		ret = kt_env_open(&e, all[i].poll) ? :
		      messages(&e, false, ROUNDS) ? :
		      messages(&e, true, ROUNDS);
		kt_env_close(&e);
		kt_tap(all[i].name, ret);
	}
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
/* A CQ with unpolled completions. Newer kernels allow resizing to programs only. */
static void resized(void)
{
	static struct kt_env e;
	int i, ret = kt_env_open(&e, IB_POLL_DIRECT);

	for (i = 0; i < ROUNDS && !ret; i++)
		ret = kt_recv(&e.p.server, NULL, e.b, 1 + i, &ops[i]);
	for (i = 0; i < ROUNDS && !ret; i++)
		ret = kt_send(&e.p.client, e.a, 0);
	kt_tap("ib_resize_cq(): more room",
	       ret ? : ib_resize_cq(e.p.server.cq, 2048) ? :
	       e.p.server.cq->cqe < 2048);
	for (i = 0; i < ROUNDS && !ret; i++)
		ret = kt_op_wait(&e.p.server, &ops[i]);
	kt_tap("ib_resize_cq(): unpolled completions are kept", ret);
	kt_tap("ib_resize_cq(): less room, new completions arrive",
	       ret ? : ib_resize_cq(e.p.server.cq, 256) ? :
	       messages(&e, false, ROUNDS));
	kt_tap("ib_resize_cq(): more than the maximum",
	       ib_resize_cq(e.p.server.cq, INT_MAX) != -EINVAL);
	kt_env_close(&e);
}
#else
static void resized(void)
{
}
#endif

static void moderated(struct kt_env *e)
{
	kt_tap("CQ moderation", rdma_set_cq_moderation(e->p.server.cq, 16, 500));
	kt_tap("moderation: all completions arrive", messages(e, false, 8));
	rdma_set_cq_moderation(e->p.server.cq, 0, 0);
}

/* ---- posting ------------------------------------------------------------------------ */

static void inline_send(struct kt_env *e)
{
	char text[KT_INLINE] = "not in any region";
	struct ib_sge sge = {
		.addr = (uintptr_t)text, .length = sizeof(text),
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_INLINE,
	};
	int ret;

	ret = kt_recv(&e->p.server, NULL, e->b, 5, &ops[0]) ? :
	      kt_do(&e->p.client, &wr) ? : kt_op_wait(&e->p.server, &ops[0]);
	kt_tap("inline data from the stack",
	       ret ? : memcmp(page_address(e->b->page[5]), text, sizeof(text)) ?
		       KT_WRONG_DATA : 0);
}

/*
 * Post @n copies of a Send in one list, with the one at @odd changed. @bad: bad_wr's
 * index.
 */
static int post_many(struct kt_side *s, struct kt_mem *m, int n, int odd,
		     int opcode, int num_sge, int *bad)
{
	static struct ib_send_wr wr[KT_SEND_WR + 1];
	static struct ib_sge sge[KT_SEND_SGE + 1];
	const struct ib_send_wr *bad_wr = NULL;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(sge); i++) {
		sge[i] = kt_page(s, m, 0);
		sge[i].length = 1;
	}
	for (i = 0; i < n; i++) {
		kt_op_init(&ops[i]);
		wr[i] = (struct ib_send_wr) {
			.wr_cqe = &ops[i].cqe, .opcode = IB_WR_SEND,
			.sg_list = sge, .num_sge = 1,
			.send_flags = IB_SEND_SIGNALED,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
		};
	}
	if (odd < n) {
		wr[odd].opcode = opcode;
		wr[odd].num_sge = num_sge;
	}
	ret = ib_post_send(s->id->qp, wr, &bad_wr);
	*bad = bad_wr ? bad_wr - wr : -1;
	return ret;
}

static void post_errors(void)
{
	static struct kt_op received[KT_SEND_WR + 1];
	static struct kt_env e;
	int i, ret, bad;

	ret = kt_env_open(&e, IB_POLL_WORKQUEUE);
	for (i = 0; i <= KT_SEND_WR && !ret; i++)
		ret = kt_recv(&e.p.server, NULL, e.b, i, &received[i]);
	kt_tap("receives are posted", ret);
	if (ret)
		goto out;
	ret = post_many(&e.p.client, e.a, 3, 1, 99, 1, &bad);
	kt_tap("an unknown operation: EINVAL, bad_wr",
	       ret != -EINVAL || bad != 1 ||
	       kt_op_wait(&e.p.client, &ops[0]));
	ret = post_many(&e.p.client, e.a, 3, 2, IB_WR_SEND, KT_SEND_SGE + 1,
			&bad);
	kt_tap("too many elements: EINVAL, bad_wr",
	       ret != -EINVAL || bad != 2 ||
	       kt_op_wait(&e.p.client, &ops[0]) ||
	       kt_op_wait(&e.p.client, &ops[1]));
	ret = kt_op_wait(&e.p.server, &received[2]);
	kt_tap("requests before the bad one arrive, and no others",
	       ret ? : completion_done(&received[3].done));
out:
	kt_env_close(&e);
}

/* While a list is being posted, no elements are taken out of the queue. */
static void full(void)
{
	static struct kt_op received[KT_SEND_WR + 1];
	struct ib_recv_wr *recv;
	const struct ib_recv_wr *bad_recv = NULL;
	static struct kt_env e;
	int i, ret, bad;

	ret = kt_env_open(&e, IB_POLL_WORKQUEUE);
	for (i = 0; i <= KT_SEND_WR && !ret; i++)
		ret = kt_recv(&e.p.server, NULL, e.b, i, &received[i]);
	ret = ret ? : post_many(&e.p.client, e.a, KT_SEND_WR + 1, INT_MAX, 0, 0,
				&bad);
	kt_tap("one more than there is room for: ENOMEM, bad_wr",
	       ret != -ENOMEM || bad != KT_SEND_WR);
	for (i = 0, ret = 0; i < KT_SEND_WR && !ret; i++)
		ret = kt_op_wait(&e.p.client, &ops[i]);
	kt_tap("all the others are sent", ret);

	recv = kcalloc(KT_RECV_WR + 1, sizeof(*recv), GFP_KERNEL);
	for (i = 0; recv && i <= KT_RECV_WR; i++) {
		kt_op_init(&ops[i]);
		recv[i].wr_cqe = &ops[i].cqe;
		recv[i].next = i < KT_RECV_WR ? &recv[i + 1] : NULL;
	}
	ret = recv ? ib_post_recv(e.p.client.id->qp, recv, &bad_recv) : 0;
	kt_tap("receives: one more than there is room for",
	       ret != -ENOMEM || bad_recv != &recv[KT_RECV_WR]);
	kt_env_close(&e);
	kfree(recv);
}

static void not_connected(void)
{
	static struct kt_side s;
	const struct ib_recv_wr *bad_recv = NULL;
	struct ib_recv_wr recv = { .wr_cqe = &ops[3].cqe };
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	struct kt_mem *m = NULL;
	int ret, bad = 0;

	kt_op_init(&ops[3]);
	ret = kt_side_alone(&s);
	if (!ret) {
		m = kt_mem_new(s.pd);
		ret = m ? 0 : -ENOMEM;
	}
	kt_tap("a queue pair alone", ret);
	if (ret)
		goto out;
	ret = post_many(&s, m, 2, INT_MAX, 0, 0, &bad);
	kt_tap("INIT: no sends", ret != -EINVAL || bad != 0);
	kt_tap("INIT: receives", ib_post_recv(s.id->qp, &recv, NULL));
	ret = ib_modify_qp(s.id->qp, &attr, IB_QP_STATE);
	kt_tap("RESET", ret);
	ret = post_many(&s, m, 2, INT_MAX, 0, 0, &bad);
	kt_tap("RESET: no sends", ret != -EINVAL || bad != 0);
	ret = ib_post_recv(s.id->qp, &recv, &bad_recv);
	kt_tap("RESET: no receives", ret != -EINVAL || bad_recv != &recv);
	attr.qp_state = IB_QPS_ERR;
	ret = ib_modify_qp(s.id->qp, &attr, IB_QP_STATE) ? :
	      post_many(&s, m, 2, INT_MAX, 0, 0, &bad);
	kt_tap("ERR: sends are flushed",
	       ret ? : kt_op_wait(&s, &ops[0]) != IB_WC_WR_FLUSH_ERR ||
		       kt_op_wait(&s, &ops[1]) != IB_WC_WR_FLUSH_ERR);
out:
	kt_mem_free(m);
	kt_side_close(&s);
}

/* ---- the context that sends ---------------------------------------------------------- */

enum post_context { POST_PLAIN, POST_BH_OFF, POST_IRQS_OFF };

static DEFINE_SPINLOCK(post_lock);

/* Post a Send and poll its CQ, both under a lock. Return: completions, or -errno. */
static int post_and_poll(struct kt_side *s, struct ib_send_wr *wr, enum post_context context)
{
	unsigned long flags = 0;
	int ret;

	switch (context) {
	case POST_PLAIN:
		spin_lock(&post_lock);
		break;
	case POST_BH_OFF:
		spin_lock_bh(&post_lock);
		break;
	case POST_IRQS_OFF:
		spin_lock_irqsave(&post_lock, flags);
		break;
	}
	ret = ib_post_send(s->id->qp, wr, NULL) ? : ib_process_cq_direct(s->cq, 1);
	switch (context) {
	case POST_PLAIN:
		spin_unlock(&post_lock);
		break;
	case POST_BH_OFF:
		spin_unlock_bh(&post_lock);
		break;
	case POST_IRQS_OFF:
		spin_unlock_irqrestore(&post_lock, flags);
		break;
	}
	return ret;
}

/*
 * Post 64 Sends, one after the other. Return: how many were complete immediately, or -errno.
 */
static int sends_at_once(struct kt_env *e, enum post_context context)
{
	struct ib_sge sge = kt_page(&e->p.client, e->a, 0);
	struct kt_op op;
	struct ib_send_wr wr = {
		.wr_cqe = &op.cqe, .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
		.send_flags = IB_SEND_SIGNALED,
	};
	int i, ret, done = 0;

	for (i = 0; i < 64; i++) {
		kt_op_init(&op);
		ret = kt_recv(&e->p.server, NULL, e->b, i, &ops[i]);
		if (ret)
			return ret;
		ret = post_and_poll(&e->p.client, &wr, context);
		if (ret < 0)
			return ret;
		done += ret;
		ret = kt_op_wait(&e->p.client, &op) ? : kt_op_wait(&e->p.server, &ops[i]);
		if (ret)
			return ret < 0 ? ret : -EIO;
	}
	return done;
}

/* ---- posts to a queue pair in error --------------------------------------------- */

static atomic_t handled, deadlocks;

/* A consumer's handler that takes the lock under which the consumer posts. */
static void takes_lock(struct ib_cq *cq, void *context)
{
	unsigned long flags;

	if (spin_trylock_irqsave(&post_lock, flags))
		spin_unlock_irqrestore(&post_lock, flags);
	else
		atomic_inc(&deadlocks);
	atomic_inc(&handled);
}

static int flushed_later(struct ib_qp *qp, struct ib_cq *cq)
{
	const struct ib_recv_wr *bad_recv;
	const struct ib_send_wr *bad_send;
	struct ib_recv_wr recv = {};
	struct ib_send_wr send = { .opcode = IB_WR_SEND };
	unsigned long flags;
	struct ib_wc wc;
	int ret, ms, n;

	for (n = 0; n < 2; n++) {
		ib_req_notify_cq(cq, IB_CQ_NEXT_COMP);
		spin_lock_irqsave(&post_lock, flags);
		ret = n ? ib_post_recv(qp, &recv, &bad_recv) : ib_post_send(qp, &send, &bad_send);
		spin_unlock_irqrestore(&post_lock, flags);
		if (ret)
			return ret;
		for (ms = 0; atomic_read(&handled) <= n; ms++) {
			if (ms == 60000)
				return -ETIMEDOUT;
			fsleep(1000);
		}
		if (ib_poll_cq(cq, 1, &wc) != 1 || wc.status != IB_WC_WR_FLUSH_ERR)
			return -EPROTO;
	}
	return atomic_read(&deadlocks) ? -EDEADLK : 0;
}

static int posts_in_error(void)
{
	struct ib_cq_init_attr cq_attr = { .cqe = 16 };
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4 },
		.qp_type = IB_QPT_RC, .sq_sig_type = IB_SIGNAL_ALL_WR,
	};
	struct ib_qp_attr err = { .qp_state = IB_QPS_ERR };
	struct kt_side side = {};
	struct ib_cq *cq;
	struct ib_qp *qp;
	int ret = kt_side_alone(&side);

	if (ret)
		return ret;
	atomic_set(&handled, 0);
	atomic_set(&deadlocks, 0);
	cq = ib_create_cq(side.id->device, takes_lock, NULL, NULL, &cq_attr);
	if (IS_ERR(cq)) {
		kt_side_close(&side);
		return PTR_ERR(cq);
	}
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ib_create_qp(side.pd, &attr);
	ret = PTR_ERR_OR_ZERO(qp);
	if (!ret) {
		ret = ib_modify_qp(qp, &err, IB_QP_STATE) ? : flushed_later(qp, cq);
		ib_destroy_qp(qp);
	}
	ib_destroy_cq(cq);
	kt_side_close(&side);
	return ret;
}

static void senders(void)
{
	static struct kt_env e;
	int ret;

	ret = kt_env_open(&e, IB_POLL_DIRECT);
	kt_tap("connect, to poll in the poster's context", ret);
	if (ret)
		return;
	/* The socket lock may be taken at any post, then a worker sends. */
	ret = sends_at_once(&e, POST_PLAIN);
	kt_tap("a post under a spinlock sends in its own context", ret < 0 ? ret : !ret);
	ret = sends_at_once(&e, POST_BH_OFF);
	kt_tap("a post with softirqs off, too", ret < 0 ? ret : !ret);
	/*
	 * The worker of a post runs on the same CPU, so not before interrupts are on. Another
	 * CPU may send before the poll, if it still works for an earlier message.
	 */
	ret = sends_at_once(&e, POST_IRQS_OFF);
	kt_tap("a post with interrupts off is sent later", ret < 0 ? ret : ret > 32);
	kt_env_close(&e);
}

/* ---- draining and sharing ---------------------------------------------------------- */

static void drained(struct kt_env *e)
{
	int i, ret = 0, early = 0, other = 0;

	for (i = 0; i < 64 && !ret; i++)
		ret = kt_recv(&e->p.server, NULL, e->b, i, &ops[i]);
	ib_drain_qp(e->p.server.id->qp);
	for (i = 0; i < 64; i++) {
		early += !completion_done(&ops[i].done);
		other += ops[i].wc.status != IB_WC_WR_FLUSH_ERR;
	}
	kt_tap("ib_drain_qp() returns after every completion", ret ? : early);
	kt_tap("ib_drain_qp(): all requests are flushed", other);
}

static struct completion limit_reached;

static void srq_event(struct ib_event *ev, void *context)
{
	if (ev->event == IB_EVENT_SRQ_LIMIT_REACHED)
		complete(&limit_reached);
}

/* A second connection to the server of @first, sharing its domain. */
static void shared_queue(struct kt_env *first)
{
	struct ib_srq_init_attr init = {
		.event_handler = srq_event,
		.attr = { .max_wr = 16, .max_sge = 2 },
	};
	struct kt_pair p = { .server_pd = first->p.server.pd };
	struct ib_srq_attr attr = { .srq_limit = 5 };
	struct kt_mem *m = first->b;
	struct ib_srq *srq;
	int i, ret;

	init_completion(&limit_reached);
	srq = ib_create_srq(p.server_pd, &init);
	kt_tap("ib_create_srq()", PTR_ERR_OR_ZERO(srq));
	if (IS_ERR(srq))
		return;
	p.srq = srq;
	ret = kt_pair_open(&p);
	kt_tap("a queue pair with the shared receive queue", ret);
	if (ret)
		goto out;
	for (i = 0; i < 8 && !ret; i++)
		ret = kt_recv(&p.server, srq, m, 8 + i, &ops[i]);
	kt_fill(first->a, 5);
	ret = ret ? : ib_modify_srq(srq, &attr, IB_SRQ_LIMIT);
	for (i = 0; i < 3 && !ret; i++)
		ret = kt_rdma(&p.client, IB_WR_SEND, kt_page(&p.client, first->a, 0), 0, 0) ? :
		      kt_op_wait(&p.server, &ops[i]);
	kt_tap("shared receives are used in order",
	       ret ? : memcmp(page_address(m->page[10]),
			      page_address(first->a->page[0]), PAGE_SIZE) ?
		       KT_WRONG_DATA : 0);
	kt_tap("not yet at the limit", completion_done(&limit_reached));
	ret = kt_rdma(&p.client, IB_WR_SEND, kt_page(&p.client, first->a, 0), 0, 0) ? :
	      kt_op_wait(&p.server, &ops[3]);
	kt_tap("the limit is reached",
	       ret ? : !wait_for_completion_timeout(&limit_reached,
						    KT_PATIENCE));
	ret = ib_query_srq(srq, &attr);
	kt_tap("the event disarms the limit", ret ? : attr.srq_limit);
	kt_pair_close(&p);
	for (i = 4; i < 8; i++)
		ret |= completion_done(&ops[i].done);
	kt_tap("unused receives are kept when the queue pair is destroyed", ret);
out:
	kt_tap("ib_destroy_srq()", ib_destroy_srq_user(srq, NULL));
}

void kt_queue_cases(void)
{
	static struct kt_env e;
	int ret;

	contexts();
	resized();
	not_connected();
	post_errors();
	full();
	senders();
	kt_tap("posts in error call no handler under the poster's lock", posts_in_error());
	ret = kt_env_open(&e, IB_POLL_WORKQUEUE);
	kt_tap("connect", ret);
	if (ret)
		return;
	inline_send(&e);
	moderated(&e);
	shared_queue(&e);
	drained(&e);
	kt_env_close(&e);
}
