/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The queue pair: state, lifetime, and the one way out for errors. */
#ifndef _KWARP_CORE_QP_H
#define _KWARP_CORE_QP_H

#include <linux/hrtimer.h>

#include "../kwarp.h"
#include "../proto/errors.h"
#include "../proto/qp_state.h"
#include "../proto/rdmap.h"
#include "../proto/rendezvous.h"
#include "../rx/rx.h"
#include "../tx/tx.h"
#include "wq.h"

struct kwarp_attach;
struct kwarp_cq;
struct kwarp_llp;
struct kwarp_srq;
struct mem_cgroup;

/**
 * struct kwarp_qp_params - what connection set-up agreed on
 * @ird:	inbound reads (size of the responder's queue)
 * @ord:	outbound reads
 * @crc:	CRC32c on, both directions
 * @tx_markers:	we insert markers
 * @rx_markers:	the peer inserts markers
 * @ooo:	the receive engine places FPDUs before their turn; only with CRCs and
 *		@rx_markers
 * @mpa_rev:	MPA revision in force
 * @initiator:	we sent the MPA request
 * @wait_first:	responder: send nothing before the peer's first FPDU
 *		(RFC 5044 7.1.2); RDMA Read Responses to it included
 * @fpdu_large:	policy of the device
 * @rtr:	responder: the first FPDU must be one of these ready-to-receive
 *		indications (KWARP_RTR_SEND, _WRITE, _READ; RFC 6581 9.2), which the
 *		consumer does not see; 0: none was agreed
 * @send_imm:	policy of the device
 * @ack:	sends complete when the peer has them: a zero-length RDMA Read behind
 *		them has come back. Rendezvous only
 * @user_ord:	of @ord, what work requests may use
 */
struct kwarp_qp_params {
	u16 ird;
	u16 ord;
	bool crc;
	bool tx_markers;
	bool rx_markers;
	bool ooo;
	u8 mpa_rev;
	bool initiator;
	bool wait_first;
	bool fpdu_large;
	u8 rtr;
	bool send_imm;
	bool ack;
	u16 user_ord;
};

/**
 * struct kwarp_rdv - a queue pair that was told of its partner by modify_qp: its state
 * says so, and then what follows is valid
 * @initiator:	we make the connection
 * @missed:	the partner is lost, and an acknowledgment is missed: the QP fails at
 *		@deadline
 * @matched:	an endpoint has, or had, the partner: @peer_rq_psn is known
 * @wrong:	tries with wrong PSNs so far
 * @peer_rq_psn: first PSN that the partner expects
 * @delay_ms:	pause before the next try
 * @deadline:	end of all tries, or of patience; jiffies
 * @id:		who we are and whom we look for
 * @ord:	most outbound reads; unknown before RTS
 * @ird:	most inbound reads
 * @tos:	traffic class of the path
 * @work:	next try, or the deadline; cancelled before the QP goes. Once lost, it
 *		is queued on kwarp_wq
 *
 * Protected by qp->mutex, unless it says otherwise.
 */
struct kwarp_rdv {
	bool initiator;
	bool missed;
	bool matched;
	u8 wrong;
	u32 peer_rq_psn;
	u16 delay_ms;
	unsigned long deadline;
	struct kwarp_rdv_id id;
	u16 ord;
	u16 ird;
	u8 tos;
	struct delayed_work work;
};

/**
 * struct kwarp_qp - a queue pair
 * @ibqp:	core's part; ibqp.qp_num is the index in dev->qps
 * @dev:	device
 * @id:		never used again, unlike numbers and addresses
 * @refs:	table, connection, iw_cm
 * @free:	completed when @refs is zero: destroy_qp waits for it
 * @rcu:	look-ups by number
 * @mutex:	modify_qp, attach, detach
 * @state:	kwarp_qp_step(). Changed under @mutex (except to an error, or when the
 *		partner is lost), the socket lock if a connection is attached, sq.lock and
 *		rq.lock; stable under any of them, but for what modify_qp does to a QP with
 *		a partner
 * @llp:	connection; RCU, changed under @mutex; holds a reference
 * @scq:	send completion queue
 * @rcq:	receive completion queue
 * @srq:	where receives come from instead of @rq, or NULL
 * @access:	IB_ACCESS_REMOTE_* the peer has at all
 * @access_named:	by the consumer, not by the connection manager; @mutex
 * @kernel:	belongs to a kernel consumer
 * @owner:	thread group of the process that made it; NULL if @kernel
 * @memcg:	who made a user's QP pays for the memory of its connections, too; or
 *		NULL. Holds a reference
 * @sq:		send queue
 * @rq:		receive queue
 * @tx:		send engine, socket lock
 * @rx:		receive engine, socket lock
 * @params:	agreed at connection, constant while attached
 * @err:	first error raised here or reported by the peer's Terminate, as it
 *		was sent
 * @term_received:	@err came from the peer
 * @stream_end:	FIN or reset ended it, with no error before; socket lock
 * @raised:	@err is valid
 * @stats:	counted for this QP alone: socket lock; read by anybody
 * @told:	@stats when the counter was told of them last, while there is one;
 *		dev->counted_lock
 * @counted_link: in dev->counted_qps while bound to a counter
 * @mem:	memory of the rings
 * @mmap:	entry of a user's QP, else NULL
 * @attr:	attributes stored for query_qp, but for the state
 * @wq:		where @work and @retry are queued: kwarp_wq, or kwarp_taken_wq
 * @work:	runs the send engine
 * @rest:	both engines, what they have left: kwarp_tx_defer()
 * @retry:	does so after a moment, when memory was short
 * @linger:	does so after a burst; cancelled before the QP goes
 * @claimed:	a connection has it, be it in the making: kwarp_qp_claim(); @mutex;
 *		changes wake waiters on this address
 * @attach:	the last program's socket that was attached (cm/attach.c); @mutex
 * @rdv:	how it finds its partner by itself (cm/rendezvous.c); @mutex
 */
