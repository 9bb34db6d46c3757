// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The flush of full queues must not keep a processor in one softirq.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include <sys/socket.h>

#include "attach/side.h"
#include "rdma/endpoint.h"
#include "softirq.h"

using namespace isolation;

namespace {

// A queue pair with full queues on a program's connection, whose peer reads nothing.
struct Full {
	attach::Connection c = attach::connect();
	rdma::Context context = rdma::open_device(lab::a().device);
	rdma::Pd pd = rdma::alloc_pd(context.get());
	rdma::Region memory{pd.get(), 4096};
	rdma::Cq scq, rcq;
	rdma::Qp qp;

	explicit Full(uint32_t depth)
		: scq(rdma::create_cq(context.get(), static_cast<int>(depth))),
		  rcq(rdma::create_cq(context.get(), static_cast<int>(depth)))
	{
		ibv_qp_init_attr init = rdma::qp_attr(scq.get(), depth);
		init.recv_cq = rcq.get();
		init.sq_sig_all = 0;
		qp = rdma::create_qp(pd.get(), init);
		attach::Attr attr{};
		attr.form = KWARP_ATTACH_NONE;
		rdma::check(rdma::modify_state(qp.get(), IBV_QPS_INIT), "INIT");
		rdma::check(kwarpdv_attach(qp.get(), c.a.get(), &attr, nullptr), "attach");
		for (uint32_t i = 0; i < depth; i++)
			rdma::post_recv(qp.get(), i, {});
		// Requests given to TCP may be complete, without a completion; the others wait.
		for (uint32_t i = 0; !try_send(i); i++)
			;
	}

	int try_send(uint32_t id)
	{
		return rdma::try_post(qp.get(), rdma::send(id, {memory.sge(0, 4096)}).unsignaled());
	}

	void peer_resets()
	{
		const linger off{1, 0};
		setsockopt(c.b.get(), SOL_SOCKET, SO_LINGER, &off, sizeof(off));
		c.b.close();
	}

	// All receives, and all sends that waited, complete once and in order.
	void expect_flushed(uint32_t depth)
	{
		expect_in_order(rcq.get(), depth, 0);
		ibv_wc first = rdma::wait(scq.get());
		expect_in_order(scq.get(), 0, first.wr_id + 1);
	}

	static void expect_in_order(ibv_cq *cq, uint32_t count, uint64_t from)
	{
		for (const ibv_wc &wc : count ? rdma::wait(cq, count) : rdma::drain(cq)) {
			ASSERT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
			ASSERT_EQ(wc.wr_id, from++);
		}
	}
};

} // namespace

// A softirq makes at most 256 completions of each queue; a worker makes the others.
TEST(softirq, full_queues__flushed_in_pieces)
{
	constexpr uint32_t depth = 4096;
	std::vector<std::unique_ptr<Full>> all;
	for (int i = 0; i < 4; i++)
		all.push_back(std::make_unique<Full>(depth));
	Softirqs softirqs(true);
	for (auto &one : all)
		one->peer_resets();
	for (auto &one : all)
		one->expect_flushed(depth);
	const Softirqs::Most most = softirqs.most();
	EXPECT_GT(most.softirqs, 0u);
	EXPECT_GT(most.completions, 0u);
	EXPECT_LE(most.completions, 2u * 256);
}

// The duration is printed, not asserted.
TEST(softirq, many_full_queues__reset_at_once)
{
	constexpr uint32_t depth = 32768;
	std::vector<std::unique_ptr<Full>> all;
	const int count = lab::repetitions(64, 8);
	for (int i = 0; i < count; i++)
		all.push_back(std::make_unique<Full>(depth));
	// All resets arrive together.
	lab::Netem together(lab::b(), "slot 500ms 500ms");
	Softirqs softirqs(false);
	for (auto &one : all)
		one->peer_resets();
	for (auto &one : all)
		one->expect_flushed(depth);
	const Softirqs::Most most = softirqs.most();
	EXPECT_GT(most.softirqs, 0u);
	printf("# summary: %d full queue pairs reset at once: longest softirq %.1f ms\n", count,
	       most.milliseconds);
}
