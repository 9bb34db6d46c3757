// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <sys/mman.h>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct qp : testing::Test {
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Cq queue = create_cq(context.get(), 256);
	Region region{pd.get(), 4096};

	int try_create(const ibv_qp_cap &cap, ibv_qp_type type = IBV_QPT_RC)
	{
		ibv_qp_init_attr attr = qp_attr(queue.get());
		attr.cap = cap;
		attr.qp_type = type;
		Qp one(ibv_create_qp(pd.get(), &attr));
		return one ? 0 : errno;
	}

	Qp create()
	{
		ibv_qp_init_attr attr = qp_attr(queue.get());
		return create_qp(pd.get(), attr);
	}
};

} // namespace

TEST_F(qp, create__caps_granted_as_asked_or_more)
{
	for (uint32_t depth : {1u, 2u, 5u, 100u, 1024u})
		for (uint32_t sge : {1u, 3u, 6u}) {
			ibv_qp_init_attr attr = qp_attr(queue.get(), depth, sge);
			attr.cap.max_inline_data = sge * 8;
			Qp one = create_qp(pd.get(), attr);
			EXPECT_GE(attr.cap.max_send_wr, depth);
			EXPECT_GE(attr.cap.max_recv_wr, depth);
			EXPECT_GE(attr.cap.max_send_sge, sge);
			EXPECT_GE(attr.cap.max_recv_sge, sge);
			EXPECT_GE(attr.cap.max_inline_data, sge * 8);
		}
}

TEST_F(qp, create__the_most_the_device_has)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	ibv_device_attr attr = query_device(context.get());
	uint32_t sge = static_cast<uint32_t>(attr.max_sge),
		 wr = static_cast<uint32_t>(attr.max_qp_wr);
	EXPECT_EQ(try_create({wr, wr, 1, 1, 0}), 0);
	EXPECT_EQ(try_create({16, 16, sge, sge, 512}), 0);
}

TEST_F(qp, create__caps_too_big)
{
	ibv_device_attr attr = query_device(context.get());
	uint32_t sge = static_cast<uint32_t>(attr.max_sge) + 1;
	uint32_t wr = static_cast<uint32_t>(attr.max_qp_wr) + 1;
	EXPECT_NE(try_create({wr, 1, 1, 1, 0}), 0);
	EXPECT_NE(try_create({1, wr, 1, 1, 0}), 0);
	EXPECT_NE(try_create({1, 1, sge, 1, 0}), 0);
	EXPECT_NE(try_create({1, 1, 1, sge, 0}), 0);
	EXPECT_NE(try_create({1, 1, 1, 1, 1 << 20}), 0);
	EXPECT_NE(try_create({UINT32_MAX, 1, 1, 1, 0}), 0);
	EXPECT_NE(try_create({1, 1, UINT32_MAX, 1, 0}), 0);
}

TEST_F(qp, create__unsupported_types)
{
	for (ibv_qp_type type : {IBV_QPT_UD, IBV_QPT_UC, IBV_QPT_RAW_PACKET})
		EXPECT_NE(try_create({1, 1, 1, 1, 0}, type), 0) << "type " << type;
}

TEST_F(qp, create__without_receives)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	ibv_qp_init_attr attr = qp_attr(queue.get());
	attr.cap.max_recv_wr = 0;
	attr.cap.max_recv_sge = 0;
	Qp one = create_qp(pd.get(), attr);
	EXPECT_EQ(attr.cap.max_recv_wr, 0u);
	EXPECT_NE(try_post_recv(one.get(), 1, {region.sge(0, 8)}), 0);
	EXPECT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
}

// ibv_create_qp(3), ibv_create_srq(3): attributes of receives are ignored with a shared queue.
TEST_F(qp, create__attributes_that_are_ignored)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	ibv_srq_init_attr shared{};
	shared.attr = {.max_wr = 4, .max_sge = 1, .srq_limit = UINT32_MAX};
	Srq srq(ibv_create_srq(pd.get(), &shared));
	ASSERT_TRUE(srq) << strerror(errno);
	EXPECT_EQ(query_srq(srq.get()).srq_limit, 0u);
	ibv_qp_init_attr attr = qp_attr(queue.get());
	attr.srq = srq.get();
	attr.cap.max_recv_wr = UINT32_MAX;
	attr.cap.max_recv_sge = 99;
	Qp one(ibv_create_qp(pd.get(), &attr));
	ASSERT_TRUE(one) << strerror(errno);
	EXPECT_EQ(attr.cap.max_recv_wr, 0u);
	EXPECT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
}

