// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * LLP over TCP. Sockets and their callbacks live here and nowhere else.
 *
 * All callbacks of a connected TCP socket run with the socket lock held, in
 * softirq or from the backlog; a listener's sk_data_ready does not. They find
 * the connection through sk_user_data under sk_callback_lock and hold a
 * reference while they work.
 */
#include "tcp.h"

#include <linux/tcp.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/tcp.h>

void kwarp_llp_init(struct kwarp_llp *llp, struct kwarp_device *dev,
		    const struct kwarp_llp_owner_ops *owner)
{
	llp->dev = dev;
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
	llp->owner->release(llp);
}

/*
 * The connection of a socket, with a reference, or NULL once detached or severed.
 * Callbacks end with callback_done().
 */
static struct kwarp_llp *llp_of(struct sock *sk)
{
	struct kwarp_llp *llp;

	read_lock_bh(&sk->sk_callback_lock);
	llp = __locked_read_sk_user_data_with_flags(sk, 0);
	if (llp)
		kwarp_llp_get(llp);
	read_unlock_bh(&sk->sk_callback_lock);
	if (llp && unlikely(llp->taken) && !kwarp_take_enter(llp)) {
		kwarp_llp_put(llp);
		return NULL;
	}
	return llp;
}

static void callback_done(struct kwarp_llp *llp)
{
	if (unlikely(llp->taken))
		kwarp_take_leave(llp);
	kwarp_llp_put(llp);
}

static bool stream_over(const struct sock *sk)
{
	return (sk->sk_shutdown & RCV_SHUTDOWN) || sk->sk_state == TCP_CLOSE;
}

/*
 * The peer's FIN has been reported, and our direction stood. A reset, or TCP giving
 * up, ends that, too: the owner need not wait for it any more.
 */
static void poll_half_closed(struct kwarp_llp *llp)
{
	int err = llp->sk->sk_err;

	if (!err || llp->sk_err)
		return;
	/* tcp_reset() calls a reset so that comes behind a FIN. */
	llp->sk_err = err == EPIPE ? ECONNRESET : err;
	llp->owner->event(llp, KWARP_LLP_EV_RESET);
}

/* Attached connection: octets first, then the end of the stream, once. */
static void poll_attached(struct kwarp_llp *llp)
{
	struct sock *sk = llp->sk;
	u32 left;

	if (llp->eof) {
		poll_half_closed(llp);
		return;
	}
	if (!llp->engine->readable(llp, &left))
		return;
	if (!sk->sk_err && !stream_over(sk))
		return;
	/* The engine may have ended the connection while it processed. */
	if (!llp->qp || llp->eof)
		return;
	llp->eof = true;
	llp->sk_err = sk->sk_err;
	llp->engine->ended(llp, sk->sk_err, left);
	llp->owner->event(llp, sk->sk_err ? KWARP_LLP_EV_RESET :
					    KWARP_LLP_EV_PEER_FIN);
}

void kwarp_llp_poll(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	if (llp->qp)
		poll_attached(llp);
}

static void llp_data_ready(struct sock *sk)
{
	struct kwarp_llp *llp = llp_of(sk);

	if (!llp)
		return;
	if (sk->sk_state != TCP_LISTEN && llp->qp)
		poll_attached(llp);
	else
		llp->owner->event(llp, KWARP_LLP_EV_READABLE);
	callback_done(llp);
}

/* Startup phase: the owner learns of it and reads, an end included. */
static void startup_changed(struct kwarp_llp *llp, struct sock *sk)
{
	if (sk->sk_err || sk->sk_state == TCP_CLOSE) {
		llp->sk_err = sk->sk_err ? : ECONNRESET;
		llp->owner->event(llp, KWARP_LLP_EV_RESET);
	} else if (sk->sk_state == TCP_ESTABLISHED) {
		llp->owner->event(llp, KWARP_LLP_EV_CONNECTED);
	} else if (sk->sk_shutdown & RCV_SHUTDOWN) {
		llp->owner->event(llp, KWARP_LLP_EV_READABLE);
	}
}

static void llp_state_change(struct sock *sk)
{
	struct kwarp_llp *llp = llp_of(sk);

	if (!llp)
		return;
	if (llp->qp)
		poll_attached(llp);
	else if (sk->sk_state != TCP_LISTEN)
		startup_changed(llp, sk);
	callback_done(llp);
}

