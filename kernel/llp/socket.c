// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Functions for the sockets of all lower layers: creation, callbacks, lock, release.
 *
 * The callbacks of a connected socket run with the socket lock held, in softirq or from
 * the backlog; some callbacks of a listener run without the lock. A callback finds its
 * connection through sk_user_data under RCU and holds a reference.
 */
#include "llp/socket.h"

#include <linux/ratelimit.h>
#include <net/ip.h>
#include <net/ipv6.h>

void kwarp_llp_init(struct kwarp_llp *llp, struct kwarp_device *dev,
		    const struct kwarp_llp_owner_ops *owner)
{
	llp->dev = dev;
	llp->ops = &kwarp_mpa_ops;
	llp->owner = owner;
	refcount_set(&llp->refs, 1);
}

void kwarp_llp_get(struct kwarp_llp *llp)
{
	refcount_inc(&llp->refs);
}

void kwarp_llp_put(struct kwarp_llp *llp)
{
	if (!refcount_dec_and_test(&llp->refs))
		return;
	if (llp->sk)
		sock_put(llp->sk);
	if (llp->ops->free)
		llp->ops->free(llp);
	llp->owner->release(llp);
}

/**
 * kwarp_llp_connect() - start an active open
 * @llp:	initialised, no socket yet
 * @bind:	local end
 * @remote:	destination
 *
 * Does not wait for the peer: KWARP_LLP_EV_CONNECTED reports success, KWARP_LLP_EV_RESET
 * failure. Context: process.
 * Return: 0 or an immediate error of the socket layer (e.g. -ENETUNREACH).
 */
int kwarp_llp_connect(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		      const struct sockaddr_storage *remote)
{
	return llp->ops->connect(llp, bind, remote);
}

/**
 * kwarp_llp_listen() - start a passive open
 * @llp:	initialised, no socket yet
 * @bind:	local end
 * @backlog:	connections that may wait to be accepted
 *
 * KWARP_LLP_EV_READABLE reports children.
 * Return: 0 or a negative errno.
 */
int kwarp_llp_listen(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		     int backlog)
{
	return llp->ops->listen(llp, bind, backlog);
}

/**
 * kwarp_llp_relisten() - listen again after KWARP_LLP_EV_RESET
 * @llp:	listening connection
 * @backlog:	connections that may wait to be accepted
 *
 * The administrator can end any socket ("ss -K"). The socket remains bound. Those of its children
 * that were not accepted have been reset.
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int kwarp_llp_relisten(struct kwarp_llp *llp, int backlog)
{
	might_sleep();
	return llp->ops->relisten ? llp->ops->relisten(llp, backlog) : -EOPNOTSUPP;
}

/**
 * kwarp_llp_has_child() - does a connection wait to be accepted?
 * @listener:	listening connection
 *
 * Return: true if so; kwarp_llp_accept() may nevertheless find none. Context: process, may
 * sleep.
 */
bool kwarp_llp_has_child(const struct kwarp_llp *listener)
{
	return listener->ops->has_child(listener);
}

/**
 * kwarp_llp_accept() - take one child of a listener
 * @listener:	listening connection
 * @child:	initialised, no socket yet
 *
 * Return: 0, -EAGAIN if there is no child, or another errno. KWARP_LLP_EV_READABLE is
 * raised for the child if data have arrived already.
 */
int kwarp_llp_accept(struct kwarp_llp *listener, struct kwarp_llp *child)
{
	child->ops = listener->ops;
	return child->ops->accept(listener, child);
}

/**
 * kwarp_llp_hello_send() - send a startup frame
 * @llp:	connection
 * @f:		frame; a lower layer ignores members for which its frames have no field
 * @pd:		f->pd_len bytes of private data
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL if the private data are too long, -ENOMEM, -ENOBUFS, or the socket's
 * error.
 */