TEST_F(qp, create__without_sends)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	ibv_qp_init_attr attr = qp_attr(queue.get());
	attr.cap.max_send_wr = 0;
	attr.cap.max_send_sge = 0;
	Qp one(ibv_create_qp(pd.get(), &attr));
	if (one) {
		EXPECT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
	} else {
		EXPECT_EQ(errno, EINVAL);
	}
}

TEST_F(qp, create__numbers_differ)
{
	std::vector<Qp> all;
	std::set<uint32_t> numbers;
	for (int i = 0; i < 64; i++) {
		all.push_back(create());
		numbers.insert(all.back()->qp_num);
	}
	EXPECT_EQ(numbers.size(), 64u);
	EXPECT_EQ(numbers.count(0), 0u);
}

// The kernel has two trees of queue pairs by number, in which 64 neighbours share a node of 576
// bytes. Unordered numbers would need a node for each queue pair, and most of an inner one.
TEST_F(qp, create__numbers_share_nodes)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	std::vector<Qp> all;
	std::set<uint32_t> nodes;
	for (int i = 0; i < 128; i++) {
		all.push_back(create());
		nodes.insert(all.back()->qp_num / 64);
	}
	// The sequence begins anywhere in a node, and leaves out numbers that are in use.
	EXPECT_LE(nodes.size(), 6u);
}

TEST_F(qp, query__caps_and_queues_exactly)
{
	ibv_qp_init_attr attr = qp_attr(queue.get(), 10, 3), init{};
	attr.cap.max_inline_data = 20;
	Qp one = create_qp(pd.get(), attr);
	ibv_qp_attr got = query_qp(one.get(), &init);
	for (const ibv_qp_cap &cap : {got.cap, init.cap}) {
		EXPECT_EQ(cap.max_send_wr, attr.cap.max_send_wr);
		EXPECT_EQ(cap.max_recv_wr, attr.cap.max_recv_wr);
		EXPECT_EQ(cap.max_send_sge, attr.cap.max_send_sge);
		EXPECT_EQ(cap.max_recv_sge, attr.cap.max_recv_sge);
		EXPECT_EQ(cap.max_inline_data, attr.cap.max_inline_data);
	}
	EXPECT_EQ(init.qp_type, IBV_QPT_RC);
	EXPECT_EQ(init.send_cq, queue.get());
	EXPECT_EQ(init.recv_cq, queue.get());
	EXPECT_EQ(init.sq_sig_all, 0);
}

TEST_F(qp, query__fresh_is_not_connected)
{
	Qp one = create();
	ibv_qp_state state = query_qp(one.get()).qp_state;
	EXPECT_TRUE(state == IBV_QPS_INIT || state == IBV_QPS_RESET) << state;
}

TEST_F(qp, query__signal_all)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	ibv_qp_init_attr attr = qp_attr(queue.get()), init{};
	attr.sq_sig_all = 1;
	Qp one = create_qp(pd.get(), attr);
	query_qp(one.get(), &init);
	EXPECT_EQ(init.sq_sig_all, 1);
}

TEST_F(qp, modify__no_connection_no_rts)
{
	Qp one = create();
	EXPECT_NE(modify_state(one.get(), IBV_QPS_RTS), 0);
	EXPECT_NE(modify_state(one.get(), IBV_QPS_SQD), 0);
	EXPECT_NE(query_qp(one.get()).qp_state, IBV_QPS_RTS);
}

// The attributes of a program that was built with older headers end before rate_limit.
TEST_F(qp, modify__attributes_of_older_programs)
{
	constexpr size_t page = 4096, old_size = offsetof(ibv_qp_attr, rate_limit);
	Memory memory(2 * page);
	ASSERT_EQ(mprotect(memory.data() + page, page, PROT_NONE), 0);
	Qp one = create();
	auto *attr = reinterpret_cast<ibv_qp_attr *>(memory.data() + page - old_size);
	attr->qp_state = IBV_QPS_INIT;
	EXPECT_EQ(ibv_modify_qp(one.get(), attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS), 0);
	EXPECT_EQ(query_qp(one.get()).qp_state, IBV_QPS_INIT);
}

TEST_F(qp, modify__no_such_state)
{
	Qp one = create();
	EXPECT_NE(modify_state(one.get(), static_cast<ibv_qp_state>(42)), 0);
}

TEST_F(qp, modify__unconnected_to_error_flushes)
{
	Qp one = create();
	for (int i = 0; i < 3; i++)
		post_recv(one.get(), i, {region.sge(0, 8)});
	ASSERT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
	EXPECT_EQ(query_qp(one.get()).qp_state, IBV_QPS_ERR);
	for (int i = 0; i < 3; i++) {
		ibv_wc wc = wait(queue.get());
		EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_EQ(wc.wr_id, uint64_t(i));
	}
}

