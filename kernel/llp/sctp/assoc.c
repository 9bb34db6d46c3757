// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * SCTP associations: one-to-one sockets with one stream in each direction.
 *
 * Changes of an association are reported as events in the receive queue (rx.c), in order
 * with the messages; a listener reports children by sk_state_change. The socket option
 * calls need sctp.ko, which creating the socket loads; no symbol of it is used.
 */
#include "llp/sctp/sctp.h"

#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/sctp/sctp.h>
#include <net/sctp/structs.h>

static struct workqueue_struct *assoc_wq;

/* The association of a connected socket, or NULL. */
struct sctp_association *kwarp_sctp_assoc(const struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	return list_first_entry_or_null(&sctp_sk(llp->sk)->ep->asocs,
					struct sctp_association, asocs);
}

/*
 * RFC 5043 11.1: no DDP without the peer's indication. It is looked at once: the
 * association may have ended when its first messages are read.
 */
void kwarp_sctp_up(struct kwarp_llp *llp)
{
	const struct sctp_association *assoc = kwarp_sctp_assoc(llp);
	struct kwarp_sctp *s = llp->sctp;

	if (assoc && assoc->peer.adaptation_ind == KWARP_SCTP_ADAPTATION)
		set_bit(KWARP_SCTP_ADAPTED, &s->flags);
	kwarp_sctp_path(llp);
	set_bit(KWARP_SCTP_UP, &s->flags);
}

void kwarp_sctp_kick(struct kwarp_sctp *s)
{
	kwarp_llp_get(s->llp);
	if (!queue_work(assoc_wq, &s->send))
		kwarp_llp_put(s->llp);
}

/*
 * A work of its own, not @send with a delay: mod_delayed_work() does not tell whether it has
 * queued a work or found it being cancelled, so whose the reference is.
 */
void kwarp_sctp_retry(struct kwarp_sctp *s)
{
	kwarp_llp_get(s->llp);
	if (!queue_delayed_work(assoc_wq, &s->retry,
				msecs_to_jiffies(KWARP_SCTP_RETRY_MS)))
		kwarp_llp_put(s->llp);
}

void kwarp_sctp_give_back(struct kwarp_sctp *s)
{
	kwarp_llp_get(s->llp);
	if (!queue_work(assoc_wq, &s->consume))
		kwarp_llp_put(s->llp);
}

/* ---- workers ---------------------------------------------------------------------- */

static void assoc_send(struct kwarp_sctp *s)
{
	struct kwarp_llp *llp = s->llp;

	kwarp_llp_lock(llp);
	if (llp->qp)
		llp->engine->writable(llp);
	kwarp_llp_poll(llp);
	kwarp_sctp_flush(llp);
	kwarp_llp_unlock(llp);
	kwarp_llp_put(llp);
}

static void send_work(struct work_struct *work)
{
	assoc_send(container_of(work, struct kwarp_sctp, send));
}

static void retry_work(struct work_struct *work)
{
	assoc_send(container_of(work, struct kwarp_sctp, retry.work));
}

static void consume_work(struct work_struct *work)
{
	struct kwarp_sctp *s = container_of(work, struct kwarp_sctp, consume);

	/* close() cancels this work before it releases the socket. */
	kwarp_sctp_consume(s, s->llp->sk->sk_socket);
	kwarp_llp_put(s->llp);
}

/* SCTP has made room. Context: any; sk_sleep()'s lock held. */
static int assoc_woken(wait_queue_entry_t *entry, unsigned int mode, int flags, void *key)
{
	struct kwarp_sctp *s = container_of(entry, struct kwarp_sctp, wait);

	if (test_bit(KWARP_SCTP_WANT, &s->flags) && kwarp_sctp_room(s->llp) &&
	    test_and_clear_bit(KWARP_SCTP_WANT, &s->flags))
		kwarp_sctp_kick(s);
	return 0;
}

/* ---- callbacks ---------------------------------------------------------------------- */

static void set_addr(struct sockaddr_storage *ss, const union sctp_addr *addr,
		     u16 port)
{
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, addr, sizeof(*addr));
	/* The same place in both families. */
	((struct sockaddr_in *)ss)->sin_port = htons(port);
}

