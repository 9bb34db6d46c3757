/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The endpoint: one connection or listener from the connection manager's view.
 * Only the files of cm/ include this.
 *
 *	ep.c		lifetime, events, timer, handles, device removal
 *	machine.c	states, events, transitions
 *	linger.c	the last state, KWARP_EP_LINGER
 *	startup.c	startup frames; attaching the connection to the QP
 *	connect.c	MPA initiator
 *	listen.c	listeners and their children
 *	accept.c	MPA responder
 *	attach.c	attached sockets of programs, in either role
 *	rendezvous.c	rendezvous: modify_qp connects queue pairs, without rdma_cm
 *	meet.c		the connections of rendezvous, in either role
 *	rdv_port.c	the listeners of rendezvous
 *	addr.c		addresses, namespaces
 *	upcall.c	events for iw_cm
 */
#ifndef _KWARP_CM_EP_H
#define _KWARP_CM_EP_H

#include <linux/mutex.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <rdma/iw_cm.h>

#include "kwarp.h"
#include "llp/llp.h"
#include "proto/mpa_negotiate.h"
#include "rdmap/stream.h"

enum kwarp_ep_state {
	KWARP_EP_IDLE,		/* created, not started */
	KWARP_EP_LISTEN,
	KWARP_EP_CONNECTING,	/* initiator: TCP or SCTP handshake */
	KWARP_EP_WAIT_REP,	/* initiator: request sent */
	KWARP_EP_WAIT_REQ,	/* responder: connected, no complete request yet */
	KWARP_EP_READY,		/* responder: request complete, not its turn yet */
	KWARP_EP_REQUESTED,	/* responder: the consumer has the request */
	KWARP_EP_WAIT_RTR,	/* responder, peer-to-peer: reply sent, no RTR yet */
	KWARP_EP_ESTABLISHED,
	KWARP_EP_CLOSING,	/* QP attached; our FIN is sent or will be */
	KWARP_EP_LINGER,	/* no QP, no cm_id; our FIN is sent, the peer's not received */
	KWARP_EP_CLOSED,
	KWARP_EP_STATES
};

/* Events below KWARP_LLP_EV_CM_FIRST belong to the lower layer. */
enum kwarp_ep_event {
	KWARP_EP_EV_TIMEOUT = KWARP_LLP_EV_CM_FIRST,
	KWARP_EP_EV_UNWANTED,	/* the listener no longer wants this child */
	KWARP_EP_EV_TURN,	/* the consumer has room for this child's request */
	KWARP_EP_EV_DOWN,	/* the netdev or the device is being unregistered */
	KWARP_EP_EV_REMOVED,	/* the device is being removed */
	KWARP_EP_EV_READDRESS,	/* the netdev's addresses may have changed */
	KWARP_EP_EV_DISPLACED,	/* too many endpoints linger; this one is the oldest */
	KWARP_EP_EVENTS,
	/* Not an event: the holder of the mutex queues the work, see kwarp_ep_unlock(). */
	KWARP_EP_EV_WAITING = KWARP_EP_EVENTS,
};