struct kwarp_qp {
	struct ib_qp ibqp;
	struct kwarp_device *dev;
	u64 id;
	refcount_t refs;
	struct completion free;
	struct mutex mutex;	/* see above */
	enum kwarp_qp_state state;
	struct kwarp_llp __rcu *llp;
	struct kwarp_cq *scq;
	struct kwarp_cq *rcq;
	struct kwarp_srq *srq;
	int access;
	bool access_named;
	bool kernel;
	struct pid *owner;
	struct mem_cgroup *memcg;
	struct kwarp_sq sq;
	struct kwarp_rq rq;
	struct kwarp_tx tx;
	struct kwarp_rx rx;
	struct kwarp_qp_params params;
	struct kwarp_term_err err;
	bool term_received;
	bool stream_end;
	bool raised;
	u64 stats[KWARP_STAT_QP];
	u64 *told;
	struct list_head counted_link;
	void *mem;
	struct rdma_user_mmap_entry *mmap;
	struct ib_qp_attr attr;
	struct workqueue_struct *wq;
	struct work_struct work;
	struct work_struct rest;
	struct delayed_work retry;
	struct hrtimer linger;
	bool claimed;
	struct kwarp_attach *attach;
	struct kwarp_rdv rdv;
};

/* Count for the device and for the QP. Context: socket lock held. */
static inline void kwarp_qp_count_n(struct kwarp_qp *qp, enum kwarp_counter id,
				    u64 n)
{
	kwarp_count_n(qp->dev, id, n);
	WRITE_ONCE(qp->stats[id], qp->stats[id] + n);
}

static inline void kwarp_qp_count(struct kwarp_qp *qp, enum kwarp_counter id)
{
	kwarp_qp_count_n(qp, id, 1);
}

static inline struct kwarp_qp *to_kqp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct kwarp_qp, ibqp);
}

/* DDP and RDMAP version in force: enum kwarp_ddp_version. */
static inline u8 kwarp_qp_version(const struct kwarp_qp *qp)
{
	return qp->params.mpa_rev ? KWARP_DDP_V_IETF : KWARP_DDP_V_RDMAC;
}

/* Messages beyond RFC 5040: KWARP_RDMAP_EXT_*. Its first version knows none. */
static inline u8 kwarp_qp_ext(const struct kwarp_qp *qp)
{
	if (!qp->params.mpa_rev)
		return 0;
	return KWARP_RDMAP_EXT_7306 |
	       (qp->params.send_imm ? KWARP_RDMAP_EXT_OWN : 0);
}

void kwarp_qp_get(struct kwarp_qp *qp);
void kwarp_qp_put(struct kwarp_qp *qp);

/* Look-up by number with a reference, or NULL. Context: any. */
struct kwarp_qp *kwarp_qp_find(struct kwarp_device *dev, u32 qpn);

/* The QP's connection with a reference, or NULL. Context: any. */
struct kwarp_llp *kwarp_qp_llp(struct kwarp_qp *qp);

/**
 * kwarp_qp_claim() - take a QP for one connection, from before its set-up to its end
 * @qp:		queue pair with a reference, its mutex held
 * @partner:	for its partner of a rendezvous, else for another connection
 *
 * The only way to a connection, for rdma_cm, attached sockets and rendezvous.
 *
 * Return: false if the QP is not idle, has a connection, even one in the making, or
 * looks for a partner and this is another, or the other way round.
 */
bool kwarp_qp_claim(struct kwarp_qp *qp, bool partner);

/**
 * kwarp_qp_unclaim() - undo kwarp_qp_claim()
 * @qp:		queue pair with a reference, its mutex held; not INIT if attached
 */
void kwarp_qp_unclaim(struct kwarp_qp *qp);

/**
 * kwarp_qp_step() - change the state, as proto/qp_state.c has it
 * @qp:		queue pair
 * @step:	what happens
 *
 * Also opens and closes the queues to posts: no sends before RTS (RTR in a rendezvous),
 * no receives in RESET, but an immediate error, as InfiniBand and most providers have it.
 * Context: any; the caller holds the socket lock if a connection is attached, else
 * qp->mutex, and the latter for all that modify_qp does.
 *
 * Return: false if the state does not allow it, and stays.
 */
