// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The GID table. */
#include "core/gid.h"

#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/net.h>
#include <linux/rtnetlink.h>
#include <linux/siphash.h>
#include <net/addrconf.h>
#include <net/ipv6.h>

/* The netdev's current addresses, in order of preference. */
struct gid_list {
	union ib_gid gid[KWARP_GIDS];
	int nr;
};

static bool gid_equal(const union ib_gid *a, const union ib_gid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static bool gid_empty(const union ib_gid *gid)
{
	return !memchr_inv(gid, 0, sizeof(*gid));
}

static void list_add_addr(struct gid_list *list, const struct in6_addr *addr)
{
	if (list->nr < KWARP_GIDS)
		memcpy(&list->gid[list->nr++], addr, sizeof(list->gid[0]));
}

static void list_ipv4(struct gid_list *list, const struct net_device *netdev)
{
	struct in_device *in_dev = __in_dev_get_rtnl(netdev);
	const struct in_ifaddr *ifa;
	struct in6_addr addr;

	if (!in_dev)
		return;
	in_dev_for_each_ifa_rtnl(ifa, in_dev) {
		ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
		list_add_addr(list, &addr);
	}
}

/* Add the link-local addresses, or all others; the caller adds the others first. */
static void list_ipv6(struct gid_list *list, const struct net_device *netdev,
		      bool link_local)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct inet6_dev *idev = __in6_dev_get(netdev);
	const struct inet6_ifaddr *ifp;

	if (!idev)
		return;
	read_lock_bh(&idev->lock);
	list_for_each_entry(ifp, &idev->addr_list, if_list) {
		int type = ipv6_addr_type(&ifp->addr);

		/* A tentative address becomes usable soon. */
		if (!(ifp->flags & IFA_F_DADFAILED) &&
		    !!(type & IPV6_ADDR_LINKLOCAL) == link_local)
			list_add_addr(list, &ifp->addr);
	}
	read_unlock_bh(&idev->lock);
#endif
}

static bool list_has(const struct gid_list *list, const union ib_gid *gid)
{
	int i;

	for (i = 0; i < list->nr; i++)
		if (gid_equal(&list->gid[i], gid))
			return true;
	return false;
}

static int table_find(const union ib_gid *table, const union ib_gid *gid)
{
	int i;

	for (i = 0; i < KWARP_GIDS; i++)
		if (gid_equal(&table[i], gid))
			return i;
	return -1;
}

/* Move the entry with the lowest index to index 0, or put @number there if there is none. */
static void fill_first(union ib_gid *table, const union ib_gid *number)
{
	int i;

	for (i = 0; i < KWARP_GIDS; i++) {
		if (gid_empty(&table[i]))
			continue;
		swap(table[0], table[i]);
		return;
	}
	table[0] = *number;
}

static void merge_gids(union ib_gid *table, const struct gid_list *list,
		       const union ib_gid *number)
{
	static const union ib_gid empty;
	int i, slot;

	for (i = 0; i < KWARP_GIDS; i++)
		if (!list_has(list, &table[i]))
			table[i] = empty;
	for (i = 0; i < list->nr; i++) {
		if (table_find(table, &list->gid[i]) >= 0)
			continue;
		slot = table_find(table, &empty);
		if (slot < 0)
			break;
		table[slot] = list->gid[i];
	}
	fill_first(table, number);
}

/**
 * kwarp_gid_refresh() - update the table with the netdev's addresses
 * @dev:	device
 * @netdev:	its netdev
 *
 * Of more than KWARP_GIDS addresses, link-local ones are left out first, then other IPv6
 * addresses. Context: RTNL.
 *
 * Return: true if an entry has changed: then notify the core.
 */
bool kwarp_gid_refresh(struct kwarp_device *dev, struct net_device *netdev)
{
	union ib_gid *old;
	struct gid_list *list;
	bool changed = false;

	ASSERT_RTNL();
	list = kzalloc(sizeof(*list), GFP_KERNEL);
	old = kmalloc_array(KWARP_GIDS, sizeof(*old), GFP_KERNEL);
	if (!list || !old)
		goto out;
	list_ipv4(list, netdev);
	list_ipv6(list, netdev, false);
	list_ipv6(list, netdev, true);

	/* Only writers change the table, and they hold RTNL. */
	memcpy(old, dev->gids, sizeof(dev->gids));
	spin_lock_bh(&dev->lock);
	merge_gids(dev->gids, list, &dev->number);
	spin_unlock_bh(&dev->lock);
	changed = memcmp(old, dev->gids, sizeof(dev->gids));
out:
	kfree(old);
	kfree(list);
	return changed;
}

