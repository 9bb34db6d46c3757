// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Shared receive queues as objects. For messages into them see data/srq_test.cc.
#include <gtest/gtest.h>

#include "lab/host.h"
#include "rdma/region.h"
#include "rdma/work.h"

using namespace rdma;

namespace {

constexpr Milliseconds moment{200};

struct srq : testing::Test {
	void SetUp() override
	{
		if (!lab::a().is_kwarp())
			GTEST_SKIP() << "kwarp only";
	}

	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());

	int try_create(uint32_t depth, uint32_t sge)
	{
		ibv_srq_init_attr attr{};
		attr.attr.max_wr = depth;
		attr.attr.max_sge = sge;
		Srq queue(ibv_create_srq(pd.get(), &attr));
		return queue ? 0 : errno;
	}
	Qp qp_with(const Srq &queue, const Cq &cq)
	{
		ibv_qp_init_attr attr = qp_attr(cq.get());
		attr.srq = queue.get();
		return create_qp(pd.get(), attr);
	}
};

// Posts until there is no room; returns how many were posted.
uint32_t fill_up(ibv_srq *queue, uint32_t most = 100000)
{
	uint32_t n = 0;
	while (n < most && !try_post_srq_recv(queue, n, {}))
		n++;
	return n;
}

} // namespace

