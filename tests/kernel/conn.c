// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "conn.h"

#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <rdma/ib_cm.h>

static char *client_ip = "10.0.0.1";
module_param(client_ip, charp, 0444);
MODULE_PARM_DESC(client_ip, "IPv4 address of the initiator");
static char *server_ip = "10.0.0.2";
module_param(server_ip, charp, 0444);
MODULE_PARM_DESC(server_ip, "IPv4 address of the responder");

/* ---- work requests ---------------------------------------------------------- */

static void op_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kt_op *op = container_of(wc->wr_cqe, struct kt_op, cqe);

	op->wc = *wc;
	complete(&op->done);
}

void kt_op_init(struct kt_op *op)
{
	memset(op, 0, sizeof(*op));
	op->cqe.done = op_done;
	init_completion(&op->done);
}

static bool wait_polling(struct kt_side *s, struct kt_op *op)
{
	unsigned long end = jiffies + KT_PATIENCE;

	while (!try_wait_for_completion(&op->done)) {
		if (time_after(jiffies, end))
			return false;
		ib_process_cq_direct(s->cq, 16);
		cond_resched();
	}
	return true;
}

int kt_op_wait(struct kt_side *s, struct kt_op *op)
{
	bool done = s->polled ? wait_polling(s, op) :
		    !!wait_for_completion_timeout(&op->done, KT_PATIENCE);

	if (done)
		return op->wc.status;
	ib_drain_qp(s->id->qp);
	return -ETIMEDOUT;
}

int kt_do(struct kt_side *s, struct ib_send_wr *wr)
{
	struct kt_op op;
	int ret;

	kt_op_init(&op);
	wr->wr_cqe = &op.cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	ret = ib_post_send(s->id->qp, wr, NULL);
	return ret ? : kt_op_wait(s, &op);
}

/* ---- one end ------------------------------------------------------------------ */

/* kt_side_close() releases what was created before an error. */
static int side_open(struct kt_side *s, struct ib_pd *pd, struct ib_srq *srq,
		     enum ib_poll_context poll)
{
	struct ib_device *dev = s->id->device;
	struct ib_qp_init_attr attr = {
		.cap = { .max_send_wr = KT_SEND_WR,
			 .max_recv_wr = srq ? 0 : KT_RECV_WR,
			 .max_send_sge = KT_SEND_SGE,
			 .max_recv_sge = srq ? 0 : 4,
			 .max_inline_data = KT_INLINE },
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.srq = srq,
	};

	s->pd = pd ? : ib_alloc_pd(dev, 0);
	if (IS_ERR(s->pd)) {
		s->pd = NULL;
		return -ENOMEM;
	}
	s->polled = poll == IB_POLL_DIRECT;
	s->cq = ib_alloc_cq_any(dev, NULL, 512, poll);
	if (IS_ERR(s->cq)) {
		s->cq = NULL;
		return -ENOMEM;
	}
	attr.send_cq = s->cq;
	attr.recv_cq = s->cq;
	return rdma_create_qp(s->id, s->pd, &attr);
}

/* Close everything but the domain and the id. */
static void close_queues(struct kt_side *s)
{
	if (s->id->qp) {
		rdma_disconnect(s->id);
		ib_drain_qp(s->id->qp);
		rdma_destroy_qp(s->id);
	}
	if (s->cq)
		ib_free_cq(s->cq);
	s->cq = NULL;
}

static void close_side(struct kt_side *s, bool own_pd)
{
	if (!s->id)
		return;
	close_queues(s);
	if (s->pd && own_pd)
		ib_dealloc_pd(s->pd);
	rdma_destroy_id(s->id);
	memset(s, 0, sizeof(*s));
}

void kt_side_close(struct kt_side *s)
{
	close_side(s, true);
}

static void record(struct kt_event *seen, const struct rdma_cm_id *id,
		   const struct rdma_cm_event *ev)
{
	if (!seen)
		return;
	seen->type = ev->event;
	seen->status = ev->status;
	seen->param = ev->param.conn;
	seen->from = id->route.addr.src_addr;
	seen->to = id->route.addr.dst_addr;
	if (seen->param.private_data_len)
		memcpy(seen->data, seen->param.private_data, seen->param.private_data_len);
}

static int side_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct kt_side *s = id->context;

	record(s->seen, id, ev);
	s->last = ev->event;
	complete(&s->event);
	return 0;
}

static int side_wait(struct kt_side *s, enum rdma_cm_event_type wanted)
{
	if (!wait_for_completion_timeout(&s->event, KT_PATIENCE))
		return -ETIMEDOUT;
	return s->last == wanted ? 0 : -ECONNREFUSED;
}

static struct rdma_conn_param param(void)
{
	return (struct rdma_conn_param) {
		.responder_resources = KT_DEPTH, .initiator_depth = KT_DEPTH,
		.retry_count = 7,
	};
}

