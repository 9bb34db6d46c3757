// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Takeover of a program's connected TCP socket.
 *
 * The struct sock stays under the program's struct socket, because system calls in
 * progress use it without a reference of their own: only the program's file keeps it
 * alive. kwarp holds that file as well, so the program's close() does not end the
 * connection.
 *
 * The descriptor is made harmless by replacing the operations of its socket with a shell
 * that supports almost nothing, until its last file is closed. The shell holds the
 * module. SOL_SOCKET options, which normally bypass the operations, are directed through
 * them. A call that had entered before still has TCP's operations: see guard_put_on().
 *
 * A system call asleep in the socket would continue in the middle of the kwarp stream, so
 * there must be none, nor one that holds the socket lock or waits for it. A call that
 * enters at this very moment may still read or write bytes, or set an option: that breaks
 * the connection, which is the program's own fault, but nothing else. All of this happens
 * under the socket lock, which such a call can hold for any length of time (a page fault
 * that the program serves itself). Therefore kwarp waits for it no longer than
 * KWARP_TAKE_PATIENCE: then the connection is severed. Engines enter through a gate
 * (kwarp_take_enter(), kwarp_take_leave()); once the gate is closed and empty, the
 * connection can be taken apart without the lock. The rest of the socket ends when the
 * program releases the lock, in work that refers to no device.
 */
#include "llp/mpa/tcp.h"

#include <linux/file.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <net/inet_common.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>

#include "llp/socket.h"

/* Room for the last streaming-mode message and a startup frame, with overhead. */
#define TAKE_SNDBUF_ROOM	(64 * 1024)

/**
 * struct kwarp_take - a program's socket that kwarp has taken
 * @work:	ends the stream when the program releases the socket lock
 * @file:	the socket's file, holds a reference
 * @abort:	send RST instead of FIN
 */
struct kwarp_take {
	struct work_struct work;
	struct file *file;
	bool abort;
};

struct workqueue_struct *kwarp_taken_wq;

/* Its work waits for programs, without a limit. */
static struct workqueue_struct *end_wq;

/* Only later kernels export IPv6's operations: determined on first use. */
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

/* The last file is closed: the socket has no other user. */
static int shell_release(struct socket *sock)
{
	const struct proto_ops *own = own_ops(sock);
	struct sock *sk = sock->sk;
	int ret;

	/* The child of a failed accept() has the shell's operations but no sock. */
	if (!sk)
		return 0;
	/* The process that closes it must not wait for the peer. */
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

/* TCP_INFO only: some options read from the stream. */
static int shell_getsockopt(struct socket *sock, int level, int optname,
			    char __user *optval, int __user *optlen)
{
	if (level != SOL_TCP || optname != TCP_INFO)
		return -EOPNOTSUPP;
	return own_ops(sock)->getsockopt(sock, level, optname, optval, optlen);
}

/*
 * Operations missing here fail with EOPNOTSUPP, or poll reports no events. Constant
 * memory, because a second socket refers to it for a while during accept().
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
 * Called under the socket lock; from here on no new system call reaches TCP.
 * shell_release() drops the reference on the module of the old operations.
 */
static void shell_put_on(struct socket *sock)
{
	__module_get(THIS_MODULE);
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	WRITE_ONCE(sock->ops, sock->ops->family == AF_INET6 ?
			      &shell_inet6_ops : &shell_inet_ops);
}

/* ---- the guard ------------------------------------------------------------ */

/* Without clone(): a socket that has it cannot listen. */
static struct tcp_ulp_ops guard = {
	.name = "kwarp",
	.owner = THIS_MODULE,
};

/*
 * A call that entered with TCP's operations, and slept before it took the lock, must not put
 * something else in their place, or make the socket a listener, whose children would inherit
 * the callbacks. An upper layer protocol keeps off all others and listen(), and holds the
 * module until TCP drops it; it is assigned, because tcp_set_ulp() is not exported.
 * IPV6_ADDRFORM is not possible on a socket of IPv6 only.
 */
static void guard_put_on(struct sock *sk)
{
	sock_owned_by_me(sk);
	__module_get(THIS_MODULE);
	WRITE_ONCE(inet_csk(sk)->icsk_ulp_ops, &guard);
#if IS_ENABLED(CONFIG_IPV6)
	sk->sk_ipv6only = sk->sk_family == AF_INET6;
#endif
}

/* The socket has none of kwarp's callbacks any more, and is not established. */
static void guard_take_off(struct sock *sk)
{
	sock_owned_by_me(sk);
	/* TCP drops it itself when it destroys the sock. */
	if (inet_csk(sk)->icsk_ulp_ops != &guard)
		return;
	WRITE_ONCE(inet_csk(sk)->icsk_ulp_ops, NULL);
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
	/* MPTCP and SCTP also have streams. (uverbs itself uses EPROTONOSUPPORT.) */
	if (sk->sk_protocol != IPPROTO_TCP || sk_is_mptcp(sk))
		return -EPROTOTYPE;
	return 0;
}

/*
 * The device's own namespace, one with the same owner, or one that the caller
 * administers.
 */
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
	if ((inet_csk_has_ulp(sk) && inet_csk(sk)->icsk_ulp_ops != &guard) ||
	    tcp_sk(sk)->repair)
		return -EOPNOTSUPP;
	/* Already a shell, or used by another part of the kernel. */
	if (READ_ONCE(sock->ops) != own_ops(sock) || sk->sk_user_data ||
	    is_slept_in(sk))
		return -EBUSY;
	/* Calls that wait for the lock; one not visible yet is only entering. */
	if (waitqueue_active(&sk->sk_lock.wq))
		return -EBUSY;
	if (sk->sk_state != TCP_ESTABLISHED || sk->sk_shutdown)
		return -ENOTCONN;
	return 0;
}

