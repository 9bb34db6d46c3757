/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The lower layer protocol: connections and their sockets. It carries ULPDUs (ulpdu.h)
 * and knows nothing of RDMA. mpa/ implements it over TCP; socket.h has what the sockets of
 * all lower layers share.
 */
#ifndef _KWARP_LLP_H
#define _KWARP_LLP_H

#include <linux/bvec.h>
#include <linux/indirect_call_wrapper.h>
#include <linux/net.h>
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
 * An incomplete FPDU waits in TCP's receive queue, so the window must hold two FPDUs of
 * maximum size (65 KiB each) whatever tcp_rmem says; TCP's autotuning grows it from here.
 * The buffer is accounted in truesize, hence the factor.
 */
#define KWARP_RCVBUF_MIN	(512 * 1024)

/* Bits of the events that a connection reports to its owner (the CM). */
enum kwarp_llp_event {
	KWARP_LLP_EV_CONNECTED,	/* active open succeeded */
	KWARP_LLP_EV_READABLE,	/* startup phase: bytes are waiting; or a listener has a child */
	KWARP_LLP_EV_PEER_FIN,	/* peer closed its direction; everything before it is
				 * processed
				 */
	KWARP_LLP_EV_RESET,	/* connection is gone: reset, timeout, refused (llp->sk_err);
				 * may follow PEER_FIN
				 */
	KWARP_LLP_EV_FIN_SENT,	/* our FIN follows all data: graceful close in progress */
	KWARP_LLP_EV_QP_ERR,	/* QP went to ERR; the Terminate, if any, is being sent */
	KWARP_LLP_EV_RTR,	/* responder: the peer's first FPDU was processed */
	KWARP_LLP_EV_QP_GONE,	/* the QP is being destroyed: drop it */
	KWARP_LLP_EV_DRAIN,	/* QP went to SQD: FIN follows when its work is done */
	/* The CM's own events share the word. */
	KWARP_LLP_EV_CM_FIRST,
};

struct kwarp_llp_owner_ops {
	/* Sets a bit and queues the owner's work. Context: any. */
	void (*event)(struct kwarp_llp *llp, unsigned int ev);
	/*
	 * The last reference was dropped. Context: any; work that sleeps must be
	 * deferred.
	 */
	void (*release)(struct kwarp_llp *llp);
};

/**
 * struct kwarp_llp_engine - functions that the socket's callbacks call once a QP is
 * attached
 * @readable:	pull the ULPDUs that have arrived. Return: false if there are more: then
 *		the engine itself calls kwarp_llp_poll() soon, and the end of the stream
 *		must not be reported yet
 * @writable:	TCP has send space again
 * @early:	TCP holds segments after a gap, possibly new ones; called only after
 *		kwarp_llp_watch()
 * @ended:	the stream is over, called once: @err is a positive errno (reset, timeout)
 *		or 0 for FIN; @left is the number of bytes of an incomplete ULPDU
 *
 * All are called with the socket lock held and llp->qp set; softirq or process.
 */
struct kwarp_llp_engine {
	bool (*readable)(struct kwarp_llp *llp);
	void (*writable)(struct kwarp_llp *llp);
	void (*early)(struct kwarp_llp *llp);
	void (*ended)(struct kwarp_llp *llp, int err, u32 left);
};

/**
 * struct kwarp_mpa_framing - FPDU framing agreed on in MPA startup
 * @crc:	CRC32c on, both directions
 * @tx_markers:	we insert markers
 * @rx_markers:	the peer inserts markers
 * @large:	FPDUs up to the MPA limit instead of one TCP segment (policy)
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
 * @sk:		its sock, referenced until the last put, so that it can be locked after
 *		@sock is released
 * @taken:	the file of a program's socket (kwarp_llp_take()) with a reference, or NULL
 * @dev:	device, for counters
 * @refs:	owner, QP, callbacks in progress
 * @ops:	lower layer that carries the ULPDUs
 * @framing:	FPDU framing; constant while @qp is set
 * @mpa:	MPA: data path, from ops->begin() to ops->end(); socket lock
 * @sctp:	SCTP: the association; constant
 * @ledger:	record of ULPDUs placed early, or NULL if there is none; belongs to the
 *		engine
 * @owner:	upcalls to the CM
 * @engine:	valid while @qp is set
 * @qp:		attached queue pair (holds a reference) or NULL; socket lock
 * @spoke:	kwarp_llp_send() has handed data to TCP; socket lock
 * @locked_at:	when a process last took the socket lock, jiffies; socket lock
 * @eof:	FIN has been seen and reported; socket lock
 * @watched:	sk_write_space is called for each segment received; socket lock
 * @want_wspace: @watched: the engine waits for send space; socket lock
 * @sk_err:	positive errno of the socket's end, 0 while it lives
 * @saved_data_ready:	the socket's own callback
 * @saved_state_change:	the socket's own callback
 * @saved_write_space:	the socket's own callback
 * @saved_error_report:	the socket's own callback
 * @rcu:	qp->llp is read under RCU: the owner frees with kfree_rcu()
 */