static bool is_any(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in6 *sin6 = (const void *)ss;
	const struct sockaddr_in *sin = (const void *)ss;

	return ss->ss_family == AF_INET6 ? ipv6_addr_any(&sin6->sin6_addr) :
					   sin->sin_addr.s_addr == 0;
}

static bool is_of(const union sctp_addr *addr, struct net_device *netdev)
{
	struct net *net = dev_net(netdev);
	bool found;

#if IS_ENABLED(CONFIG_IPV6)
	if (addr->sa.sa_family == AF_INET6)
		return ipv6_chk_addr(net, &addr->v6.sin6_addr, netdev, 1);
#endif
	rcu_read_lock();
	found = __ip_dev_find(net, addr->v4.sin_addr.s_addr, false) == netdev;
	rcu_read_unlock();
	return found;
}

/* An address of the device's netdev: that of the path, or else the first of the family. */
static const union sctp_addr *own_addr(struct kwarp_llp *llp,
				       const struct sctp_association *assoc,
				       const struct sctp_transport *path)
{
	struct net_device *netdev = ib_device_get_netdev(&llp->dev->ibdev, KWARP_PORT);
	const union sctp_addr *own = &path->saddr;
	const struct sctp_sockaddr_entry *entry;

	if (!netdev)
		return own;
	if (!is_of(own, netdev)) {
		list_for_each_entry(entry, &assoc->base.bind_addr.address_list, list) {
			if (entry->a.sa.sa_family != own->sa.sa_family ||
			    !is_of(&entry->a, netdev))
				continue;
			own = &entry->a;
			break;
		}
	}
	dev_put(netdev);
	return own;
}

/*
 * The addresses of the association, for rdma_cm, which finds the device by the local one:
 * where there are several paths, the route may have chosen another netdev's. @listener is
 * that of a child, or NULL.
 */
static void note_addrs(struct kwarp_llp *llp, const struct kwarp_llp *listener)
{
	const struct sctp_association *assoc = kwarp_sctp_assoc(llp);
	const struct sctp_transport *path = assoc ? assoc->peer.primary_path : NULL;
	struct kwarp_sctp *s = llp->sctp;
	u16 port;

	if (!path)
		return;
	port = assoc->base.bind_addr.port;
	set_addr(&s->remote, &path->ipaddr, assoc->peer.port);
	if (listener)
		s->local = listener->sctp->local;
	/* Only a child's is the wildcard, and it is noted in process context. */
	if (is_any(&s->local))
		set_addr(&s->local, listener ? own_addr(llp, assoc, path) : &path->saddr,
			 port);
	else
		((struct sockaddr_in *)&s->local)->sin_port = htons(port);
}

/* Without a queue pair: the owner reads. */
static void startup_event(struct kwarp_llp *llp)
{
	struct kwarp_sctp *s = llp->sctp;
	bool was_up = test_bit(KWARP_SCTP_UP, &s->flags);
	bool arrived = kwarp_sctp_look(llp);

	if (!was_up && test_bit(KWARP_SCTP_UP, &s->flags)) {
		note_addrs(llp, NULL);
		llp->owner->event(llp, KWARP_LLP_EV_CONNECTED);
	}
	if (test_bit(KWARP_SCTP_LOST, &s->flags)) {
		WRITE_ONCE(llp->sk_err, s->err);
		llp->owner->event(llp, KWARP_LLP_EV_RESET);
	} else if (arrived || test_bit(KWARP_SCTP_SHUT, &s->flags)) {
		llp->owner->event(llp, KWARP_LLP_EV_READABLE);
	}
}

static void assoc_poll(struct kwarp_llp *llp)
{
	kwarp_llp_assert_locked(llp);
	if (!llp->qp)
		return;
	/* The engine reads no more, but the association may be lost now. */
	if (llp->eof)
		kwarp_sctp_look(llp);
	kwarp_socket_poll(llp);
	/* While the engine sent, the queue pair may have been detached. */
	if (llp->qp && llp->ledger && kwarp_sctp_early_begin(llp))
		llp->engine->early(llp);
}

