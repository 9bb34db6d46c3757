// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Takeover of a program's connected TCP socket.
 *
 * The struct sock stays with the program's struct socket. kwarp holds a reference to the
 * socket's file, so the program's close() does not end the connection.
 *
 * Until the last reference to the file is put, we replace sock->ops by the shell: operations
 * that refuse nearly all calls, and hold a reference to the module. SOL_SOCKET options, which
 * normally bypass sock->ops, are directed to the shell by SOCK_CUSTOM_SOCKOPT.
 *
 * A system call that began before the replacement would still use TCP's operations: such a
 * call could read and write between FPDUs, replace the shell by other operations, or hold
 * the socket lock without limit, because a program can serve page faults itself. Therefore a
 * socket is taken only if no such call is in progress, which the reference count of the file
 * proves: see is_sole_user(). From then on no program can hold the socket lock, except for
 * one small allocation (fcntl() with O_ASYNC does not use sock->ops), and the socket is used
 * like one that kwarp has created.
 */
#include "llp/mpa/tcp.h"

#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/filter.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/user_namespace.h>
#include <net/inet_common.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "llp/socket.h"

/* Send buffer for the last streaming-mode message and a startup frame, in truesize. */
#define TAKE_SNDBUF_ROOM	(64 * 1024)

/* Limits of the wait for other users of the socket, in total and per pause; jiffies. */
#define TAKE_PATIENCE		(HZ / 4)
#define TAKE_PAUSE		DIV_ROUND_UP(HZ, 25)

/* Older kernels do not export inet6_stream_ops, so find the operations on first use. */
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

/* The last reference to the file was put: release the socket as TCP does. */
static int shell_release(struct socket *sock)
{
	const struct proto_ops *own = own_ops(sock);
	struct sock *sk = sock->sk;
	int ret;

	/* The child of a failed accept() has the shell's operations but no sock. */
	if (!sk)
		return 0;
	/* The closing process must not wait for the peer. */
	lock_sock(sk);
	sock_reset_flag(sk, SOCK_LINGER);
	release_sock(sk);
	ret = own->release(sock);
	module_put(own->owner);
	return ret;
}

/*
 * Operations that may sleep hold the module, because the shell may be removed meanwhile.
 * kwarp_take_exit() waits for the instructions before and after that.
 */
static int shell_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	int ret;

	if (!try_module_get(THIS_MODULE))
		return -EOPNOTSUPP;
	ret = own_ops(sock)->getname(sock, addr, peer);
	module_put(THIS_MODULE);
	return ret;
}

/* Only TCP_INFO is allowed, because some options read from the stream. */
static int shell_getsockopt(struct socket *sock, int level, int optname,
			    char __user *optval, int __user *optlen)
{
	int ret;

	if (level != SOL_TCP || optname != TCP_INFO || !try_module_get(THIS_MODULE))
		return -EOPNOTSUPP;
	ret = own_ops(sock)->getsockopt(sock, level, optname, optval, optlen);
	module_put(THIS_MODULE);
	return ret;
}

/*
 * An operation that is not set fails with EOPNOTSUPP, except poll, which reports no events.
 * The tables are constant, because during accept() a second socket refers to them.
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

/* A shell was removed, and system calls that found the shell may still be in its code. */
static bool was_taken_off;

static const struct proto_ops *shell_of(const struct proto_ops *own)
{
	return own->family == AF_INET6 ? &shell_inet6_ops : &shell_inet_ops;
}

/*
 * Replace @own by the shell; system calls that begin later do not reach TCP. The socket's
 * reference to the module of @own is kept: shell_release() puts that reference.
 */
static bool shell_put_on(struct socket *sock, const struct proto_ops *own)
{
	if (cmpxchg(&sock->ops, own, shell_of(own)) != own)
		return false;
	__module_get(THIS_MODULE);
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	return true;
}

static void shell_take_off(struct socket *sock, const struct proto_ops *own)
{
	WRITE_ONCE(was_taken_off, true);
	clear_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	/* A system call that began before may have replaced the shell (IPV6_ADDRFORM). */
	cmpxchg(&sock->ops, shell_of(own), own);
	module_put(THIS_MODULE);
}

