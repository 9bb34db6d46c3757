/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Connected pairs of queue pairs, and work requests to wait for. */
#ifndef _KTEST_CONN_H
#define _KTEST_CONN_H

#include <linux/completion.h>
#include <rdma/rdma_cm.h>

#define KT_PATIENCE	(60 * HZ)
#define KT_PORT		7999
#define KT_SEND_WR	64
#define KT_RECV_WR	128
#define KT_SEND_SGE	16
#define KT_DEPTH	8
#define KT_INLINE	128

#define KT_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct kt_op - a work request in progress
 * @cqe:	referenced by the work request
 * @done:	completed when the work request completes
 * @wc:		its completion
 */
struct kt_op {
	struct ib_cqe cqe;
	struct completion done;
	struct ib_wc wc;
};

/**
 * struct kt_event - an event as the consumer gets it
 * @type:	its type
 * @status:	its status
 * @param:	its parameters; the private data are valid only while the event is handled
 * @data:	copy of the private data
 * @from:	source address of its id
 * @to:		destination address of its id
 */
struct kt_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_conn_param param;
	u8 data[U8_MAX];
	struct sockaddr_storage from;
	struct sockaddr_storage to;
};

/**
 * struct kt_talk - private data of both sides, and the events that follow
 * @request:	private data of the request
 * @request_len: their length
 * @answer:	private data of the answer
 * @answer_len:	their length
 * @reject:	the answer is a rejection
 * @think:	called before the answer, or NULL; may sleep
 * @asked:	the request, at the responder
 * @client:	the last event of the initiator
 * @server:	the last event of the responder, after the request
 */
struct kt_talk {
	const void *request;
	u8 request_len;
	const void *answer;
	u8 answer_len;
	bool reject;
	void (*think)(struct ib_device *client);
	struct kt_event asked;
	struct kt_event client;
	struct kt_event server;
};

/**
 * struct kt_side - one end of a connection
 * @id:		rdma_cm id, which has the queue pair
 * @pd:		protection domain
 * @cq:		CQ of sends and receives
 * @polled:	@cq is IB_POLL_DIRECT: waiters poll it
 * @event:	completed by each event of the id
 * @last:	the last event
 * @seen:	where events are recorded, or NULL
 */
struct kt_side {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct ib_cq *cq;
	bool polled;
	struct completion event;
	enum rdma_cm_event_type last;
	struct kt_event *seen;
};

/**
 * struct kt_pair - a connection with both its ends
 * @listen:	listener for @server
 * @client:	initiator
 * @server:	responder
 * @poll:	poll context of both CQs
 * @server_pd:	the caller's domain for the server, or NULL for a separate one
 * @srq:	shared receive queue of the server, or NULL
 * @talk:	private data, or NULL
 */
struct kt_pair {
	struct rdma_cm_id *listen;
	struct kt_side client;
	struct kt_side server;
	enum ib_poll_context poll;
	struct ib_pd *server_pd;
	struct ib_srq *srq;
	struct kt_talk *talk;
};

/*
 * Connect the two addresses and pass a first message. @poll, @server_pd, @srq and @talk
 * are set by the caller, everything else is zero.
 */
int kt_pair_open(struct kt_pair *p);
void kt_pair_close(struct kt_pair *p);
/* Disconnect the client and wait until both sides are notified. */
int kt_pair_end(struct kt_pair *p);

/* Set up the responder only, in the caller's network namespace, and wait for its peer. */
int kt_listen(struct kt_pair *p);
int kt_accepted(struct kt_pair *p);

/* Address, route and queue pair, without a connection. */
int kt_side_alone(struct kt_side *s);
void kt_side_close(struct kt_side *s);

void kt_op_init(struct kt_op *op);
/*
 * Return: IB_WC_*, or -ETIMEDOUT: then the queue pair is in error and the request
 * flushed.
 */
int kt_op_wait(struct kt_side *s, struct kt_op *op);
/* Post one signalled send work request and wait for it. Return: as above, or errno. */
int kt_do(struct kt_side *s, struct ib_send_wr *wr);

#endif /* _KTEST_CONN_H */