static void assoc_callback(struct sock *sk, bool arrived)
{
	struct kwarp_llp *llp = kwarp_socket_llp(sk);

	if (!llp)
		return;
	/* Sending clears it, perhaps before the event about the loss is read. */
	if (sk->sk_err)
		llp->sctp->err = sk->sk_err;
	if (inet_sk_state_load(sk) == TCP_LISTEN) {
		llp->owner->event(llp, KWARP_LLP_EV_READABLE);
	} else {
		set_bit(KWARP_SCTP_CALLBACK, &llp->sctp->flags);
		if (llp->qp)
			assoc_poll(llp);
		else if (arrived)
			startup_event(llp);
		clear_bit(KWARP_SCTP_CALLBACK, &llp->sctp->flags);
	}
	kwarp_llp_put(llp);
}

static void data_ready(struct sock *sk)
{
	assoc_callback(sk, true);
}

/*
 * A listener has a child; or an attached queue pair learns of an end whose event could not
 * be allocated. In startup the event that says why follows; a timer is running.
 */
static void state_change(struct sock *sk)
{
	assoc_callback(sk, false);
}

static void ignore_write_space(struct sock *sk)
{
}

static const struct kwarp_socket_calls callbacks = {
	.data_ready = data_ready,
	.state_change = state_change,
	/* SCTP wakes sk_sleep() instead. */
	.write_space = ignore_write_space,
	/* sk_err is read when the association is lost. */
	.error_report = ignore_write_space,
};

/* The send engine runs in a worker: it cannot send from here. */
static bool wake_bh(struct kwarp_llp *llp)
{
	kwarp_sctp_kick(llp->sctp);
	return true;
}

/* ---- creation --------------------------------------------------------------------- */

static int set_option(struct socket *sock, int name, void *value, int len)
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

		ret = set_option(sock, SCTP_EVENT, &event, sizeof(event));
	}
	return ret;
}

/*
 * RFC 5043 5.1, 8, 10: the indication, as many streams in as out, everything unordered.
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
	 * SCTP's three seconds and one would use up the limit of startup after two losses.
	 * The least is above the peer's delay of acknowledgments. The most bounds the time
	 * to notice that a path works again; with 30 of these a silent peer has the four
	 * minutes that it has by SCTP's defaults.
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
	 * RFC 7829: after the first timeout another path is used, if there is one, not after
	 * the sixth. Their maximum stays.
	 */
	struct sctp_paddrthlds failover = { .spt_assoc_id = SCTP_FUTURE_ASSOC };
	struct sctp_assoc_value expose = {
		.assoc_id = SCTP_FUTURE_ASSOC,
		.assoc_value = SCTP_PF_EXPOSE_ENABLE,
	};
	struct sctp_assoc_value off = { .assoc_id = SCTP_FUTURE_ASSOC };
	int on = 1, ret;

	ret = set_option(sock, SCTP_NODELAY, &on, sizeof(on)) ? :
	      set_option(sock, SCTP_INITMSG, &streams, sizeof(streams)) ? :
	      set_option(sock, SCTP_ADAPTATION_LAYER, &adaptation,
			 sizeof(adaptation)) ? :
	      set_option(sock, SCTP_DEFAULT_SNDINFO, &info, sizeof(info)) ? :
	      set_option(sock, SCTP_RTOINFO, &rto, sizeof(rto)) ? :
	      set_option(sock, SCTP_ASSOCINFO, &patience, sizeof(patience)) ? :
	      set_option(sock, SCTP_PEER_ADDR_THLDS, &failover, sizeof(failover)) ? :
	      set_option(sock, SCTP_EXPOSE_POTENTIALLY_FAILED_STATE, &expose,
			 sizeof(expose)) ? :
	      set_option(sock, SCTP_MAX_BURST, &off, sizeof(off)) ? :
	      set_option(sock, SCTP_PR_SUPPORTED, &off, sizeof(off)) ? :
	      set_option(sock, SCTP_RECONFIG_SUPPORTED, &off, sizeof(off));
	return ret ? : want_events(sock);
}