static void llp_error_report(struct sock *sk)
{
	/* Soft errors (ICMP) come by here, too: only sk_err counts. */
	if (sk->sk_err)
		llp_state_change(sk);
}

/*
 * TCP calls this behind each segment as long as SOCK_NOSPACE is set, with what has
 * come out of order queued already: the flag stays.
 */
static void watched_write_space(struct kwarp_llp *llp, struct sock *sk)
{
	if (!RB_EMPTY_ROOT(&tcp_sk(sk)->out_of_order_queue))
		llp->engine->early(llp);
	if (!llp->want_wspace || !sk_stream_is_writeable(sk))
		return;
	llp->want_wspace = false;
	llp->engine->writable(llp);
}

static void llp_write_space(struct sock *sk)
{
	struct kwarp_llp *llp;

	if (!sk_stream_is_writeable(sk) &&
	    RB_EMPTY_ROOT(&tcp_sk(sk)->out_of_order_queue))
		return;
	llp = llp_of(sk);
	if (!llp)
		return;
	if (llp->watched) {
		watched_write_space(llp, sk);
	} else if (sk_stream_is_writeable(sk)) {
		if (sk->sk_socket)
			clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		if (llp->qp)
			llp->engine->writable(llp);
	}
	callback_done(llp);
}

bool kwarp_llp_wake_bh(struct kwarp_llp *llp)
{
	struct sock *sk = llp->sk;
	bool owned;

	bh_lock_sock(sk);
	owned = sock_owned_by_user(sk);
	if (!owned && (!llp->taken || kwarp_take_enter(llp))) {
		if (llp->qp)
			llp->engine->writable(llp);
		if (llp->taken)
			kwarp_take_leave(llp);
	}
	bh_unlock_sock(sk);
	return !owned;
}

