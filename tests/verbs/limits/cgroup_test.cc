// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The control group controller rdma: handles and objects are counted, limited, and uncharged when
// they are destroyed.
#include <gtest/gtest.h>

#include <vector>

#include <unistd.h>

#include "group.h"
#include "rdma/endpoint.h"
#include "rdma/window.h"
#include "user.h"

using namespace rdma;

namespace {

struct cgroup : testing::Test {
	limits::Group group;

	void inside(const std::function<void()> &what)
	{
		limits::as_nobody(what, [&] { group.enter(); });
	}
};

} // namespace

TEST_F(cgroup, handles__limited)
{
	group.limit("hca_handle=2 hca_object=max");
	inside([&] {
		Context one = open_device(lab::a().device), two = open_device(lab::a().device);
		EXPECT_EQ(group.used(), "hca_handle=2 hca_object=0");
		EXPECT_THROW(open_device(lab::a().device), Failure);
		EXPECT_EQ(group.used(), "hca_handle=2 hca_object=0");
		// Another device is not affected.
		EXPECT_NO_THROW(open_device(lab::b().device));
		two.reset();
		EXPECT_NO_THROW(open_device(lab::a().device));
	});
	EXPECT_EQ(group.used(), "hca_handle=0 hca_object=0");
}

TEST_F(cgroup, objects__of_each_kind_count)
{
	group.limit("hca_handle=max hca_object=6");
	inside([&] {
		Context context = open_device(lab::a().device);
		Pd pd = alloc_pd(context.get());
		Cq cq = create_cq(context.get(), 16);
		Region region(pd.get(), 4096);
		Mw window = alloc_mw(pd.get(), IBV_MW_TYPE_1);
		Srq srq = create_srq(pd.get(), 16);
		ibv_qp_init_attr attr = qp_attr(cq.get());
		Qp qp = create_qp(pd.get(), attr);
		EXPECT_EQ(group.used(), "hca_handle=1 hca_object=6");

		EXPECT_EQ(ibv_alloc_pd(context.get()), nullptr);
		EXPECT_EQ(ibv_create_cq(context.get(), 16, nullptr, nullptr, 0), nullptr);
		EXPECT_EQ(ibv_reg_mr(pd.get(), region.data(), 4096, all_access), nullptr);
		EXPECT_EQ(ibv_alloc_mw(pd.get(), IBV_MW_TYPE_1), nullptr);
		EXPECT_THROW(create_srq(pd.get(), 16), Failure);
		EXPECT_EQ(ibv_create_qp(pd.get(), &attr), nullptr);
		EXPECT_EQ(group.used(), "hca_handle=1 hca_object=6");

		qp.reset();
		EXPECT_EQ(group.used(), "hca_handle=1 hca_object=5");
		qp = create_qp(pd.get(), attr);
	});
	EXPECT_EQ(group.used(), "hca_handle=0 hca_object=0");
}

// Requests that fail for another reason are not charged.
TEST_F(cgroup, objects__failures_count_nothing)
{
	inside([&] {
		Context context = open_device(lab::a().device);
		Pd pd = alloc_pd(context.get());
		Cq cq = create_cq(context.get(), 16);
		std::string before = group.used();
		EXPECT_EQ(ibv_create_cq(context.get(), 1 << 30, nullptr, nullptr, 0), nullptr);
		EXPECT_EQ(ibv_reg_mr(pd.get(), nullptr, 4096, all_access), nullptr);
		ibv_qp_init_attr attr = qp_attr(cq.get(), 1 << 30);
		EXPECT_EQ(ibv_create_qp(pd.get(), &attr), nullptr);
		EXPECT_THROW(create_srq(pd.get(), 1 << 30), Failure);
		EXPECT_EQ(group.used(), before);
	});
}

TEST_F(cgroup, process__killed)
{
	inside([] {
		Context context = open_device(lab::a().device);
		Pd pd = alloc_pd(context.get());
		std::vector<Cq> many;
		for (int i = 0; i < 50; i++)
			many.push_back(create_cq(context.get(), 16));
		_exit(testing::Test::HasFailure());
	});
	EXPECT_EQ(group.used(), "hca_handle=0 hca_object=0");
}
