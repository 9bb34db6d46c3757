/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The GID table: one entry for each address of the netdev, IPv4 addresses as
 * ::ffff:a.b.c.d. An entry keeps its index as long as its address exists, except that
 * index 0 is never empty: it takes over another address or, if there is none, the number
 * that identifies the device.
 */
#ifndef _KWARP_CORE_GID_H
#define _KWARP_CORE_GID_H

#include "kwarp.h"

/**
 * kwarp_gid_refresh() - update the table with the netdev's addresses
 * @dev:	device
 * @netdev:	its netdev
 *
 * Addresses beyond KWARP_GIDS are left out, IPv6 ones first. Context: RTNL.
 *
 * Return: true if an entry has changed: then notify the core.
 */
bool kwarp_gid_refresh(struct kwarp_device *dev, struct net_device *netdev);

/**
 * kwarp_gid_set_number() - GID of a device without an address, from the netdev's
 * hardware address
 * @dev:	device
 * @netdev:	its netdev
 *
 * Context: RTNL. kwarp_gid_refresh() adds it to the table where needed.
 */
void kwarp_gid_set_number(struct kwarp_device *dev,
			  const struct net_device *netdev);

/**
 * kwarp_gid_get() - read an entry
 * @dev:	device
 * @index:	below KWARP_GIDS
 * @gid:	result; all zero if the entry is empty
 */
void kwarp_gid_get(struct kwarp_device *dev, int index, union ib_gid *gid);

/**
 * kwarp_gid_is_ours() - check for one of this device's addresses
 * @dev:	device
 * @gid:	GID
 *
 * Return: true if so; false also for the number of a device without an address.
 */
bool kwarp_gid_is_ours(struct kwarp_device *dev, const union ib_gid *gid);

/**
 * kwarp_gid_to_addr() - the address that a GID represents
 * @gid:	GID
 * @ss:		result, port 0
 *
 * Return: false if it cannot be the address of a single host.
 */
bool kwarp_gid_to_addr(const union ib_gid *gid, struct sockaddr_storage *ss);

#endif /* _KWARP_CORE_GID_H */