void kwarp_tcp_hook(struct kwarp_llp *llp, struct socket *sock,
		    const struct kwarp_llp *listener)
{
	struct sock *sk = sock->sk;

	sock_hold(sk);
	llp->sk = sk;
	llp->sock = sock;
	sk->sk_use_task_frag = false;
	/* Urgent data has no meaning here: the octet stays in the stream. */
	sock_set_flag(sk, SOCK_URGINLINE);

	write_lock_bh(&sk->sk_callback_lock);
	/* A child inherits its listener's callbacks, except write_space. */
	llp->saved_data_ready = listener ? listener->saved_data_ready :
					   sk->sk_data_ready;
	llp->saved_state_change = listener ? listener->saved_state_change :
					     sk->sk_state_change;
	llp->saved_error_report = listener ? listener->saved_error_report :
					     sk->sk_error_report;
	llp->saved_write_space = sk->sk_write_space;
	/* NOCOPY: a child of a listener starts without a connection of ours. */
	__rcu_assign_sk_user_data_with_flags(sk, llp, SK_USER_DATA_NOCOPY);
	sk->sk_data_ready = llp_data_ready;
	sk->sk_state_change = llp_state_change;
	sk->sk_error_report = llp_error_report;
	sk->sk_write_space = llp_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

void kwarp_tcp_unhook(struct kwarp_llp *llp)
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

static int llp_addr_len(const struct sockaddr_storage *ss)
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

static void llp_set_tos(struct sock *sk, int tos)
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

static struct socket *llp_socket(struct net *net, int ifindex,
				 const struct sockaddr_storage *local, int tos,
				 bool v6only, bool hold_net)
{
	int len = llp_addr_len(local);
	struct socket *sock;
	int ret;

	if (len < 0)
		return ERR_PTR(len);
	ret = sock_create_kern(net, local->ss_family, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (ret)
		return ERR_PTR(ret);
	/*
	 * Hold the namespace as a user's socket does: what TCP has accepted is
	 * still retransmitted after close, which needs timers in a living one.
	 */
	if (hold_net)
		sk_net_refcnt_upgrade(sock->sk);

	sock_set_reuseaddr(sock->sk);
	tcp_sock_set_nodelay(sock->sk);
	llp_set_tos(sock->sk, tos);
	WRITE_ONCE(sock->sk->sk_rcvbuf,
		   max_t(int, READ_ONCE(sock->sk->sk_rcvbuf), KWARP_RCVBUF_MIN));
#if IS_ENABLED(CONFIG_IPV6)
	if (v6only && local->ss_family == AF_INET6)
		ip6_sock_set_v6only(sock->sk);
#endif
	if (ifindex) {
		ret = sock_bindtoindex(sock->sk, ifindex, true);
		if (ret)
			goto err_sock;
	}
	ret = kernel_bind(sock, kwarp_sockaddr(local), len);
	if (ret)
		goto err_sock;
	return sock;

err_sock:
	sock_release(sock);
	return ERR_PTR(ret);
}

int kwarp_llp_connect(struct kwarp_llp *llp, struct net *net, int ifindex,
		      const struct sockaddr_storage *local,
		      const struct sockaddr_storage *remote, int tos)
{
	int len = llp_addr_len(remote);
	struct socket *sock;
	int ret;

	might_sleep();
	if (len < 0)
		return len;
	sock = llp_socket(net, ifindex, local, tos, false, true);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	kwarp_tcp_hook(llp, sock, NULL);
	ret = kernel_connect(sock, kwarp_sockaddr(remote), len, O_NONBLOCK);
	return ret == -EINPROGRESS ? 0 : ret;
}

int kwarp_llp_listen(struct kwarp_llp *llp, struct net *net, int ifindex,
		     const struct sockaddr_storage *local, int backlog,
		     int tos, bool afonly, bool hold_net)
{
	struct socket *sock;

	might_sleep();
	sock = llp_socket(net, ifindex, local, tos, afonly, hold_net);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	kwarp_tcp_hook(llp, sock, NULL);
	return kernel_listen(sock, backlog);
}

/* A child inherits its listener's hold on the namespace, or that it has none. */
static int hold_net_too(struct sock *sk)
{
	struct net *net;

	if (sk->sk_net_refcnt)
		return 0;
	net = maybe_get_net(sock_net(sk));
	if (!net)
		return -ECONNABORTED;
	sk_net_refcnt_upgrade(sk);
	put_net(net);
	return 0;
}

int kwarp_llp_accept(struct kwarp_llp *listener, struct kwarp_llp *child)
{
	struct socket *sock;
	struct sock *sk;
	int ret;

	might_sleep();
	ret = kernel_accept(listener->sock, &sock, O_NONBLOCK);
	if (ret)
		return ret;
	sk = sock->sk;
	ret = hold_net_too(sk);
	if (ret) {
		sock_release(sock);
		return ret;
	}
	tcp_sock_set_nodelay(sk);
	kwarp_tcp_hook(child, sock, listener);

	/* What came before the callbacks were ours was reported to nobody. */
	lock_sock(sk);
	if (sk->sk_err || sk->sk_state != TCP_ESTABLISHED)
		startup_changed(child, sk);
	if (tcp_sk(sk)->rcv_nxt != tcp_sk(sk)->copied_seq)
		child->owner->event(child, KWARP_LLP_EV_READABLE);
	release_sock(sk);
	return 0;
}

/* Nothing to read: is that all? In TCP's order. */
static int read_nothing(struct sock *sk)
{
	if (sock_flag(sk, SOCK_DONE))
		return 0;
	if (sk->sk_err)
		return sock_error(sk);
	if (sk->sk_shutdown & RCV_SHUTDOWN)
		return 0;
	return sk->sk_state == TCP_CLOSE ? -ENOTCONN : -EAGAIN;
}

static int read_locked(struct sock *sk, void *buf, u32 len)
{
	struct sk_buff *skb;
	u32 done = 0, off, n;

	while (done < len) {
		skb = tcp_recv_skb(sk, tcp_sk(sk)->copied_seq, &off);
		if (!skb)
			break;
		n = off < skb->len ? min(skb->len - off, len - done) : 0;
		/* The FIN may stand alone. */
		if (!n || skb_copy_bits(skb, off, buf + done, n))
			break;
		tcp_read_done(sk, n);
		done += n;
	}
	return done ? : read_nothing(sk);
}

int kwarp_llp_recv(struct kwarp_llp *llp, void *buf, size_t len)
{
	int ret;

	/* Not through the socket's operations: they may be a shell (take.c), or wait. */
	if (!kwarp_llp_lock(llp))
		return -ECONNRESET;
	ret = read_locked(llp->sk, buf, len);
	kwarp_llp_unlock(llp);
	return ret;
}

int kwarp_llp_discard(struct kwarp_llp *llp, size_t len)
{
	int ret;

	if (!kwarp_llp_lock(llp))
		return -ECONNRESET;
	ret = min_t(size_t, tcp_inq(llp->sk), len);
	if (ret)
		tcp_read_done(llp->sk, ret);
	else
		ret = read_nothing(llp->sk);
	kwarp_llp_unlock(llp);
	return ret;
}

int kwarp_llp_send(struct kwarp_llp *llp, const void *buf, size_t len)
{
	struct kvec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR,
	};
	struct sock *sk = llp->sk;
	int ret;

	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, &iov, 1, len);
	if (!kwarp_llp_lock(llp))
		return -ECONNRESET;
	ret = tcp_sendmsg_locked(sk, &msg, len);
	/* What it brings forth comes in after the unlock. */
	llp->spoke |= ret > 0;
	/*
	 * TCP has copied a few octets to 32 KiB of the socket's own, and would keep
	 * them for more of the kind. What follows are the engine's pages.
	 */
	if (sk->sk_frag.page) {
		put_page(sk->sk_frag.page);
		sk->sk_frag.page = NULL;
	}
	kwarp_llp_unlock(llp);
	return ret;
}