/* ---- the gate --------------------------------------------------------------- */

bool kwarp_take_enter(struct kwarp_llp *llp)
{
	atomic_inc(&llp->gate.inside);
	/*
	 * Either this sees that the connection is severed, or kwarp_llp_sever() sees the
	 * count.
	 */
	smp_mb__after_atomic();
	if (likely(!READ_ONCE(llp->gate.severed)))
		return true;
	kwarp_take_leave(llp);
	return false;
}

void kwarp_take_leave(struct kwarp_llp *llp)
{
	if (atomic_dec_and_test(&llp->gate.inside) && READ_ONCE(llp->gate.severed))
		wake_up_var(&llp->gate.inside);
}

void kwarp_llp_sever(struct kwarp_llp *llp)
{
	might_sleep();
	WRITE_ONCE(llp->gate.severed, true);
	smp_mb(); /* pairs with kwarp_take_enter() */
	/* Waiters of kwarp give up; others check the lock again. */
	wake_up_all(&llp->sk->sk_lock.wq);
	wait_var_event(&llp->gate.inside, !atomic_read(&llp->gate.inside));
}

/*
 * A lock_sock() that gives up if the connection is severed, the caller is killed, or a
 * program holds the lock for too long. Holders within kwarp do not keep the lock for
 * long. On success the caller is counted as inside.
 */
static bool lock_for(struct kwarp_llp *llp, struct sock *sk, long patience)
{
	DEFINE_WAIT(wait);
	bool got;

	might_sleep();
	spin_lock_bh(&sk->sk_lock.slock);
	while (sk->sk_lock.owned && !READ_ONCE(llp->gate.severed)) {
		if (!patience && atomic_read(&llp->gate.inside))
			patience = 1;
		if (!patience || fatal_signal_pending(current))
			break;
		prepare_to_wait(&sk->sk_lock.wq, &wait, TASK_KILLABLE);
		spin_unlock_bh(&sk->sk_lock.slock);
		patience = schedule_timeout(patience);
		spin_lock_bh(&sk->sk_lock.slock);
	}
	finish_wait(&sk->sk_lock.wq, &wait);
	got = !sk->sk_lock.owned;
	if (got) {
		sk->sk_lock.owned = 1;
		atomic_inc(&llp->gate.inside);
		/* As in kwarp_take_enter(); the caller checks @severed. */
		smp_mb__after_atomic();
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	if (got)
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return got;
}

bool kwarp_take_lock(struct kwarp_llp *llp, long patience)
{
	if (READ_ONCE(llp->gate.severed))
		return false;
	if (lock_for(llp, llp->sk, patience)) {
		if (likely(!READ_ONCE(llp->gate.severed)))
			return true;
		kwarp_take_leave(llp);
		release_sock(llp->sk);
		return false;
	}
	if (patience && !READ_ONCE(llp->gate.severed) &&
	    !fatal_signal_pending(current)) {
		WRITE_ONCE(llp->sk_err, ETIMEDOUT);
		kwarp_llp_sever(llp);
		llp->owner->event(llp, KWARP_LLP_EV_RESET);
	}
	return false;
}

/* ---- taking --------------------------------------------------------------- */

/* Reset the program's socket options that would interfere with the engines. */
static void settle(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	sock_owned_by_me(sk);
	sock_reset_flag(sk, SOCK_LINGER);
	tp->nonagle &= ~TCP_NAGLE_CORK;
	tp->nonagle |= TCP_NAGLE_OFF;
	WRITE_ONCE(tp->notsent_lowat, 0);
	WRITE_ONCE(sk->sk_rcvlowat, 1);
	/* From now on TCP tunes the buffers, starting from a sufficient size. */
	sk->sk_userlocks &= ~(SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK);
	WRITE_ONCE(sk->sk_rcvbuf,
		   max_t(int, READ_ONCE(sk->sk_rcvbuf), KWARP_RCVBUF_MIN));
	WRITE_ONCE(sk->sk_sndbuf,
		   max_t(int, READ_ONCE(sk->sk_sndbuf),
			 READ_ONCE(sk->sk_wmem_queued) + TAKE_SNDBUF_ROOM));
}

static int take_socket(struct kwarp_llp *llp, struct file *file,
		       const struct net *net)
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

	if (!lock_for(llp, sock->sk, KWARP_TAKE_PATIENCE))
		return -EBUSY;
	ret = check_state(sock, sock->sk);
	if (!ret) {
		shell_put_on(sock);
		guard_put_on(sock->sk);
		settle(sock->sk);
		llp->gate.taken = true;
		kwarp_tcp_hook(llp, sock, NULL);
	}
	kwarp_take_leave(llp);
	release_sock(sock->sk);
	return ret;
}