int kwarp_llp_hello_send(struct kwarp_llp *llp, const struct kwarp_mpa_frame *f,
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
 * Does not read beyond the frame: the engine pulls the ULPDUs after it. Context: process,
 * may sleep.
 * Return: 1 if the frame is complete; 0 if it is not yet; -EPROTO if it is invalid;
 * -ECONNRESET if the stream ended before the end of the frame; other errno of the socket.
 */
int kwarp_llp_hello_recv(struct kwarp_llp *llp, struct kwarp_hello *hello,
			 enum kwarp_mpa_type type)
{
	return llp->ops->hello_recv(llp, hello, type);
}

/*
 * Read data after the startup frame, where none are allowed. Return: positive if data have
 * arrived, and some are consumed; -EAGAIN if none have; 0 at the end of the stream; or
 * another errno. Context: process, may sleep.
 */
int kwarp_llp_hello_more(struct kwarp_llp *llp)
{
	return llp->ops->hello_more(llp);
}

/*
 * Discard unread data: TCP at most @len bytes, SCTP everything. Both sides have ended their
 * streams, or are about to. Return: bytes discarded; 0 at the end of the stream, over SCTP at that
 * of the association, which this function shuts down; -EAGAIN before that if no data have arrived;
 * or another errno. Context: process, may sleep.
 */
int kwarp_llp_drain(struct kwarp_llp *llp, size_t len)
{
	return llp->ops->drain(llp, len);
}

/* Get the address of one side. Return: 0 or -errno. Context: process. */
int kwarp_llp_getname(const struct kwarp_llp *llp, struct sockaddr_storage *ss,
		      enum kwarp_llp_side side)
{
	return llp->ops->getname(llp, ss, side);
}

/**
 * kwarp_llp_keepalive() - probe a silent peer
 * @llp:	connection
 * @seconds:	silence before the first probe, in seconds, up to 32767; 0: no change
 *
 * With TCP, the namespace sets the number of probes and their interval
 * (tcp_keepalive_probes, tcp_keepalive_intvl). Context: process.
 */
void kwarp_llp_keepalive(struct kwarp_llp *llp, u32 seconds)
{
	if (seconds && llp->ops->keepalive)
		llp->ops->keepalive(llp, seconds);
}

/* Get a snapshot, without the socket lock. Context: any; @llp has a socket. */
void kwarp_llp_get_info(const struct kwarp_llp *llp, struct kwarp_llp_info *info)
{
	llp->ops->info(llp, info);
}

/**
 * kwarp_llp_warn() - log a message about a connection, with the address of the peer
 * @llp:	connection
 * @fmt:	format of the message, without newline
 *
 * Strangers can cause such messages, so the module logs at most ten in a minute.
 * Context: any.
 */
void kwarp_llp_warn(const struct kwarp_llp *llp, const char *fmt, ...)
{
	static DEFINE_RATELIMIT_STATE(limit, 60 * HZ, 10);
	struct kwarp_llp_info info = {};
	struct va_format message = { .fmt = fmt };
	va_list args;

	if (!__ratelimit(&limit))
		return;
	if (llp->sk)
		kwarp_llp_get_info(llp, &info);
	va_start(args, fmt);
	message.va = &args;
	ibdev_warn(&llp->dev->ibdev, "peer %pISpc: %pV\n", &info.remote, &message);
	va_end(args);
}

/* ---- callbacks -------------------------------------------------------------- */

/*
 * Return: the connection of a socket, with a reference, or NULL after
 * kwarp_socket_unhook(). Context: any.
 */
struct kwarp_llp *kwarp_socket_llp(struct sock *sk)
{
	struct kwarp_llp *llp;

	rcu_read_lock();
	llp = rcu_dereference_sk_user_data(sk);
	if (llp && !refcount_inc_not_zero(&llp->refs))
		llp = NULL;
	rcu_read_unlock();
	return llp;
}

/*
 * After the peer's FIN was reported, our direction may still be open. Report a reset or
 * timeout in that state, so that the owner stops waiting.
 */
static void poll_half_closed(struct kwarp_llp *llp)
{
	u32 left;
	int err = INDIRECT_CALL_1(llp->ops->over, kwarp_mpa_over, llp, &left);

	if (err >= 0 || llp->sk_err)
		return;
	/* tcp_reset() reports EPIPE for a reset after a FIN. */
	llp->sk_err = err == -EPIPE ? ECONNRESET : -err;
	llp->owner->event(llp, KWARP_LLP_EV_RESET);
}

/*
 * Let the engine process the data that have arrived. Context: socket lock held, llp->qp set.
 */
void kwarp_socket_poll(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	if (llp->eof)
		poll_half_closed(llp);
	else
		llp->engine->readable(llp);
}

/**
 * kwarp_llp_report_end() - report the end of the stream (ops->over()) to engine and owner, once
 * @llp:	connection whose engine has processed all data that have arrived
 *
 * Context: socket lock held, llp->qp set.
 */
void kwarp_llp_report_end(struct kwarp_llp *llp)
{
	u32 left;
	int over;

	kwarp_llp_assert_locked(llp);
	if (llp->eof)
		return;
	over = INDIRECT_CALL_1(llp->ops->over, kwarp_mpa_over, llp, &left);
	if (!over)
		return;
	llp->eof = true;
	llp->sk_err = over < 0 ? -over : 0;
	llp->engine->ended(llp, llp->sk_err, left);
	llp->owner->event(llp, over < 0 ? KWARP_LLP_EV_RESET :
					  KWARP_LLP_EV_PEER_FIN);
}

/**
 * kwarp_socket_hook() - install callbacks on a socket
 * @llp:	initialised, no socket yet
 * @sock:	the socket; not hooked yet
 * @calls:	the lower layer's callbacks
 * @listener:	the listener if @sock is its child, or NULL
 *
 * A child inherits some callbacks of its listener. Where these are ours, the callbacks that
 * the listener has saved are saved for the child.
 *
 * Context: process.
 * Return: 0; -EBUSY if the socket has another user in the kernel: a BPF program has put the child
 * into a sockmap when it was established. Then @llp has no socket.
 */
int kwarp_socket_hook(struct kwarp_llp *llp, struct socket *sock,
		      const struct kwarp_socket_calls *calls,
		      const struct kwarp_llp *listener)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data) {
		write_unlock_bh(&sk->sk_callback_lock);
		return -EBUSY;
	}
	sock_hold(sk);
	llp->sk = sk;
	llp->sock = sock;
	llp->saved_data_ready = sk->sk_data_ready;
	llp->saved_state_change = sk->sk_state_change;
	llp->saved_error_report = sk->sk_error_report;
	llp->saved_write_space = sk->sk_write_space;
	if (listener && sk->sk_data_ready == calls->data_ready)
		llp->saved_data_ready = listener->saved_data_ready;
	if (listener && sk->sk_state_change == calls->state_change)
		llp->saved_state_change = listener->saved_state_change;
	if (listener && sk->sk_error_report == calls->error_report)
		llp->saved_error_report = listener->saved_error_report;
	if (listener && sk->sk_write_space == calls->write_space)
		llp->saved_write_space = listener->saved_write_space;
	/* NOCOPY: sk_user_data of a listener's child starts as NULL. */
	__rcu_assign_sk_user_data_with_flags(sk, llp, SK_USER_DATA_NOCOPY);
	sk->sk_data_ready = calls->data_ready;
	sk->sk_state_change = calls->state_change;
	sk->sk_error_report = calls->error_report;
	sk->sk_write_space = calls->write_space;
	write_unlock_bh(&sk->sk_callback_lock);
	return 0;
}