int kwarp_llp_getname(struct kwarp_llp *llp, struct sockaddr_storage *ss,
		      bool peer)
{
	int ret;

	if (peer)
		ret = kernel_getpeername(llp->sock, (struct sockaddr *)ss);
	else
		ret = kernel_getsockname(llp->sock, (struct sockaddr *)ss);
	return ret < 0 ? ret : 0;
}

void kwarp_llp_keepalive(struct kwarp_llp *llp, u32 seconds)
{
	might_sleep();
	if (!seconds)
		return;
	tcp_sock_set_keepidle(llp->sk, seconds);
	sock_set_keepalive(llp->sk);
}

void kwarp_tcp_shutdown(struct sock *sk)
{
	sock_owned_by_me(sk);
	if (sk->sk_shutdown & SEND_SHUTDOWN)
		return;
	if (!((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)))
		return;
	/* As inet_shutdown() does it: no more sends, then FIN behind the rest. */
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
}

void kwarp_llp_shutdown_locked(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	kwarp_tcp_shutdown(llp->sk);
}

void kwarp_llp_shutdown(struct kwarp_llp *llp)
{
	if (!kwarp_llp_lock(llp))
		return;
	if (llp->sk)
		kwarp_tcp_shutdown(llp->sk);
	kwarp_llp_unlock(llp);
}

void kwarp_llp_close(struct kwarp_llp *llp, bool abort)
{
	struct socket *sock = llp->sock;

	might_sleep();
	if (!sock)
		return;
	WARN_ON_ONCE(llp->qp);
	llp->sock = NULL;
	if (llp->taken) {
		kwarp_take_close(llp, abort);
		return;
	}
	/* The socket lock waits for callbacks in progress, the other lock for new ones. */
	lock_sock(sock->sk);
	kwarp_tcp_unhook(llp);
	release_sock(sock->sk);
	if (abort)
		sock_no_linger(sock->sk);
	sock_release(sock);
}

static bool lock_patiently(struct kwarp_llp *llp, long patience)
{
	if (unlikely(llp->taken)) {
		if (!kwarp_take_lock(llp, patience))
			return false;
	} else if (llp->sk) {
		lock_sock(llp->sk);
	}
	llp->locked_at = jiffies;
	return true;
}

bool kwarp_llp_lock(struct kwarp_llp *llp)
{
	return lock_patiently(llp, KWARP_TAKE_PATIENCE);
}

bool kwarp_llp_lock_now(struct kwarp_llp *llp)
{
	return lock_patiently(llp, 0);
}

bool kwarp_llp_held_long(const struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	return sock_owned_by_user(llp->sk) &&
	       time_after(jiffies, llp->locked_at + KWARP_LLP_HOLD);
}

