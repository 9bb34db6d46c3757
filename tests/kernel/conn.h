/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connected pairs of queue pairs, and work requests that can be waited for. */
#ifndef _KTEST_CONN_H
#define _KTEST_CONN_H

#include <linux/completion.h>
#include <rdma/rdma_cm.h>

#define KT_PATIENCE	(60 * HZ)
#define KT_PORT		7999
#define KT_SEND_WR	64
#define KT_RECV_WR	128
#define KT_SEND_SGE	16
#define KT_INLINE	128

#define KT_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct kt_op - a work request on its way
 * @cqe:	named by it
 * @done:	completed with it
 * @wc:		its completion
 */
struct kt_op {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
};

/**
 * struct kt_side - one end
 * @id:		with the queue pair
 * @pd:		protection domain
 * @cq:		of sends and receives
 * @polled:	@cq is IB_POLL_DIRECT: whoever waits polls it
 * @event:	completed with each event of the id
 * @last:	that event
 */
struct kt_side {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	bool polled;
	struct completion event;
	enum rdma_cm_event_type last;
};

/**
 * struct kt_pair - a connection with both its ends
 * @listen:	for @server, who is asked
 * @client:	active side
 * @server:	passive side
 * @poll:	context of both CQs
 * @server_pd:	the server's domain if it is the caller's, or NULL for its own
 * @srq:	of the server's receives, or NULL
 */
struct kt_pair {
	struct rdma_cm_id *listen;
	struct kt_side client;
	struct kt_side server;
	enum ib_poll_context poll;
	struct ib_pd *server_pd;
	struct ib_srq *srq;
};

/*
 * From one address to the other; the first message is through. @poll, @server_pd and
 * @srq are set, all else is zero.
 */
int kt_pair_open(struct kt_pair *p);
void kt_pair_close(struct kt_pair *p);

/* The passive side alone, in the caller's network namespace; then wait for its peer. */
int kt_listen(struct kt_pair *p);
int kt_accepted(struct kt_pair *p);

/* Address, route and queue pair, but no connection. */
int kt_side_alone(struct kt_side *s);
void kt_side_close(struct kt_side *s);

void kt_op_init(struct kt_op *op);
/* IB_WC_*, or -ETIMEDOUT: then the queue pair is in error and the request is over. */
int kt_op_wait(struct kt_side *s, struct kt_op *op);
/* Post one signalled send work request and wait for it: as above, or errno. */
int kt_do(struct kt_side *s, struct ib_send_wr *wr);

#endif /* _KTEST_CONN_H */