// The call that posts makes all completions, not a worker of the kernel, whose time is nobody's.
TEST_F(qp, post__in_error_flushes_in_the_call)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	constexpr uint32_t depth = 8192;
	Cq large = create_cq(context.get(), depth);
	ibv_qp_init_attr attr = qp_attr(large.get(), depth);
	Qp one = create_qp(pd.get(), attr);
	ASSERT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
	std::vector<ibv_recv_wr> receives(depth);
	for (uint32_t i = 0; i < depth; i++) {
		receives[i].wr_id = i;
		receives[i].next = i + 1 < depth ? &receives[i + 1] : nullptr;
	}
	std::vector<ibv_wc> flushed(depth);
	ibv_recv_wr *bad = nullptr;
	ASSERT_EQ(ibv_post_recv(one.get(), receives.data(), &bad), 0);
	ASSERT_EQ(ibv_poll_cq(large.get(), depth, flushed.data()), static_cast<int>(depth));
	EXPECT_EQ(flushed.front().status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(flushed.back().wr_id, depth - 1);
}

TEST_F(qp, modify__error_stays_error)
{
	Qp one = create();
	ASSERT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
	EXPECT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
	EXPECT_NE(modify_state(one.get(), IBV_QPS_RTS), 0);
	EXPECT_EQ(query_qp(one.get()).qp_state, IBV_QPS_ERR);
}

TEST_F(qp, modify__error_to_reset_empties_it)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	Qp one = create();
	post_recv(one.get(), 1, {region.sge(0, 8)});
	ASSERT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
	wait(queue.get());
	ASSERT_EQ(modify_state(one.get(), IBV_QPS_RESET), 0);
	ASSERT_EQ(modify_state(one.get(), IBV_QPS_INIT), 0);
	EXPECT_EQ(query_qp(one.get()).qp_state, IBV_QPS_INIT);
}

TEST_F(qp, destroy__fresh_and_failed)
{
	create();
	Qp one = create();
	post_recv(one.get(), 1, {region.sge(0, 8)});
	one.reset();
	Qp two = create();
	ASSERT_EQ(modify_state(two.get(), IBV_QPS_ERR), 0);
	two.reset();
}

TEST_F(qp, destroy__takes_its_completions_along)
{
	Qp one = create();
	post_recv(one.get(), 1, {region.sge(0, 8)});
	ASSERT_EQ(modify_state(one.get(), IBV_QPS_ERR), 0);
	one.reset();
	ibv_wc wc;
	EXPECT_EQ(ibv_poll_cq(queue.get(), 1, &wc), 0);
}

TEST_F(qp, post__more_pieces_than_granted)
{
	ibv_qp_init_attr attr = qp_attr(queue.get(), 4, 2);
	Qp one = create_qp(pd.get(), attr);
	std::vector<ibv_sge> list(attr.cap.max_send_sge + 1, region.sge(0, 8));
	EXPECT_NE(try_post(one.get(), send(1, list)), 0);
	list.resize(attr.cap.max_recv_sge + 1, region.sge(0, 8));
	EXPECT_NE(try_post_recv(one.get(), 1, list), 0);
}