/*
 * Create a MAC address for a netdev that has none (tun, IP tunnels, lo): locally
 * administered, and constant as long as the netdev exists, even if the device is recreated.
 */
static void random_mac(const struct net_device *netdev, u8 *mac)
{
	static siphash_key_t key;
	u64 hash;

	net_get_random_once(&key, sizeof(key));
	hash = siphash_2u64(dev_net(netdev)->ns.inum, netdev->ifindex, &key);
	u64_to_ether_addr(hash, mac);
	mac[0] &= ~1;
	mac[0] |= 2;
}

/**
 * kwarp_gid_set_number() - set the GID of the device, the first contents of the table
 * @dev:	device
 * @netdev:	its netdev
 *
 * Before registration. Context: RTNL.
 */
void kwarp_gid_set_number(struct kwarp_device *dev,
			  const struct net_device *netdev)
{
	union ib_gid gid = {};
	u8 mac[ETH_ALEN];

	ASSERT_RTNL();
	if (netdev->addr_len == ETH_ALEN &&
	    !is_zero_ether_addr(netdev->dev_addr))
		ether_addr_copy(mac, netdev->dev_addr);
	else
		random_mac(netdev, mac);

	/*
	 * The upper half begins with the MAC address, as in siw's GID. The lower half
	 * resembles a modified EUI-64, with the interface index in the middle, because
	 * netdevs may share a MAC address (VLANs), but devices must not share a GID. It
	 * is not zero, because user space treats such an entry as empty.
	 */
	memcpy(&gid.raw[0], mac, ETH_ALEN);
	memcpy(&gid.raw[8], mac, 3);
	gid.raw[8] ^= 2;
	put_unaligned_be16(netdev->ifindex, &gid.raw[11]);
	memcpy(&gid.raw[13], mac + 3, 3);

	dev->number = gid;
	dev->gids[0] = gid;
}

/**
 * kwarp_gid_get() - read an entry
 * @dev:	device
 * @index:	below KWARP_GIDS
 * @gid:	result; all zero if the entry is empty
 */
void kwarp_gid_get(struct kwarp_device *dev, int index, union ib_gid *gid)
{
	spin_lock_bh(&dev->lock);
	*gid = dev->gids[index];
	spin_unlock_bh(&dev->lock);
}

/**
 * kwarp_gid_is_ours() - is a GID one of this device's addresses?
 * @dev:	device
 * @gid:	GID
 *
 * Return: true if so; false for the GID of a device without an address (dev->number).
 */
bool kwarp_gid_is_ours(struct kwarp_device *dev, const union ib_gid *gid)
{
	bool ours;

	if (gid_empty(gid))
		return false;
	spin_lock_bh(&dev->lock);
	ours = !gid_equal(gid, &dev->number) &&
	       table_find(dev->gids, gid) >= 0;
	spin_unlock_bh(&dev->lock);
	return ours;
}

/**
 * kwarp_gid_to_addr() - the address that a GID represents
 * @gid:	GID
 * @ss:		result, port 0
 *
 * Return: false if it cannot be the address of a single host.
 */
bool kwarp_gid_to_addr(const union ib_gid *gid, struct sockaddr_storage *ss)
{
	const struct in6_addr *addr = (const struct in6_addr *)gid;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	int type = ipv6_addr_type(addr);

	memset(ss, 0, sizeof(*ss));
	if (type == IPV6_ADDR_MAPPED) {
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = addr->s6_addr32[3];
		return !ipv4_is_zeronet(in->sin_addr.s_addr) &&
		       !ipv4_is_multicast(in->sin_addr.s_addr) &&
		       !ipv4_is_lbcast(in->sin_addr.s_addr);
	}
	in6->sin6_family = AF_INET6;
	in6->sin6_addr = *addr;
	return type & IPV6_ADDR_UNICAST;
}
