// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Protection domains: parent domains, and objects imported from another context.
#include <gtest/gtest.h>

#include <unistd.h>

#include "lab/host.h"
#include "rdma/region.h"
#include "rdma/work.h"

using namespace rdma;

namespace {

struct pd : testing::Test {
	void SetUp() override
	{
		if (!lab::a().is_kwarp())
			GTEST_SKIP() << "kwarp only";
	}

	Context context = open_device(lab::a().device);
};

ibv_pd *parent_domain(ibv_context *context, ibv_pd *domain, ibv_td *td = nullptr, uint32_t mask = 0)
{
	ibv_parent_domain_init_attr attr{};
	attr.pd = domain;
	attr.td = td;
	attr.comp_mask = mask;
	return ibv_alloc_parent_domain(context, &attr);
}

} // namespace

TEST_F(pd, parent_domain__stands_for_its_domain)
{
	Pd domain = alloc_pd(context.get());
	Pd parent(parent_domain(context.get(), domain.get()));
	ASSERT_TRUE(parent);
	EXPECT_EQ(ibv_dealloc_pd(domain.get()), EBUSY);
	Cq cq = create_cq(context.get(), 16);
	ibv_qp_init_attr attr = qp_attr(cq.get());
	Qp qp = create_qp(parent.get(), attr);
	Srq srq = create_srq(parent.get(), 4);
	Region region(parent.get(), 4096);
	EXPECT_EQ(qp->pd, parent.get());
	EXPECT_EQ(region.mr()->pd, parent.get());
}

TEST_F(pd, parent_domain__thread_domain)
{
	Pd domain = alloc_pd(context.get());
	ibv_td_init_attr init{};
	ibv_td *td = ibv_alloc_td(context.get(), &init);
	ASSERT_NE(td, nullptr);
	{
		Pd parent(parent_domain(context.get(), domain.get(), td));
		ASSERT_TRUE(parent);
		EXPECT_EQ(ibv_dealloc_td(td), EBUSY);
	}
	EXPECT_EQ(ibv_dealloc_td(td), 0);
}

TEST_F(pd, parent_domain__refused)
{
	Pd domain = alloc_pd(context.get());
	Pd parent(parent_domain(context.get(), domain.get()));
	EXPECT_EQ(parent_domain(context.get(), nullptr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(parent_domain(context.get(), parent.get()), nullptr) << "of a parent domain";
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(parent_domain(context.get(), domain.get(), nullptr, 1u << 20), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(pd, import__domain_and_region)
{
	// the importer uses the object of its owner, and does not destroy it
	Pd domain = alloc_pd(context.get());
	Region region(domain.get(), 8192);
	{
		Context other(check(ibv_import_device(dup(context->cmd_fd)), "ibv_import_device"));
		EXPECT_EQ(other->num_comp_vectors, context->num_comp_vectors);
		ibv_pd *imported =
			check(ibv_import_pd(other.get(), domain->handle), "ibv_import_pd");
		ibv_mr *mr = check(ibv_import_mr(imported, region.mr()->handle), "ibv_import_mr");
		EXPECT_EQ(mr->lkey, region.lkey());
		EXPECT_EQ(mr->rkey, region.mr()->rkey);
		EXPECT_EQ(mr->length, 8192u);
		{
			Cq cq = create_cq(other.get(), 16);
			ibv_qp_init_attr attr = qp_attr(cq.get());
			Qp qp = create_qp(imported, attr);
			post_recv(qp.get(), 3, {region.sge(0, 64)});
			EXPECT_EQ(modify_state(qp.get(), IBV_QPS_ERR), 0);
			EXPECT_EQ(wait(cq.get()).status, IBV_WC_WR_FLUSH_ERR);
			EXPECT_EQ(ibv_dealloc_pd(domain.get()), EBUSY);
		}
		EXPECT_EQ(ibv_import_mr(imported, 0x7fff), nullptr) << "no such handle";
		ibv_unimport_mr(mr);
		ibv_unimport_pd(imported);
	}
	Region again(domain.get(), 4096);
}