/* By TCP's rule for a reader: would it tell the peer of a window twice as large? */
static bool window_is_low(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 offered, room;

	if (!((1 << READ_ONCE(sk->sk_state)) &
	      (TCPF_ESTABLISHED | TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2)))
		return false;
	offered = tcp_receive_window(tp);
	room = READ_ONCE(tp->rcv_ssthresh);
	if (2 * offered > room)
		return false;
	room = min_t(u32, room, max(tcp_space(sk), 0));
	return room >= 2 * offered && room >= tp->advmss;
}

/*
 * What came while a process had the lock is received by release_sock(), and all of it
 * counts against the window up to the end of that: each acknowledgment in there
 * offers less, the last one next to nothing, and the engine has read all. Without
 * another word the peer would wait for its persist timer.
 */
static void reopen_window(struct sock *sk)
{
	if (!window_is_low(sk))
		return;
	/* With softirqs off: what the peer answers must find the lock free. */
	local_bh_disable();
	bh_lock_sock(sk);
	/* Another owner comes by here, too. */
	if (!sock_owned_by_user(sk) && window_is_low(sk))
		kwarp_tcp_send_ack(sk);
	bh_unlock_sock(sk);
	local_bh_enable();
}

void kwarp_llp_unlock(struct kwarp_llp *llp)
{
	struct sock *sk = llp->sk;

	if (!sk)
		return;
	if (unlikely(llp->taken))
		kwarp_take_leave(llp);
	release_sock(sk);
	reopen_window(sk);
}

void kwarp_llp_assert_locked(const struct kwarp_llp *llp)
{
	sock_owned_by_me(llp->sk);
}

u32 kwarp_llp_emss(const struct kwarp_llp *llp)
{
	const struct tcp_sock *tp = tcp_sk(llp->sk);
	u32 mss = tp->mss_cache;
	u32 sacks = tp->rx_opt.num_sacks + tp->rx_opt.dsack;

	/* mss_cache does not know of the SACK blocks that ride on data. */
	if (unlikely(sacks)) {
		u32 room = MAX_TCP_OPTION_SPACE -
			   (tp->tcp_header_len - sizeof(struct tcphdr));

		if (room >= TCPOLEN_SACK_BASE_ALIGNED + TCPOLEN_SACK_PERBLOCK) {
			sacks = min_t(u32, sacks,
				      (room - TCPOLEN_SACK_BASE_ALIGNED) /
				      TCPOLEN_SACK_PERBLOCK);
			mss -= TCPOLEN_SACK_BASE_ALIGNED +
			       sacks * TCPOLEN_SACK_PERBLOCK;
		}
	}
	return mss;
}

int kwarp_llp_wspace(const struct kwarp_llp *llp)
{
	return sk_stream_wspace(llp->sk);
}

bool kwarp_llp_writeable(const struct kwarp_llp *llp)
{
	return sk_stream_is_writeable(llp->sk);
}

int kwarp_llp_send_bvec(struct kwarp_llp *llp, struct bio_vec *bv,
			unsigned int nr, size_t len, bool eor)
{
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES,
	};
	struct sock *sk = llp->sk;
	gfp_t gfp = sk->sk_allocation;
	int ret;

	kwarp_llp_assert_locked(llp);
	if (eor)
		msg.msg_flags |= MSG_EOR;
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, len);
	sk->sk_allocation = in_softirq() ? GFP_ATOMIC : GFP_NOIO | __GFP_NOWARN;
	ret = tcp_sendmsg_locked(sk, &msg, len);
	sk->sk_allocation = gfp;
	/* TCP has set SOCK_NOSPACE then, which says nothing on a watched socket. */
	if (ret < (int)len)
		llp->want_wspace = true;
	return ret;
}

void kwarp_llp_want_wspace(struct kwarp_llp *llp)
{
	llp->want_wspace = true;
	if (llp->sk->sk_socket)
		set_bit(SOCK_NOSPACE, &llp->sk->sk_socket->flags);
}

bool kwarp_llp_in_flight(const struct kwarp_llp *llp)
{
	const struct tcp_sock *tp = tcp_sk(llp->sk);

	return tp->snd_nxt - tp->snd_una > 2 * tp->mss_cache;
}

void kwarp_llp_watch(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	if (!llp->sk->sk_socket)
		return;
	llp->watched = true;
	set_bit(SOCK_NOSPACE, &llp->sk->sk_socket->flags);
}

void kwarp_llp_unwatch(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	llp->watched = false;
}
