// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Notifications of addresses. Those of IPv6 come in atomic context, so both only
 * note that there is something to look at; a work item does, under RTNL, and
 * finds what is true then.
 */
#include "addr.h"

#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "../core/gid.h"

void kwarp_addr_changed(struct kwarp_device *dev, struct net_device *netdev)
{
	struct ib_event ev = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = IB_EVENT_GID_CHANGE,
	};

	if (kwarp_gid_refresh(dev, netdev))
		ib_dispatch_event(&ev);
}

static void gid_work(struct work_struct *work)
{
	struct kwarp_device *dev =
		container_of(work, struct kwarp_device, gid_work);
	struct net_device *netdev;

	rtnl_lock();
	netdev = ib_device_get_netdev(&dev->ibdev, 1);
	if (netdev) {
		kwarp_addr_changed(dev, netdev);
		dev_put(netdev);
	}
	rtnl_unlock();
	kwarp_device_put(dev);
}

void kwarp_addr_init(struct kwarp_device *dev)
{
	INIT_WORK(&dev->gid_work, gid_work);
}

void kwarp_addr_flush(struct kwarp_device *dev)
{
	/* Its reference is put already; what is left is to return. */
	flush_work(&dev->gid_work);
}

static void address_event(struct net_device *netdev)
{
	struct kwarp_device *dev = kwarp_device_get(netdev);

	if (dev && !schedule_work(&dev->gid_work))
		kwarp_device_put(dev);
}

static int ipv4_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	const struct in_ifaddr *ifa = ptr;

	address_event(ifa->ifa_dev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block ipv4_nb = {
	.notifier_call = ipv4_event,
};

#if IS_ENABLED(CONFIG_IPV6)
static int ipv6_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	const struct inet6_ifaddr *ifp = ptr;

	address_event(ifp->idev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block ipv6_nb = {
	.notifier_call = ipv6_event,
};

static int ipv6_watch(void)
{
	return register_inet6addr_notifier(&ipv6_nb);
}

static void ipv6_unwatch(void)
{
	unregister_inet6addr_notifier(&ipv6_nb);
}
#else
static int ipv6_watch(void)
{
	return 0;
}

static void ipv6_unwatch(void)
{
}
#endif

int kwarp_addr_watch(void)
{
	int ret = register_inetaddr_notifier(&ipv4_nb);

	if (ret)
		return ret;
	ret = ipv6_watch();
	if (ret)
		unregister_inetaddr_notifier(&ipv4_nb);
	return ret;
}

void kwarp_addr_unwatch(void)
{
	ipv6_unwatch();
	unregister_inetaddr_notifier(&ipv4_nb);
}
