// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Addresses and namespaces: those of the device's netdev, never the caller's. */
#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

#include "ep.h"

/**
 * kwarp_addr_scope() - prepare an address for a socket
 * @dev:	device
 * @ss:		address; a link-local one gets the netdev as scope if it has none
 *
 * Return: 0, -EAFNOSUPPORT, -ENODEV if the netdev has gone.
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
 * Return: namespace with a reference, or NULL if the netdev or it has gone.
 */
struct net *kwarp_addr_net(struct kwarp_device *dev, int *ifindex)
{
	struct net_device *ndev = ib_device_get_netdev(&dev->ibdev, 1);
	struct net *net;

	if (!ndev)
		return NULL;
	net = maybe_get_net(dev_net(ndev));
	if (ifindex)
		*ifindex = ndev->ifindex;
	dev_put(ndev);
	return net;
}

/**
 * kwarp_addr_any() - is it the wildcard address
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
 * kwarp_addr_clear_port() - leave the port to TCP
 * @ss:		address
 */
void kwarp_addr_clear_port(struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET6)
		((struct sockaddr_in6 *)ss)->sin6_port = 0;
	else
		((struct sockaddr_in *)ss)->sin_port = 0;
}

/**
 * kwarp_addr_wildcard() - every address, of both families if there are two
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

/* A listener for both families: rdma_cm knows IPv4 peers by IPv4 addresses. */
static void unmap(struct sockaddr_storage *ss)
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
 * kwarp_addr_peer() - the peer's address, of its own family
 * @ep:		endpoint with a connection
 * @ss:		result; a link-local one has its scope
 *
 * Return: 0, or -ENOTCONN if the connection is gone already.
 */
int kwarp_addr_peer(struct kwarp_ep *ep, struct sockaddr_storage *ss)
{
	int ret = kwarp_llp_getname(&ep->llp, ss, true);

	if (!ret)
		unmap(ss);
	return ret;
}

/**
 * kwarp_addr_event() - fill in the addresses of the connection
 * @ep:		endpoint
 * @ev:		event
 */
void kwarp_addr_event(struct kwarp_ep *ep, struct iw_cm_event *ev)
{
	/* A connection that is gone already has none: family 0 is skipped. */
	if (kwarp_llp_getname(&ep->llp, &ev->local_addr, false))
		memset(&ev->local_addr, 0, sizeof(ev->local_addr));
	if (kwarp_llp_getname(&ep->llp, &ev->remote_addr, true))
		memset(&ev->remote_addr, 0, sizeof(ev->remote_addr));
	unmap(&ev->local_addr);
	unmap(&ev->remote_addr);
}