/* ---- may it be taken ------------------------------------------------------ */

static int check_kind(const struct socket *sock)
{
	const struct sock *sk = sock->sk;

	if (!sk || (sk->sk_family != AF_INET && sk->sk_family != AF_INET6))
		return -EAFNOSUPPORT;
	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	/* MPTCP and SCTP have SOCK_STREAM, too. (uverbs itself uses EPROTONOSUPPORT.) */
	if (sk->sk_protocol != IPPROTO_TCP || sk_is_mptcp(sk))
		return -EPROTOTYPE;
	return 0;
}

/*
 * The socket must be in a network namespace with the same owning user namespace as the
 * device's, or in one that the caller administers.
 */
static bool may_use(const struct sock *sk, const struct net *net)
{
	struct user_namespace *owner = sock_net(sk)->user_ns;

	return owner == net->user_ns || ns_capable(owner, CAP_NET_ADMIN);
}

/* Called under the socket lock; before that only to fail early. */
static int check_state(const struct sock *sk)
{
	if (inet_csk_has_ulp(sk) || tcp_sk(sk)->repair)
		return -EOPNOTSUPP;
	/* Used by another part of the kernel. */
	if (READ_ONCE(sk->sk_user_data))
		return -EBUSY;
	if (inet_sk_state_load(sk) != TCP_ESTABLISHED || READ_ONCE(sk->sk_shutdown))
		return -ENOTCONN;
	return 0;
}

struct census {
	const struct file *file;
	unsigned long *found;
};

static int count_descriptor(const void *p, struct file *file, unsigned int fd)
{
	const struct census *census = p;

	if (file != census->file)
		return 0;
	/* The descriptors counted keep their references: files->file_lock is held. */
	++*census->found;
	return (unsigned long)file_count(file) == *census->found + 1;
}

/*
 * Has the file no references but ours and those of the calling process's descriptors? A
 * system call has another one, unless its process has a single thread. So have descriptors
 * of other processes or in flight (SCM_RIGHTS), and registrations with io_uring.
 */
static bool is_sole_user(const struct file *file)
{
	unsigned long found = 0;
	const struct census census = { .file = file, .found = &found };

	return iterate_fd(current->files, 0, count_descriptor, &census);
}

/* ---- taking --------------------------------------------------------------- */

/* Reset those socket options of the program that would interfere with the engines. */
static void reset_options(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	sock_owned_by_me(sk);
	sock_reset_flag(sk, SOCK_LINGER);
	/* An ICMP error would end the connection. */
	inet_clear_bit(RECVERR, sk);
	inet_clear_bit(RECVERR6, sk);
	/* Nobody reads the error queue any more, and it takes memory from the receive window. */
	WRITE_ONCE(sk->sk_tsflags, 0);
	sock_reset_flag(sk, SOCK_WIFI_STATUS);
	skb_queue_purge(&sk->sk_error_queue);
	tp->nonagle &= ~TCP_NAGLE_CORK;
	tp->nonagle |= TCP_NAGLE_OFF;
	WRITE_ONCE(tp->notsent_lowat, 0);
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	/* Give the buffers a sufficient size, and let TCP's autotuning enlarge them. */
	sk->sk_userlocks &= ~(SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
	WRITE_ONCE(sk->sk_rcvbuf,
		   max_t(int, READ_ONCE(sk->sk_rcvbuf), KWARP_RCVBUF_MIN));
	WRITE_ONCE(sk->sk_sndbuf,
		   max_t(int, READ_ONCE(sk->sk_sndbuf),
			 READ_ONCE(sk->sk_wmem_queued) + TAKE_SNDBUF_ROOM));
}

static int take_locked(struct kwarp_llp *llp, struct socket *sock)
{
	struct sock *sk = sock->sk;
	int ret = check_state(sk);

	sock_owned_by_me(sk);
	if (ret)
		return ret;
	/* SO_GET_FILTER would copy the filter to the program under the socket lock. */
	if (sk_detach_filter(sk) == -EPERM)
		return -EOPNOTSUPP;
	reset_options(sk);
	return kwarp_tcp_hook(llp, sock, NULL);
}

/* Return: as kwarp_llp_take(), or -EAGAIN if the socket has another user. */
static int take_if_sole(struct kwarp_llp *llp, struct file *file, struct socket *sock)
{
	const struct proto_ops *own = READ_ONCE(sock->ops);
	int ret;

	/* Taken already, or used by another part of the kernel; check_state() refuses ULPs. */
	if (own != own_ops(sock) && !inet_csk_has_ulp(sock->sk))
		return -EBUSY;
	ret = check_state(sock->sk);
	if (ret)
		return ret;
	if (!is_sole_user(file) || !shell_put_on(sock, own))
		return -EAGAIN;
	/* A system call takes its reference to the file before it reads sock->ops. */
	smp_mb();
	ret = -EAGAIN;
	if (is_sole_user(file) && READ_ONCE(sock->ops) == shell_of(own)) {
		lock_sock(sock->sk);
		ret = take_locked(llp, sock);
		release_sock(sock->sk);
	}
	if (ret)
		shell_take_off(sock, own);
	return ret;
}

static int take_file(struct kwarp_llp *llp, struct file *file, const struct net *net)
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
	return take_if_sole(llp, file, sock);
}

