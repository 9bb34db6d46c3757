/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The lower layer protocol (LLP): connections and their sockets. An LLP carries ULPDUs
 * (ulpdu.h) and does not interpret them. mpa/ implements MPA over TCP, sctp/ implements
 * SCTP; socket.h declares the socket functions that both use.
 */
#ifndef _KWARP_LLP_H
#define _KWARP_LLP_H

#include <linux/bvec.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/net.h>
#include <net/busy_poll.h>
#include <net/rps.h>
#include <net/sock.h>

#include "kwarp.h"
#include "llp/ulpdu.h"
#include "proto/mpa_startup.h"

struct kwarp_ledger;
struct kwarp_llp;
struct kwarp_mpa;
struct kwarp_qp;
struct kwarp_sctp;
struct file;

/*
 * Minimum of the initial receive buffer. TCP's queue holds an incomplete FPDU, so the window
 * must have room for two FPDUs of maximum size (64 KiB each), whatever tcp_rmem is. The
 * buffer is four times as large, because truesize is charged; autotuning may enlarge it.
 */
#define KWARP_RCVBUF_MIN	(512 * 1024)

/* Bits of the events that a connection reports to its owner (the CM). */
enum kwarp_llp_event {
	KWARP_LLP_EV_CONNECTED,	/* active open succeeded */
	KWARP_LLP_EV_READABLE,	/* startup: data or the end of the stream can be read;
				 * listener: a child can be accepted
				 */
	KWARP_LLP_EV_PEER_FIN,	/* the peer closed its direction; all data before its FIN are
				 * processed
				 */
	KWARP_LLP_EV_RESET,	/* the connection is lost: reset, timeout, refused
				 * (llp->sk_err); may follow PEER_FIN
				 */
	KWARP_LLP_EV_FIN_SENT,	/* our FIN is queued behind all data: graceful close */
	KWARP_LLP_EV_QP_ERR,	/* QP went to ERR; the Terminate, if any, is being sent */
	KWARP_LLP_EV_RTR,	/* responder: the peer's first FPDU was processed */
	KWARP_LLP_EV_QP_GONE,	/* the QP is being destroyed: release it */
	KWARP_LLP_EV_DRAIN,	/* QP went to SQD: FIN follows its last work request */
	/* The CM's own events use the next bits of the same word. */
	KWARP_LLP_EV_CM_FIRST,
};

/**
 * struct kwarp_llp_owner_ops - upcalls to the owner of a connection
 * @event:	set the bit of an event and queue the owner's work. Context: any
 * @release:	the last reference was dropped. Context: any; must not sleep
 */
struct kwarp_llp_owner_ops {
	void (*event)(struct kwarp_llp *llp, unsigned int ev);
	void (*release)(struct kwarp_llp *llp);
};

/**
 * struct kwarp_llp_engine - functions of an attached QP, called by the lower layer
 * @readable:	data may have arrived, or the stream may have ended: pull the ULPDUs, then call
 *		kwarp_llp_report_end(), now or later
 * @writable:	there is send space again
 * @early:	ULPDUs after a gap may have arrived; called only if llp->ledger is set
 * @ended:	the stream has ended, called once: @err is a positive errno (reset, timeout)
 *		or 0 for FIN; @left is not 0 if ULPDUs before the end are incomplete
 *
 * Context: socket lock held and llp->qp set; softirq or process.
 */
struct kwarp_llp_engine {
	void (*readable)(struct kwarp_llp *llp);
	void (*writable)(struct kwarp_llp *llp);
	void (*early)(struct kwarp_llp *llp);
	void (*ended)(struct kwarp_llp *llp, int err, u32 left);
};

/**
 * struct kwarp_mpa_framing - FPDU framing agreed on in MPA startup
 * @crc:	CRC32c in both directions
 * @tx_markers:	markers in the FPDUs that we send
 * @rx_markers:	markers in the FPDUs that the peer sends
 * @large:	send FPDUs up to the MPA limit instead of one TCP segment (policy fpdu_large)
 */
