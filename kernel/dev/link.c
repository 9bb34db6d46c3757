// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Creation and removal of RDMA devices: `rdma link add`, and netdev notifications.
 *
 * Notifications run under RTNL. A device can be found by its netdev only while it is
 * registered, and the lookup's reference keeps it registered. Changes of a netdev between
 * the first access to it and the device's registration are handled after registration,
 * under RTNL, so that no notification is missed.
 */
#include "dev/link.h"

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#include "cm/cm.h"
#include "dev/addr.h"
#include "trace.h"
#include "verbs/verbs.h"

/* Held from the search for a netdev's device to the creation of a new one. */
static DEFINE_MUTEX(newlink_mutex);

static void port_changed(struct kwarp_device *dev, struct net_device *netdev)
{
	bool up = kwarp_netdev_active(netdev);

	ASSERT_RTNL();
	if (dev->up == up)
		return;
	dev->up = up;
	trace_kwarp_link(dev, netdev->name, up ? "up" : "down");
	kwarp_port_event(&dev->ibdev, netdev, up);
}

/* Time for a consumer to process the end of its connection. */
#define CONSUMER_GRACE (HZ / 2)

#define GONE_RETRY (HZ / 10 + 1)

/* Limit of the wait for a device being removed that holds the netdev or the name. */
#define LEAVE_TIME (5 * HZ)
#define LEAVE_POLL_MS 20

/* Devices being removed with their netdevs; and when the last of them was freed. */
static atomic_t leaving_devices;
static unsigned long last_left = INITIAL_JIFFIES;

static void gone_work(struct work_struct *work)
{
	struct kwarp_device *dev = container_of(to_delayed_work(work),
						struct kwarp_device, gone_work);

	/*
	 * Fails if the device is already being unregistered: kwarp_link_device_flush() ends the
	 * retries. Fails for a moment also while the core moves the device to another namespace.
	 * (An event of the netdev in that moment is lost; the core repeats NETDEV_UNREGISTER.)
	 */
	if (!ib_device_try_get(&dev->ibdev)) {
		schedule_delayed_work(&dev->gone_work, GONE_RETRY);
		return;
	}
	ib_unregister_device_queued(&dev->ibdev);
	kwarp_device_put(dev);
}

/*
 * The netdev is unregistered, or leaves its namespace: our sockets cannot follow it.
 * Consumers are notified of the end of their connections before they are asked to release
 * the device: an NVMe host that considers its connection alive first shuts the target's
 * controller down, and waits half a minute or more for the response.
 */
static void netdev_gone(struct kwarp_device *dev)
{
	bool connected;

	ASSERT_RTNL();
	if (dev->leaving)
		return;
	WRITE_ONCE(dev->leaving, true);
	atomic_inc(&leaving_devices);
	trace_kwarp_link(dev, dev->ibdev.iw_ifname, "gone");
	connected = kwarp_cm_device_down(dev);
	schedule_delayed_work(&dev->gone_work, connected ? CONSUMER_GRACE : 0);
}

void kwarp_link_device_init(struct kwarp_device *dev)
{
	INIT_DELAYED_WORK(&dev->gone_work, gone_work);
}

void kwarp_link_device_flush(struct kwarp_device *dev)
{
	cancel_delayed_work_sync(&dev->gone_work);
	if (dev->leaving) {
		WRITE_ONCE(last_left, jiffies);
		atomic_dec(&leaving_devices);
	}
}

/*
 * Does a device being removed still hold a netdev or a name? The core releases the name
 * only after its last call of the driver.
 */