TEST_F(srq, device__limits)
{
	ibv_device_attr attr = query_device(context.get());
	EXPECT_GT(attr.max_srq, 0);
	EXPECT_GE(attr.max_srq_wr, 1024);
	EXPECT_GE(attr.max_srq_sge, 16);
	EXPECT_TRUE(attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
}

TEST_F(srq, create__grants_what_was_asked)
{
	for (uint32_t depth : {1, 2, 5, 100, 1024})
		for (uint32_t sge : {0, 1, 4, 16}) {
			Srq queue = create_srq(pd.get(), depth, sge);
			ibv_srq_attr attr = query_srq(queue.get());
			EXPECT_GE(attr.max_wr, depth);
			EXPECT_GE(attr.max_sge, sge);
			EXPECT_EQ(attr.srq_limit, 0u);
		}
}

TEST_F(srq, create__refused)
{
	ibv_device_attr attr = query_device(context.get());
	EXPECT_EQ(try_create(0, 1), EINVAL);
	EXPECT_EQ(try_create(attr.max_srq_wr + 1, 1), EINVAL);
	EXPECT_EQ(try_create(16, attr.max_srq_sge + 1), EINVAL);
	EXPECT_EQ(try_create(attr.max_srq_wr, 1), 0);
}

TEST_F(srq, post__full)
{
	Srq queue = create_srq(pd.get(), 10);
	EXPECT_EQ(fill_up(queue.get()), query_srq(queue.get()).max_wr);
	EXPECT_EQ(try_post_srq_recv(queue.get(), 1, {}), ENOMEM);
}

TEST_F(srq, post__too_many_elements)
{
	Srq queue = create_srq(pd.get(), 10, 2);
	uint32_t most = query_srq(queue.get()).max_sge;
	EXPECT_EQ(try_post_srq_recv(queue.get(), 1, std::vector<ibv_sge>(most + 1)), EINVAL);
	EXPECT_EQ(try_post_srq_recv(queue.get(), 1, std::vector<ibv_sge>(most)), 0);
}

TEST_F(srq, modify__limit)
{
	Srq queue = create_srq(pd.get(), 16);
	fill_up(queue.get());
	ASSERT_EQ(modify_srq(queue.get(), IBV_SRQ_LIMIT, 0, 7), 0);
	EXPECT_EQ(query_srq(queue.get()).srq_limit, 7u);
	ASSERT_EQ(modify_srq(queue.get(), IBV_SRQ_LIMIT, 0, 0), 0);
	EXPECT_EQ(query_srq(queue.get()).srq_limit, 0u);
}

TEST_F(srq, modify__refused_as_a_whole)
{
	Srq queue = create_srq(pd.get(), 16);
	fill_up(queue.get());
	uint32_t size = query_srq(queue.get()).max_wr;
	uint32_t most = query_device(context.get()).max_srq_wr;
	EXPECT_EQ(modify_srq(queue.get(), IBV_SRQ_LIMIT, 0, size + 1), EINVAL);
	EXPECT_EQ(modify_srq(queue.get(), IBV_SRQ_MAX_WR, 0, 0), EINVAL);
	EXPECT_EQ(modify_srq(queue.get(), IBV_SRQ_MAX_WR, most + 1, 0), EINVAL);
	EXPECT_EQ(modify_srq(queue.get(), 1 << 7, size, 1), EINVAL);
	EXPECT_EQ(modify_srq(queue.get(), IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, most + 1, 3), EINVAL);
	EXPECT_EQ(modify_srq(queue.get(), IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 64, 65), EINVAL);
	EXPECT_EQ(query_srq(queue.get()).max_wr, size);
	EXPECT_EQ(query_srq(queue.get()).srq_limit, 0u);
}

TEST_F(srq, modify__limit_that_is_not_met)
{
	// an empty queue is below the limit already, so the event is due at once
	Srq queue = create_srq(pd.get(), 16);
	AsyncEvents events(context.get());
	ASSERT_EQ(modify_srq(queue.get(), IBV_SRQ_LIMIT, 0, 4), 0);
	EXPECT_EQ(events.of(queue.get()).event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	EXPECT_EQ(query_srq(queue.get()).srq_limit, 0u) << "once for each arming";
	EXPECT_FALSE(events.next(moment));
}

TEST_F(srq, modify__limit_again_and_again)
{
	// The RDMA core keeps each event until the program reads it, so one event must suffice.
	Srq queue = create_srq(pd.get(), 16);
	AsyncEvents events(context.get());
	for (int i = 0; i < 100000; i++)
		ASSERT_EQ(modify_srq(queue.get(), IBV_SRQ_LIMIT, 0, 1 + i % 8), 0);
	EXPECT_EQ(events.of(queue.get()).event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	EXPECT_FALSE(readable(context->async_fd, Milliseconds(0)));
	EXPECT_EQ(query_srq(queue.get()).srq_limit, 1u + 99999 % 8) << "armed";
}

TEST_F(srq, resize__room)
{
	Srq queue = create_srq(pd.get(), 8);
	uint32_t small = fill_up(queue.get());
	ASSERT_EQ(modify_srq(queue.get(), IBV_SRQ_MAX_WR, 4 * small, 0), 0);
	EXPECT_GE(query_srq(queue.get()).max_wr, 4 * small);
	EXPECT_EQ(fill_up(queue.get()), query_srq(queue.get()).max_wr - small);
	EXPECT_EQ(modify_srq(queue.get(), IBV_SRQ_MAX_WR, small, 0), EINVAL) << "more are posted";
	EXPECT_GE(query_srq(queue.get()).max_wr, 4 * small);
}

TEST_F(srq, destroy__refused_while_qp_uses_it)
{
	Srq queue = create_srq(pd.get(), 16);
	Cq cq = create_cq(context.get(), 16);
	Qp qp = qp_with(queue, cq);
	EXPECT_EQ(ibv_destroy_srq(queue.get()), EBUSY);
	EXPECT_EQ(try_post_srq_recv(queue.get(), 1, {}), 0) << "the queue still works";
}

TEST_F(srq, qp__has_no_receives_of_its_own)
{
	Srq queue = create_srq(pd.get(), 16);
	Cq cq = create_cq(context.get(), 16);
	ibv_qp_init_attr attr = qp_attr(cq.get()), init{};
	attr.srq = queue.get();
	Qp qp = create_qp(pd.get(), attr);
	EXPECT_EQ(attr.cap.max_recv_wr, 0u);
	EXPECT_NE(try_post_recv(qp.get(), 1, {}), 0);
	query_qp(qp.get(), &init);
	EXPECT_EQ(init.srq, queue.get());
	EXPECT_EQ(init.cap.max_recv_wr, 0u);
}

TEST_F(srq, qp__error_leaves_the_queue_alone)
{
	Srq queue = create_srq(pd.get(), 16);
	Cq cq = create_cq(context.get(), 16);
	Qp qp = qp_with(queue, cq);
	uint32_t posted = fill_up(queue.get());
	AsyncEvents events(context.get());
	ASSERT_EQ(modify_state(qp.get(), IBV_QPS_ERR), 0);
	EXPECT_EQ(events.of(qp.get()).event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	ASSERT_EQ(modify_state(qp.get(), IBV_QPS_ERR), 0);
	EXPECT_FALSE(events.next(moment)) << "the queue pair was in error before";
	EXPECT_TRUE(drain(cq.get()).empty());
	EXPECT_EQ(try_post_srq_recv(queue.get(), posted, {}), ENOMEM) << "still full";
}

// The RDMA core keeps each event until the program reads it, so there must not be many.
TEST_F(srq, qp__one_event_before_it_is_connected)
{
	Srq queue = create_srq(pd.get(), 16);
	Cq cq = create_cq(context.get(), 16);
	Qp qp = qp_with(queue, cq);
	AsyncEvents events(context.get());
	for (int i = 0; i < 1000; i++) {
		ASSERT_EQ(modify_state(qp.get(), IBV_QPS_ERR), 0);
		ASSERT_EQ(modify_state(qp.get(), i % 2 ? IBV_QPS_RESET : IBV_QPS_INIT), 0);
		ASSERT_EQ(modify_state(qp.get(), IBV_QPS_INIT), 0);
	}
	EXPECT_EQ(events.of(qp.get()).event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	EXPECT_FALSE(readable(context->async_fd, Milliseconds(0)));
}

TEST_F(srq, create_ex__basic_only)
{
	ibv_srq_init_attr_ex attr{};
	attr.attr.max_wr = 16;
	attr.attr.max_sge = 1;
	attr.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
	attr.pd = pd.get();
	attr.srq_type = IBV_SRQT_BASIC;
	Srq queue(ibv_create_srq_ex(context.get(), &attr));
	EXPECT_TRUE(queue);
	attr.srq_type = IBV_SRQT_TM;
	EXPECT_EQ(ibv_create_srq_ex(context.get(), &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}
