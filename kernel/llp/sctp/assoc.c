// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SCTP associations: one-to-one sockets with one stream in each direction.
 *
 * SCTP reports the end of an association as an event in the receive queue (rx.c), in order
 * with the messages, and success and a listener's children by sk_state_change. We use no symbol of
 * sctp.ko, so that module is not needed before the first socket, which loads it.
 */
#include "llp/sctp/sctp.h"

#include <linux/slab.h>
#include <net/sctp/sctp.h>
#include <net/sctp/structs.h>

static struct workqueue_struct *assoc_wq;

/* Return: the association of a connected socket, or NULL. */
struct sctp_association *kwarp_sctp_assoc(const struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	return list_first_entry_or_null(&sctp_sk(llp->sk)->ep->asocs,
					struct sctp_association, asocs);
}

/*
 * The association is established. Check here that the peer has indicated DDP (RFC 5043
 * 11.1), because the association may have ended when its first message is read.
 */
static void established(struct kwarp_llp *llp)
{
	const struct sctp_association *assoc = kwarp_sctp_assoc(llp);
	struct kwarp_sctp *s = llp->sctp;

	if (assoc && assoc->peer.adaptation_ind == KWARP_SCTP_ADAPTATION)
		set_bit(KWARP_SCTP_ADAPTED, &s->flags);
	kwarp_sctp_update_mulpdu(llp);
	set_bit(KWARP_SCTP_UP, &s->flags);
}

void kwarp_sctp_kick(struct kwarp_sctp *s)
{
	kwarp_llp_get(s->llp);
	if (!queue_work(assoc_wq, &s->send))
		kwarp_llp_put(s->llp);
}

/*
 * @retry is not @send with a delay, because the result of mod_delayed_work() does not tell
 * whether an idle work was queued, with the reference, or a disabled work was refused.
 */
void kwarp_sctp_retry(struct kwarp_sctp *s)
{
	kwarp_llp_get(s->llp);
	if (!queue_delayed_work(assoc_wq, &s->retry,
				msecs_to_jiffies(KWARP_SCTP_RETRY_MS)))
		kwarp_llp_put(s->llp);
}

void kwarp_sctp_queue_consume(struct kwarp_sctp *s)
{
	kwarp_llp_get(s->llp);
	if (!queue_work(assoc_wq, &s->consume))
		kwarp_llp_put(s->llp);
}

/* ---- workers ---------------------------------------------------------------------- */

static void assoc_send(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	if (llp->qp)
		llp->engine->writable(llp);
	kwarp_llp_poll(llp);
	kwarp_sctp_send_terminate(llp);
	/* kwarp_sctp_drain() shuts down when our Session Terminate is sent. */
	if (!llp->qp && test_bit(KWARP_SCTP_TERM_REQUESTED, &llp->sctp->flags))
		llp->owner->event(llp, KWARP_LLP_EV_READABLE);
}

static void send_work(struct work_struct *work)
{
	struct kwarp_llp *llp = container_of(work, struct kwarp_sctp, send)->llp;

	kwarp_llp_lock(llp);
	assoc_send(llp);
	kwarp_llp_unlock(llp);
	kwarp_llp_put(llp);
}

static void retry_work(struct work_struct *work)
{
	struct kwarp_llp *llp = container_of(work, struct kwarp_sctp, retry.work)->llp;

	kwarp_llp_lock(llp);
	/* The owner reads the messages of startup. */
	if (!llp->qp)
		llp->owner->event(llp, KWARP_LLP_EV_READABLE);
	assoc_send(llp);
	kwarp_llp_unlock(llp);
	kwarp_llp_put(llp);
}

static void consume_work(struct work_struct *work)
{
	struct kwarp_sctp *s = container_of(work, struct kwarp_sctp, consume);

	/* The socket exists: assoc_close() disables this work before the release. */
	kwarp_sctp_consume_events(s, s->llp->sk->sk_socket);
	kwarp_llp_put(s->llp);
}

/* SCTP has freed send space. Context: any; lock of the wait queue held. */
static int assoc_woken(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	struct kwarp_sctp *s = container_of(entry, struct kwarp_sctp, wait);

	if (test_bit(KWARP_SCTP_WANT_SPACE, &s->flags) && kwarp_sctp_room(s->llp) &&
	    test_and_clear_bit(KWARP_SCTP_WANT_SPACE, &s->flags))
		kwarp_sctp_kick(s);
	return 0;
}