/* Restore the saved callbacks. Context: process, socket lock held. */
void kwarp_socket_unhook(struct kwarp_llp *llp)
{
	struct sock *sk = llp->sk;

	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data) {
		rcu_assign_sk_user_data(sk, NULL);
		sk->sk_data_ready = llp->saved_data_ready;
		sk->sk_state_change = llp->saved_state_change;
		sk->sk_error_report = llp->saved_error_report;
		sk->sk_write_space = llp->saved_write_space;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

/* ---- creation --------------------------------------------------------------- */

int kwarp_socket_addr_len(const struct sockaddr_storage *ss)
{
	switch (ss->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return -EAFNOSUPPORT;
	}
}

static void set_tos(struct sock *sk, int tos)
{
	if (tos < 0)
		return;
	ip_sock_set_tos(sk, tos);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6) {
		lock_sock(sk);
		inet6_sk(sk)->tclass = tos;
		release_sock(sk);
	}
#endif
}

/**
 * kwarp_socket_open() - create a socket for kwarp_socket_bind()
 * @bind:	local end
 * @protocol:	IPPROTO_TCP or IPPROTO_SCTP
 *
 * The socket holds the namespace, as a user's does, except with @bind->borrow_net: after the
 * release of the socket timers still retransmit data that the peer has not acknowledged.
 * Context: process, may load a module.
 * Return: the socket, or ERR_PTR() with the socket layer's error.
 */
struct socket *kwarp_socket_open(const struct kwarp_llp_bind *bind, int protocol)
{
	int family = bind->local->ss_family;
	struct socket *sock;
	int ret;

	might_sleep();
	ret = kwarp_socket_addr_len(bind->local);
	if (ret < 0)
		return ERR_PTR(ret);
	ret = sock_create_kern(bind->net, family, SOCK_STREAM, protocol, &sock);
	if (ret)
		return ERR_PTR(ret);
	if (!bind->borrow_net)
		kwarp_net_refcnt_upgrade(sock->sk);
	sock_set_reuseaddr(sock->sk);
	set_tos(sock->sk, bind->tos);
#if IS_ENABLED(CONFIG_IPV6)
	if (family == AF_INET6) {
		/* A new socket has the value of net.ipv6.bindv6only. */
		lock_sock(sock->sk);
		sock->sk->sk_ipv6only = bind->afonly;
		release_sock(sock->sk);
	}
#endif
	return sock;
}

