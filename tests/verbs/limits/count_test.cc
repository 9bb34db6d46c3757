// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A process can make exactly as many objects as query_device reports.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "rdma/endpoint.h"
#include "rdma/window.h"

using namespace rdma;

namespace {

struct count : testing::Test {
	void SetUp() override
	{
		if (!lab::a().is_kwarp())
			GTEST_SKIP() << "kwarp only";
	}

	Context context = open_device(lab::a().device);
	ibv_device_attr attr = query_device(context.get());

	// Makes objects until the first failure; some exist already.
	template <class Make>
	void up_to(int most, Make make, int there = 0)
	{
		ASSERT_LE(most, 10000)
			<< "load the module with small limits, as limits.test.sh does";
		std::vector<decltype(make())> all;
		errno = 0;
		while (int(all.size()) <= most) {
			auto one = make();
			if (!one)
				break;
			all.push_back(std::move(one));
		}
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_EQ(int(all.size()) + there, most);
		all.pop_back();
		auto one = make();
		EXPECT_TRUE(one) << "one was destroyed";
		EXPECT_FALSE(make());
	}
};

} // namespace

TEST_F(count, pd)
{
	up_to(attr.max_pd, [&] { return Pd(ibv_alloc_pd(context.get())); });
}

TEST_F(count, cq)
{
	up_to(attr.max_cq,
	      [&] { return Cq(ibv_create_cq(context.get(), 1, nullptr, nullptr, 0)); });
}

TEST_F(count, qp)
{
	Pd pd = alloc_pd(context.get());
	Cq cq = create_cq(context.get(), 16);
	up_to(attr.max_qp, [&] {
		ibv_qp_init_attr init = qp_attr(cq.get(), 1);
		return Qp(ibv_create_qp(pd.get(), &init));
	});
}

TEST_F(count, srq)
{
	Pd pd = alloc_pd(context.get());
	up_to(attr.max_srq, [&] {
		ibv_srq_init_attr init{};
		init.attr = {1, 1, 0};
		return Srq(ibv_create_srq(pd.get(), &init));
	});
}

TEST_F(count, mr)
{
	Pd pd = alloc_pd(context.get());
	Memory memory(4096);
	Mr first(ibv_reg_mr(pd.get(), memory.data(), 4096, all_access));
	ASSERT_TRUE(first);
	auto one_more = [&] { return Mr(ibv_reg_mr(pd.get(), memory.data(), 4096, all_access)); };
	up_to(attr.max_mr, one_more, 1);
	// Reregistration does not count as another region.
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(ibv_rereg_mr(first.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
				       i % 2 ? all_access : 0),
			  0);
	up_to(attr.max_mr, one_more, 1);
}

TEST_F(count, mr__anew_when_there_is_no_other)
{
	Pd pd = alloc_pd(context.get());
	Memory memory(8192);
	std::vector<Mr> all;
	while (Mr mr{ibv_reg_mr(pd.get(), memory.data(), 4096, all_access)})
		all.push_back(std::move(mr));
	ASSERT_EQ(int(all.size()), attr.max_mr);
	EXPECT_EQ(ibv_rereg_mr(all.back().get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
			       memory.data() + 4096, 4096, 0),
		  0);
}

// Windows are counted separately.
TEST_F(count, mw)
{
	Pd pd = alloc_pd(context.get());
	bool second = false;
	up_to(attr.max_mw, [&] {
		second = !second;
		return Mw(ibv_alloc_mw(pd.get(), second ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1));
	});
	EXPECT_NO_THROW(Region(pd.get(), 4096));
}

// Requests that fail for another reason are not counted.
TEST_F(count, failures)
{
	Pd pd = alloc_pd(context.get());
	Cq cq = create_cq(context.get(), 16);
	for (int i = 0; i < 2 * attr.max_cq; i++)
		ASSERT_EQ(ibv_create_cq(context.get(), 1 << 30, nullptr, nullptr, 0), nullptr);
	for (int i = 0; i < 2 * attr.max_qp; i++) {
		ibv_qp_init_attr init = qp_attr(cq.get(), 1);
		init.qp_type = IBV_QPT_UD;
		ASSERT_EQ(ibv_create_qp(pd.get(), &init), nullptr);
	}
	for (int i = 0; i < 2 * attr.max_mr; i++)
		ASSERT_EQ(ibv_reg_mr(pd.get(), nullptr, 4096, all_access), nullptr);
	EXPECT_NO_THROW(create_cq(context.get(), 16));
	EXPECT_NO_THROW(Region(pd.get(), 4096));
	ibv_qp_init_attr init = qp_attr(cq.get());
	EXPECT_NO_THROW(create_qp(pd.get(), init));
}