static bool links_leaving(void)
{
	unsigned long last = READ_ONCE(last_left);

	return atomic_read(&leaving_devices) ||
	       time_in_range_open(jiffies, last, last + HZ / 4);
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(ptr);
	struct kwarp_device *dev = kwarp_device_get(netdev);

	if (event == NETDEV_CHANGENAME)
		kwarp_addr_path_event(netdev);
	if (!dev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		/*
		 * Connections survive, as TCP's do: the link may come back. TCP handles
		 * the MTU, and queries read it from the netdev.
		 */
		port_changed(dev, netdev);
		break;
	case NETDEV_CHANGENAME:
		strscpy(dev->ibdev.iw_ifname, netdev->name,
			sizeof(dev->ibdev.iw_ifname));
		break;
	case NETDEV_UNREGISTER:
		netdev_gone(dev);
		break;
	}
	kwarp_device_put(dev);
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = {
	.notifier_call = netdev_event,
};

/* Netdevs that carry IP: the connection manager finds them by their addresses. */
static bool netdev_suits(const struct net_device *netdev)
{
	switch (netdev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_IEEE802:
	case ARPHRD_LOOPBACK:
	/* Tunnels and similar netdevs without link-layer addresses. */
	case ARPHRD_NONE:
	case ARPHRD_RAWIP:
	case ARPHRD_PPP:
	case ARPHRD_TUNNEL:
	case ARPHRD_TUNNEL6:
	case ARPHRD_SIT:
	case ARPHRD_IPGRE:
	case ARPHRD_IP6GRE:
		return true;
	default:
		return false;
	}
}

/*
 * Handle changes of the netdev during registration of the device.
 * @net: the namespace for which the device was made
 */
static int newlink_settle(struct net_device *netdev, const struct net *net)
{
	struct kwarp_device *dev;
	int ret = 0;

	rtnl_lock();
	dev = kwarp_device_get(netdev);
	if (dev) {
		if (netdev->reg_state != NETREG_REGISTERED || !net_eq(dev_net(netdev), net)) {
			netdev_gone(dev);
			ret = -ENODEV;
		} else {
			trace_kwarp_link(dev, netdev->name, "added");
			port_changed(dev, netdev);
		}
		kwarp_device_put(dev);
	}
	rtnl_unlock();
	return ret;
}

static int newlink_once(const char *name, struct net_device *netdev)
{
	struct net *net = kwarp_netdev_net(netdev);
	struct kwarp_device *dev;
	int ret;

	if (!net)
		return -ENODEV;
	mutex_lock(&newlink_mutex);
	dev = kwarp_device_get(netdev);
	if (dev) {
		ret = READ_ONCE(dev->leaving) ? -EBUSY : -EEXIST;
		kwarp_device_put(dev);
		goto unlock;
	}
	ret = kwarp_device_add(name, netdev, net);
	if (!ret)
		ret = newlink_settle(netdev, net);
unlock:
	mutex_unlock(&newlink_mutex);
	put_net(net);
	return ret;
}

/*
 * A device whose netdev was deleted or moved to another namespace stays for CONSUMER_GRACE and
 * until its consumers have released it. Until then it holds the netdev (-EBUSY) and the
 * name (-ENFILE, from the core), although the administrator has already removed it: wait
 * for it.
 */
static int link_new(const char *name, struct net_device *netdev)
{
	unsigned long deadline = jiffies + LEAVE_TIME;
	bool leaving;
	int ret;

	might_sleep();
	if (!netdev_suits(netdev))
		return -EOPNOTSUPP;
	/* Another device's listeners bind the netdev's addresses: see kwarp_cm_path(). */
	if (kwarp_addr_is_path(netdev))
		return -EBUSY;
	do {
		leaving = links_leaving();
		ret = newlink_once(name, netdev);
		if ((ret != -EBUSY && ret != -ENFILE) || !leaving ||
		    time_after(jiffies, deadline))
			return ret;
	} while (!msleep_interruptible(LEAVE_POLL_MS));
	return -EINTR;
}

static struct rdma_link_ops link_ops = {
	.type = "kwarp",
	.newlink = link_new,
};

int kwarp_link_init(void)
{
	int ret = kwarp_addr_watch();

	if (ret)
		return ret;
	ret = register_netdevice_notifier(&netdev_nb);
	if (ret) {
		kwarp_addr_unwatch();
		return ret;
	}
	rdma_link_register(&link_ops);
	return 0;
}

void kwarp_link_exit(void)
{
	/* Waits for a newlink in progress; nothing else creates devices. */
	rdma_link_unregister(&link_ops);
	/* Reports every netdev as unregistered: this starts the removals. */
	unregister_netdevice_notifier(&netdev_nb);
	kwarp_addr_unwatch();
	/* Removes the remaining devices, and waits for all removals. */
	ib_unregister_driver((enum rdma_driver_id)KWARP_DRIVER_ID);
}
