// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Attributes that are ignored according to the manual pages, or whose bit in the mask is not set:
// with any value the call succeeds, and has the same effect. For attributes that are ignored with a
// shared receive queue see qp.create__attributes_that_are_ignored.
#include <gtest/gtest.h>

#include <cstring>

#include "lab/host.h"
#include "rdma/objects.h"

using namespace rdma;

namespace {

struct ignored : testing::Test {
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Cq cq = create_cq(context.get(), 16);

	// A pointer that refers to no memory.
	template <class T>
	static T *garbage()
	{
		return reinterpret_cast<T *>(uintptr_t{0x5a5a5a5a5a5a5a5a});
	}
};

} // namespace

TEST_F(ignored, create_qp_ex__what_the_mask_does_not_name)
{
	ibv_qp_init_attr_ex attr;
	memset(&attr, 0x5a, sizeof(attr));
	attr.qp_context = nullptr;
	attr.send_cq = attr.recv_cq = cq.get();
	attr.srq = nullptr;
	attr.cap = {16, 16, 1, 1, 0};
	attr.qp_type = IBV_QPT_RC;
	attr.sq_sig_all = 1;
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = pd.get();
	Qp qp(ibv_create_qp_ex(context.get(), &attr));
	ASSERT_TRUE(qp) << strerror(errno);
	EXPECT_EQ(ibv_qp_to_qp_ex(qp.get()), nullptr) << "send operations were not requested";
}

TEST_F(ignored, create_srq_ex__what_the_mask_does_not_name)
{
	ibv_srq_init_attr_ex attr;
	memset(&attr, 0x5a, sizeof(attr));
	attr.srq_context = nullptr;
	attr.attr = {16, 1, 0};
	attr.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	attr.pd = pd.get();
	Srq srq(ibv_create_srq_ex(context.get(), &attr));
	ASSERT_TRUE(srq) << strerror(errno);
}

TEST_F(ignored, create_cq_ex__what_the_mask_does_not_name)
{
	ibv_cq_init_attr_ex attr{};
	attr.cqe = 16;
	attr.flags = ~0u;
	attr.parent_domain = garbage<ibv_pd>();
	ibv_cq_ex *ex = ibv_create_cq_ex(context.get(), &attr);
	ASSERT_TRUE(ex) << strerror(errno);
	Cq other(ibv_cq_ex_to_cq(ex));
}

// ibv_modify_srq(3), ibv_modify_qp(3)
TEST_F(ignored, modify__what_the_mask_does_not_name)
{
	Srq srq = create_srq(pd.get(), 16);
	EXPECT_EQ(modify_srq(srq.get(), IBV_SRQ_LIMIT, ~0u, 4), 0);
	EXPECT_EQ(modify_srq(srq.get(), IBV_SRQ_MAX_WR, 64, ~0u), 0);

	ibv_qp_init_attr init = qp_attr(cq.get());
	Qp qp = create_qp(pd.get(), init);
	ibv_qp_attr attr;
	memset(&attr, 0x5a, sizeof(attr));
	attr.qp_state = IBV_QPS_ERR;
	EXPECT_EQ(ibv_modify_qp(qp.get(), &attr, IBV_QP_STATE), 0);
	EXPECT_EQ(query_qp(qp.get()).qp_state, IBV_QPS_ERR);
}

// The contexts of a completion queue and of a queue pair are returned as the program has set them.
TEST_F(ignored, contexts)
{
	auto *mine = garbage<void>();
	Cq other(ibv_create_cq(context.get(), 16, mine, nullptr, 0));
	ASSERT_TRUE(other);
	EXPECT_EQ(other->cq_context, mine);
	ibv_qp_init_attr attr = qp_attr(other.get());
	attr.qp_context = mine;
	Qp qp = create_qp(pd.get(), attr);
	EXPECT_EQ(qp->qp_context, mine);
}