static struct sockaddr_in address(const char *ip, u16 port)
{
	return (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = in_aton(ip),
	};
}

/* Set up the initiator up to its queue pair. */
static int side_resolve(struct kt_side *s, enum ib_poll_context poll)
{
	struct sockaddr_in from = address(client_ip, 0);
	struct sockaddr_in to = address(server_ip, KT_PORT);
	struct rdma_cm_id *id;

	init_completion(&s->event);
	id = rdma_create_id(current->nsproxy->net_ns, side_event, s,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	s->id = id;
	return rdma_resolve_addr(id, (struct sockaddr *)&from,
				 (struct sockaddr *)&to, 5000) ? :
	       side_wait(s, RDMA_CM_EVENT_ADDR_RESOLVED) ? :
	       rdma_resolve_route(id, 5000) ? :
	       side_wait(s, RDMA_CM_EVENT_ROUTE_RESOLVED) ? :
	       side_open(s, NULL, NULL, poll);
}

int kt_side_alone(struct kt_side *s)
{
	int ret = side_resolve(s, IB_POLL_WORKQUEUE);

	if (ret)
		kt_side_close(s);
	return ret;
}

/* ---- both ----------------------------------------------------------------------- */

static int requested(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct kt_pair *p = id->context;
	struct rdma_conn_param cp = param();
	struct kt_side *s = &p->server;
	struct kt_talk *talk = p->talk;

	if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	if (talk) {
		record(&talk->asked, id, ev);
		s->seen = &talk->server;
		cp.private_data = talk->answer;
		cp.private_data_len = talk->answer_len;
		if (talk->think)
			talk->think(p->client.id->device);
	}
	if (talk && talk->reject) {
		rdma_reject(id, talk->answer, talk->answer_len, IB_CM_REJ_CONSUMER_DEFINED);
		/* rdma_cm destroys the id. */
		return -ECONNREFUSED;
	}
	s->id = id;
	id->context = s;
	id->event_handler = side_event;
	if (!side_open(s, p->server_pd, p->srq, p->poll) &&
	    !rdma_accept(id, &cp))
		return 0;
	/* rdma_cm destroys the id. */
	close_queues(s);
	if (s->pd && !p->server_pd)
		ib_dealloc_pd(s->pd);
	s->pd = NULL;
	s->id = NULL;
	return -ENOMEM;
}

int kt_listen(struct kt_pair *p)
{
	struct sockaddr_in at = address(server_ip, KT_PORT);
	struct rdma_cm_id *id;

	init_completion(&p->server.event);
	id = rdma_create_id(current->nsproxy->net_ns, requested, p,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	p->listen = id;
	return rdma_set_reuseaddr(id, 1) ? :
	       rdma_bind_addr(id, (struct sockaddr *)&at) ? :
	       rdma_listen(id, 8);
}

int kt_accepted(struct kt_pair *p)
{
	return side_wait(&p->server, RDMA_CM_EVENT_ESTABLISHED);
}

/* A responder may send only after the initiator's first FPDU (RFC 5044 7.1.2). */
static int speak(struct kt_pair *p)
{
	static struct kt_op received;
	struct ib_recv_wr recv = { .wr_cqe = &received.cqe };
	struct ib_send_wr send = { .opcode = IB_WR_SEND };

	kt_op_init(&received);
	return (p->srq ? ib_post_srq_recv(p->srq, &recv, NULL) :
			 ib_post_recv(p->server.id->qp, &recv, NULL)) ? :
	       kt_do(&p->client, &send) ? : kt_op_wait(&p->server, &received);
}

static void stop_listening(struct kt_pair *p)
{
	if (p->listen)
		rdma_destroy_id(p->listen);
	p->listen = NULL;
}

int kt_pair_open(struct kt_pair *p)
{
	struct rdma_conn_param cp = param();
	int ret;

	if (p->talk) {
		p->client.seen = &p->talk->client;
		cp.private_data = p->talk->request;
		cp.private_data_len = p->talk->request_len;
	}
	ret = kt_listen(p) ? : side_resolve(&p->client, p->poll) ? :
	      rdma_connect(p->client.id, &cp) ? :
	      side_wait(&p->client, RDMA_CM_EVENT_ESTABLISHED) ? :
	      kt_accepted(p) ? : speak(p);
	/* No more connections are expected, and the next pair uses the same address. */
	stop_listening(p);
	if (ret)
		kt_pair_close(p);
	return ret;
}

void kt_pair_close(struct kt_pair *p)
{
	stop_listening(p);
	close_side(&p->client, true);
	close_side(&p->server, !p->server_pd);
}

int kt_pair_end(struct kt_pair *p)
{
	return rdma_disconnect(p->client.id) ? :
	       side_wait(&p->client, RDMA_CM_EVENT_DISCONNECTED) ? :
	       side_wait(&p->server, RDMA_CM_EVENT_DISCONNECTED);
}
