/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Address changes of netdevs: they update the GID table. */
#ifndef _KWARP_DEV_ADDR_H
#define _KWARP_DEV_ADDR_H

#include <rdma/kwarp-abi.h>

#include "kwarp.h"

/**
 * kwarp_device_get() - find the device of a netdev
 * @netdev:	netdev
 *
 * Return: a registered device, which stays registered until kwarp_device_put(),
 * or NULL. Context: any.
 */
static inline struct kwarp_device *kwarp_device_get(struct net_device *netdev)
{
	struct ib_device *ibdev =
		ib_device_get_by_netdev(netdev,
					(enum rdma_driver_id)KWARP_DRIVER_ID);

	return ibdev ? to_kdev(ibdev) : NULL;
}

static inline void kwarp_device_put(struct kwarp_device *dev)
{
	ib_device_put(&dev->ibdev);
}

/**
 * kwarp_addr_changed() - update the GIDs from the netdev's addresses, notify
 * the core
 * @dev:	registered device
 * @netdev:	its netdev
 *
 * Context: RTNL.
 */
void kwarp_addr_changed(struct kwarp_device *dev, struct net_device *netdev);

/**
 * kwarp_addr_set_paths() - set policy paths; listeners follow
 * @dev:	registered device
 * @net:	its netdev's namespace, in which the names have a meaning; only compared
 * @paths:	the names
 *
 * Context: process.
 */
void kwarp_addr_set_paths(struct kwarp_device *dev, const struct net *net,
			  const struct kwarp_paths *paths);

/* Does policy paths of some device name the netdev? Context: any. */
bool kwarp_addr_is_path(const struct net_device *netdev);

/*
 * A netdev has other addresses or another name: listeners of the devices whose policy paths
 * may mean it, or have meant it, look at once. Context: any.
 */
void kwarp_addr_path_event(const struct net_device *netdev);

/* Per device: init before registration, flush after unregistration. */
void kwarp_addr_init(struct kwarp_device *dev);
void kwarp_addr_flush(struct kwarp_device *dev);

/* Per module: 0 or negative errno. Process context. */
int kwarp_addr_watch(void);
void kwarp_addr_unwatch(void);

#endif /* _KWARP_DEV_ADDR_H */
