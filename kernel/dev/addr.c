// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Address notifications. IPv6 sends them in atomic context, so both kinds only schedule a
 * work item, which reads the current addresses under RTNL.
 */
#include "dev/addr.h"

#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>

#include "cm/cm.h"
#include "core/gid.h"

/* Devices with policy paths. */
static LIST_HEAD(multihomed);
static DEFINE_SPINLOCK(multihomed_lock);

/* Update the GIDs, if they follow the netdev's addresses, and notify the core. */
static void update_gids(struct kwarp_device *dev)
{
	struct ib_event ev = {
		.device = &dev->ibdev,
		.element.port_num = KWARP_PORT,
		.event = IB_EVENT_GID_CHANGE,
	};
	struct net_device *netdev;

	ASSERT_RTNL();
	if (!dev->gids_follow)
		return;
	netdev = ib_device_get_netdev(&dev->ibdev, KWARP_PORT);
	if (!netdev)
		return;
	if (kwarp_gid_refresh(dev, netdev))
		ib_dispatch_event(&ev);
	dev_put(netdev);
}

/**
 * kwarp_addr_follow() - let the GIDs follow the netdev's addresses from now on
 * @dev:	registered device
 *
 * Only for policy rendezvous_port: with each GID_CHANGE the core makes all entries of an iWARP
 * port's table again. cma_validate_port(), which reads index 0 for each bind, resolve and
 * incoming request, meanwhile finds no entry (-ENODEV), or one without a netdev, which it
 * dereferences.
 * Context: process.
 */
void kwarp_addr_follow(struct kwarp_device *dev)
{
	rtnl_lock();
	dev->gids_follow = true;
	update_gids(dev);
	rtnl_unlock();
}

static void gid_work(struct work_struct *work)
{
	struct kwarp_device *dev =
		container_of(work, struct kwarp_device, gid_work);

	rtnl_lock();
	update_gids(dev);
	rtnl_unlock();
	kwarp_cm_readdress(dev);
	kwarp_device_put(dev);
}

void kwarp_addr_init(struct kwarp_device *dev)
{
	INIT_WORK(&dev->gid_work, gid_work);
	INIT_LIST_HEAD(&dev->multihomed);
}

void kwarp_addr_flush(struct kwarp_device *dev)
{
	spin_lock_bh(&multihomed_lock);
	list_del_init(&dev->multihomed);
	spin_unlock_bh(&multihomed_lock);
	/* Queued work holds a device reference, so at most its return is outstanding. */
	flush_work(&dev->gid_work);
}

/* ---- policy paths -------------------------------------------------------------- */

/**
 * kwarp_addr_set_paths() - set policy paths; listeners follow
 * @dev:	registered device
 * @net:	its netdev's namespace, in which the names have a meaning; only compared
 * @paths:	the names
 *
 * Context: process.
 */
void kwarp_addr_set_paths(struct kwarp_device *dev, const struct net *net,
			  const struct kwarp_paths *paths)
{
	spin_lock_bh(&multihomed_lock);
	kwarp_cm_set_paths(dev, paths);
	dev->paths_net = net;
	list_del_init(&dev->multihomed);
	if (*paths->name[0])
		list_add(&dev->multihomed, &multihomed);
	spin_unlock_bh(&multihomed_lock);
	kwarp_cm_readdress(dev);
}

static bool policy_names_path(struct kwarp_device *dev, const struct net_device *netdev)
{
	struct kwarp_paths paths;
	int i;

	lockdep_assert_held(&multihomed_lock);
	/* Only compared. A device is removed when its netdev leaves the namespace. */
	if (dev->paths_net != dev_net(netdev))
		return false;
	kwarp_cm_get_paths(dev, &paths);
	for (i = 0; i < KWARP_PATHS_MAX; i++)
		if (!strcmp(paths.name[i], netdev->name))
			return true;
	return false;
}

/* Does policy paths of some device name the netdev? Context: any. */
bool kwarp_addr_is_path(const struct net_device *netdev)
{
	struct kwarp_device *dev;
	bool found = false;

	spin_lock_bh(&multihomed_lock);
	list_for_each_entry(dev, &multihomed, multihomed)
		found |= policy_names_path(dev, netdev);
	spin_unlock_bh(&multihomed_lock);
	return found;
}

static void schedule_gid_work(struct kwarp_device *dev)
{
	if (!schedule_work(&dev->gid_work))
		kwarp_device_put(dev);
}

/*
 * Addresses or name of a netdev have changed. Have listeners of all devices with policy paths
 * in its namespace read the addresses again, since the paths may have had the old name.
 * Context: any.
 */
void kwarp_addr_path_event(const struct net_device *netdev)
{
	struct kwarp_device *dev;

	spin_lock_bh(&multihomed_lock);
	list_for_each_entry(dev, &multihomed, multihomed)
		if (dev->paths_net == dev_net(netdev) && ib_device_try_get(&dev->ibdev))
			schedule_gid_work(dev);
	spin_unlock_bh(&multihomed_lock);
}

/* ---- notifications ------------------------------------------------------------- */

static void address_event(struct net_device *netdev)
{
	struct kwarp_device *dev = kwarp_device_get(netdev);

	if (dev)
		schedule_gid_work(dev);
	kwarp_addr_path_event(netdev);
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

/**
 * kwarp_device_get() - find the device of a netdev
 * @netdev:	netdev
 *
 * Return: a registered device, which stays registered until kwarp_device_put(),
 * or NULL. Context: any.
 */
struct kwarp_device *kwarp_device_get(struct net_device *netdev)
{
	struct ib_device *ibdev =
		ib_device_get_by_netdev(netdev,
					(enum rdma_driver_id)KWARP_DRIVER_ID);

	return ibdev ? to_kdev(ibdev) : NULL;
}