struct kwarp_llp {
	struct socket *sock;
	struct sock *sk;
	struct file *taken;
	struct kwarp_device *dev;
	refcount_t refs;
	const struct kwarp_llp_ops *ops;
	struct kwarp_mpa_framing framing;
	struct kwarp_mpa *mpa;
	struct kwarp_sctp *sctp;
	struct kwarp_ledger *ledger;
	const struct kwarp_llp_owner_ops *owner;
	const struct kwarp_llp_engine *engine;
	struct kwarp_qp *qp;
	bool spoke;
	bool eof;
	bool watched;
	bool want_wspace;
	int sk_err;
	unsigned long locked_at;
	void (*saved_data_ready)(struct sock *sk);
	void (*saved_state_change)(struct sock *sk);
	void (*saved_write_space)(struct sock *sk);
	void (*saved_error_report)(struct sock *sk);
	struct rcu_head rcu;	/* for the owner's release() */
};

/**
 * struct kwarp_llp_info - state of a connection, for observers
 * @name:	the lower layer's name in policy llp
 * @local:	own address and port
 * @remote:	the peer's
 * @emss:	bytes that a segment carries, SACK options not counted
 * @mulpdu:	the largest ULPDU that always fits (RFC 5044 4.5, RFC 5043 9)
 * @retransmits: segments retransmitted since the connection was established
 */
struct kwarp_llp_info {
	const char *name;
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u32 emss;
	u32 mulpdu;
	u32 retransmits;
};

/* The lower layers; kwarp_llp_init() sets llp->ops to the first. */
extern const struct kwarp_llp_ops kwarp_mpa_ops;
extern const struct kwarp_llp_ops kwarp_sctp_ops;

/* Does it have MPA's startup and framing, with their options? */
static inline bool kwarp_llp_is_mpa(const struct kwarp_llp *llp)
{
	return llp->ops == &kwarp_mpa_ops;
}

#if IS_ENABLED(CONFIG_IP_SCTP)
int kwarp_sctp_probe(struct net *net);

/* Module load and unload. */
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
 * struct kwarp_llp_bind - where a socket is
 * @net:	namespace
 * @ifindex:	netdev to bind to (0: none)
 * @local:	address and port (port 0: any)
 * @paths:	netdevs whose addresses the socket has, too, if the lower layer can use several
 *		(0: none)
 * @tos:	type of service or traffic class, also of a listener's children; -1 for the
 *		default
 * @afonly:	IPv6: no mapped IPv4
 */
struct kwarp_llp_bind {
	struct net *net;
	int ifindex;
	int paths[KWARP_PATHS_MAX];
	const struct sockaddr_storage *local;
	int tos;
	bool afonly;
};

/**
 * kwarp_llp_connect() - start an active open
 * @llp:	initialised, no socket yet
 * @bind:	our end
 * @remote:	destination
 *
 * Never blocks for the peer: success is reported as KWARP_LLP_EV_CONNECTED, failure as
 * KWARP_LLP_EV_RESET. Context: process.
 * Return: 0 or an immediate error of the socket layer (e.g. -ENETUNREACH).
 */
static inline int kwarp_llp_connect(struct kwarp_llp *llp,
				    const struct kwarp_llp_bind *bind,
				    const struct sockaddr_storage *remote)
{
	return llp->ops->connect(llp, bind, remote);
}

