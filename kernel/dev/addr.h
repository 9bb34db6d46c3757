/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Address changes of netdevs: they update the GID table. */
#ifndef _KWARP_DEV_ADDR_H
#define _KWARP_DEV_ADDR_H

#include <rdma/kwarp-abi.h>

#include "kwarp.h"

struct kwarp_device *kwarp_device_get(struct net_device *netdev);
static inline void kwarp_device_put(struct kwarp_device *dev)
{
	ib_device_put(&dev->ibdev);
}

void kwarp_addr_follow(struct kwarp_device *dev);
void kwarp_addr_set_paths(struct kwarp_device *dev, const struct net *net,
			  const struct kwarp_paths *paths);
bool kwarp_addr_is_path(const struct net_device *netdev);
void kwarp_addr_path_event(const struct net_device *netdev);

/* Per device: init before registration, flush after unregistration. */
void kwarp_addr_init(struct kwarp_device *dev);
void kwarp_addr_flush(struct kwarp_device *dev);

/* Per module: 0 or negative errno. Process context. */
int kwarp_addr_watch(void);
void kwarp_addr_unwatch(void);

#endif /* _KWARP_DEV_ADDR_H */
