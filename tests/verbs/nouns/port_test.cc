// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <net/if.h>

#include "lab/host.h"
#include "rdma/objects.h"

using namespace rdma;

static ibv_port_attr query_port(ibv_context *context)
{
	ibv_port_attr attr{};
	check(ibv_query_port(context, 1, &attr), "ibv_query_port");
	return attr;
}

TEST(port, query__active)
{
	for (const lab::Host *host : {&lab::a(), &lab::b()}) {
		Context context = open_device(host->device);
		ibv_port_attr attr = query_port(context.get());
		EXPECT_EQ(attr.state, IBV_PORT_ACTIVE) << host->device;
		EXPECT_EQ(attr.phys_state, 5 /* LinkUp */) << host->device;
		EXPECT_EQ(attr.link_layer, IBV_LINK_LAYER_ETHERNET) << host->device;
	}
}

TEST(port, query__figures)
{
	Context context = open_device(lab::a().device);
	ibv_port_attr attr = query_port(context.get());
	EXPECT_EQ(attr.active_mtu, IBV_MTU_1024); // 1500 rounded down
	EXPECT_GE(attr.max_mtu, attr.active_mtu);
	EXPECT_GE(attr.gid_tbl_len, 1);
	// iWARP has no P_Keys: libfabric takes a port that has some for one of InfiniBand
	EXPECT_EQ(attr.pkey_tbl_len, 0);
	EXPECT_GE(attr.max_msg_sz, 1u << 30);
	EXPECT_NE(attr.active_width, 0);
	EXPECT_NE(attr.active_speed, 0);
}

TEST(port, query__no_such_port)
{
	Context context = open_device(lab::a().device);
	ibv_port_attr attr{};
	EXPECT_NE(ibv_query_port(context.get(), 0, &attr), 0);
	EXPECT_NE(ibv_query_port(context.get(), 2, &attr), 0);
}

TEST(gid, query__index_0)
{
	Context a = open_device(lab::a().device), b = open_device(lab::b().device);
	ibv_gid gid_a{}, gid_b{};
	ASSERT_EQ(ibv_query_gid(a.get(), 1, 0, &gid_a), 0);
	ASSERT_EQ(ibv_query_gid(b.get(), 1, 0, &gid_b), 0);
	EXPECT_NE(memcmp(&gid_a, &gid_b, sizeof(gid_a)), 0);
	// rdma-core's tests skip a GID whose low half is zero
	if (lab::a().is_kwarp()) {
		EXPECT_NE(gid_a.global.interface_id, 0u);
	}
}

TEST(gid, query__out_of_range)
{
	Context context = open_device(lab::a().device);
	ibv_gid gid{};
	EXPECT_NE(ibv_query_gid(context.get(), 1, query_port(context.get()).gid_tbl_len, &gid), 0);
}

TEST(gid, query_ex__carries_netdev)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	Context context = open_device(lab::a().device);
	ibv_gid_entry entry{};
	ASSERT_EQ(ibv_query_gid_ex(context.get(), 1, 0, &entry, 0), 0) << strerror(errno);
	lab::Inside inside(lab::a());
	EXPECT_EQ(entry.ndev_ifindex, if_nametoindex(lab::a().netdev.c_str()));
}
