/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The GID table: a GID made from the MAC address (dev->number) until policy rendezvous_port is
 * set, because GIDs have no meaning without it, and rdma_cm does not bear changes of the table
 * (kwarp_addr_follow()). Afterwards one entry for each address of the netdev, IPv4 addresses as
 * ::ffff:a.b.c.d. An entry keeps its index as long as its address exists, except that index 0
 * is never empty: if its address disappears, another entry moves there or, if there is none,
 * dev->number.
 */
#ifndef _KWARP_CORE_GID_H
#define _KWARP_CORE_GID_H

#include "kwarp.h"

bool kwarp_gid_refresh(struct kwarp_device *dev, struct net_device *netdev);
void kwarp_gid_set_number(struct kwarp_device *dev,
			  const struct net_device *netdev);
void kwarp_gid_get(struct kwarp_device *dev, int index, union ib_gid *gid);
bool kwarp_gid_is_ours(struct kwarp_device *dev, const union ib_gid *gid);
bool kwarp_gid_to_addr(const union ib_gid *gid, struct sockaddr_storage *ss);

#endif /* _KWARP_CORE_GID_H */