TEST_F(qp, post__unsupported_operations)
{
	if (!lab::a().is_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	EXPECT_NE(try_post(pair.client.qp(), Send(static_cast<ibv_wr_opcode>(77), 1, {})), 0);
}

TEST_F(qp, post__receive_queue_full)
{
	ibv_qp_init_attr attr = qp_attr(queue.get(), 8);
	Qp one = create_qp(pd.get(), attr);
	for (uint32_t i = 0; i < attr.cap.max_recv_wr; i++)
		post_recv(one.get(), i, {region.sge(0, 8)});
	EXPECT_EQ(try_post_recv(one.get(), 99, {region.sge(0, 8)}), ENOMEM);
}

TEST_F(qp, post__send_queue_full)
{
	// One call with a list longer than the queue: requests that fit are posted, and bad_wr is
	// the first that does not fit.
	Config config;
	config.send_wr = 4;
	Pair pair(both(config));
	uint32_t room = pair.client.cap().max_send_wr;
	std::vector<Send> list;
	for (uint32_t i = 0; i <= room; i++)
		list.push_back(write(i, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	ibv_send_wr *bad = nullptr;
	int ret = ibv_post_send(pair.client.qp(), chain(list), &bad);
	EXPECT_EQ(ret < 0 ? -ret : ret, ENOMEM);
	EXPECT_EQ(bad, &list[room].wr);
	wait_ok(pair.client.scq(), room);
	post(pair.client.qp(), write(9, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	EXPECT_EQ(wait_ok(pair.client.scq()).wr_id, 9u);
}

TEST(qp_connected, query__state_depths_rights)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	PairConfig config;
	config.connect.initiator_depth = 7;
	config.connect.responder_resources = 5;
	config.accept.initiator_depth = 3;
	config.accept.responder_resources = 7;
	Pair pair(config);
	ibv_qp_attr client = query_qp(pair.client.qp()), server = query_qp(pair.server.qp());
	EXPECT_EQ(client.qp_state, IBV_QPS_RTS);
	EXPECT_EQ(server.qp_state, IBV_QPS_RTS);
	EXPECT_EQ(client.qp_access_flags,
		  unsigned(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
	EXPECT_EQ(server.qp_access_flags,
		  unsigned(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
	EXPECT_EQ(client.max_rd_atomic, 7);
	EXPECT_EQ(client.max_dest_rd_atomic, 5);
	EXPECT_EQ(server.max_rd_atomic, 3);
	EXPECT_EQ(server.max_dest_rd_atomic, 7);
}

TEST(qp_connected, modify__illegal)
{
	Pair pair;
	for (ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR})
		EXPECT_NE(modify_state(pair.client.qp(), state), 0) << state;
	EXPECT_EQ(pair.client.state(), IBV_QPS_RTS);
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	wait_ok(pair.client.scq());
}

TEST(qp_connected, modify__to_error_ends_the_connection)
{
	Pair pair;
	ASSERT_EQ(modify_state(pair.client.qp(), IBV_QPS_ERR), 0);
	EXPECT_EQ(pair.client.state(), IBV_QPS_ERR);
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	pair.server.disconnected();
}

TEST(qp_connected, modify__to_sqd_lets_the_queue_finish)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	fill(pair.client.memory().span(0, 65536), 4);
	for (int i = 0; i < 8; i++)
		post(pair.client.qp(),
		     write(i, {pair.client.memory().sge(0, 65536)}, pair.server.remote()));
	ASSERT_EQ(modify_state(pair.client.qp(), IBV_QPS_SQD), 0);
	wait_ok(pair.client.scq(), 8);
	pair.server.disconnected();
	EXPECT_TRUE(filled(pair.server.memory().span(0, 65536), 4));
}

TEST(qp_connected, destroy__in_each_state)
{
	{
		Pair pair;
		pair.client.destroy_qp();
		EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	}
	{
		Pair pair;
		ASSERT_EQ(modify_state(pair.server.qp(), IBV_QPS_ERR), 0);
		pair.server.destroy_qp();
		EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
	}
	{
		Pair pair;
		pair.client.disconnect();
		pair.client.destroy_qp();
		pair.server.disconnected();
	}
	{
		Pair pair;
		for (int i = 0; i < 16; i++) // with work in flight
			post(pair.client.qp(),
			     read(i, {pair.client.memory().sge(0, 65536)}, pair.server.remote()));
		pair.client.destroy_qp();
		EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	}
}

// Restricts the rights of a connected QP; rights of the region alone are not sufficient.
static void leave_rights(Endpoint &e, unsigned int access)
{
	ibv_qp_attr attr{};
	attr.qp_access_flags = access;
	check(ibv_modify_qp(e.qp(), &attr, IBV_QP_ACCESS_FLAGS), "ibv_modify_qp");
	EXPECT_EQ(query_qp(e.qp()).qp_access_flags, access);
}

TEST(qp_connected, rights__no_write)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	leave_rights(pair.server, IBV_ACCESS_REMOTE_READ);
	post(pair.client.qp(), read(1, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	wait_ok(pair.client.scq());
	memset(pair.client.memory().data(), 0x77, 8);
	post(pair.client.qp(), write(2, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(all_equal(pair.server.memory().span(0, 8), 0));
}

TEST(qp_connected, rights__none)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	leave_rights(pair.server, 0);
	memset(pair.client.memory().data(), 0x77, 8);
	post(pair.client.qp(), write(2, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(all_equal(pair.server.memory().span(0, 8), 0));
}

TEST(qp_connected, rights__no_read)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Pair pair;
	memset(pair.server.memory().data(), 0x77, 8);
	leave_rights(pair.server, IBV_ACCESS_REMOTE_WRITE);
	post(pair.client.qp(), read(1, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_REM_ACCESS_ERR);
	EXPECT_TRUE(all_equal(pair.client.memory().span(0, 8), 0));
}