/* With the locks, as SO_SNDBUF sets them: SCTP never grows what it has shrunk. */
static void set_buffers(struct sock *sk)
{
	sk->sk_userlocks |= SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, KWARP_SCTP_RCVBUF_NEW);
	WRITE_ONCE(sk->sk_sndbuf, KWARP_SCTP_SNDBUF);
}

static struct socket *open_socket(const struct kwarp_llp_bind *bind, bool hold_net)
{
	struct socket *sock;
	int ret;

	sock = kwarp_socket_open(bind, IPPROTO_SCTP, hold_net);
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

/* Can SCTP be used? May load it. Return: 0 or -EPROTONOSUPPORT. Context: process. */
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
	kwarp_socket_hook(llp, sock, &callbacks, listener);
	add_wait_queue(sk_sleep(sock->sk), &llp->sctp->wait);
}

/* ---- addresses of an end ------------------------------------------------------------- */

/**
 * struct addrs - addresses, with a port
 * @nr:		number of addresses in @a
 * @own:	the first so many are the device's, the others those of further paths
 * @tentative:	there are more: duplicate address detection has not ended
 * @a:		the addresses
 */
struct addrs {
	int nr;
	int own;
	bool tentative;
	struct sockaddr_storage a[16];
};

/* Return: the next address, zeroed, of the family and port given; or NULL. */
static void *next_addr(struct addrs *l, int family, __be16 port)
{
	struct sockaddr_in *sin = (void *)&l->a[l->nr];

	if (l->nr == ARRAY_SIZE(l->a))
		return NULL;
	memset(&l->a[l->nr++], 0, sizeof(l->a[0]));
	sin->sin_family = family;
	/* The same place in both families. */
	sin->sin_port = port;
	return sin;
}

static void list_addrs4(struct addrs *l, const struct net_device *netdev, __be16 port)
{
	const struct in_device *in_dev = __in_dev_get_rcu(netdev);
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		struct sockaddr_in *sin = next_addr(l, AF_INET, port);

		if (!sin)
			return;
		sin->sin_addr.s_addr = ifa->ifa_local;
	}
}

static void list_addrs6(struct addrs *l, const struct net_device *netdev, __be16 port,
			bool link_local)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *in6_dev = __in6_dev_get(netdev);
	struct inet6_ifaddr *ifa;

	if (!in6_dev)
		return;
	read_lock_bh(&in6_dev->lock);
	list_for_each_entry(ifa, &in6_dev->addr_list, if_list) {
		bool local = ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL;
		struct sockaddr_in6 *sin6;

		if (local && !link_local)
			continue;
		if (ifa->flags & IFA_F_TENTATIVE) {
			if (!(ifa->flags & IFA_F_DADFAILED))
				l->tentative = true;
			continue;
		}
		sin6 = next_addr(l, AF_INET6, port);
		if (!sin6)
			break;
		sin6->sin6_addr = ifa->addr;
		if (local)
			sin6->sin6_scope_id = netdev->ifindex;
	}
	read_unlock_bh(&in6_dev->lock);
#endif
}

/* Add a netdev's addresses of the families that @llp serves. Context: RCU. */
static void list_netdev(const struct kwarp_llp *llp, struct addrs *l,
			const struct net_device *netdev, bool link_local)
{
	const struct sockaddr_storage *local = &llp->sctp->local;
	__be16 port = ((const struct sockaddr_in *)local)->sin_port;
	bool v6 = local->ss_family == AF_INET6;

	if (v6)
		list_addrs6(l, netdev, port, link_local);
	if (!v6 || (is_any(local) && !llp->sctp->afonly))
		list_addrs4(l, netdev, port);
}

/*
 * The addresses that @llp is to have: its local one, or all of its netdev; and those of the
 * netdevs of policy paths, but no link-local ones, which are of one link. Since a socket
 * must have one, a wildcard listener without any has a loopback address that is the
 * netdev's own, lest two listeners collide.
 */
static void list_addrs(const struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
		       struct addrs *l)
{
	const struct sockaddr_storage *local = &llp->sctp->local;
	__be16 port = ((const struct sockaddr_in *)local)->sin_port;
	const struct net_device *netdev;
	void *loopback;
	int i;

