// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The result of posting (ibv_post_send(3), ibv_post_recv(3)): EINVAL for an invalid request, or for
// a queue pair whose state accepts none (RESET, INIT and RTR no sends, RESET no receives), ENOMEM
// for a full queue. In a list, requests before the bad one are posted, bad_wr is the bad one, and
// requests after it are not posted.
#include <gtest/gtest.h>

#include <functional>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct post_errnos : KwarpOnly {
	// Posts the requests as one list; stores the index of bad_wr in bad, or the list's size if
	// there is none.
	static int post_list(ibv_qp *qp, std::vector<Send> &list, size_t &bad)
	{
		ibv_send_wr *bad_wr = nullptr;
		for (size_t i = list.size(); i--;) {
			ibv_send_wr *wr = list[i].get();
			wr->next = i + 1 < list.size() ? &list[i + 1].wr : nullptr;
		}
		int ret = ibv_post_send(qp, &list[0].wr, &bad_wr);
		for (bad = 0; bad < list.size() && bad_wr != &list[bad].wr;)
			bad++;
		return ret;
	}
	static int post_recv_list(ibv_qp *qp, std::vector<std::vector<ibv_sge>> lists, size_t &bad)
	{
		std::vector<ibv_recv_wr> list(lists.size());
		ibv_recv_wr *bad_wr = nullptr;
		for (size_t i = 0; i < list.size(); i++) {
			list[i].wr_id = i;
			list[i].sg_list = lists[i].data();
			list[i].num_sge = static_cast<int>(lists[i].size());
			list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
		}
		int ret = ibv_post_recv(qp, &list[0], &bad_wr);
		for (bad = 0; bad < list.size() && bad_wr != &list[bad];)
			bad++;
		return ret;
	}
};

// A queue pair that is not connected.
struct Alone {
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Cq cq = create_cq(context.get(), 64);
	Region region{pd.get(), 4096};
	Qp qp;

	Alone()
	{
		ibv_qp_init_attr attr = qp_attr(cq.get());
		qp = create_qp(pd.get(), attr);
	}
	int post_send()
	{
		std::vector<Send> two{send(1, {region.sge(0, 8)}), send(2, {region.sge(0, 8)})};
		size_t bad;
		int ret = post_errnos::post_list(qp.get(), two, bad);
		EXPECT_EQ(bad, ret ? 0u : 2u);
		return ret;
	}
	int post_recv()
	{
		size_t bad;
		int ret = post_errnos::post_recv_list(qp.get(),
						      {{region.sge(0, 8)}, {region.sge(0, 8)}},
						      bad);
		EXPECT_EQ(bad, ret ? 0u : 2u);
		return ret;
	}
	int to(ibv_qp_state state) { return modify_state(qp.get(), state); }
};

// A request that is invalid, which is posted between two valid ones.
struct Wrong {
	const char *name;
	std::function<Send(Pair &)> make;
};

const Wrong wrong_ones[] = {
	{"too many elements",
	 [](Pair &p) {
		 return send(2, std::vector<ibv_sge>(p.client.cap().max_send_sge + 1,
						     p.client.memory().sge(0, 1)));
	 }},
	{"no such operation",
	 [](Pair &p) {
		 return Send(static_cast<ibv_wr_opcode>(99), 2, {p.client.memory().sge(0, 8)});
	 }},
	{"an opcode out of range",
	 [](Pair &) { return Send(static_cast<ibv_wr_opcode>(-1), 2, {}); }},
	{"segmentation offload, which RNICs do not have",
	 [](Pair &p) { return Send(IBV_WR_TSO, 2, {p.client.memory().sge(0, 8)}); }},
	{"inline too long",
	 [](Pair &p) {
		 return send(2, {p.client.memory().sge(0, p.client.cap().max_inline_data + 1)})
			 .flags(IBV_SEND_INLINE | IBV_SEND_SIGNALED);
	 }},
	{"inline too long in sum",
	 [](Pair &p) {
		 uint32_t half = p.client.cap().max_inline_data / 2 + 1;
		 return send(2, {p.client.memory().sge(0, half), p.client.memory().sge(0, half)})
			 .flags(IBV_SEND_INLINE | IBV_SEND_SIGNALED);
	 }},
	{"an inline Read",
	 [](Pair &p) {
		 return read(2, {p.client.memory().sge(0, 8)}, p.server.remote())
			 .flags(IBV_SEND_INLINE | IBV_SEND_SIGNALED);
	 }},
	{"an invalidation with elements",
	 [](Pair &p) { return Send(IBV_WR_LOCAL_INV, 2, {p.client.memory().sge(0, 8)}); }},
	{"a bind of no window", [](Pair &) { return Send(IBV_WR_BIND_MW, 2, {}); }},
};

} // namespace

TEST_F(post_errnos, send__state)
{
	Alone a;
	EXPECT_EQ(a.post_send(), EINVAL) << "after creation";
	ASSERT_EQ(a.to(IBV_QPS_INIT), 0);
	EXPECT_EQ(a.post_send(), EINVAL) << "INIT";
	ASSERT_EQ(a.to(IBV_QPS_RTR), 0);
	EXPECT_EQ(a.post_send(), EINVAL) << "RTR";
	ASSERT_EQ(a.to(IBV_QPS_ERR), 0);
	EXPECT_EQ(a.post_send(), 0) << "ERR";
	for (uint64_t id : {1, 2}) {
		ibv_wc wc = wait(a.cq.get());
		EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_EQ(wc.wr_id, id);
	}
	ASSERT_EQ(a.to(IBV_QPS_RESET), 0);
	EXPECT_EQ(a.post_send(), EINVAL) << "RESET";
	ASSERT_EQ(a.to(IBV_QPS_INIT), 0);
	EXPECT_EQ(a.post_send(), EINVAL) << "INIT again";
	EXPECT_TRUE(drain(a.cq.get()).empty()) << "nothing was posted";
}