/**
 * kwarp_llp_listen() - start a passive open
 * @llp:	initialised, no socket yet
 * @bind:	where to listen
 * @backlog:	connections that may wait to be accepted
 * @hold_net:	hold a reference to the namespace; otherwise the caller closes the
 *		listener before the namespace ends. The children always hold one
 *
 * Children are reported as KWARP_LLP_EV_READABLE.
 * Return: 0 or a negative errno.
 */
static inline int kwarp_llp_listen(struct kwarp_llp *llp,
				   const struct kwarp_llp_bind *bind,
				   int backlog, bool hold_net)
{
	return llp->ops->listen(llp, bind, backlog, hold_net);
}

/**
 * kwarp_llp_has_child() - does a connection wait to be accepted?
 * @listener:	listening connection
 *
 * Return: true if so. It may have gone when kwarp_llp_accept() is called. Context: process,
 * may sleep.
 */
static inline bool kwarp_llp_has_child(const struct kwarp_llp *listener)
{
	return listener->ops->has_child(listener);
}

/**
 * kwarp_llp_accept() - take one child of a listener
 * @listener:	listening connection
 * @child:	initialised, no socket yet
 *
 * Return: 0, -EAGAIN if there is none, other errno. If something has already arrived for
 * the child, KWARP_LLP_EV_READABLE is raised for it.
 */
static inline int kwarp_llp_accept(struct kwarp_llp *listener,
				   struct kwarp_llp *child)
{
	child->ops = listener->ops;
	return child->ops->accept(listener, child);
}

int kwarp_llp_take(struct kwarp_llp *llp, int fd, const struct net *net);

/* Module unload; may sleep. */
void kwarp_take_exit(void);

/*
 * Startup of MPA in forms that have no struct kwarp_mpa_frame (cm/attach.c): bytes, without
 * blocking for the peer. Return: bytes, 0 at EOF, or -errno. Context: process.
 */
int kwarp_llp_recv(struct kwarp_llp *llp, void *buf, size_t len);
int kwarp_llp_send(struct kwarp_llp *llp, const void *buf, size_t len);

/**
 * struct kwarp_hello - a startup frame being received
 * @f:		the frame, once complete; its private data are in @rx
 * @err:	KWARP_MPA_E_*, positive, if it is invalid
 * @have:	bytes in @rx; 0 before the first
 * @rx:		its bytes, as the lower layer encodes them
 */
struct kwarp_hello {
	struct kwarp_mpa_frame f;
	int err;
	u32 have;
	u8 rx[KWARP_MPA_FRAME_MAX];
};

/**
 * kwarp_llp_hello_send() - send a startup frame
 * @llp:	connection
 * @f:		frame; a lower layer ignores what it has no field for
 * @pd:		f->pd_len bytes of private data
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL if the private data are too long, -ENOMEM, -ENOBUFS, or the socket's
 * error.
 */
static inline int kwarp_llp_hello_send(struct kwarp_llp *llp,
				       const struct kwarp_mpa_frame *f,
				       const void *pd)
{
	return llp->ops->hello_send(llp, f, pd);
}

/**
 * kwarp_llp_hello_recv() - receive as much of a startup frame as has arrived
 * @llp:	connection
 * @hello:	frame; @hello->have is 0 the first time
 * @type:	expected type
 *
 * Leaves what follows the frame to the engine. Context: process, may sleep.
 * Return: 1 if the frame is complete; 0 if more is needed; -EPROTO if it is invalid;
 * -ECONNRESET if the peer ended the stream before the end of the frame; other errno of
 * the socket.
 */
static inline int kwarp_llp_hello_recv(struct kwarp_llp *llp,
				       struct kwarp_hello *hello,
				       enum kwarp_mpa_type type)
{
	return llp->ops->hello_recv(llp, hello, type);
}

/*
 * Has anything arrived behind the frame? Return: -EAGAIN if not; positive if so; 0 at the
 * end of the stream, or -errno. Context: process, may sleep.
 */
static inline int kwarp_llp_hello_more(struct kwarp_llp *llp)
{
	return llp->ops->hello_more(llp);
}

/*
 * Discard about @len unread bytes. Return: bytes discarded, 0 at EOF, or -errno; -EAGAIN
 * if none have arrived. Context: process, may sleep.
 */