/**
 * kwarp_llp_take() - take over a program's connected TCP socket
 * @llp:	initialised, no socket yet
 * @fd:		descriptor of the calling process
 * @net:	namespace of the netdev: the socket's namespace must have the same owner,
 *		or the caller CAP_NET_ADMIN in it
 *
 * On success system calls on the socket meet the shell, the program's socket filter is
 * removed, and the connection lives until kwarp_llp_close(). On failure the socket is
 * unchanged. No event reports data that are in the receive queue already.
 *
 * Waits a moment for other users of the socket, which may be about to close their
 * descriptors. Each pause is random, because two callers that take the same socket are
 * users for each other.
 *
 * Context: process, may sleep; current is the program.
 *
 * Return: 0; -EBADF, -ENOTSOCK, -EAFNOSUPPORT (not IPv4 or IPv6), -ESOCKTNOSUPPORT (no
 * stream), -EPROTOTYPE (not TCP: MPTCP, SCTP), -EPERM, -ENOTCONN (not established, or one
 * direction is closed), -EBUSY (taken already; or in use by another part of the kernel, a
 * system call, or a process with a descriptor of its own), -EOPNOTSUPP (upper layer
 * protocol such as TLS, repair mode, or locked filter), -ENOMEM.
 */
int kwarp_llp_take(struct kwarp_llp *llp, int fd, const struct net *net)
{
	unsigned long end = jiffies + TAKE_PATIENCE;
	struct file *file;
	int ret;

	might_sleep();
	for (;;) {
		file = fget(fd);
		if (!file)
			return -EBADF;
		ret = take_file(llp, file, net);
		if (!ret)
			break;
		fput(file);
		if (ret != -EAGAIN)
			return ret;
		if (time_after(jiffies, end) || fatal_signal_pending(current))
			return -EBUSY;
		schedule_timeout_killable(get_random_u32_inclusive(1, TAKE_PAUSE));
	}
	llp->user_file = file;
	return 0;
}

/* ---- the end -------------------------------------------------------------- */

/* End the connection of a socket that was taken (llp->user_file). */
void kwarp_take_close(struct kwarp_llp *llp, enum kwarp_ending ending)
{
	struct sock *sk = llp->sk;

	might_sleep();
	lock_sock(sk);
	kwarp_socket_unhook(llp);
	/* The program's descriptors may keep the socket, so end the connection here. */
	if (ending == KWARP_ABORT) {
		sk->sk_prot->disconnect(sk, 0);
	} else {
		kwarp_tcp_shutdown(sk);
		WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
	}
	release_sock(sk);
	fput(llp->user_file);
	llp->user_file = NULL;
}

/*
 * Before the module is unloaded, wait for tasks that were preempted between reading the
 * shell from sock->ops and the return of its function.
 */
void kwarp_take_exit(void)
{
	if (READ_ONCE(was_taken_off))
		synchronize_rcu_tasks();
}
