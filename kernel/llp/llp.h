/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The lower layer protocol: moves octets, knows sockets, knows nothing of
 * RDMA. tcp.c implements it; callbacks from the socket come in here only.
 */
#ifndef _KWARP_LLP_H
#define _KWARP_LLP_H

#include <linux/bvec.h>
#include <linux/net.h>
#include <net/sock.h>

#include "../kwarp.h"

struct kwarp_qp;
struct kwarp_llp;
struct kwarp_take;

/*
 * An incomplete FPDU waits in TCP's receive queue, so the window must hold two
 * of the largest (65 KiB each) whatever tcp_rmem says; TCP's own tuning grows it
 * from here. Truesize counts, hence the factor.
 */
#define KWARP_RCVBUF_MIN	(512 * 1024)

/* Bits of the events that a connection reports to its owner (the CM). */
enum kwarp_llp_event {
	KWARP_LLP_EV_CONNECTED,	/* active open succeeded */
	KWARP_LLP_EV_READABLE,	/* startup phase: octets wait; or a listener has a child */
	KWARP_LLP_EV_PEER_FIN,	/* peer closed its direction; all before it is processed */
	KWARP_LLP_EV_RESET,	/* connection is gone: reset, timeout, refused (llp->sk_err);
				 * perhaps behind PEER_FIN
				 */
	KWARP_LLP_EV_FIN_SENT,	/* our FIN went behind everything: graceful close on its way */
	KWARP_LLP_EV_QP_ERR,	/* QP went to ERR; Terminate, if any, is on its way */
	KWARP_LLP_EV_RTR,	/* responder: the peer's first FPDU was processed */
	KWARP_LLP_EV_QP_GONE,	/* the QP is being destroyed: drop it */
	KWARP_LLP_EV_DRAIN,	/* QP went to SQD: FIN follows when its work is done */
	/* The CM's own events share the word. */
	KWARP_LLP_EV_CM_FIRST,
};

struct kwarp_llp_owner_ops {
	/* Sets a bit and queues the owner's work. Context: any. */
	void (*event)(struct kwarp_llp *llp, unsigned int ev);
	/* The last reference is gone. Context: any; must defer what sleeps. */
	void (*release)(struct kwarp_llp *llp);
};

/**
 * struct kwarp_llp_engine - what the socket's callbacks call once a QP is attached
 * @readable:	process the receive queue; @left is set to the bytes that are left in
 *		it as an incomplete FPDU. Return: false if there is more in it: then
 *		the engine itself calls kwarp_llp_poll() soon
 * @writable:	TCP has send space again
 * @early:	TCP holds segments behind a gap, perhaps new ones; only after
 *		kwarp_llp_watch()
 * @ended:	the stream is over, once: @err is a positive errno (reset,
 *		timeout) or 0 for FIN; @left octets were never completed
 *
 * All are called with the socket lock held and llp->qp set; softirq or process.
 */
struct kwarp_llp_engine {
	bool (*readable)(struct kwarp_llp *llp, u32 *left);
	void (*writable)(struct kwarp_llp *llp);
	void (*early)(struct kwarp_llp *llp);
	void (*ended)(struct kwarp_llp *llp, int err, u32 left);
};

/**
 * struct kwarp_llp - one connection or listener
 * @sock:	the socket; set once, released by kwarp_llp_close()
 * @sk:		its sock, referenced until the last put, so that it can be locked
 *		whatever became of @sock
 * @taken:	a program's socket: its lock may be held by a call of the program, for as
 *		long as that likes; constant
 * @take:	what is held of the program's socket instead of @sock, or NULL
 * @inside:	@taken: engines, callbacks and lock holders of ours
 * @severed:	@taken: nobody gets inside any more
 * @dev:	device, for counters
 * @refs:	owner, QP, callbacks in progress
 * @owner:	the CM's upcalls
 * @engine:	valid while @qp is set
 * @qp:		attached queue pair (holds a reference) or NULL; socket lock
 * @spoke:	kwarp_llp_send() has handed something to TCP; socket lock
 * @locked_at:	when a process took the socket lock last, jiffies; socket lock
 * @eof:	FIN has been seen and reported; socket lock
 * @watched:	sk_write_space is called for each segment received; socket lock
 * @want_wspace: and this tells whether send space is waited for; socket lock
 * @sk_err:	positive errno of the socket's end, 0 while it lives
 * @saved_*:	the socket's own callbacks
 * @rcu:	qp->llp is read under RCU: the owner frees with kfree_rcu()
 */