struct kwarp_mpa_framing {
	bool crc;
	bool tx_markers;
	bool rx_markers;
	bool large;
};

/**
 * struct kwarp_llp - one connection or listener
 * @sock:	the socket; set once, released by kwarp_llp_close()
 * @sk:		the struct sock of @sock, referenced until the last put, so that it can be
 *		locked after the release of @sock
 * @user_file:	file of a program's socket (kwarp_llp_take()), with a reference, or NULL
 * @dev:	device
 * @refs:	held by owner, attached QP, callbacks and doorbells in progress
 * @ops:	lower layer that carries the ULPDUs
 * @sctp:	SCTP: the association; constant
 * @owner:	upcalls to the CM
 * @framing:	MPA: FPDU framing; constant while @qp is set
 * @saved_data_ready:	callback that ours replaces
 * @saved_state_change:	callback that ours replaces
 * @saved_write_space:	callback that ours replaces
 * @saved_error_report:	callback that ours replaces
 * @rcu:	for kfree_rcu() in owner->release(), because qp->llp is read under RCU
 * @qp:		attached queue pair, with a reference, or NULL
 * @engine:	functions of @qp; valid while @qp is set
 * @mpa:	MPA: data path, from ops->begin() to ops->end()
 * @ledger:	the QP's record of ULPDUs placed early, or NULL
 * @locked_at:	when a process last took the socket lock, jiffies
 * @sk_err:	positive errno if the connection was lost, otherwise 0; the CM reads it
 *		without the lock
 * @startup_sent: our startup frame was passed to the transport
 * @eof:	the end of the stream was reported
 * @watched:	TCP: sk_write_space is called for each segment received
 * @want_wspace: TCP, if @watched: the engine waits for send space
 *
 * The socket lock guards @qp and the members after it.
 */
struct kwarp_llp {
	struct socket *sock;
	struct sock *sk;
	struct file *user_file;
	struct kwarp_device *dev;
	refcount_t refs;
	const struct kwarp_llp_ops *ops;
	struct kwarp_sctp *sctp;
	const struct kwarp_llp_owner_ops *owner;
	struct kwarp_mpa_framing framing;
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_state_change)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_error_report)(struct sock *sk);
	struct rcu_head rcu;
	/* Under the socket lock: */
	struct kwarp_qp *qp;
	const struct kwarp_llp_engine *engine;
	struct kwarp_mpa *mpa;
	struct kwarp_ledger *ledger;
	unsigned long locked_at;
	int sk_err;
	bool startup_sent;
	bool eof;
	bool watched;
	bool want_wspace;
};

/**
 * struct kwarp_llp_info - state of a connection, for observers
 * @name:	the lower layer's name in policy llp
 * @local:	local address and port
 * @remote:	address and port of the peer
 * @emss:	payload bytes of a segment without SACK options
 * @mulpdu:	MULPDU (RFC 5044 4.5, RFC 5043 9)
 * @retransmits: segments or chunks retransmitted
 */
struct kwarp_llp_info {
	const char *name;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u32 emss;
	u32 mulpdu;
	u32 retransmits;
};

/* kwarp_llp_init() sets llp->ops to kwarp_mpa_ops. */
extern const struct kwarp_llp_ops kwarp_mpa_ops;
extern const struct kwarp_llp_ops kwarp_sctp_ops;

/* MPA's startup and framing have options that other lower layers do not have. */
static inline bool kwarp_llp_is_mpa(const struct kwarp_llp *llp)
{
	return llp->ops == &kwarp_mpa_ops;
}

/* Memory that the connections share. Context: module init and exit, may sleep. */
int kwarp_mpa_init(void);
void kwarp_mpa_exit(void);

#if IS_ENABLED(CONFIG_IP_SCTP)
int kwarp_sctp_probe(struct net *net);

int kwarp_sctp_init(void);
void kwarp_sctp_exit(void);
#else
#define kwarp_sctp_ops	kwarp_mpa_ops	/* never chosen */
static inline int kwarp_sctp_probe(struct net *net)
{
	return -EPROTONOSUPPORT;
}

