// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>

#include "lab/host.h"
#include "rdma/objects.h"

using namespace rdma;

TEST(device, list__has_both)
{
	int count = 0;
	ibv_device **list = ibv_get_device_list(&count);
	ASSERT_NE(list, nullptr);
	std::set<std::string> names;
	for (int i = 0; i < count; i++) {
		names.insert(ibv_get_device_name(list[i]));
		EXPECT_EQ(list[i]->node_type, IBV_NODE_RNIC);
		EXPECT_EQ(list[i]->transport_type, IBV_TRANSPORT_IWARP);
	}
	ibv_free_device_list(list);
	EXPECT_EQ(names, (std::set{lab::a().device, lab::b().device}));
}

TEST(device, open__many_times)
{
	std::vector<Context> contexts;
	for (int i = 0; i < 16; i++)
		contexts.push_back(open_device(lab::a().device));
	EXPECT_EQ(query_device(contexts.back().get()).node_guid,
		  query_device(contexts.front().get()).node_guid);
}

TEST(device, query__guids_tell_devices_apart)
{
	Context a = open_device(lab::a().device), b = open_device(lab::b().device);
	EXPECT_NE(query_device(a.get()).node_guid, 0u);
	EXPECT_NE(query_device(b.get()).node_guid, 0u);
	EXPECT_NE(query_device(a.get()).node_guid, query_device(b.get()).node_guid);
}

TEST(device, query__limits_are_usable)
{
	Context context = open_device(lab::a().device);
	ibv_device_attr attr = query_device(context.get());
	EXPECT_GE(attr.max_qp, 1024);
	EXPECT_GE(attr.max_qp_wr, 4096);
	EXPECT_GE(attr.max_cq, 1024);
	EXPECT_GE(attr.max_cqe, 4096);
	EXPECT_GE(attr.max_mr, 1024);
	EXPECT_GE(attr.max_mr_size, 1ull << 32);
	EXPECT_GE(attr.max_pd, 1024);
	EXPECT_GE(attr.max_qp_rd_atom, 16);
	EXPECT_GE(attr.max_qp_init_rd_atom, 16);
	EXPECT_EQ(attr.phys_port_cnt, 1);
	if (lab::a().is_kwarp()) {
		EXPECT_GE(attr.max_sge, 16);
		EXPECT_GE(attr.max_sge_rd, 1);
		EXPECT_TRUE(attr.page_size_cap & 4096);
		EXPECT_GE(attr.max_mw, 1024);
		EXPECT_TRUE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
		EXPECT_TRUE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
		EXPECT_FALSE(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A);
		EXPECT_TRUE(attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS);
	}
}

TEST(device, query__version_of_the_module)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	std::string module, shown;
	std::ifstream("/sys/module/kwarp/version") >> module;
	std::ifstream(lab::a().sysfs() + "/fw_ver") >> shown;
	EXPECT_NE(module, "");
	EXPECT_EQ(shown, module);
	EXPECT_EQ(query_device(open_device(lab::a().device).get()).fw_ver, module);
}

TEST(device, query__promises_only_what_is_there)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	Context context = open_device(lab::a().device);
	ibv_device_attr attr = query_device(context.get());
	EXPECT_EQ(attr.atomic_cap, IBV_ATOMIC_GLOB);
	EXPECT_EQ(attr.max_ah, 0);
	EXPECT_EQ(attr.max_mcast_grp, 0);
	EXPECT_EQ(attr.max_rdd, 0);
	EXPECT_EQ(attr.sys_image_guid, attr.node_guid);
	EXPECT_EQ(attr.max_res_rd_atom, attr.max_qp * attr.max_qp_rd_atom);
	EXPECT_TRUE(attr.device_cap_flags & IBV_DEVICE_PORT_ACTIVE_EVENT);
	EXPECT_TRUE(attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
}

TEST(device, query_ex__agrees)
{
	Context context = open_device(lab::a().device);
	ibv_device_attr_ex ex{};
	ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &ex), 0);
	ibv_device_attr attr = query_device(context.get());
	EXPECT_EQ(memcmp(&ex.orig_attr, &attr, sizeof(attr)), 0);
	EXPECT_EQ(ex.odp_caps.general_caps, 0u);
}

TEST(device, context__several_completion_vectors)
{
	Context context = open_device(lab::a().device);
	ASSERT_GE(context->num_comp_vectors, 1);
	for (int vector : {0, context->num_comp_vectors - 1}) {
		Cq cq(ibv_create_cq(context.get(), 16, nullptr, nullptr, vector));
		EXPECT_NE(cq, nullptr) << "vector " << vector;
	}
}
