// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* TCP sockets of MPA connections. socket.c has the functions for sockets of any LLP. */
#include "llp/mpa/tcp.h"

#include <linux/tcp.h>
#include <net/hotdata.h>
#include <net/inet_common.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "compat.h"
#include "llp/mpa/mpa.h"
#include "llp/socket.h"

int kwarp_mpa_over(const struct kwarp_llp *llp, u32 *left)
{
	struct sock *sk = llp->sk;
	int err = sk->sk_err;

	kwarp_llp_assert_locked(llp);
	if (!err && !(sk->sk_shutdown & RCV_SHUTDOWN) && sk->sk_state != TCP_CLOSE)
		return 0;
	*left = tcp_inq(sk);
	if (err)
		return -err;
	/* The error may have been taken: by a send of ours, or by a program's SO_ERROR. */
	return sock_flag(sk, SOCK_DONE) ? 1 : -ECONNRESET;
}

static void mpa_poll(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	if (llp->qp)
		kwarp_socket_poll(llp);
}

static void mpa_data_ready(struct sock *sk)
{
	struct kwarp_llp *llp = kwarp_socket_llp(sk);

	if (!llp)
		return;
	if (sk->sk_state != TCP_LISTEN && llp->qp)
		kwarp_socket_poll(llp);
	else
		llp->owner->event(llp, KWARP_LLP_EV_READABLE);
	kwarp_llp_put(llp);
}

/* Without a QP, notify the owner, which then reads the data or the end of the stream. */
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

static void mpa_state_change(struct sock *sk)
{
	struct kwarp_llp *llp = kwarp_socket_llp(sk);

	if (!llp)
		return;
	if (llp->qp)
		kwarp_socket_poll(llp);
	else if (sk->sk_state != TCP_LISTEN)
		startup_changed(llp, sk);
	kwarp_llp_put(llp);
}

/*
 * Called without the socket lock, too, when a timestamp or the end of a MSG_ZEROCOPY is due that a
 * program has requested before an attach. At each end of a connection TCP calls
 * mpa_state_change(), under the lock and after it has set sk_err.
 */
static void mpa_error_report(struct sock *sk)
{
}

/*
 * TCP calls sk_write_space after queuing each received segment, as long as SOCK_NOSPACE is
 * set. We keep the flag set to see out-of-order segments, and use want_wspace instead.
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

static void mpa_write_space(struct sock *sk)
{
	struct kwarp_llp *llp;

	if (!sk_stream_is_writeable(sk) &&
	    RB_EMPTY_ROOT(&tcp_sk(sk)->out_of_order_queue))
		return;
	llp = kwarp_socket_llp(sk);
	if (!llp)
		return;
	if (llp->watched && llp->qp) {
		watched_write_space(llp, sk);
	} else if (sk_stream_is_writeable(sk)) {
		if (sk->sk_socket)
			clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		if (llp->qp)
			llp->engine->writable(llp);
	}
	kwarp_llp_put(llp);
}

static const struct kwarp_socket_calls callbacks = {
	.data_ready = mpa_data_ready,
	.state_change = mpa_state_change,
	.write_space = mpa_write_space,
	.error_report = mpa_error_report,
};

/**
 * kwarp_tcp_hook() - install our callbacks on a socket
 * @llp:	initialised, no socket yet
 * @sock:	the socket; not hooked yet
 * @listener:	the listener if @sock is its child, or NULL
 *
 * Context: process, socket lock held: TCP changes the socket's flags, too, and not atomically.
 * Return: as kwarp_socket_hook().
 */
int kwarp_tcp_hook(struct kwarp_llp *llp, struct socket *sock,
		   const struct kwarp_llp *listener)
{
	sock_owned_by_me(sock->sk);
	sock->sk->sk_use_task_frag = false;
	/* MPA has no urgent data: keep such a byte in the stream. */
	sock_set_flag(sock->sk, SOCK_URGINLINE);
	return kwarp_socket_hook(llp, sock, &callbacks, listener);
}

/* Return: a bound socket with our callbacks, or ERR_PTR(). */
static struct socket *tcp_socket_open(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind)
{
	struct socket *sock;
	int ret;