/* ---- the end -------------------------------------------------------------- */

/* The program's files may keep the socket: its connection ends here nevertheless. */
static void end_stream(struct socket *sock, bool abort)
{
	struct sock *sk = sock->sk;

	sock_owned_by_me(sk);
	if (abort) {
		sk->sk_prot->disconnect(sk, 0);
	} else {
		kwarp_tcp_shutdown(sk);
		WRITE_ONCE(sk->sk_shutdown, SHUTDOWN_MASK);
		/* Wakes a task that still sleeps in the socket. */
		sk->sk_state_change(sk);
	}
	guard_take_off(sk);
}

static void end_work(struct work_struct *work)
{
	struct kwarp_take *take = container_of(work, struct kwarp_take, work);
	struct socket *sock = sock_from_file(take->file);

	lock_sock(sock->sk);
	end_stream(sock, take->abort);
	release_sock(sock->sk);
	fput(take->file);
	kfree(take);
}

void kwarp_take_close(struct kwarp_llp *llp, bool abort)
{
	struct kwarp_take *take = llp->take;

	might_sleep();
	llp->take = NULL;
	if (!kwarp_llp_lock(llp)) {
		kwarp_llp_sever(llp);
		kwarp_socket_unhook(llp);
		take->abort = abort;
		queue_work(end_wq, &take->work);
		return;
	}
	kwarp_socket_unhook(llp);
	end_stream(sock_from_file(take->file), abort);
	kwarp_llp_unlock(llp);
	fput(take->file);
	kfree(take);
}

/* ---- takeover, and the module ---------------------------------------------- */

int kwarp_llp_take(struct kwarp_llp *llp, int fd, const struct net *net)
{
	struct kwarp_take *take;
	int ret = -EBADF;

	might_sleep();
	take = kzalloc(sizeof(*take), GFP_KERNEL);
	if (!take)
		return -ENOMEM;
	INIT_WORK(&take->work, end_work);
	take->file = fget(fd);
	if (take->file)
		ret = take_socket(llp, take->file, net);
	if (!ret) {
		llp->take = take;
		return 0;
	}
	if (take->file)
		fput(take->file);
	kfree(take);
	return ret;
}

int kwarp_take_init(void)
{
	kwarp_taken_wq = alloc_workqueue("kwarp_taken", WQ_UNBOUND, 0);
	if (!kwarp_taken_wq)
		return -ENOMEM;
	end_wq = alloc_workqueue("kwarp_take_end", WQ_UNBOUND, 0);
	if (end_wq)
		return 0;
	destroy_workqueue(kwarp_taken_wq);
	return -ENOMEM;
}

void kwarp_take_exit(void)
{
	destroy_workqueue(kwarp_taken_wq);
	destroy_workqueue(end_wq);
}