/* ---- callbacks ---------------------------------------------------------------------- */

/* SCTP has set the state, but its event may be missing, for lack of memory. */
static void look_for_success(struct kwarp_llp *llp)
{
	const struct sctp_association *assoc = kwarp_sctp_assoc(llp);

	if (test_bit(KWARP_SCTP_UP, &llp->sctp->flags) || !assoc ||
	    !sctp_state(assoc, ESTABLISHED))
		return;
	established(llp);
	kwarp_sctp_note_addrs(llp, NULL);
	llp->owner->event(llp, KWARP_LLP_EV_CONNECTED);
}

/* Without a QP, notify the owner, which then reads. */
static void startup_event(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;
	bool arrived;

	look_for_success(llp);
	arrived = kwarp_sctp_read_events(llp);
	if (test_bit(KWARP_SCTP_LOST, &s->flags)) {
		WRITE_ONCE(llp->sk_err, s->err);
		llp->owner->event(llp, KWARP_LLP_EV_RESET);
	} else if (arrived || test_bit(KWARP_SCTP_SHUTDOWN, &s->flags)) {
		llp->owner->event(llp, KWARP_LLP_EV_READABLE);
	}
}

static void assoc_poll(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	if (!llp->qp)
		return;
	/* The engine does not read any more, so look for the event of a loss here. */
	if (llp->eof)
		kwarp_sctp_read_events(llp);
	kwarp_socket_poll(llp);
	/* While the engine sent, the QP may have been detached. */
	if (llp->qp && llp->ledger && kwarp_sctp_early_begin(llp))
		llp->engine->early(llp);
}

/*
 * An event or a message has arrived; a listener has a child; or the state has changed, perhaps
 * without an event, for lack of memory. If the association ends in startup, wait for the event,
 * which tells the reason, or a timeout.
 */
static void assoc_callback(struct sock *sk)
{
	struct kwarp_llp *llp = kwarp_socket_llp(sk);

	if (!llp)
		return;
	/* Save sk_err, because a send may clear it before the event of the loss is read. */
	if (sk->sk_err)
		llp->sctp->err = sk->sk_err;
	if (inet_sk_state_load(sk) == TCP_LISTEN) {
		llp->owner->event(llp, KWARP_LLP_EV_READABLE);
	} else {
		set_bit(KWARP_SCTP_CALLBACK, &llp->sctp->flags);
		if (llp->qp)
			assoc_poll(llp);
		else
			startup_event(llp);
		clear_bit(KWARP_SCTP_CALLBACK, &llp->sctp->flags);
	}
	kwarp_llp_put(llp);
}

static void ignore_callback(struct sock *sk)
{
}

static const struct kwarp_socket_calls callbacks = {
	.data_ready = assoc_callback,
	.state_change = assoc_callback,
	/* SCTP wakes the socket's wait queue instead: assoc_woken(). */
	.write_space = ignore_callback,
	/* The other callbacks read sk_err. */
	.error_report = ignore_callback,
};

/* A softirq cannot send, so a worker runs the send engine. */
static bool wake_bh(struct kwarp_llp *llp)
{
	kwarp_sctp_kick(llp->sctp);
	return true;
}

/* ---- creation --------------------------------------------------------------------- */

/* Set an option of level SOL_SCTP. Context: process. Return: 0 or errno. */
int kwarp_sctp_set_option(struct socket *sock, int name, void *value, int len)
{
	return READ_ONCE(sock->ops)->setsockopt(sock, SOL_SCTP, name,
						KERNEL_SOCKPTR(value), len);
}

static int want_events(struct socket *sock)
{
	static const u16 types[] = {
		SCTP_ASSOC_CHANGE, SCTP_SHUTDOWN_EVENT, SCTP_PEER_ADDR_CHANGE,
	};
	int i, ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(types); i++) {
		struct sctp_event event = {
			.se_assoc_id = SCTP_FUTURE_ASSOC,
			.se_type = types[i],
			.se_on = 1,
		};

		ret = kwarp_sctp_set_option(sock, SCTP_EVENT, &event, sizeof(event));
	}
	return ret;
}

