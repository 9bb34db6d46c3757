// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Taking over a program's connected TCP socket.
 *
 * The struct sock stays where it is, under the program's struct socket, because
 * system calls in progress use it without a reference of their own: only the
 * program's file keeps it alive. We hold that file, too, so the program's close()
 * does not end the connection.
 *
 * What makes the descriptor harmless is that its socket gets other operations:
 * a shell in which nearly nothing is supported, until its last file is closed. The
 * shell holds the module. SOL_SOCKET options, which normally go past the
 * operations, are made to go through them.
 *
 * A call that was asleep in the socket would go on in the middle of our stream,
 * so there must be none. One that is on its way at this very moment may still
 * read or write octets, or set something: that breaks the connection, and is the
 * program's own doing, but nothing else. All of it happens under the socket lock,
 * which such a call can even hold for long (a page fault that the program serves
 * itself), so attached sockets have a work queue of their own.
 */
#include "tcp.h"

#include <linux/file.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <net/inet_common.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

/* Room for the last streaming message and a startup frame, with overhead. */
#define TAKE_SNDBUF_ROOM	(64 * 1024)

/* IPv6's operations are exported by later kernels only: found out when needed. */
static const struct proto_ops *inet6_ops;

static int find_inet6_ops(void)
{
	struct socket *sock;
	int ret;

	if (READ_ONCE(inet6_ops))
		return 0;
	ret = sock_create_kern(&init_net, AF_INET6, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (ret)
		return ret;
	WRITE_ONCE(inet6_ops, sock->ops);
	sock_release(sock);
	return 0;
}

static const struct proto_ops *own_ops(const struct socket *sock)
{
	return READ_ONCE(sock->ops)->family == AF_INET6 ?
	       READ_ONCE(inet6_ops) : &inet_stream_ops;
}

/* The last file is closed. Nobody else looks at the socket. */
static int shell_release(struct socket *sock)
{
	const struct proto_ops *own = own_ops(sock);
	struct sock *sk = sock->sk;
	int ret;

	/* The child of an accept() that failed has our operations, and no sock. */
	if (!sk)
		return 0;
	/* Whoever closes it must not wait for the peer. */
	lock_sock(sk);
	sock_reset_flag(sk, SOCK_LINGER);
	release_sock(sk);
	ret = own->release(sock);
	module_put(own->owner);
	return ret;
}

static int shell_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	return own_ops(sock)->getname(sock, addr, peer);
}

/* TCP_INFO only: there are options that read from the stream. */
static int shell_getsockopt(struct socket *sock, int level, int optname,
			    char __user *optval, int __user *optlen)
{
	if (level != SOL_TCP || optname != TCP_INFO)
		return -EOPNOTSUPP;
	return own_ops(sock)->getsockopt(sock, level, optname, optval, optlen);
}

/*
 * What is missing here is answered with EOPNOTSUPP, or nothing to poll for. In
 * constant memory: accept() has a second socket point here for a while.
 */
#define SHELL_OPS(domain) {			\
	.family		= (domain),		\
	.owner		= THIS_MODULE,		\
	.release	= shell_release,	\
	.bind		= sock_no_bind,		\
	.connect	= sock_no_connect,	\
	.socketpair	= sock_no_socketpair,	\
	.accept		= sock_no_accept,	\
	.getname	= shell_getname,	\
	.ioctl		= sock_no_ioctl,	\
	.listen		= sock_no_listen,	\
	.shutdown	= sock_no_shutdown,	\
	.getsockopt	= shell_getsockopt,	\
	.sendmsg	= sock_no_sendmsg,	\
	.recvmsg	= sock_no_recvmsg,	\
	.mmap		= sock_no_mmap,		\
}

static const struct proto_ops shell_inet_ops = SHELL_OPS(AF_INET);
static const struct proto_ops shell_inet6_ops = SHELL_OPS(AF_INET6);

/*
 * Under the socket lock; from here on no new call gets to TCP. The reference on
 * the old operations' module is given back by shell_release().
 */
static void shell_put_on(struct socket *sock)
{
	__module_get(THIS_MODULE);
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	WRITE_ONCE(sock->ops, sock->ops->family == AF_INET6 ?
			      &shell_inet6_ops : &shell_inet_ops);
}

/* ---- may it be taken ------------------------------------------------------ */

static int check_kind(const struct socket *sock)
{
	const struct sock *sk = sock->sk;

	if (!sk || (sk->sk_family != AF_INET && sk->sk_family != AF_INET6))
		return -EAFNOSUPPORT;
	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	/* MPTCP and SCTP have streams, too. (EPROTONOSUPPORT is uverbs' own.) */
	if (sk->sk_protocol != IPPROTO_TCP || sk_is_mptcp(sk))
		return -EPROTOTYPE;
	return 0;
}