	sock = kwarp_socket_open(bind, IPPROTO_TCP);
	if (IS_ERR(sock))
		return sock;
	tcp_sock_set_nodelay(sock->sk);
	WRITE_ONCE(sock->sk->sk_rcvbuf,
		   max_t(int, READ_ONCE(sock->sk->sk_rcvbuf), KWARP_RCVBUF_MIN));
	ret = kwarp_socket_bind(sock, bind);
	if (!ret) {
		lock_sock(sock->sk);
		ret = kwarp_tcp_hook(llp, sock, NULL);
		release_sock(sock->sk);
	}
	if (!ret)
		return sock;
	sock_release(sock);
	return ERR_PTR(ret);
}

static int mpa_connect(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		       const struct sockaddr_storage *remote)
{
	struct socket *sock;

	might_sleep();
	sock = tcp_socket_open(llp, bind);
	return IS_ERR(sock) ? PTR_ERR(sock) : kwarp_socket_connect(sock, remote);
}

static int mpa_listen(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		      int backlog)
{
	struct socket *sock;

	might_sleep();
	sock = tcp_socket_open(llp, bind);
	return IS_ERR(sock) ? PTR_ERR(sock) : kernel_listen(sock, backlog);
}

static int mpa_relisten(struct kwarp_llp *llp, int backlog)
{
	struct sockaddr_storage none = { .ss_family = AF_UNSPEC };
	int ret;

	/* tcp_disconnect(): children would inherit sk_shutdown. */
	ret = kernel_connect(llp->sock, kwarp_sockaddr(&none), sizeof(none), 0);
	if (!ret)
		ret = kernel_listen(llp->sock, backlog);
	if (ret)
		return ret;
	sock_error(llp->sk);
	llp->sk_err = 0;
	return 0;
}

static bool mpa_has_child(const struct kwarp_llp *listener)
{
	return !reqsk_queue_empty(&inet_csk(listener->sk)->icsk_accept_queue);
}

static int mpa_accept(struct kwarp_llp *listener, struct kwarp_llp *child)
{
	struct socket *sock;
	struct sock *sk;
	int ret;

	might_sleep();
	ret = kernel_accept(listener->sock, &sock, O_NONBLOCK);
	if (ret)
		return ret;
	sk = sock->sk;
	tcp_sock_set_nodelay(sk);
	lock_sock(sk);
	ret = kwarp_socket_hold_net(sk);
	/* Another user of the socket keeps its hooks until the end. */
	if (!ret && kwarp_tcp_hook(child, sock, listener))
		ret = -ECONNABORTED;
	if (ret) {
		release_sock(sk);
		sock_release(sock);
		return ret;
	}
	/* Report events that occurred before our callbacks were installed. */
	if (sk->sk_err || sk->sk_state != TCP_ESTABLISHED)
		startup_changed(child, sk);
	if (tcp_sk(sk)->rcv_nxt != tcp_sk(sk)->copied_seq)
		child->owner->event(child, KWARP_LLP_EV_READABLE);
	release_sock(sk);
	return 0;
}

/*
 * There are no data to read. Return: 0 at the end of the stream, the socket's error, or
 * -EAGAIN. The order of the checks is that of tcp_recvmsg().
 */
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
		/* An skb that contains only a FIN has no bytes. */
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

	/* Do not call sock->ops, which take.c may have replaced. */
	kwarp_llp_lock(llp);
	ret = read_locked(llp->sk, buf, len);
	kwarp_llp_unlock(llp);
	return ret;
}

static int mpa_drain(struct kwarp_llp *llp, size_t len)
{
	int ret;

	kwarp_llp_lock(llp);
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
	kwarp_llp_lock(llp);
	/*
	 * TCP copies the frame to a page fragment of 32 KiB. The task's fragment serves many
	 * sockets. A fragment of the socket would be allocated and cleared for this frame
	 * alone, because all further data are in our own pages.
	 */
	sk->sk_use_task_frag = true;
	ret = tcp_sendmsg_locked(sk, &msg, len);
	sk->sk_use_task_frag = false;
	/* Responses are processed after the unlock, so setting the flag here is early enough. */
	llp->startup_sent |= ret > 0;
	kwarp_llp_unlock(llp);
	return ret;
}