static inline int kwarp_sctp_init(void)
{
	return 0;
}

static inline void kwarp_sctp_exit(void)
{
}
#endif

/*
 * The reference count starts at one, for the owner. The last put calls owner->release().
 */
void kwarp_llp_init(struct kwarp_llp *llp, struct kwarp_device *dev,
		    const struct kwarp_llp_owner_ops *owner);
void kwarp_llp_get(struct kwarp_llp *llp);
void kwarp_llp_put(struct kwarp_llp *llp);

/**
 * struct kwarp_llp_bind - local end of a socket
 * @net:	namespace
 * @ifindex:	netdev to bind to (0: none)
 * @vrf:	VRF that a socket is bound to if it is not bound to @ifindex (0: none)
 * @paths:	further netdevs (0: none), whose addresses a multihomed socket has, too
 * @local:	address and port (port 0: any)
 * @tos:	type of service or traffic class, inherited by a listener's children; -1
 *		for the default
 * @afonly:	IPv6 only: no IPv4-mapped addresses
 * @borrow_net:	a listener holds no reference to the namespace: the caller closes it before
 *		the namespace ends. Every other socket, children included, holds one
 */
struct kwarp_llp_bind {
	struct net *net;
	int ifindex;
	int vrf;
	int paths[KWARP_PATHS_MAX];
	const struct sockaddr_storage *local;
	int tos;
	bool afonly;
	bool borrow_net;
};

int kwarp_llp_connect(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		      const struct sockaddr_storage *remote);
int kwarp_llp_listen(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		     int backlog);
int kwarp_llp_relisten(struct kwarp_llp *llp, int backlog);
bool kwarp_llp_has_child(const struct kwarp_llp *listener);
int kwarp_llp_accept(struct kwarp_llp *listener, struct kwarp_llp *child);
int kwarp_llp_take(struct kwarp_llp *llp, int fd, const struct net *net);

void kwarp_take_exit(void);

/*
 * Receive or send raw bytes, without waiting for the peer: for MPA startup frames that
 * struct kwarp_mpa_frame does not represent (cm/attach.c). Return: bytes, 0 at the end of
 * the stream, or -errno. Context: process.
 */
int kwarp_llp_recv(struct kwarp_llp *llp, void *buf, size_t len);
int kwarp_llp_send(struct kwarp_llp *llp, const void *buf, size_t len);

/**
 * struct kwarp_hello - a startup frame being received
 * @f:		the frame, once complete; its private data are in @rx
 * @err:	KWARP_MPA_E_*, positive, if the frame is invalid
 * @have:	bytes in @rx
 * @rx:		bytes received, as the lower layer encodes them
 */
struct kwarp_hello {
	struct kwarp_mpa_frame f;
	int err;
	u32 have;
	u8 rx[KWARP_MPA_FRAME_MAX];
};

int kwarp_llp_hello_send(struct kwarp_llp *llp, const struct kwarp_mpa_frame *f,
			 const void *pd);
int kwarp_llp_hello_recv(struct kwarp_llp *llp, struct kwarp_hello *hello,
			 enum kwarp_mpa_type type);
int kwarp_llp_hello_more(struct kwarp_llp *llp);
int kwarp_llp_drain(struct kwarp_llp *llp, size_t len);
int kwarp_llp_getname(const struct kwarp_llp *llp, struct sockaddr_storage *ss,
		      enum kwarp_llp_side side);
void kwarp_llp_keepalive(struct kwarp_llp *llp, u32 seconds);
void kwarp_llp_get_info(const struct kwarp_llp *llp, struct kwarp_llp_info *info);

/* Return: bytes of memory of data, and of TCP's FIN, that the peer has not acknowledged. */
static inline u32 kwarp_llp_queued(const struct kwarp_llp *llp)
{
	return READ_ONCE(llp->sk->sk_wmem_queued);
}