struct kwarp_llp {
	struct socket *sock;
	struct sock *sk;
	struct kwarp_take *take;
	struct kwarp_device *dev;
	refcount_t refs;
	const struct kwarp_llp_owner_ops *owner;
	const struct kwarp_llp_engine *engine;
	struct kwarp_qp *qp;
	atomic_t inside;
	bool taken;
	bool severed;
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

/* Counts start at one, the owner's. The last put calls owner->release(). */
void kwarp_llp_init(struct kwarp_llp *llp, struct kwarp_device *dev,
		    const struct kwarp_llp_owner_ops *owner);
void kwarp_llp_get(struct kwarp_llp *llp);
void kwarp_llp_put(struct kwarp_llp *llp);

/**
 * kwarp_llp_connect() - start an active open
 * @llp:	initialised, no socket yet
 * @net:	namespace of the netdev
 * @ifindex:	netdev to bind to (0: none)
 * @local:	source address and port (port 0: any)
 * @remote:	destination
 * @tos:	type of service or traffic class, -1 for the default
 *
 * Never blocks for the peer: success comes as KWARP_LLP_EV_CONNECTED, failure
 * as KWARP_LLP_EV_RESET. Context: process.
 * Return: 0 or what the socket layer says at once (e.g. -ENETUNREACH).
 */
int kwarp_llp_connect(struct kwarp_llp *llp, struct net *net, int ifindex,
		      const struct sockaddr_storage *local,
		      const struct sockaddr_storage *remote, int tos);

/**
 * kwarp_llp_listen() - start a passive open
 * @afonly:	IPv6: do not accept mapped IPv4
 * @hold_net:	keep the namespace; else the caller closes the listener before that
 *		ends. Its children do in any case
 * Other arguments as for connect; children come as KWARP_LLP_EV_READABLE.
 */
int kwarp_llp_listen(struct kwarp_llp *llp, struct net *net, int ifindex,
		     const struct sockaddr_storage *local, int backlog,
		     int tos, bool afonly, bool hold_net);

/**
 * kwarp_llp_accept() - take one child of a listener
 * @listener:	listening connection
 * @child:	initialised, no socket yet
 *
 * Return: 0, -EAGAIN if there is none, other errno. If octets of the child have
 * already arrived, KWARP_LLP_EV_READABLE is raised for it.
 */
int kwarp_llp_accept(struct kwarp_llp *listener, struct kwarp_llp *child);

/**
 * kwarp_llp_take() - take over a program's connected TCP socket
 * @llp:	initialised, no socket yet
 * @fd:		descriptor of the calling process
 * @net:	namespace of the netdev: the socket's must have the same owner, or the
 *		caller CAP_NET_ADMIN in it
 *
 * From success on every descriptor of the socket is a shell (take.c), and the
 * connection lives until kwarp_llp_close(). On failure the socket is as it was.
 * Octets that have arrived are in the receive queue; no event tells of them.
 * Context: process.
 *
 * Return: 0; -EBADF, -ENOTSOCK, -EAFNOSUPPORT (not IPv4 or IPv6),
 * -ESOCKTNOSUPPORT (no stream), -EPROTOTYPE (not TCP: MPTCP, SCTP), -EPERM, -ENOTCONN (not
 * established, or either direction closed), -EBUSY (taken already, in use by
 * another part of the kernel, or a call sleeps in it, holds its lock or waits for
 * that), -EOPNOTSUPP (it has an upper layer protocol, e.g. TLS, or is in repair),
 * -ENOMEM.
 */
int kwarp_llp_take(struct kwarp_llp *llp, int fd, const struct net *net);

/* Loading and unloading. */
int kwarp_take_init(void);
void kwarp_take_exit(void);

/*
 * Startup phase: plain bytes, never blocking for the peer. Bytes, 0 at EOF, or -errno;
 * -ECONNRESET if the connection is severed.
 */
int kwarp_llp_recv(struct kwarp_llp *llp, void *buf, size_t len);
int kwarp_llp_send(struct kwarp_llp *llp, const void *buf, size_t len);

/* Discard up to @len bytes unread. Bytes discarded, 0 at EOF, or -errno. */
int kwarp_llp_discard(struct kwarp_llp *llp, size_t len);

int kwarp_llp_getname(struct kwarp_llp *llp, struct sockaddr_storage *ss,
		      bool peer);

/**
 * kwarp_llp_keepalive() - have TCP find out about a silent peer
 * @llp:	connection
 * @seconds:	of silence before the first probe, up to 32767; 0: no probes
 *
 * How many follow, and how often, is the namespace's (tcp_keepalive_probes,
 * tcp_keepalive_intvl). Context: process.
 */
void kwarp_llp_keepalive(struct kwarp_llp *llp, u32 seconds);

/**
 * struct kwarp_llp_info - a connection, for those who only look
 * @local:	own address and port
 * @remote:	the peer's
 * @emss:	octets that a segment carries, SACK options not counted
 * @retransmits: segments sent again since the connection was made
 */
struct kwarp_llp_info {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	u32 emss;
	u32 retransmits;
};

/* Without the socket lock: as of some moment. Context: any; @llp has a socket. */
void kwarp_llp_get_info(const struct kwarp_llp *llp,
			struct kwarp_llp_info *info);

/**
 * kwarp_llp_poll() - act as if the socket had called back now
 *
 * For a QP that was just attached, or an engine that had not read all: what arrived
 * before is processed, a FIN or reset that came before is reported. Socket lock held.
 */
void kwarp_llp_poll(struct kwarp_llp *llp);

/*
 * Have the send engine look for work, as if there were write space again. Softirq.
 * Return: false if nothing was done, since a process has the socket lock.
 */
bool kwarp_llp_wake_bh(struct kwarp_llp *llp);

/* FIN after all accepted octets. Socket lock held or not, as the name says. */
void kwarp_llp_shutdown_locked(struct kwarp_llp *llp);
void kwarp_llp_shutdown(struct kwarp_llp *llp);

/**
 * kwarp_llp_close() - detach the callbacks and release the socket
 * @abort:	send RST instead of finishing in the background
 *
 * After it returns no event comes any more. Idempotent. A program that has its socket's
 * lock is not waited for: the stream ends when it lets go. Context: process, may
 * sleep; kwarp_qp_detach() must have been called.
 */
void kwarp_llp_close(struct kwarp_llp *llp, bool abort);

/**
 * kwarp_llp_lock() - take the socket lock
 * @llp:	connection, perhaps without a socket
 *
 * On a program's socket a call that was on its way when we took it may have the lock
 * and sleep. It is given a moment; then the connection is severed: KWARP_LLP_EV_RESET,
 * and nobody waits any more.
 *
 * Context: process, may sleep.
 * Return: false if it is severed, or the calling process is being killed: no lock.
 */
bool __must_check kwarp_llp_lock(struct kwarp_llp *llp);

/* The same without waiting for a program; false says nothing of the connection. */
bool __must_check kwarp_llp_lock_now(struct kwarp_llp *llp);
void kwarp_llp_unlock(struct kwarp_llp *llp);

/* As long as softirqs take before they leave the rest to a thread; jiffies. */
#define KWARP_LLP_HOLD	(msecs_to_jiffies(2) + 1)

/**
 * kwarp_llp_held_long() - has a process had the socket lock for long
 * @llp:	connection with a socket
 *
 * A process that lets go of the lock first does what has come meanwhile, the engines'
 * callbacks included, and what they send has the peer send more: a doorbell would last
 * as long as the peer likes.
 *
 * Context: socket lock held.
 * Return: true if the caller, a callback, is to leave its work to a worker.
 */
bool kwarp_llp_held_long(const struct kwarp_llp *llp);

/**
 * kwarp_llp_sever() - do without the socket lock of a program's socket
 * @llp:	taken; the caller is not inside
 *
 * On return no engine, no callback and no holder of the lock of ours runs, and none
 * will: what the lock protects is the caller's. Waits for what runs, not for the
 * program. Idempotent. Context: process, may sleep.
 */
void kwarp_llp_sever(struct kwarp_llp *llp);
void kwarp_llp_assert_locked(const struct kwarp_llp *llp);

/* ---- for the engines; socket lock held ------------------------------------ */

/* Octets that a segment carries now: EMSS, less SACK options due (RFC 5044 4.5). */
u32 kwarp_llp_emss(const struct kwarp_llp *llp);

/* Free send buffer, octets; negative if none. */
int kwarp_llp_wspace(const struct kwarp_llp *llp);

/* Enough of it free that sending is worth while; else use want_wspace(). */
bool kwarp_llp_writeable(const struct kwarp_llp *llp);

/**
 * kwarp_llp_send_bvec() - hand pages to TCP without blocking
 * @bv:		pages to reference; they must not change until TCP releases them
 * @nr:		number of elements
 * @len:	octets in all
 * @eor:	end of record: the next call starts a new segment
 *
 * Return: octets taken (may be less), -EAGAIN (write space will be reported),
 * other errno if the connection is unusable.
 */
int kwarp_llp_send_bvec(struct kwarp_llp *llp, struct bio_vec *bv,
			unsigned int nr, size_t len, bool eor);

/* Ask for a wake-up at write space although nothing was refused. */
void kwarp_llp_want_wspace(struct kwarp_llp *llp);

/*
 * More is on its way than a peer may leave unacknowledged for long (two segments of
 * full size, RFC 5681 4.2): write space will be reported soon to who wants it.
 */
bool kwarp_llp_in_flight(const struct kwarp_llp *llp);

/**
 * kwarp_llp_watch() - have engine->early called from now on
 * @llp:	connection with a QP
 *
 * Behind each segment that TCP takes in while it holds any behind a gap, in softirq
 * or from the backlog, up to kwarp_llp_unwatch().
 */
void kwarp_llp_watch(struct kwarp_llp *llp);
void kwarp_llp_unwatch(struct kwarp_llp *llp);

#endif /* _KWARP_LLP_H */