	l->nr = 0;
	l->tentative = false;
	rcu_read_lock();
	if (!is_any(local)) {
		l->a[l->nr++] = *local;
	} else {
		netdev = dev_get_by_index_rcu(bind->net, bind->ifindex);
		if (netdev)
			list_netdev(llp, l, netdev, true);
	}
	l->own = l->nr;
	for (i = 0; i < KWARP_PATHS_MAX && bind->paths[i]; i++) {
		netdev = dev_get_by_index_rcu(bind->net, bind->paths[i]);
		if (netdev)
			list_netdev(llp, l, netdev, false);
	}
	rcu_read_unlock();
	if (l->nr)
		return;
	loopback = next_addr(l, llp->sctp->afonly ? AF_INET6 : AF_INET, port);
	if (llp->sctp->afonly)
		((struct sockaddr_in6 *)loopback)->sin6_addr = in6addr_loopback;
	else
		((struct sockaddr_in *)loopback)->sin_addr.s_addr =
			htonl(IN_LOOPBACKNET << 24 | 1 << 23 | (bind->ifindex & 0x7fffff));
}

/* The addresses that @llp, a listener, has. */
static void list_bound(const struct kwarp_llp *llp, struct addrs *l)
{
	const struct sctp_sockaddr_entry *entry;
	const struct sctp_bind_addr *bound;

	l->nr = 0;
	lock_sock(llp->sk);
	bound = &sctp_sk(llp->sk)->ep->base.bind_addr;
	list_for_each_entry(entry, &bound->address_list, list) {
		void *to = next_addr(l, entry->a.sa.sa_family, htons(bound->port));

		if (!to)
			break;
		if (entry->a.sa.sa_family == AF_INET6)
			((struct sockaddr_in6 *)to)->sin6_addr = entry->a.v6.sin6_addr;
		else
			((struct sockaddr_in *)to)->sin_addr = entry->a.v4.sin_addr;
	}
	release_sock(llp->sk);
}

static bool same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return ipv6_addr_equal(&a6->sin6_addr, &b6->sin6_addr);
	return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

/*
 * Apply @option to each address of @l that @other does not have. Return: 0, or an error with
 * an own address: one of a path may be another listener's for good.
 */
static int apply_addresses(struct kwarp_llp *llp, int option, struct addrs *l,
			   const struct addrs *other)
{
	int i, k, ret = 0;

	for (i = 0; i < l->nr; i++) {
		for (k = 0; k < other->nr && !same_addr(&l->a[i], &other->a[k]);)
			k++;
		if (k < other->nr)
			continue;
		k = set_option(llp->sock, option, &l->a[i],
			       kwarp_socket_addr_len(&l->a[i]));
		if (i < l->own)
			ret = k ? : ret;
	}
	return ret;
}

static int assoc_readdress(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind)
{
	struct addrs *want, *have;
	int ret = -EAGAIN;

	might_sleep();
	/* The netdev is moving to another namespace, and the device goes. */
	if (!net_eq(bind->net, sock_net(llp->sk)))
		return 0;
	want = kcalloc(2, sizeof(*want), GFP_KERNEL);
	if (!want)
		return ret;
	have = want + 1;
	list_addrs(llp, bind, want);
	list_bound(llp, have);
	/* The last address cannot be removed, so add first. */
	ret = apply_addresses(llp, SCTP_SOCKOPT_BINDX_ADD, want, have);
	apply_addresses(llp, SCTP_SOCKOPT_BINDX_REM, have, want);
	/* An address may still belong to another netdev's listener. */
	if (ret || want->tentative)
		ret = -EAGAIN;
	kfree(want);
	return ret;
}

/*
 * Bind to @bind->local and the addresses of further paths. A wildcard listener of a netdev
 * would tell its peers the addresses of all netdevs (RFC 5043 7.2), so it has those of the
 * netdev. Nothing is bound to the netdev itself: local connections go through lo.
 */