bool kwarp_qp_step(struct kwarp_qp *qp, enum kwarp_qp_step step);

/* A new queue pair's first state: IDLE, as iWARP's consumers expect it. */
void kwarp_qp_state_init(struct kwarp_qp *qp);

/* Is it in an error? Then what is posted is flushed. */
static inline bool kwarp_qp_failed(const struct kwarp_qp *qp)
{
	return kwarp_qp_is_failed(READ_ONCE(qp->state));
}

/* Has its partner of a rendezvous ended the connection? */
static inline bool kwarp_qp_lost(const struct kwarp_qp *qp)
{
	return kwarp_qp_is_lost(READ_ONCE(qp->state));
}

static inline const struct kwarp_qp_traits *
kwarp_qp_is(const struct kwarp_qp *qp)
{
	return &kwarp_qp_traits_of[READ_ONCE(qp->state)];
}

/**
 * kwarp_qp_expect() - accepted, but the initiator's last startup frame is to come
 * @qp:		idle queue pair
 *
 * To its consumer it is as good as connected. Context: process.
 */
void kwarp_qp_expect(struct kwarp_qp *qp);

/**
 * kwarp_qp_attach() - put a connection in Full Operation under a QP
 * @qp:		idle queue pair: RTS from then on, or, with a partner, as modify_qp says
 * @llp:	connected, all startup octets consumed; takes references both ways
 * @params:	agreed parameters
 *
 * Allocates the read queues, switches the socket's callbacks to the engines and
 * processes what has already arrived. Nothing is sent yet: the send engine
 * starts with kwarp_qp_start(); a rendezvous' responder's with the first FPDU.
 * Context: process, may sleep.
 * Return: 0, -EISCONN if the QP is not idle, -ENOMEM, -ECONNRESET if a program keeps
 * its socket's lock.
 */
int kwarp_qp_attach(struct kwarp_qp *qp, struct kwarp_llp *llp,
		    const struct kwarp_qp_params *params);

/**
 * kwarp_qp_start() - let the send engine run (it still honours wait_first)
 *
 * Separate from attach, so that the CM can deliver ESTABLISHED first.
 * Context: process.
 */
void kwarp_qp_start(struct kwarp_qp *qp);

/**
 * kwarp_qp_detach() - undo kwarp_qp_attach()
 * @llp:	connection; no QP attached is no error
 *
 * On return no engine runs on it, the QP is in ERR and flushed, and the
 * references are dropped. Context: process, may sleep; not under qp->mutex.
 */
void kwarp_qp_detach(struct kwarp_llp *llp);

/**
 * kwarp_qp_raise() - the one way out for an error of the connection
 * @qp:		queue pair, socket lock held
 * @err:	what is wrong; decides on the Terminate's layer, type and code
 * @seg:	first octets of the offending DDP segment for the Terminate, or NULL
 * @seg_len:	octets in @seg
 * @ulpdu_len:	length of the offending ULPDU, for the DDP Segment Length field
 *
 * The receive engine stops for good, the Terminate is queued behind what TCP has
 * been promised, the state goes to ERR, everything is flushed, the consumer
 * gets an async event and the CM KWARP_LLP_EV_QP_ERR. Only the first counts.
 * Context: any in which the socket lock is held.
 */
void kwarp_qp_raise(struct kwarp_qp *qp, enum kwarp_err err,
		    const u8 *seg, u32 seg_len, u32 ulpdu_len);

/**
 * kwarp_qp_fail() - the connection is dead: no Terminate can be sent
 * @qp:		queue pair, socket lock held
 *
 * Peer's Terminate received, or the consumer's wish: ERR and flush, and the CM gets
 * KWARP_LLP_EV_QP_ERR. The end of the stream has events of its own.
 */
void kwarp_qp_fail(struct kwarp_qp *qp);

/**
 * kwarp_qp_disconnect() - end the connection from this side
 * @qp:		queue pair, its mutex held
 * @abrupt:	false: RTS -> SQD, finish the send queue, then FIN;
 *		true: ERR and flush now; what TCP has accepted is still delivered
 *
 * Context: process, may sleep.
 */
void kwarp_qp_disconnect(struct kwarp_qp *qp, bool abrupt);

/**
 * kwarp_qp_unreachable() - there will be no connection
 * @qp:		queue pair in rendezvous, qp->mutex held, nothing attached
 *
 * ERR; the oldest send completes with RETRY_EXC_ERR, all else is flushed, and the
 * consumer gets an event. Context: process.
 */
void kwarp_qp_unreachable(struct kwarp_qp *qp);

/**
 * kwarp_qp_check_lost() - does something wait for a partner that has gone
 * @qp:		queue pair
 *
 * Then it fails like a request that is never acknowledged, and as late: a program
 * that has what it wanted, and is about to end, has that time. Context: process.
 */
void kwarp_qp_check_lost(struct kwarp_qp *qp);

#endif /* _KWARP_CORE_QP_H */