enum kwarp_ep_limits {
	/* Limit for a disconnecting QP's last requests: reads may never be answered. */
	KWARP_EP_DRAIN_MS	= 60 * 1000,
	/*
	 * Periods of startup_timeout_ms, after the first one, for which an endpoint waits for the
	 * peer to acknowledge: in CLOSING at most, in LINGER those without an acknowledgment.
	 */
	KWARP_EP_PERIODS	= 10,
	/* Delay before a listener that is out of memory retries. */
	KWARP_EP_RETRY_MS	= 100,
	/* Delay before a listener retries to bind the netdev's addresses. */
	KWARP_EP_READDRESS_MS	= 1000,
	/*
	 * A child that has sent no request for this time may be evicted. The requests
	 * of other peers arrive before their children are accepted, or soon after.
	 */
	KWARP_EP_SILENCE_MS	= 250,
	/* Interval of the checks for device removal and for ending processes. */
	KWARP_EP_OWNER_POLL_MS	= 250,
	/* The same while the device is removed. */
	KWARP_EP_REMOVAL_POLL_MS	= 10,
	/* Endpoints that each check looks at. */
	KWARP_EP_OWNER_POLL_MAX	= 1024,
	/* Tenths of a second after which removal logs that it still waits. */
	KWARP_EP_DOWN_WAITS	= 100,
	/* Bytes discarded in LINGER, per run and in total. */
	KWARP_EP_DISCARD_RUN	= 64 * 1024,
	KWARP_EP_DISCARD_MAX	= 16 * 1024 * 1024,
	/* Children that a listener accepts per run. */
	KWARP_EP_ACCEPT_RUN	= 64,
	/* Limit of private data and depths in an iw_cm_event, where both are u8. */
	KWARP_EP_EVENT_MAX	= 255,
};

/**
 * struct kwarp_startup - state needed until startup is complete
 * @pol:	policy of the device at connect or when the request arrived
 * @local:	the consumer's parameters
 * @req:	request, sent or received
 * @hello:	frame or Start Key being received
 * @sctp:	the lower layer is SCTP: kwarp_startup_use_sctp()
 * @from:	initiator: source address
 * @to:		initiator: destination
 * @tos:	initiator: type of service, -1 for the default
 * @qpn:	initiator: QP number
 * @agreed:	responder in KWARP_EP_WAIT_RTR: parameters of the connection
 * @rtr_frame:	responder: the Rtr frame of the 2007 proposal is expected; no QP is attached
 *		before it
 * @pd_len:	bytes in @pd
 * @pd:		private data of our request; of an attached socket also of our reply
 */
struct kwarp_startup {
	struct kwarp_mpa_policy pol;
	struct kwarp_mpa_local local;
	struct kwarp_mpa_frame req;
	struct kwarp_hello hello;
	bool sctp;
	struct sockaddr_storage from;
	struct sockaddr_storage to;
	int tos;
	u32 qpn;
	struct kwarp_mpa_params agreed;
	bool rtr_frame;
	u16 pd_len;
	u8 pd[] __counted_by(pd_len);
};

/**
 * struct kwarp_ep - endpoint
 * @llp:	connection; its reference count is the endpoint's; the first reference
 *		belongs to the state machine until KWARP_EP_CLOSED
 * @mutex:	the state machine: held by @work and by the calls of iw_cm. Outside of
 *		qp->mutex, inside rdma_cm's locks. Two are held only when a listener or
 *		an endpoint that falls back takes that of a new endpoint, or a listener
 *		that of its twin
 * @work:	handles @events
 * @events:	bits of enum kwarp_llp_event and kwarp_ep_event; atomic
 * @timer:	raises KWARP_EP_EV_TIMEOUT at @deadline
 * @rendezvous:	listener or child of the device's rendezvous, or a connection to one:
 *		there is no cm_id; constant
 * @owner:	process of the queue pair, with a reference, or NULL; set once
 * @arrived:	child: when it was accepted, jiffies; constant
 * @backlog:	listener: the consumer's limit, of @asked; constant
 * @state:	also read without @mutex
 * @attach:	an attached socket: its request; also read without @mutex
 * @armed:	@deadline is valid
 * @deadline:	end of the current wait
 * @startup_ms:	limit of each wait in startup, 0 for the policy's
 * @handle:	number that iw_cm holds as provider_data, or 0
 * @cm_id:	iw_cm's object, with a reference; a listener's also under @child_lock
 * @iw_qp:	accepted: the handle that iw_cm holds (iw_qp.c); valid until iw_cm knows that the
 *		connection is established, or NULL
 * @established: iw_cm knows the connection and is owed a CLOSE
 * @ird:	agreed, for ESTABLISHED
 * @ord:	agreed, for ESTABLISHED
 * @su:		state of startup, or NULL
 * @qp:		queue pair that this connection has claimed, with a reference, until
 *		kwarp_ep_release_qp()
 * @discarded:	bytes discarded in KWARP_EP_LINGER
 * @queued:	after our FIN: kwarp_llp_queued() when the timer was set
 * @periods:	KWARP_EP_CLOSING: how often the timer was set again; KWARP_EP_LINGER: how often
 *		in vain
 * @listener:	child: its listener, with a reference, until answered
 * @twin:	listener: the one of the same cm_id for the other lower layer, with a
 *		reference, or NULL
 * @dev_link:	in dev->eps from allocation to release
 * @upcall_link: in dev->upcall_due while iw_cm waits for an event from us
 * @linger_link: in dev->lingering[@linger_kind], or empty
 * @linger_kind: valid from KWARP_EP_LINGER on
 * @sibling:	child: in @waiting, @ready or @asked of @listener, or empty if evicted; the
 *		listener's @child_lock
 * @counted:	child: it is in @asked; the listener's @child_lock
 * @child_lock:	listener: protects its @cm_id and the fields below
 * @waiting:	listener: children in KWARP_EP_WAIT_REQ, oldest first
 * @ready:	listener: children in KWARP_EP_READY, in the order of their turns
 * @asked:	listener: children in KWARP_EP_REQUESTED
 * @children:	listener: number of children in the three lists
 * @nr_asked:	listener: number of children in @asked
 *
 * @mutex protects the fields from @state to @twin, dev->lock those from @dev_link to
 * @linger_kind.
 */
