// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * How RDMA devices come and go: `rdma link add`, and what happens to netdevs.
 *
 * Notifications run under RTNL. A device is found by its netdev only while it is
 * registered, and the look-up's reference keeps it so. What a netdev did between
 * our first look at it and the device's registration is made up for afterwards
 * under RTNL, so that no notification is missed.
 */
#include "link.h"

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

#include "../cm/cm.h"
#include "../core/gid.h"
#include "../verbs/verbs.h"
#include "addr.h"
#include "trace.h"

/* One at a time: two for the same netdev must not both find no device. */
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

/* What a consumer has to hear of its connection's end. */
#define HEAR_TIME (HZ / 2)

/* How long a new device waits for one that leaves, and has its netdev or name. */
#define LEAVE_TIME (5 * HZ)
#define LEAVE_POLL_MS 20

/* Devices whose netdevs have gone; and when the last of them was freed. */
static atomic_t leaving_devices;
static unsigned long last_left = INITIAL_JIFFIES;

static void gone_work(struct work_struct *work)
{
	struct kwarp_device *dev = container_of(to_delayed_work(work),
						struct kwarp_device, gone_work);

	/* Not if somebody else unregisters it. */
	if (!ib_device_try_get(&dev->ibdev))
		return;
	ib_unregister_device_queued(&dev->ibdev);
	kwarp_device_put(dev);
}

/*
 * The netdev leaves, or leaves its namespace: our sockets cannot follow it.
 * Consumers with connections hear of their end before they are asked to let go
 * of the device: an NVMe host that believes in its connection takes its leave
 * of the target first, and waits half a minute or two for the answer.
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
	connected = kwarp_cm_device_down(dev, false);
	schedule_delayed_work(&dev->gone_work, connected ? HEAR_TIME : 0);
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
 * Is a netdev or a name still taken by a device that leaves? The core gives
 * back the name only after it has called the driver for the last time.
 */
static bool links_leaving(void)
{
	return atomic_read(&leaving_devices) ||
	       time_before(jiffies, READ_ONCE(last_left) + HZ / 4);
}

static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *ptr)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(ptr);
	struct kwarp_device *dev = kwarp_device_get(netdev);

	if (!dev)
		return NOTIFY_DONE;
	switch (event) {
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
		/*
		 * Connections survive, as TCP's do: the cable may come back. The
		 * MTU is TCP's business, and looked up when somebody asks.
		 */
		port_changed(dev, netdev);
		break;
	case NETDEV_CHANGEADDR:
		kwarp_gid_set_number(dev, netdev);
		kwarp_addr_changed(dev, netdev);
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

/* What carries IP: the connection manager finds such a netdev by its addresses. */
static bool netdev_suits(const struct net_device *netdev)
{
	switch (netdev->type) {
	case ARPHRD_ETHER:
	case ARPHRD_IEEE802:
	case ARPHRD_LOOPBACK:
	/* Tunnels and their like, without addresses of a link. */
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

/* Catch up with what the netdev did while the device was being registered. */
static int newlink_settle(struct net_device *netdev)
{
	struct kwarp_device *dev;
	int ret = 0;

	rtnl_lock();
	dev = kwarp_device_get(netdev);
	if (dev) {
		if (netdev->reg_state != NETREG_REGISTERED) {
			netdev_gone(dev);
			ret = -ENODEV;
		} else {
			port_changed(dev, netdev);
			kwarp_addr_changed(dev, netdev);
		}
		kwarp_device_put(dev);
	}
	rtnl_unlock();
	return ret;
}

static int newlink_once(const char *name, struct net_device *netdev)
{
	struct kwarp_device *dev;
	int ret;

	mutex_lock(&newlink_mutex);
	dev = kwarp_device_get(netdev);
	if (dev) {
		ret = READ_ONCE(dev->leaving) ? -EBUSY : -EEXIST;
		kwarp_device_put(dev);
		goto unlock;
	}
	ret = kwarp_device_add(name, netdev);
	if (!ret)
		ret = newlink_settle(netdev);
unlock:
	mutex_unlock(&newlink_mutex);
	return ret;
}

/*
 * A device whose netdev was deleted or moved to another namespace stays for
 * HEAR_TIME and for as long as its consumers take to let go. Until then the
 * netdev (-EBUSY) and the name (-ENFILE, from the core) are taken by something
 * that the administrator has got rid of already, so wait for it.
 */
static int newlink(const char *name, struct net_device *netdev)
{
	unsigned long deadline = jiffies + LEAVE_TIME;
	bool leaving;
	int ret;

	might_sleep();
	if (!netdev_suits(netdev))
		return -EOPNOTSUPP;
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
	.newlink = newlink,
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
	/* Waits for a newlink in progress; there is no other way to a device. */
	rdma_link_unregister(&link_ops);
	/* Reports every netdev as gone to us: removals begin here. */
	unregister_netdevice_notifier(&netdev_nb);
	kwarp_addr_unwatch();
	/* Removes what is left, and waits for all removals. */
	ib_unregister_driver((enum rdma_driver_id)KWARP_DRIVER_ID);
}
