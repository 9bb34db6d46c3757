// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Addresses and namespaces: always those of the device's netdev, not the caller's. */
#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/net_namespace.h>
#include <rdma/kwarp-abi.h>

#include "cm/cm.h"
#include "cm/ep.h"

/**
 * kwarp_addr_scope() - prepare an address for a socket
 * @dev:	device
 * @ss:		address; a link-local one gets the netdev as scope if it has none
 *
 * Return: 0, -EAFNOSUPPORT, or -ENODEV if the netdev is gone.
 */
int kwarp_addr_scope(struct kwarp_device *dev, struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct net_device *ndev;

	if (ss->ss_family == AF_INET)
		return 0;
	if (ss->ss_family != AF_INET6)
		return -EAFNOSUPPORT;
	if (!(ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL) ||
	    in6->sin6_scope_id)
		return 0;
	ndev = ib_device_get_netdev(&dev->ibdev, 1);
	if (!ndev)
		return -ENODEV;
	in6->sin6_scope_id = ndev->ifindex;
	dev_put(ndev);
	return 0;
}

/**
 * kwarp_addr_net() - the netdev's namespace and index
 * @dev:	device
 * @ifindex:	result, or NULL
 *
 * Return: namespace with a reference; NULL if it or the netdev is gone, or the netdev is leaving
 * the namespace: a connection in the next one would outlive the device.
 */
struct net *kwarp_addr_net(struct kwarp_device *dev, int *ifindex)
{
	struct net_device *ndev = ib_device_get_netdev(&dev->ibdev, 1);
	struct net *net;

	if (!ndev)
		return NULL;
	net = kwarp_netdev_net(ndev);
	if (ifindex)
		*ifindex = ndev->ifindex;
	dev_put(ndev);
	/* Read the namespace first. The netdev changes it a grace period after @leaving is set. */
	smp_rmb();
	if (net && READ_ONCE(dev->leaving)) {
		put_net(net);
		net = NULL;
	}
	return net;
}

void kwarp_cm_get_paths(struct kwarp_device *dev, struct kwarp_paths *paths)
{
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	*paths = dev->policy.paths;
	spin_unlock_irqrestore(&dev->lock, flags);
}

void kwarp_cm_set_paths(struct kwarp_device *dev, const struct kwarp_paths *paths)
{
	unsigned long flags;

	spin_lock_irqsave(&dev->lock, flags);
	dev->policy.paths = *paths;
	spin_unlock_irqrestore(&dev->lock, flags);
}

/**
 * kwarp_cm_path() - find a netdev that policy paths names
 * @net:	namespace
 * @name:	name, not an alternative one
 *
 * A netdev with a kwarp device of its own is refused: listeners of two devices would bind its
 * addresses, and rdma_cm would assign this device's connections to the other one.
 *
 * Context: RCU read lock held.
 * Return: the netdev, or ERR_PTR(): -ENODEV, -EBUSY.
 */
struct net_device *kwarp_cm_path(struct net *net, const char *name)
{
	struct net_device *netdev = dev_get_by_name_rcu(net, name);
	struct ib_device *ibdev;

	if (!netdev || strcmp(netdev->name, name))
		return ERR_PTR(-ENODEV);
	ibdev = ib_device_get_by_netdev(netdev, (enum rdma_driver_id)KWARP_DRIVER_ID);
	if (!ibdev)
		return netdev;
	ib_device_put(ibdev);
	return ERR_PTR(-EBUSY);
}

/**
 * kwarp_addr_vrf() - find the VRF that the netdev belongs to
 * @dev:	device
 *
 * Only sockets that are bound to a VRF use the VRF's addresses and routes.
 *
 * Return: index of the VRF's netdev, or 0.
 */
int kwarp_addr_vrf(struct kwarp_device *dev)
{
	struct net_device *ndev = ib_device_get_netdev(&dev->ibdev, KWARP_PORT);
	int ifindex;

	if (!ndev)
		return 0;
	ifindex = l3mdev_master_ifindex(ndev);
	dev_put(ndev);
	return ifindex;
}