/*
 * Tell receive flow steering (RFS) that the connection's program runs on this processor, as
 * sendmsg() does. A worker runs on any processor. Context: process, socket lock held.
 */
static inline void kwarp_llp_steer(const struct kwarp_llp *llp)
{
	if (!(current->flags & PF_WQ_WORKER))
		sock_rps_record_flow(llp->sk);
}

/*
 * The NAPI instance that the CQs of this connection shall poll: the one that received the last
 * segment. 0: none is known, or policy poll_us is 0.
 */
static inline u32 kwarp_llp_napi_id(const struct kwarp_llp *llp)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	u32 id;

	if (!READ_ONCE(llp->dev->policy.poll_us))
		return 0;
	id = READ_ONCE(llp->sk->sk_napi_id);
	/* Without NAPI, the field may have the number of a CPU. */
	return id >= MIN_NAPI_ID ? id : 0;
#else
	return 0;
#endif
}

/**
 * kwarp_llp_poll() - act as if the socket's callback had just been called
 * @llp:	connection with an attached queue pair
 *
 * For a QP that was just attached, and for an engine that left data in the queue: process
 * these data, then report a FIN or reset that came before this call. Context: socket lock
 * held.
 */
static inline void kwarp_llp_poll(struct kwarp_llp *llp)
{
	llp->ops->poll(llp);
}

/*
 * Run the send engine, as if send space had become available. Context: softirq.
 * Return: false if a process holds the socket lock and nothing was done.
 */
static inline bool kwarp_llp_wake_bh(struct kwarp_llp *llp)
{
	return llp->ops->wake_bh(llp);
}

/*
 * The same for a caller that may hold locks which are also taken under the socket lock: does not
 * wait for the lock. Context: any with interrupts on. Return: false if nothing was done.
 */
static inline bool kwarp_llp_try_wake(struct kwarp_llp *llp)
{
	return llp->ops->try_wake && llp->ops->try_wake(llp);
}

/* End our direction of the stream, after all data pushed so far. Context: process. */
void kwarp_llp_shutdown(struct kwarp_llp *llp);
void kwarp_llp_close(struct kwarp_llp *llp, enum kwarp_ending ending);
void kwarp_llp_lock(struct kwarp_llp *llp);
void kwarp_llp_unlock(struct kwarp_llp *llp);

__printf(2, 3) void kwarp_llp_warn(const struct kwarp_llp *llp, const char *fmt, ...);
void kwarp_llp_report_end(struct kwarp_llp *llp);

/* How long softirqs run before ksoftirqd takes over (MAX_SOFTIRQ_TIME); jiffies. */
#define KWARP_LLP_HOLD_MAX	(msecs_to_jiffies(2) + 1)

bool kwarp_llp_held_long(const struct kwarp_llp *llp);

#ifdef CONFIG_LOCKDEP
void kwarp_llp_assert_locked(const struct kwarp_llp *llp);
#else
static inline void kwarp_llp_assert_locked(const struct kwarp_llp *llp)
{
}
#endif

/* ---- for the engines; socket lock held ------------------------------------ */

/*
 * We call the operations that run for each ULPDU or callback directly if the lower layer
 * is MPA, because mitigations of speculation make indirect calls expensive.
 */
int kwarp_mpa_over(const struct kwarp_llp *llp, u32 *left);
void kwarp_mpa_unlocked(struct kwarp_llp *llp);
enum kwarp_pull kwarp_mpa_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u);
int kwarp_mpa_put(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		  struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src);

static inline enum kwarp_pull kwarp_llp_pull(struct kwarp_llp *llp,
					     struct kwarp_ulpdu *u)
{
	return INDIRECT_CALL_1(llp->ops->pull, kwarp_mpa_pull, llp, u);
}

static inline int kwarp_llp_put_ulpdu(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
				      struct kwarp_ulpdu_want *want,
				      struct kwarp_payload_source *src)
{
	return INDIRECT_CALL_1(llp->ops->put, kwarp_mpa_put, llp, h, want, src);
}

#endif /* _KWARP_LLP_H */
