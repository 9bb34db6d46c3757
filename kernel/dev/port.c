// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Capabilities and state of the device and its port. */
#include "verbs/verbs.h"

#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <rdma/ib_mad.h>

#include "core/gid.h"

/* Not a vendor's OUI: the group bit of the first byte is set. */
#define KWARP_VENDOR_ID		0x6b7772
#define KWARP_VENDOR_PART_ID	1

/*
 * iWARP has no partitions. The default P_Key is here because rdma_cm resolves loopback
 * addresses only to ports with a P_Key; nothing else uses it.
 */
#define KWARP_PKEYS		1
#define KWARP_PKEY		0xffff

int kwarp_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata)
{
	int ret = kwarp_udata_empty(udata);

	if (ret)
		return ret;
	memset(attr, 0, sizeof(*attr));
	/* The encoding that the provider expects. */
	attr->fw_ver = (u64)KWARP_VERSION_MAJOR << 32 |
		       KWARP_VERSION_MINOR << 16 | KWARP_VERSION_PATCH;
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = KWARP_VENDOR_ID;
	attr->vendor_part_id = KWARP_VENDOR_PART_ID;
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW |
				 IB_DEVICE_MEM_WINDOW_TYPE_2B |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SRQ_RESIZE;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG;
	attr->max_mr_size = min_t(u64, KWARP_MAX_MR_SIZE, SIZE_MAX);
	/* For fast registration: any power of two from 4 KiB to 1 GiB. */
	attr->page_size_cap = GENMASK(30, ilog2(SZ_4K));
	attr->max_qp = kwarp_object_limit(KWARP_OBJECT_QP);
	attr->max_qp_wr = KWARP_MAX_QP_WR;
	attr->max_send_sge = KWARP_MAX_SGE;
	attr->max_recv_sge = KWARP_MAX_SGE;
	attr->max_sge_rd = KWARP_MAX_SGE;
	attr->max_cq = kwarp_object_limit(KWARP_OBJECT_CQ);
	attr->max_cqe = KWARP_MAX_CQE;
	attr->max_srq = kwarp_object_limit(KWARP_OBJECT_SRQ);
	attr->max_srq_wr = KWARP_MAX_SRQ_WR;
	attr->max_srq_sge = KWARP_MAX_SGE;
	attr->max_mr = kwarp_object_limit(KWARP_OBJECT_MR);
	attr->max_mw = kwarp_object_limit(KWARP_OBJECT_MW);
	attr->max_pd = kwarp_object_limit(KWARP_OBJECT_PD);
	/* As responder and as initiator of RDMA Reads. */
	attr->max_qp_rd_atom = KWARP_MAX_IRD;
	attr->max_qp_init_rd_atom = KWARP_MAX_ORD;
	attr->max_res_rd_atom = attr->max_qp * KWARP_MAX_IRD;
	/*
	 * CPU instructions: atomic with respect to everything on this machine. Some 32-bit CPUs
	 * have none for 64 bits, and the kernel uses a lock.
	 */
	attr->atomic_cap = IS_ENABLED(CONFIG_GENERIC_ATOMIC64) ? IB_ATOMIC_HCA : IB_ATOMIC_GLOB;
	attr->masked_atomic_cap = attr->atomic_cap;
	attr->max_fast_reg_page_list_len = KWARP_MAX_FAST_REG;
	attr->cq_caps.max_cq_moderation_count = U16_MAX;
	attr->cq_caps.max_cq_moderation_period = U16_MAX;
	/* Completions carry CLOCK_MONOTONIC in ns; the unit here is kHz. */
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = USEC_PER_SEC;
	return 0;
}

/* Speed in InfiniBand's terms: the next one that is not lower. */
static void port_speed(u32 mbps, struct ib_port_attr *attr)
{
	static const struct {
		u32 mbps;
		u16 speed;
		u8 width;
	} table[] = {
		{ 2500, IB_SPEED_SDR, IB_WIDTH_1X },
		{ 5000, IB_SPEED_DDR, IB_WIDTH_1X },
		{ 10000, IB_SPEED_FDR10, IB_WIDTH_1X },
		{ 25000, IB_SPEED_EDR, IB_WIDTH_1X },
		{ 40000, IB_SPEED_FDR10, IB_WIDTH_4X },
		{ 50000, IB_SPEED_HDR, IB_WIDTH_1X },
		{ 100000, IB_SPEED_EDR, IB_WIDTH_4X },
		{ 200000, IB_SPEED_HDR, IB_WIDTH_4X },
		{ 400000, IB_SPEED_NDR, IB_WIDTH_4X },
		{ 800000, IB_SPEED_XDR, IB_WIDTH_4X },
	};
	size_t i = 0;

	while (i < ARRAY_SIZE(table) - 1 && mbps > table[i].mbps)
		i++;
	attr->active_speed = table[i].speed;
	attr->active_width = table[i].width;
}

/*
 * Netdevs without a physical link (lo, tun) report no speed. The core's helper would log a
 * message for each query.
 */
static u32 netdev_speed(struct net_device *netdev)
{
	struct ethtool_link_ksettings ks = {};
	u32 speed = SPEED_UNKNOWN;

	rtnl_lock();
	if (READ_ONCE(netdev->reg_state) == NETREG_REGISTERED &&
	    !__ethtool_get_link_ksettings(netdev, &ks))
		speed = ks.base.speed;
	rtnl_unlock();
	return speed == (u32)SPEED_UNKNOWN ? SPEED_10000 : speed;
}

void kwarp_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, KWARP_VERSION, IB_FW_VERSION_NAME_MAX);
}

int kwarp_query_port(struct ib_device *ibdev, u32 port,
		     struct ib_port_attr *attr)
{
	struct net_device *netdev = ib_device_get_netdev(ibdev, port);

	if (!netdev)
		return -ENODEV;
	memset(attr, 0, sizeof(*attr));
	if (kwarp_netdev_active(netdev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = IB_PORT_PHYS_STATE_DISABLED;
	}
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = ib_mtu_int_to_enum(READ_ONCE(netdev->mtu));
	attr->gid_tbl_len = KWARP_GIDS;
	attr->pkey_tbl_len = KWARP_PKEYS;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	attr->max_msg_sz = KWARP_MAX_MSG_SIZE;
	port_speed(netdev_speed(netdev), attr);
	dev_put(netdev);
	return 0;
}

int kwarp_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	immutable->gid_tbl_len = KWARP_GIDS;
	immutable->pkey_tbl_len = KWARP_PKEYS;
	return 0;
}

int kwarp_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index >= KWARP_PKEYS)
		return -EINVAL;
	*pkey = KWARP_PKEY;
	return 0;
}

int kwarp_query_gid(struct ib_device *ibdev, u32 port, int index,
		    union ib_gid *gid)
{
	if (index < 0 || index >= KWARP_GIDS)
		return -EINVAL;
	kwarp_gid_get(to_kdev(ibdev), index, gid);
	return 0;
}

/**
 * kwarp_netdev_active() - can the netdev carry traffic?
 * @netdev:	netdev
 *
 * Return: true if it is up and has a carrier.
 */
bool kwarp_netdev_active(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev);
}