static int mpa_getname(const struct kwarp_llp *llp, struct sockaddr_storage *ss,
		       enum kwarp_llp_side side)
{
	int ret;

	if (side == KWARP_LLP_PEER)
		ret = kernel_getpeername(llp->sock, (struct sockaddr *)ss);
	else
		ret = kernel_getsockname(llp->sock, (struct sockaddr *)ss);
	return ret < 0 ? ret : 0;
}

static void mpa_keepalive(struct kwarp_llp *llp, u32 seconds)
{
	might_sleep();
	tcp_sock_set_keepidle(llp->sk, seconds);
	sock_set_keepalive(llp->sk);
}

/*
 * Send FIN after the remaining data, unless FIN was sent already. In SYN_RECV (TCP Fast Open) TCP
 * sends the FIN when the handshake has ended. Context: socket lock held.
 */
void kwarp_tcp_shutdown(struct sock *sk)
{
	sock_owned_by_me(sk);
	if (sk->sk_shutdown & SEND_SHUTDOWN)
		return;
	if (!((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT | TCPF_SYN_RECV)))
		return;
	/* As inet_shutdown() does. */
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
}

static void mpa_shutdown(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	kwarp_tcp_shutdown(llp->sk);
}

/* As __tcp_cleanup_rbuf(): would an update advertise a window at least twice as large? */
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
 * release_sock() processes the segments that arrived while a process held the lock, and
 * counts all of them against the window until it returns. So each ACK in between advertises
 * a smaller window, the last one almost none, although the engine has read everything.
 * Send a window update here, otherwise the peer would wait for its persist timer.
 */
void kwarp_mpa_unlocked(struct kwarp_llp *llp)
{
	struct sock *sk = llp->sk;

	if (!window_is_low(sk))
		return;
	/* Disable softirqs, so that a peer on this host responds after we release the lock. */
	local_bh_disable();
	bh_lock_sock(sk);
	/* A process that owns the lock calls this function, too, when it releases the lock. */
	if (!sock_owned_by_user(sk) && window_is_low(sk))
		kwarp_tcp_send_ack(sk);
	bh_unlock_sock(sk);
	local_bh_enable();
}

/* Return: false if a process holds the socket lock. Context: the lock's spinlock held. */
static bool wake_locked(struct kwarp_llp *llp)
{
	if (sock_owned_by_user(llp->sk))
		return false;
	if (llp->qp)
		llp->engine->writable(llp);
	return true;
}

static bool mpa_wake_bh(struct kwarp_llp *llp)
{
	bool done;

	bh_lock_sock(llp->sk);
	done = wake_locked(llp);
	bh_unlock_sock(llp->sk);
	return done;
}

static bool mpa_try_wake(struct kwarp_llp *llp)
{
	spinlock_t *lock = &llp->sk->sk_lock.slock;
	bool done;

	if (!spin_trylock_bh(lock))
		return false;
	done = wake_locked(llp);
	spin_unlock_bh(lock);
	return done;
}

/*
 * As tcp_options_fit_accecn(): 3 fields or fewer, of 3 bytes, behind 2 bytes. TCP leaves out one of
 * more than two SACK blocks. @left: bytes that are left for the option. Return: a multiple of 4.
 */
static u32 accecn_len(u32 left, int least_fields, u32 sacks)
{
	if (left >= 12)
		return 12;
	if (left >= 8 && least_fields <= 2)
		return 8;
	/* Two bytes fit into the padding of SACK blocks. */
	if (left >= 4 && (least_fields <= !!sacks || sacks > 2))
		return 4;
	return 0;
}

/*
 * As tcp_established_options(): SACK blocks, then the option of Accurate ECN in the space that is
 * left. Return: bytes of these two, a multiple of 4.
 */
