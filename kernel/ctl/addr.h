/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Addresses of netdevs come and go: the GID table follows. */
#ifndef _KWARP_CTL_ADDR_H
#define _KWARP_CTL_ADDR_H

#include <rdma/kwarp-abi.h>

#include "../kwarp.h"

/**
 * kwarp_device_get() - the device of a netdev
 * @netdev:	netdev
 *
 * Return: device that is registered, and stays so until kwarp_device_put(), or
 * NULL. Context: any.
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
 * kwarp_addr_changed() - look at the netdev's addresses, and tell the core
 * @dev:	registered device
 * @netdev:	its netdev
 *
 * Context: RTNL.
 */
void kwarp_addr_changed(struct kwarp_device *dev, struct net_device *netdev);

/* A device's part: before it is registered, and when it is not any more. */
void kwarp_addr_init(struct kwarp_device *dev);
void kwarp_addr_flush(struct kwarp_device *dev);

/* The module's: 0 or negative errno. Process context. */
int kwarp_addr_watch(void);
void kwarp_addr_unwatch(void);

#endif /* _KWARP_CTL_ADDR_H */