/*
 * RFC 5043: adaptation indication (5.1), equal numbers of streams (8), unordered (10).
 * Partial reliability and stream resets would leave gaps in the DDP-SSNs.
 */
static int set_options(struct socket *sock)
{
	struct sctp_initmsg streams = {
		.sinit_num_ostreams = 1, .sinit_max_instreams = 1,
	};
	struct sctp_setadaptation adaptation = { KWARP_SCTP_ADAPTATION };
	struct sctp_sndinfo info = {
		.snd_flags = SCTP_UNORDERED,
		.snd_ppid = (__force u32)htonl(KWARP_SCTP_SEGMENT),
	};
	/*
	 * With SCTP's initial RTO, 3 s, two losses would use up the 10 s of startup. Our minimum
	 * is above the usual SACK delay, 0.2 s. The maximum limits the time until we notice that
	 * a path works again; as SCTP's is 60 s, we allow more retransmissions, so that an
	 * association with a silent peer still lasts for over four minutes.
	 */
	struct sctp_rtoinfo rto = {
		.srto_assoc_id = SCTP_FUTURE_ASSOC,
		.srto_initial = 1000,
		.srto_min = 500,
		.srto_max = 10000,
	};
	struct sctp_assocparams patience = {
		.sasoc_assoc_id = SCTP_FUTURE_ASSOC,
		.sasoc_asocmaxrxt = 30,
	};
	/*
	 * RFC 7829: switch to another path after the first timeout instead of the sixth
	 * (spt_pathpfthld 0). Path.Max.Retrans keeps its default (spt_pathmaxrxt 0).
	 */
	struct sctp_paddrthlds failover = { .spt_assoc_id = SCTP_FUTURE_ASSOC };
	struct sctp_assoc_value expose = {
		.assoc_id = SCTP_FUTURE_ASSOC,
		.assoc_value = SCTP_PF_EXPOSE_ENABLE,
	};
	struct sctp_assoc_value off = { .assoc_id = SCTP_FUTURE_ASSOC };
	int on = 1, ret;

	ret = kwarp_sctp_set_option(sock, SCTP_NODELAY, &on, sizeof(on)) ? :
	      kwarp_sctp_set_option(sock, SCTP_INITMSG, &streams, sizeof(streams)) ? :
	      kwarp_sctp_set_option(sock, SCTP_ADAPTATION_LAYER, &adaptation,
				    sizeof(adaptation)) ? :
	      kwarp_sctp_set_option(sock, SCTP_DEFAULT_SNDINFO, &info, sizeof(info)) ? :
	      kwarp_sctp_set_option(sock, SCTP_RTOINFO, &rto, sizeof(rto)) ? :
	      kwarp_sctp_set_option(sock, SCTP_ASSOCINFO, &patience, sizeof(patience)) ? :
	      kwarp_sctp_set_option(sock, SCTP_PEER_ADDR_THLDS, &failover, sizeof(failover)) ? :
	      kwarp_sctp_set_option(sock, SCTP_EXPOSE_POTENTIALLY_FAILED_STATE, &expose,
				    sizeof(expose)) ? :
	      kwarp_sctp_set_option(sock, SCTP_MAX_BURST, &off, sizeof(off)) ? :
	      kwarp_sctp_set_option(sock, SCTP_PR_SUPPORTED, &off, sizeof(off)) ? :
	      kwarp_sctp_set_option(sock, SCTP_RECONFIG_SUPPORTED, &off, sizeof(off));
	return ret ? : want_events(sock);
}

/* Lock the sizes: memory pressure would shrink an unlocked send buffer, for ever. */
static void set_buffers(struct sock *sk)
{
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, KWARP_SCTP_RCVBUF_NEW);
	WRITE_ONCE(sk->sk_sndbuf, KWARP_SCTP_SNDBUF);
}

static struct socket *open_socket(const struct kwarp_llp_bind *bind)
{
	struct socket *sock;
	int ret;

	sock = kwarp_socket_open(bind, IPPROTO_SCTP);
	if (IS_ERR(sock))
		return sock;
	ret = set_options(sock);
	if (ret) {
		sock_release(sock);
		return ERR_PTR(ret);
	}
	set_buffers(sock->sk);
	return sock;
}

