// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <gtest/gtest.h>

#include <vector>

#include "lab/host.h"
#include "rdma/region.h"

using namespace rdma;

TEST(pd, alloc__many)
{
	Context context = open_device(lab::a().device);
	std::vector<Pd> pds;
	for (int i = 0; i < 64; i++)
		pds.push_back(alloc_pd(context.get()));
}

TEST(pd, dealloc__refused_while_region_exists)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Region region(pd.get(), 4096);
	EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

TEST(pd, dealloc__refused_while_qp_exists)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Cq cq = create_cq(context.get(), 16);
	ibv_qp_init_attr attr = qp_attr(cq.get());
	Qp qp = create_qp(pd.get(), attr);
	EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
	// and the QP still works
	EXPECT_NO_THROW(query_qp(qp.get()));
}