static inline int kwarp_llp_drain(struct kwarp_llp *llp, size_t len)
{
	return llp->ops->drain(llp, len);
}

/* An end's address. Return: 0 or -errno. Context: process. */
static inline int kwarp_llp_getname(const struct kwarp_llp *llp,
				    struct sockaddr_storage *ss, bool peer)
{
	return llp->ops->getname(llp, ss, peer);
}

/**
 * kwarp_llp_keepalive() - have a silent peer probed
 * @llp:	connection
 * @seconds:	silence before the first probe, in seconds, up to 32767; 0: no probes
 *
 * With TCP, the namespace sets the number of probes and their interval
 * (tcp_keepalive_probes, tcp_keepalive_intvl). Context: process.
 */
static inline void kwarp_llp_keepalive(struct kwarp_llp *llp, u32 seconds)
{
	if (seconds && llp->ops->keepalive)
		llp->ops->keepalive(llp, seconds);
}

/* Takes no socket lock, so the values are a snapshot. Context: any; @llp has a socket. */
static inline void kwarp_llp_get_info(const struct kwarp_llp *llp,
				      struct kwarp_llp_info *info)
{
	llp->ops->info(llp, info);
}

/**
 * kwarp_llp_poll() - act as if the socket's callback had just been called
 * @llp:	connection with an attached queue pair
 *
 * For a QP that was just attached, or an engine that has not read everything: processes
 * data that arrived before, and reports an earlier FIN or reset. Context: socket lock
 * held.
 */
static inline void kwarp_llp_poll(struct kwarp_llp *llp)
{
	llp->ops->poll(llp);
}

/*
 * Make the send engine look for work, as if write space had become available. Context:
 * softirq.
 * Return: false if nothing was done because a process holds the socket lock.
 */
static inline bool kwarp_llp_wake_bh(struct kwarp_llp *llp)
{
	return llp->ops->wake_bh(llp);
}

/* End our direction after all accepted bytes. Context: process. */
void kwarp_llp_shutdown(struct kwarp_llp *llp);
void kwarp_llp_close(struct kwarp_llp *llp, bool abort);
void kwarp_llp_lock(struct kwarp_llp *llp);
void kwarp_llp_unlock(struct kwarp_llp *llp);

/* The time that softirqs run before they leave the rest to a thread; jiffies. */
#define KWARP_LLP_HOLD	(msecs_to_jiffies(2) + 1)

bool kwarp_llp_held_long(const struct kwarp_llp *llp);

/* The socket lock is held. */
#ifdef CONFIG_LOCKDEP
void kwarp_llp_assert_locked(const struct kwarp_llp *llp);
#else
static inline void kwarp_llp_assert_locked(const struct kwarp_llp *llp)
{
}
#endif

/* ---- for the engines; socket lock held ------------------------------------ */

/*
 * Direct calls of those @ops that run for each ULPDU, if the lower layer is MPA: indirect
 * calls are expensive with speculation mitigations.
 */
int kwarp_mpa_over(const struct kwarp_llp *llp, u32 *left);
void kwarp_mpa_unlocked(struct kwarp_llp *llp);
enum kwarp_pull kwarp_mpa_pull(struct kwarp_llp *llp, struct kwarp_ulpdu *u);
int kwarp_mpa_put(struct kwarp_llp *llp, struct kwarp_ddp_hdr *h,
		  const struct kwarp_ulpdu_want *want, struct kwarp_payload_source *src,
		  struct kwarp_fpdu *frame);

static inline enum kwarp_pull kwarp_llp_pull(struct kwarp_llp *llp,
					     struct kwarp_ulpdu *u)
{
	return INDIRECT_CALL_1(llp->ops->pull, kwarp_mpa_pull, llp, u);
}

static inline int kwarp_llp_put_ulpdu(struct kwarp_llp *llp,
				      struct kwarp_ddp_hdr *h,
				      const struct kwarp_ulpdu_want *want,
				      struct kwarp_payload_source *src,
				      struct kwarp_fpdu *frame)
{
	return INDIRECT_CALL_1(llp->ops->put, kwarp_mpa_put, llp, h, want, src,
			       frame);
}

#endif /* _KWARP_LLP_H */