struct kwarp_ep {
	struct kwarp_llp llp;
	struct mutex mutex;	/* state machine */
	struct work_struct work;
	unsigned long events;
	struct timer_list timer;
	bool rendezvous;
	struct pid *owner;
	unsigned long arrived;
	u32 backlog;

	enum kwarp_ep_state state;
	struct kwarp_attach *attach;
	bool armed;
	unsigned long deadline;
	u32 startup_ms;
	u32 handle;
	struct iw_cm_id *cm_id;
	struct ib_qp *iw_qp;
	bool established;
	u16 ird;
	u16 ord;
	struct kwarp_startup *su;
	struct kwarp_qp *qp;
	u32 discarded;
	u32 queued;
	u32 periods;
	struct kwarp_ep *listener;
	struct kwarp_ep *twin;

	struct list_head dev_link;
	struct list_head upcall_link;
	struct list_head linger_link;
	enum kwarp_linger_kind linger_kind;

	struct list_head sibling;
	bool counted;
	spinlock_t child_lock;	/* children, listener's cm_id */
	struct list_head waiting;
	struct list_head ready;
	struct list_head asked;
	u32 children;
	u32 nr_asked;
};

struct kwarp_attach;

static inline struct kwarp_ep *to_ep(struct kwarp_llp *llp)
{
	return container_of(llp, struct kwarp_ep, llp);
}

static inline struct kwarp_device *ep_dev(const struct kwarp_ep *ep)
{
	return ep->llp.dev;
}

/* Has the peer acknowledged anything since ep->queued was set? Sets it again. */
static inline bool kwarp_ep_acked(struct kwarp_ep *ep)
{
	u32 before = ep->queued;

	ep->queued = kwarp_llp_queued(&ep->llp);
	return ep->queued < before;
}

/* ep.c */
struct kwarp_ep *kwarp_ep_alloc(struct kwarp_device *dev);
void kwarp_ep_raise(struct kwarp_ep *ep, unsigned int ev);
void kwarp_ep_keep_events(struct kwarp_ep *ep);
void kwarp_ep_unlock(struct kwarp_ep *ep);
bool kwarp_ep_trylock(struct kwarp_ep *ep);
void kwarp_cm_queue_delayed(struct kwarp_device *dev, struct delayed_work *work,
			    unsigned long delay);