static int bind_own(struct kwarp_llp *llp, struct socket *sock,
		    const struct kwarp_llp_bind *bind)
{
	struct addrs *l;
	int i, ret;

	llp->sctp->local = *bind->local;
	llp->sctp->afonly = bind->afonly && bind->local->ss_family == AF_INET6;
	if (is_any(bind->local) && !bind->ifindex)
		return kwarp_socket_bind(sock, bind);
	l = kmalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return -ENOMEM;
	list_addrs(llp, bind, l);
	/* The loopback address may not be there. */
	if (is_any(bind->local))
		ip_sock_set_freebind(sock->sk);
	ret = kernel_bind(sock, kwarp_sockaddr(&l->a[0]),
			  kwarp_socket_addr_len(&l->a[0]));
	/* One that has just gone, or is another listener's until its own event, is left out. */
	for (i = 1; !ret && i < l->nr; i++)
		set_option(sock, SCTP_SOCKOPT_BINDX_ADD, &l->a[i],
			   kwarp_socket_addr_len(&l->a[i]));
	kfree(l);
	return ret;
}

/* ---- connections -------------------------------------------------------------------- */

/* A socket of @bind's addresses, with our callbacks; or ERR_PTR(). */
static struct socket *open_bound(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
				 bool hold_net)
{
	struct socket *sock = open_socket(bind, hold_net);
	int ret;

	if (IS_ERR(sock))
		return sock;
	ret = assoc_init(llp) ? : bind_own(llp, sock, bind);
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
	sock = open_bound(llp, bind, true);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	/* Until the path is known, for observers. */
	llp->sctp->remote = *remote;
	return kwarp_socket_connect(sock, remote);
}

static int assoc_listen(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind,
			int backlog, bool hold_net)
{
	struct socket *sock;

	might_sleep();
	sock = open_bound(llp, bind, hold_net);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	return kernel_listen(sock, backlog);
}

/*
 * Let @child verify the cookies that its listener has signed. accept() gives it a key of its
 * own. So if the peer did not get our COOKIE ACK and sends its COOKIE ECHO again, SCTP would
 * drop that for a wrong signature, for ever, and the association would never come up.
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
	/* Until the addresses are known callbacks would take it for the connecting end. */
	lock_sock(sock->sk);
	inherit_cookie_key(sock->sk, listener->sk);
	/* Whatever fails from here on is closed by the caller, with its callbacks. */
	assoc_hook(child, sock, listener);
	ret = kwarp_socket_hold_net(sock->sk);
	if (!ret) {
		set_buffers(sock->sk);
		kwarp_sctp_up(child);
		note_addrs(child, listener);
		/* Nothing reported events that occurred before our callbacks were installed. */
		startup_event(child);
	}
	release_sock(sock->sk);
	return ret;
}

/* After the callbacks have gone: nothing queues the works any more. */
static void assoc_close(struct kwarp_llp *llp, struct socket *sock, bool abort)
{
	struct kwarp_sctp *s = llp->sctp;

	might_sleep();
	remove_wait_queue(sk_sleep(sock->sk), &s->wait);
	/* For ever: each may queue another while it runs for the last time. */
	if (disable_delayed_work_sync(&s->retry))
		kwarp_llp_put(llp);
	if (disable_work_sync(&s->send))
		kwarp_llp_put(llp);
	if (disable_work_sync(&s->consume))
		kwarp_llp_put(llp);
	lock_sock(sock->sk);
	kwarp_sctp_forget(llp);
	release_sock(sock->sk);
	/* SCTP aborts if messages are left. */
	if (!abort)
		kwarp_sctp_consume(s, sock);
	lock_sock(sock->sk);
	kfree_skb(s->rx.last);
	s->rx.last = NULL;
	release_sock(sock->sk);
}

/* ---- observers ------------------------------------------------------------------------ */

static int assoc_getname(const struct kwarp_llp *llp, struct sockaddr_storage *ss,
			 bool peer)
{
	*ss = peer ? llp->sctp->remote : llp->sctp->local;
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

static void assoc_watch(struct kwarp_llp *llp, bool on)
{
	/* Messages that are received before their turn are seen anyway. */
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
	.readdress = assoc_readdress,
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
	.watch = assoc_watch,
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