/* Check that SCTP can be used; may load its module. Return: 0 or -errno. Context: process. */
int kwarp_sctp_probe(struct net *net)
{
	struct socket *sock;
	int ret;

	ret = sock_create_kern(net, AF_INET, SOCK_STREAM, IPPROTO_SCTP, &sock);
	if (!ret)
		sock_release(sock);
	return ret;
}

static int assoc_init(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s;

	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return -ENOMEM;
	s->llp = llp;
	xa_init_flags(&s->rx.held, XA_FLAGS_LOCK_BH);
	init_waitqueue_head(&s->idle);
	init_waitqueue_func_entry(&s->wait, assoc_woken);
	INIT_WORK(&s->send, send_work);
	INIT_DELAYED_WORK(&s->retry, retry_work);
	INIT_WORK(&s->consume, consume_work);
	s->tx.mulpdu = KWARP_SCTP_MULPDU_MIN;
	llp->sctp = s;
	return 0;
}

static void assoc_free(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;

	if (!s)
		return;
	xa_destroy(&s->rx.held);
	kfree(s);
}

static void assoc_hook(struct kwarp_llp *llp, struct socket *sock,
		       const struct kwarp_llp *listener)
{
	/* SCTP has neither sockmaps nor upper layer protocols. */
	WARN_ON_ONCE(kwarp_socket_hook(llp, sock, &callbacks, listener));
	add_wait_queue(sk_sleep(sock->sk), &llp->sctp->wait);
}

/* ---- connections -------------------------------------------------------------------- */

/* Return: a socket bound to the addresses of @bind, with our callbacks; or ERR_PTR(). */
static struct socket *open_bound(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind)
{
	struct socket *sock = open_socket(bind);
	int ret;

	if (IS_ERR(sock))
		return sock;
	ret = assoc_init(llp) ? : kwarp_sctp_bind(llp, sock, bind);
	if (ret) {
		sock_release(sock);
		return ERR_PTR(ret);
	}
	assoc_hook(llp, sock, NULL);
	return sock;
}

static int assoc_connect(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
			 const struct sockaddr_storage *remote)
{
	struct socket *sock;

	might_sleep();
	sock = open_bound(llp, bind);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	/* For observers, until the primary path is known: kwarp_sctp_note_addrs(). */
	llp->sctp->remote = *remote;
	return kwarp_socket_connect(sock, remote);
}

static int assoc_listen(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
			int backlog)
{
	struct socket *sock;

	might_sleep();
	sock = open_bound(llp, bind);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	return kernel_listen(sock, backlog);
}

/*
 * Give @child the key with which its listener has signed cookies; accept() has created
 * another key. If our COOKIE ACK was lost, the peer repeats its COOKIE ECHO, and SCTP would
 * drop that each time for its signature, so the peer's end would never be established.
 */
static void inherit_cookie_key(struct sock *child, const struct sock *listener)
{
	struct sctp_endpoint *to = sctp_sk(child)->ep;
	const struct sctp_endpoint *from = sctp_sk(listener)->ep;

	sock_owned_by_me(child);
	memcpy(&to->KWARP_SCTP_COOKIE_KEY, &from->KWARP_SCTP_COOKIE_KEY,
	       sizeof(to->KWARP_SCTP_COOKIE_KEY));
}

static bool assoc_has_child(const struct kwarp_llp *listener)
{
	bool has;

	might_sleep();
	lock_sock(listener->sk);
	has = !list_empty(&sctp_sk(listener->sk)->ep->asocs);
	release_sock(listener->sk);
	return has;
}

static int assoc_accept(struct kwarp_llp *listener, struct kwarp_llp *child)
{
	struct socket *sock;
	int ret;

	might_sleep();
	ret = assoc_init(child) ? : kernel_accept(listener->sock, &sock, O_NONBLOCK);
	if (ret)
		return ret;
	/* Before kwarp_sctp_note_addrs(), callbacks would treat @child as the connecting end. */
	lock_sock(sock->sk);
	inherit_cookie_key(sock->sk, listener->sk);
	/* From here on the caller closes the socket after an error: kwarp_llp_close(). */
	assoc_hook(child, sock, listener);
	ret = kwarp_socket_hold_net(sock->sk);
	if (!ret) {
		set_buffers(sock->sk);
		established(child);
		kwarp_sctp_note_addrs(child, listener);
		/* Report events that occurred before our callbacks were installed. */
		startup_event(child);
	}
	release_sock(sock->sk);
	return ret;
}