void kwarp_ep_set_state(struct kwarp_ep *ep, enum kwarp_ep_state state);
void kwarp_ep_arm(struct kwarp_ep *ep, u32 ms);
bool kwarp_ep_timed_out(struct kwarp_ep *ep);
void kwarp_ep_arm_startup(struct kwarp_ep *ep);
void kwarp_ep_arm_answer(struct kwarp_ep *ep);
void kwarp_ep_disarm(struct kwarp_ep *ep);
int kwarp_ep_set_handle(struct kwarp_ep *ep);
void kwarp_ep_drop_handle(struct kwarp_ep *ep);
void *kwarp_ep_provider_data(const struct kwarp_ep *ep);
struct ib_qp *kwarp_ep_swap_ended(struct iw_cm_id *id, struct ib_qp *iw_qp);
struct kwarp_ep *kwarp_ep_find(const struct iw_cm_id *id);
const struct rdma_cm_id *kwarp_ep_rdma_id(const struct iw_cm_id *id);
void kwarp_ep_hold_qp(struct kwarp_ep *ep, struct kwarp_qp *qp);
int kwarp_ep_claim_qp(struct kwarp_ep *ep, u32 qpn);
void kwarp_ep_release_qp(struct kwarp_ep *ep, int status);
void kwarp_ep_set_id(struct kwarp_ep *ep, struct iw_cm_id *id);
void kwarp_ep_drop_id(struct kwarp_ep *ep);
void kwarp_ep_close(struct kwarp_ep *ep, enum kwarp_ending ending);

/* machine.c */
const char *kwarp_ep_state_name(enum kwarp_ep_state state);
void kwarp_ep_work(struct work_struct *work);
void kwarp_ep_enter(struct kwarp_ep *ep);
void kwarp_ep_withdraw(struct kwarp_ep *ep);

/* linger.c */
void kwarp_linger(struct kwarp_ep *ep, enum kwarp_linger_kind kind);
void kwarp_linger_discard(struct kwarp_ep *ep);
void kwarp_linger_timeout(struct kwarp_ep *ep);
void kwarp_linger_displaced(struct kwarp_ep *ep);
void kwarp_linger_leave(struct kwarp_ep *ep);

/* startup.c */
struct kwarp_startup *kwarp_startup_alloc(struct kwarp_device *dev,
					  const void *pd, u16 pd_len);
int kwarp_startup_recv(struct kwarp_ep *ep, enum kwarp_mpa_type type,
		       struct kwarp_mpa_frame *f);
int kwarp_startup_send(struct kwarp_ep *ep, const struct kwarp_mpa_frame *f,
		       const void *pd);
void kwarp_startup_use_sctp(struct kwarp_startup *su);
void kwarp_startup_failed(struct kwarp_ep *ep, int err);
int kwarp_startup_prepare(struct kwarp_ep *ep, const struct kwarp_startup *su);
int kwarp_startup_attach(struct kwarp_ep *ep,
			 const struct kwarp_mpa_params *agreed, enum kwarp_mpa_role role);
int kwarp_startup_rtr_frame(struct kwarp_ep *ep);

/* connect.c */
int kwarp_initiator_start(struct kwarp_device *dev, struct iw_cm_id *id,
			  struct kwarp_startup *su);
void kwarp_initiator_connected(struct kwarp_ep *ep);
void kwarp_initiator_reply(struct kwarp_ep *ep);
void kwarp_initiator_refused(struct kwarp_ep *ep);
void kwarp_initiator_timeout(struct kwarp_ep *ep);
void kwarp_initiator_down(struct kwarp_ep *ep);
void kwarp_initiator_qp_gone(struct kwarp_ep *ep);