static u32 sack_and_accecn(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 room = MAX_TCP_OPTION_SPACE - (tp->tcp_header_len - sizeof(struct tcphdr));
	u32 sacks = tp->rx_opt.num_sacks + tp->rx_opt.dsack;
	int fields = kwarp_tcp_accecn_fields(sk);
	u32 len = 0;

	if (room < TCPOLEN_SACK_BASE_ALIGNED + TCPOLEN_SACK_PERBLOCK)
		sacks = 0;
	if (sacks) {
		sacks = min_t(u32, sacks,
			      (room - TCPOLEN_SACK_BASE_ALIGNED) / TCPOLEN_SACK_PERBLOCK);
		len = TCPOLEN_SACK_BASE_ALIGNED + sacks * TCPOLEN_SACK_PERBLOCK;
	}
	if (fields >= 0)
		len += accecn_len(room - len, fields, sacks);
	return len;
}

/*
 * The length of an FPDU is a multiple of 4 (RFC 5044 4.2). If TCP's MSS is not, as with IPsec
 * ESP, reduce it by up to 3 bytes. Otherwise TCP would not cut a run of FPDUs at their
 * boundaries, and each FPDU would be a call of tcp_sendmsg_locked() and a packet of its own.
 * TCP computes the MSS again when the path MTU changes, and the next batch reduces it again.
 *
 * Return: EMSS: payload bytes of a segment, less SACK blocks and the option of Accurate ECN, which
 * TCP's MSS does not consider (RFC 5044 4.5); at least 8, since TCP's least MSS is 48 with options.
 */
u32 kwarp_tcp_emss(const struct kwarp_llp *llp)
{
	struct tcp_sock *tp = tcp_sk(llp->sk);
	u32 mss = tp->mss_cache & ~3U;

	kwarp_llp_assert_locked(llp);
	if (unlikely(mss != tp->mss_cache))
		tp->mss_cache = mss;
	if (unlikely(tp->rx_opt.num_sacks || tp->rx_opt.dsack ||
		     kwarp_tcp_accecn_fields(llp->sk) >= 0))
		mss -= sack_and_accecn(llp->sk);
	return mss;
}

int kwarp_tcp_wspace(const struct kwarp_llp *llp)
{
	return sk_stream_wspace(llp->sk);
}

/* Return: segments that TCP collects in a packet, for GSO or TSO; 0 before the first one. */
u32 kwarp_tcp_gso_segs(const struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	return tcp_sk(llp->sk)->gso_segs;
}

/* Return: payload bytes of a segment if the path MTU is the least that TCP accepts; at least 8. */
static u32 least_mss(const struct sock *sk)
{
	u32 header = tcp_sk(sk)->tcp_header_len - sizeof(struct tcphdr);

	return TCP_MIN_SND_MSS - header - sack_and_accecn(sk);
}

/**
 * kwarp_tcp_call_max() - bytes of one call of kwarp_tcp_send_bvec()
 * @llp:	connection
 *
 * Before TCP allocates the 17th packet of a call, it processes the backlog. The engine may run
 * inside tcp_write_xmit(), which uses a packet after the callback sk_write_space: an
 * acknowledgment or a reset in the backlog would free this packet. TCP computes the length of a
 * packet in the call, from the same values. Packets may have half the computed length: an MSS that
 * does not divide it, options that the EMSS does not consider, pages that are half full.
 *
 * Context: socket lock held.
 *
 * Return: bytes, of about six packets
 */
size_t kwarp_tcp_call_max(const struct kwarp_llp *llp)
{
	u32 pages = READ_ONCE(net_hotdata.sysctl_max_skb_frags);
	struct sock *sk = llp->sk;
	const struct dst_entry *dst = __sk_dst_get(sk);
	u32 mss = kwarp_tcp_emss(llp);
	u32 packet;

	/* The path MTU has changed, and the call will compute the MSS again, perhaps the least. */
	if (unlikely(dst && dst_mtu(dst) != inet_csk(sk)->icsk_pmtu_cookie))
		mss = min(mss, least_mss(sk));
	packet = min_t(u32, tcp_bound_to_half_wnd(tcp_sk(sk), sk->sk_gso_max_size),
		       sk->sk_gso_max_segs * mss);
	return 6 * min_t(size_t, max(packet, mss), pages * PAGE_SIZE / 2);
}