/* Its own namespace, one of the same owner, or one the caller administrates. */
static bool may_use(const struct sock *sk, const struct net *net)
{
	struct user_namespace *owner = sock_net(sk)->user_ns;

	return owner == net->user_ns || ns_capable(owner, CAP_NET_ADMIN);
}

/* Does a call sleep in the socket (and not just poll it)? */
static bool is_slept_in(struct sock *sk)
{
	wait_queue_entry_t *entry;
	struct socket_wq *wq;
	unsigned long flags;
	bool found = false;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (wq) {
		spin_lock_irqsave(&wq->wait.lock, flags);
		list_for_each_entry(entry, &wq->wait.head, entry)
			found |= entry->func == woken_wake_function;
		spin_unlock_irqrestore(&wq->wait.lock, flags);
	}
	rcu_read_unlock();
	return found;
}

static int check_state(const struct socket *sock, struct sock *sk)
{
	sock_owned_by_me(sk);
	if (inet_csk_has_ulp(sk) || tcp_sk(sk)->repair)
		return -EOPNOTSUPP;
	/* A shell, or in other hands. */
	if (READ_ONCE(sock->ops) != own_ops(sock) || sk->sk_user_data ||
	    is_slept_in(sk))
		return -EBUSY;
	if (sk->sk_state != TCP_ESTABLISHED || sk->sk_shutdown)
		return -ENOTCONN;
	return 0;
}

/* ---- taking --------------------------------------------------------------- */

/* A program's settings that would stand in the way of the engines. */
static void settle(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	sock_owned_by_me(sk);
	sock_reset_flag(sk, SOCK_LINGER);
	tp->nonagle &= ~TCP_NAGLE_CORK;
	tp->nonagle |= TCP_NAGLE_OFF;
	WRITE_ONCE(tp->notsent_lowat, 0);
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	/* Buffers are tuned by TCP from now on, from a size that suffices. */
	sk->sk_userlocks &= ~(SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
	WRITE_ONCE(sk->sk_rcvbuf,
		   max_t(int, READ_ONCE(sk->sk_rcvbuf), KWARP_RCVBUF_MIN));
	WRITE_ONCE(sk->sk_sndbuf,
		   max_t(int, READ_ONCE(sk->sk_sndbuf),
			 READ_ONCE(sk->sk_wmem_queued) + TAKE_SNDBUF_ROOM));
}

static int take(struct kwarp_llp *llp, struct file *file, const struct net *net)
{
	struct socket *sock = sock_from_file(file);
	int ret;

	if (!sock)
		return -ENOTSOCK;
	ret = check_kind(sock);
	if (ret)
		return ret;
	if (!may_use(sock->sk, net))
		return -EPERM;
	if (sock->sk->sk_family == AF_INET6) {
		ret = find_inet6_ops();
		if (ret)
			return ret;
	}

	lock_sock(sock->sk);
	ret = check_state(sock, sock->sk);
	if (!ret) {
		shell_put_on(sock);
		settle(sock->sk);
		kwarp_tcp_hook(llp, sock, NULL);
	}
	release_sock(sock->sk);
	return ret;
}

int kwarp_llp_take(struct kwarp_llp *llp, int fd, const struct net *net)
{
	struct file *file;
	int ret;

	might_sleep();
	file = fget(fd);
	if (!file)
		return -EBADF;
	ret = take(llp, file, net);
	if (ret)
		fput(file);
	else
		llp->file = file;
	return ret;
}

/*
 * The callbacks are the socket's own again. Files of the program may keep the
 * socket, so its connection is ended here and not by closing it.
 */
void kwarp_take_end(struct kwarp_llp *llp, bool abort)
{
	struct socket *sock = sock_from_file(llp->file);
	struct sock *sk = llp->sk;

	lock_sock(sk);
	/*
	 * IPV6_ADDRFORM, begun before and ended after the socket was taken, has
	 * put IPv4's operations on: only while TCP is established, so not again.
	 */
	if (READ_ONCE(sock->ops) == &inet_stream_ops)
		WRITE_ONCE(sock->ops, &shell_inet_ops);
	if (abort) {
		sk->sk_prot->disconnect(sk, 0);
	} else {
		kwarp_llp_shutdown_locked(llp);
		WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
		/* Who sleeps in it all the same. */
		sk->sk_state_change(sk);
	}
	release_sock(sk);
	fput(llp->file);
	llp->file = NULL;
}