/* listen.c */
void kwarp_listen_children(struct kwarp_ep *ep);
void kwarp_listen_readdress(struct kwarp_ep *ep);
void kwarp_listen_reset(struct kwarp_ep *ep);
void kwarp_listen_retry(struct kwarp_ep *ep);
void kwarp_listen_end(struct kwarp_ep *ep);
void kwarp_listen_ready(struct kwarp_ep *child);
int kwarp_listen_ask(struct kwarp_ep *child, struct iw_cm_event *ev);
void kwarp_listen_leave(struct kwarp_ep *child);
struct kwarp_ep *kwarp_listen_rendezvous(struct kwarp_device *dev, u16 port);

/* accept.c */
void kwarp_responder_request(struct kwarp_ep *ep);
void kwarp_responder_ask(struct kwarp_ep *ep);
void kwarp_responder_early(struct kwarp_ep *ep);
void kwarp_responder_lost(struct kwarp_ep *ep);
void kwarp_responder_timeout(struct kwarp_ep *ep);
void kwarp_responder_unanswered(struct kwarp_ep *ep);
void kwarp_responder_drop(struct kwarp_ep *ep);
int kwarp_responder_answer(struct kwarp_ep *ep, struct iw_cm_id *id,
			   const struct iw_cm_conn_param *params);

/* attach.c; these functions do nothing for endpoints without an attached socket */
bool kwarp_attach_key(struct kwarp_ep *ep);
bool kwarp_attach_request(struct kwarp_ep *ep);
void kwarp_attach_done(struct kwarp_ep *ep, int status, const void *pd,
		       u16 pd_len);
void kwarp_attach_put(struct kwarp_ep *ep);

/* meet.c; all but the first do nothing for endpoints without rendezvous */
int kwarp_meet_connect(struct kwarp_qp *qp, const struct iw_cm_conn_param *params);
bool kwarp_meet_request(struct kwarp_ep *ep);
bool kwarp_meet_reply_ok(struct kwarp_ep *ep, const void *pd, u16 pd_len);
void kwarp_meet_made(struct kwarp_ep *ep);

/* rendezvous.c; called by meet.c and ep.c */
bool kwarp_rdv_claim(struct kwarp_qp *qp, const struct kwarp_rdv_id *theirs,
		     struct kwarp_llp *llp, struct iw_cm_conn_param *params, u8 *pd);
void kwarp_rdv_unclaim(struct kwarp_qp *qp);
bool kwarp_rdv_match(struct kwarp_qp *qp, const struct kwarp_rdv_id *theirs);
void kwarp_rdv_made(struct kwarp_qp *qp);

/* rdv_port.c */
int kwarp_rdv_module_init(void);
void kwarp_rdv_module_exit(void);

/* addr.c */
int kwarp_addr_scope(struct kwarp_device *dev, struct sockaddr_storage *ss);
int kwarp_addr_vrf(struct kwarp_device *dev);
void kwarp_addr_paths(struct kwarp_device *dev, struct kwarp_llp_bind *bind);
bool kwarp_addr_any(const struct sockaddr_storage *ss);
bool kwarp_addr_loopback(const struct sockaddr_storage *ss);
void kwarp_addr_wildcard(struct sockaddr_storage *ss, u16 port);
int kwarp_addr_peer(struct kwarp_ep *ep, struct sockaddr_storage *ss);
void kwarp_addr_event(struct kwarp_ep *ep, struct iw_cm_event *ev);

/* Maximum number of bytes of private data that the consumer can receive. */
static inline u32 kwarp_ep_pd_max(const struct kwarp_ep *ep)
{
	return ep->attach ? KWARP_MPA_PD_MAX : KWARP_EP_EVENT_MAX;
}

/* upcall.c */
int kwarp_up_event(struct iw_cm_id *id, struct iw_cm_event *ev);
int kwarp_up_reply(struct kwarp_ep *ep, int status, const void *pd, u16 pd_len,
		   u16 ird, u16 ord);
void kwarp_up_established(struct kwarp_ep *ep, int status);
void kwarp_up_disconnect(struct kwarp_ep *ep);
void kwarp_up_close(struct kwarp_ep *ep, int status);

#endif /* _KWARP_CM_EP_H */