static bool mpa_writeable(const struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	return sk_stream_is_writeable(llp->sk);
}

/**
 * kwarp_tcp_send_bvec() - send pages without blocking
 * @llp:	connection
 * @bv:		pages, which must not change until TCP releases its references
 * @nr:		number of elements in @bv
 * @len:	total bytes
 * @flags:	0; MSG_EOR: the data of the next call start a new segment; or MSG_MORE: the next
 *		call follows at once
 *
 * Return: bytes accepted, at most @len; -EAGAIN if there is no send space, which will be
 * reported; or another errno if the connection is unusable.
 */
int kwarp_tcp_send_bvec(struct kwarp_llp *llp, struct bio_vec *bv,
			unsigned int nr, size_t len, int flags)
{
	/*
	 * NO_SHARED_FRAGS: nobody else writes to the pages. Otherwise each packet would be
	 * copied before the computation of its checksum, if the device does not compute it.
	 */
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES |
			     MSG_NO_SHARED_FRAGS | flags,
	};
	struct sock *sk = llp->sk;
	gfp_t gfp = sk->sk_allocation;
	int ret;

	kwarp_llp_assert_locked(llp);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, bv, nr, len);
	/*
	 * With bottom halves disabled, TCP does not wait for memory. Otherwise the doorbell of a
	 * program whose memory cgroup is above memory.high could sleep here for 2 s, and workers,
	 * which serve other programs, too, would wait for the socket lock.
	 */
	local_bh_disable();
	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;
	ret = tcp_sendmsg_locked(sk, &msg, len);
	sk->sk_allocation = gfp;
	local_bh_enable();
	/* On a watched socket SOCK_NOSPACE, which is always set, does not say this. */
	if (ret < (int)len)
		llp->want_wspace = true;
	return ret;
}

static void mpa_want_space(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	llp->want_wspace = true;
	if (llp->sk->sk_socket)
		set_bit(SOCK_NOSPACE, &llp->sk->sk_socket->flags);
}

static bool mpa_in_flight(const struct kwarp_llp *llp)
{
	const struct tcp_sock *tp = tcp_sk(llp->sk);

	kwarp_llp_assert_locked(llp);
	return tp->snd_nxt - tp->snd_una > 2 * tp->mss_cache;
}

static void mpa_watch(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	if (!llp->sk->sk_socket)
		return;
	llp->watched = true;
	set_bit(SOCK_NOSPACE, &llp->sk->sk_socket->flags);
}

const struct kwarp_llp_ops kwarp_mpa_ops = {
	.connect = mpa_connect,
	.listen = mpa_listen,
	.relisten = mpa_relisten,
	.has_child = mpa_has_child,
	.accept = mpa_accept,
	.hello_send = kwarp_mpa_hello_send,
	.hello_recv = kwarp_mpa_hello_recv,
	.hello_more = kwarp_mpa_hello_more,
	.drain = mpa_drain,
	.getname = mpa_getname,
	.keepalive = mpa_keepalive,
	.info = kwarp_mpa_info,
	.unlocked = kwarp_mpa_unlocked,
	.wake_bh = mpa_wake_bh,
	.try_wake = mpa_try_wake,
	.over = kwarp_mpa_over,
	.begin = kwarp_mpa_begin,
	.end = kwarp_mpa_end,
	.pull_begin = kwarp_mpa_pull_begin,
	.pull = kwarp_mpa_pull,
	.pull_end = kwarp_mpa_pull_end,
	.discard = kwarp_mpa_discard,
	.early_begin = kwarp_mpa_early_begin,
	.early_pull = kwarp_mpa_early_pull,
	.early_end = kwarp_mpa_early_end,
	.batch_begin = kwarp_mpa_batch_begin,
	.put = kwarp_mpa_put,
	.batch_end = kwarp_mpa_batch_end,
	.push = kwarp_mpa_push,
	.drop = kwarp_mpa_drop,
	.poll = mpa_poll,
	.writeable = mpa_writeable,
	.want_space = mpa_want_space,
	.in_flight = mpa_in_flight,
	.shutdown = mpa_shutdown,
	.watch = mpa_watch,
	.where = kwarp_mpa_where,
};