TEST_F(post_errnos, recv__state)
{
	Alone a;
	EXPECT_EQ(a.post_recv(), 0) << "INIT";
	ASSERT_EQ(a.to(IBV_QPS_RTR), 0);
	EXPECT_EQ(a.post_recv(), 0) << "RTR";
	ASSERT_EQ(a.to(IBV_QPS_ERR), 0);
	EXPECT_EQ(a.post_recv(), 0) << "ERR";
	for (const ibv_wc &wc : wait(a.cq.get(), 6))
		EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	ASSERT_EQ(a.to(IBV_QPS_RESET), 0);
	EXPECT_EQ(a.post_recv(), EINVAL) << "RESET";
	ASSERT_EQ(a.to(IBV_QPS_INIT), 0);
	EXPECT_EQ(a.post_recv(), 0) << "INIT again";
}

// The same with ibv_wr_*(), where an error fails the whole batch.
TEST_F(post_errnos, extended__state)
{
	Alone a;
	ibv_qp_init_attr_ex attr{};
	attr.qp_type = IBV_QPT_RC;
	attr.send_cq = attr.recv_cq = a.cq.get();
	attr.cap = {4, 4, 1, 1, 0};
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	attr.pd = a.pd.get();
	attr.send_ops_flags = all_send_ops;
	Qp qp(check(ibv_create_qp_ex(a.context.get(), &attr), "ibv_create_qp_ex"));
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(qp.get());
	auto one = [&] {
		ibv_wr_start(ex);
		ex->wr_id = 3;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_send(ex);
		ibv_wr_set_sge(ex, a.region.lkey(), a.region.address(), 8);
		return ibv_wr_complete(ex);
	};
	EXPECT_EQ(one(), EINVAL);
	ASSERT_EQ(modify_state(qp.get(), IBV_QPS_ERR), 0);
	EXPECT_EQ(one(), 0);
	EXPECT_EQ(wait(a.cq.get()).status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_TRUE(drain(a.cq.get()).empty());
}

// Between rdma_connect() and ESTABLISHED the state is not RTS yet; from then on it is, on both
// sides.
TEST_F(post_errnos, send__while_connecting)
{
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	client.connect();
	EXPECT_EQ(try_post(client.qp(), send(1, {client.memory().sge(0, 8)})), EINVAL);
	Endpoint server(listener.request());
	EXPECT_EQ(try_post(server.qp(), send(1, {server.memory().sge(0, 8)})), EINVAL);
	post_recv(client.qp(), 1, {client.memory().sge(0, 8)});
	server.accept();
	// As with InfiniBand, accept moves the queue pair to RTS before it sends the reply.
	EXPECT_EQ(try_post(server.qp(), send(2, {server.memory().sge(0, 8)})), 0);
	client.established();
	server.established();
	wait_ok(server.scq());
	wait_ok(client.rcq());
}

TEST_F(post_errnos, send__first_good_second_bad_third_never_seen)
{
	for (const Wrong &wrong : wrong_ones) {
		Config config;
		config.inline_data = 64;
		Pair pair(both(config));
		for (uint64_t id : {0, 1, 2})
			post_recv(pair.server.qp(), id, {pair.server.memory().sge(0, 4096)});
		ibv_sge some = pair.client.memory().sge(0, 8);
		std::vector<Send> list{send(1, {some}), wrong.make(pair), send(3, {some})};
		size_t bad;
		EXPECT_EQ(post_list(pair.client.qp(), list, bad), EINVAL) << wrong.name;
		EXPECT_EQ(bad, 1u) << wrong.name;
		EXPECT_EQ(wait_ok(pair.client.scq()).wr_id, 1u) << wrong.name;
		// the queue still works
		post(pair.client.qp(), send(4, {some}));
		EXPECT_EQ(wait_ok(pair.client.scq()).wr_id, 4u) << wrong.name;
		EXPECT_EQ(wait_ok(pair.server.rcq(), 2).size(), 2u) << wrong.name;
		EXPECT_TRUE(drain(pair.server.rcq(), Milliseconds(20)).empty()) << wrong.name;
	}
}

TEST_F(post_errnos, recv__first_good_second_bad_third_never_seen)
{
	Alone a;
	ibv_sge some = a.region.sge(0, 8);
	ibv_qp_init_attr init;
	size_t bad;
	query_qp(a.qp.get(), &init);
	EXPECT_EQ(post_recv_list(
			  a.qp.get(),
			  {{some}, std::vector<ibv_sge>(init.cap.max_recv_sge + 1, some), {some}},
			  bad),
		  EINVAL);
	EXPECT_EQ(bad, 1u);
	// One receive is posted already, so the last of the list has no room and is bad_wr.
	std::vector<std::vector<ibv_sge>> many(init.cap.max_recv_wr, {some});
	EXPECT_EQ(post_recv_list(a.qp.get(), many, bad), ENOMEM);
	EXPECT_EQ(bad, init.cap.max_recv_wr - 1u);
	ASSERT_EQ(a.to(IBV_QPS_ERR), 0);
	EXPECT_EQ(wait(a.cq.get(), init.cap.max_recv_wr).size(), size_t{init.cap.max_recv_wr});
	EXPECT_TRUE(drain(a.cq.get()).empty());
}