int kwarp_socket_bind(struct socket *sock, const struct kwarp_llp_bind *bind)
{
	int index = bind->ifindex ? : bind->vrf;
	int ret;

	might_sleep();
	ret = index ? sock_bindtoindex(sock->sk, index, true) : 0;
	if (ret)
		return ret;
	return kernel_bind(sock, kwarp_sockaddr(bind->local),
			   kwarp_socket_addr_len(bind->local));
}

/**
 * kwarp_socket_connect() - start to connect; the callbacks report the result
 * @sock:	socket with our callbacks
 * @remote:	address of the peer
 *
 * Context: process.
 * Return: 0, -EAFNOSUPPORT, or the socket layer's error.
 */
int kwarp_socket_connect(struct socket *sock, const struct sockaddr_storage *remote)
{
	int len = kwarp_socket_addr_len(remote);
	int ret;

	might_sleep();
	if (len < 0)
		return len;
	ret = kernel_connect(sock, kwarp_sockaddr(remote), len, O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

/* Make a child hold the namespace. Return: 0, or -ECONNABORTED if that is ending. */
int kwarp_socket_hold_net(struct sock *sk)
{
	struct net *net;

	if (sk->sk_net_refcnt)
		return 0;
	net = maybe_get_net(sock_net(sk));
	if (!net)
		return -ECONNABORTED;
	kwarp_net_refcnt_upgrade(sk);
	put_net(net);
	return 0;
}

/* ---- the lock ---------------------------------------------------------------- */

/**
 * kwarp_llp_lock() - take the socket lock
 * @llp:	connection, may have no socket
 *
 * The wait is short, because no system call of a program can hold the lock, not even that
 * of a socket that was taken over (take.c). Context: process, may sleep.
 */
void kwarp_llp_lock(struct kwarp_llp *llp)
{
	if (llp->sk)
		lock_sock(llp->sk);
	llp->locked_at = jiffies;
}

void kwarp_llp_unlock(struct kwarp_llp *llp)
{
	if (!llp->sk)
		return;
	release_sock(llp->sk);
	if (llp->ops->unlocked)
		INDIRECT_CALL_1(llp->ops->unlocked, kwarp_mpa_unlocked, llp);
}

/**
 * kwarp_llp_held_long() - has a process held the socket lock for long?
 * @llp:	connection with a socket
 *
 * A process that releases the lock first processes the backlog, and so runs the engines.
 * The data that they send make the peer send more, so without a limit the peer could
 * prolong a doorbell call for ever.
 *
 * Context: socket lock held.
 * Return: true if a callback should leave its work to a worker.
 */
bool kwarp_llp_held_long(const struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	return sock_owned_by_user(llp->sk) &&
	       time_after(jiffies, llp->locked_at + KWARP_LLP_HOLD_MAX);
}

#ifdef CONFIG_LOCKDEP
void kwarp_llp_assert_locked(const struct kwarp_llp *llp)
{
	sock_owned_by_me(llp->sk);
}
#endif

/* ---- the end ------------------------------------------------------------------ */

void kwarp_llp_shutdown(struct kwarp_llp *llp)
{
	kwarp_llp_lock(llp);
	if (llp->sk)
		llp->ops->shutdown(llp);
	kwarp_llp_unlock(llp);
}

/**
 * kwarp_llp_close() - detach the callbacks and release the socket
 * @llp:	connection or listener
 * @ending:	how the connection ends
 *
 * No event is raised after the return. Idempotent. Context: process, may sleep;
 * kwarp_qp_detach() must have been called.
 */
void kwarp_llp_close(struct kwarp_llp *llp, enum kwarp_ending ending)
{
	struct socket *sock = llp->sock;

	might_sleep();
	if (!sock)
		return;
	WARN_ON_ONCE(llp->qp);
	if (llp->user_file) {
		llp->sock = NULL;
		kwarp_take_close(llp, ending);
		return;
	}
	/*
	 * lock_sock() waits for callbacks in progress; unhooking prevents new ones. SCTP's worker
	 * reads llp->sock with the lock held.
	 */
	lock_sock(sock->sk);
	llp->sock = NULL;
	kwarp_socket_unhook(llp);
	release_sock(sock->sk);
	if (llp->ops->close)
		llp->ops->close(llp, sock, ending);
	if (ending == KWARP_ABORT)
		sock_no_linger(sock->sk);
	sock_release(sock);
}
