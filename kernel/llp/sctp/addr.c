// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Addresses of SCTP sockets and associations: those that a socket is bound to, which are the
 * device's and those of policy paths, and those that rdma_cm is told.
 */
#include "llp/sctp/sctp.h"

#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/sctp/sctp.h>
#include <net/sctp/structs.h>

/* ---- addresses of an association ---------------------------------------------------- */

static void set_addr(struct sockaddr_storage *ss, const union sctp_addr *addr,
		     u16 port)
{
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, addr, sizeof(*addr));
	/* The port has the same offset in both families. */
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
	struct net *net;
	bool found;

	/* The netdev may leave its namespace, which may end. */
	rcu_read_lock();
	net = dev_net(netdev);
	if (IS_ENABLED(CONFIG_IPV6) && addr->sa.sa_family == AF_INET6)
		found = ipv6_chk_addr(net, &addr->v6.sin6_addr, netdev, 1);
	else
		found = __ip_dev_find(net, addr->v4.sin_addr.s_addr, false) == netdev;
	rcu_read_unlock();
	return found;
}

/* Return: the path's source address; if it is not of the device's netdev, one that is. */
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
 * Set @local and @remote, for rdma_cm, which finds the device by the local address. With
 * several paths, the source address of the primary path may belong to another netdev.
 * @listener: the listener if @llp is its child, or NULL.
 */
void kwarp_sctp_note_addrs(struct kwarp_llp *llp, const struct kwarp_llp *listener)
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
	/* own_addr() needs process context, in which children are accepted. */
	if (is_any(&s->local))
		set_addr(&s->local, listener ? own_addr(llp, assoc, path) : &path->saddr,
			 port);
	else
		((struct sockaddr_in *)&s->local)->sin_port = htons(port);
}

/* ---- local addresses of a socket ------------------------------------------------------ */

/**
 * struct addrs - local addresses, each with the port
 * @nr:		number of addresses in @a
 * @own:	number of addresses of the device's netdev, which come first; the others are
 *		those of policy paths
 * @tentative:	duplicate address detection is in progress for a further address
 * @a:		the addresses
 */
struct addrs {
	int nr;
	int own;
	bool tentative;
	struct sockaddr_storage a[16];
};

/* Add an address, zeroed but for family and port. Return: the address, or NULL if full. */
static void *next_addr(struct addrs *l, int family, __be16 port)
{
	struct sockaddr_in *sin = (void *)&l->a[l->nr];

	if (l->nr == ARRAY_SIZE(l->a))
		return NULL;
	memset(&l->a[l->nr++], 0, sizeof(l->a[0]));
	sin->sin_family = family;
	/* The port has the same offset in both families. */
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

/* Add a netdev's addresses of the families that @llp serves. Context: RCU read lock. */
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
 * List the addresses that @llp should have: its local address, or for a wildcard listener
 * all of its netdev; and those of the netdevs in policy paths, except link-local addresses,
 * which are valid on one link only. As a socket must have an address, a listener without any
 * gets a loopback address: ::1, or one of 127/8 that no listener of another netdev has.
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

/* List the addresses to which @llp, a listener, is bound. */
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
 * Apply @option to each address of @l that is not in @other. Return: 0 or an error of an own
 * address; another listener may have that of a path permanently.
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
		k = kwarp_sctp_set_option(llp->sock, option, &l->a[i],
					  kwarp_socket_addr_len(&l->a[i]));
		if (i < l->own)
			ret = k ? : ret;
	}
	return ret;
}

int kwarp_sctp_readdress(struct kwarp_llp *llp, const struct kwarp_llp_bind *bind)
{
	struct addrs *want, *have;
	int ret = -EAGAIN;

	might_sleep();
	/* The netdev moves to another namespace, so the device is being removed. */
	if (!net_eq(bind->net, sock_net(llp->sk)))
		return 0;
	want = kcalloc(2, sizeof(*want), GFP_KERNEL);
	if (!want)
		return ret;
	have = want + 1;
	list_addrs(llp, bind, want);
	list_bound(llp, have);
	/* Add before removing, because SCTP refuses to remove the last address. */
	ret = apply_addresses(llp, SCTP_SOCKOPT_BINDX_ADD, want, have);
	apply_addresses(llp, SCTP_SOCKOPT_BINDX_REM, have, want);
	/* Retry: the listener of another netdev may not have released an address yet. */
	if (ret || want->tentative)
		ret = -EAGAIN;
	kfree(want);
	return ret;
}

/*
 * Bind to @bind->local and the addresses of policy paths; a wildcard listener to those of
 * its netdev instead, because SCTP would announce all of the host's (RFC 5043 7.2). Do not
 * bind to the netdev itself, because connections within the host use lo.
 */
int kwarp_sctp_bind(struct kwarp_llp *llp, struct socket *sock,
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
	/* The loopback address need not exist. */
	if (is_any(bind->local))
		ip_sock_set_freebind(sock->sk);
	ret = bind->vrf ? sock_bindtoindex(sock->sk, bind->vrf, true) : 0;
	if (!ret)
		ret = kernel_bind(sock, kwarp_sockaddr(&l->a[0]),
				  kwarp_socket_addr_len(&l->a[0]));
	/* Ignore errors: an address may be gone, or another listener may have it still. */
	for (i = 1; !ret && i < l->nr; i++)
		kwarp_sctp_set_option(sock, SCTP_SOCKOPT_BINDX_ADD, &l->a[i],
				      kwarp_socket_addr_len(&l->a[i]));
	kfree(l);
	return ret;
}