/**
 * kwarp_addr_paths() - fill in the netdevs of policy paths that exist
 * @dev:	device
 * @bind:	@bind->net is set; @bind->paths is the result
 */
void kwarp_addr_paths(struct kwarp_device *dev, struct kwarp_llp_bind *bind)
{
	const struct net_device *netdev;
	struct kwarp_paths paths;
	int i, n = 0;

	memset(bind->paths, 0, sizeof(bind->paths));
	kwarp_cm_get_paths(dev, &paths);
	rcu_read_lock();
	for (i = 0; i < kwarp_num_paths(&paths); i++) {
		netdev = kwarp_cm_path(bind->net, paths.name[i]);
		if (!IS_ERR(netdev))
			bind->paths[n++] = netdev->ifindex;
	}
	rcu_read_unlock();
}

/**
 * kwarp_addr_any() - test for the wildcard address
 * @ss:		address
 *
 * Return: true if so.
 */
bool kwarp_addr_any(const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET6)
		return ipv6_addr_any(&((const struct sockaddr_in6 *)ss)->sin6_addr);
	return ((const struct sockaddr_in *)ss)->sin_addr.s_addr ==
	       htonl(INADDR_ANY);
}

/**
 * kwarp_addr_loopback() - test for a loopback address
 * @ss:		address
 *
 * Return: true if so.
 */
bool kwarp_addr_loopback(const struct sockaddr_storage *ss)
{
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)ss)->sin6_addr;

	if (ss->ss_family == AF_INET)
		return ipv4_is_loopback(((const struct sockaddr_in *)ss)->sin_addr.s_addr);
	return ipv6_addr_loopback(in6) || ipv6_addr_v4mapped_loopback(in6);
}

/**
 * kwarp_addr_wildcard() - wildcard address, for both families if IPv6 is enabled
 * @ss:		result
 * @port:	TCP port
 */
void kwarp_addr_wildcard(struct sockaddr_storage *ss, u16 port)
{
	memset(ss, 0, sizeof(*ss));
	if (IS_ENABLED(CONFIG_IPV6) && ipv6_mod_enabled()) {
		ss->ss_family = AF_INET6;
		((struct sockaddr_in6 *)ss)->sin6_port = htons(port);
	} else {
		ss->ss_family = AF_INET;
		((struct sockaddr_in *)ss)->sin_port = htons(port);
	}
}

/* On a dual-family listener, rdma_cm expects IPv4 addresses for IPv4 peers. */
static void unmap_v4_address(struct sockaddr_storage *ss)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in in = { .sin_family = AF_INET };

	if (ss->ss_family != AF_INET6 || !ipv6_addr_v4mapped(&in6->sin6_addr))
		return;
	in.sin_port = in6->sin6_port;
	in.sin_addr.s_addr = in6->sin6_addr.s6_addr32[3];
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, &in, sizeof(in));
}

/**
 * kwarp_addr_peer() - the peer's address, in its own family
 * @ep:		endpoint with a connection
 * @ss:		result; a link-local address has its scope
 *
 * Return: 0, or -ENOTCONN if the connection is already gone.
 */
int kwarp_addr_peer(struct kwarp_ep *ep, struct sockaddr_storage *ss)
{
	int ret = kwarp_llp_getname(&ep->llp, ss, KWARP_LLP_PEER);

	if (!ret)
		unmap_v4_address(ss);
	return ret;
}

/**
 * kwarp_addr_event() - fill in the addresses of the connection
 * @ep:		endpoint
 * @ev:		event
 */
void kwarp_addr_event(struct kwarp_ep *ep, struct iw_cm_event *ev)
{
	/* If the connection is already gone, the event has no addresses (family 0). */
	if (kwarp_llp_getname(&ep->llp, &ev->local_addr, KWARP_LLP_LOCAL))
		memset(&ev->local_addr, 0, sizeof(ev->local_addr));
	if (kwarp_llp_getname(&ep->llp, &ev->remote_addr, KWARP_LLP_PEER))
		memset(&ev->remote_addr, 0, sizeof(ev->remote_addr));
	unmap_v4_address(&ev->local_addr);
	unmap_v4_address(&ev->remote_addr);
}