/* The callbacks are restored already, so only the works queue each other. */
static void assoc_close(struct kwarp_llp *llp, struct socket *sock,
			enum kwarp_ending ending)
{
	struct kwarp_sctp *s = llp->sctp;

	might_sleep();
	remove_wait_queue(sk_sleep(sock->sk), &s->wait);
	/* Disable, not only cancel: a work could queue one that was cancelled already. */
	if (disable_delayed_work_sync(&s->retry))
		kwarp_llp_put(llp);
	if (disable_work_sync(&s->send))
		kwarp_llp_put(llp);
	if (disable_work_sync(&s->consume))
		kwarp_llp_put(llp);
	lock_sock(sock->sk);
	kwarp_sctp_drop_held(llp);
	release_sock(sock->sk);
	/* If messages are left, SCTP aborts the association instead of shutting it down. */
	if (ending == KWARP_CLOSE)
		kwarp_sctp_consume_events(s, sock);
	lock_sock(sock->sk);
	kfree_skb(s->rx.last);
	s->rx.last = NULL;
	release_sock(sock->sk);
}

/* ---- observers ------------------------------------------------------------------------ */

static int assoc_getname(const struct kwarp_llp *llp, struct sockaddr_storage *ss,
			 enum kwarp_llp_side side)
{
	*ss = side == KWARP_LLP_PEER ? llp->sctp->remote : llp->sctp->local;
	return ss->ss_family ? 0 : -ENOTCONN;
}

static void assoc_info(const struct kwarp_llp *llp, struct kwarp_llp_info *info)
{
	const struct kwarp_sctp *s = llp->sctp;

	memset(info, 0, sizeof(*info));
	info->name = "sctp";
	info->local = s->local;
	info->remote = s->remote;
	info->mulpdu = READ_ONCE(s->tx.mulpdu);
	info->emss = info->mulpdu + KWARP_SCTP_SSN_LEN;
	info->retransmits = READ_ONCE(s->rtx);
}

static void assoc_where(const struct kwarp_llp *llp, u32 *tx_pos, u32 *rx_pos)
{
	*tx_pos = llp->sctp->tx.pos;
	*rx_pos = llp->sctp->rx.pos;
}

const struct kwarp_llp_ops kwarp_sctp_ops = {
	.connect = assoc_connect,
	.listen = assoc_listen,
	.has_child = assoc_has_child,
	.accept = assoc_accept,
	.readdress = kwarp_sctp_readdress,
	.hello_send = kwarp_sctp_hello_send,
	.hello_recv = kwarp_sctp_hello_recv,
	.hello_more = kwarp_sctp_hello_more,
	.drain = kwarp_sctp_drain,
	.getname = assoc_getname,
	.info = assoc_info,
	.wake_bh = wake_bh,
	.close = assoc_close,
	.free = assoc_free,
	.over = kwarp_sctp_over,
	.begin = kwarp_sctp_begin,
	.end = kwarp_sctp_end,
	.halt = kwarp_sctp_halt,
	.pull_begin = kwarp_sctp_pull_begin,
	.pull = kwarp_sctp_pull,
	.pull_end = kwarp_sctp_pull_end,
	.discard = kwarp_sctp_discard,
	.early_begin = kwarp_sctp_early_begin,
	.early_pull = kwarp_sctp_early_pull,
	.batch_begin = kwarp_sctp_batch_begin,
	.put = kwarp_sctp_put,
	.batch_end = kwarp_sctp_batch_end,
	.push = kwarp_sctp_push,
	.drop = kwarp_sctp_drop,
	.poll = assoc_poll,
	.writeable = kwarp_sctp_writeable,
	.want_space = kwarp_sctp_want_space,
	.in_flight = kwarp_sctp_in_flight,
	.shutdown = kwarp_sctp_shutdown,
	.where = assoc_where,
};

int kwarp_sctp_init(void)
{
	assoc_wq = alloc_workqueue("kwarp_sctp",
				   WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	return assoc_wq ? 0 : -ENOMEM;
}

void kwarp_sctp_exit(void)
{
	destroy_workqueue(assoc_wq);
}
