// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Extended QPs and CQs: requests built by ibv_wr_*(), completions read field by field.
#include <endian.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <fstream>

#include "rdma/endpoint.h"
#include "rdma/eventually.h"

using namespace rdma;

namespace {

struct extended : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

PairConfig extended_pair()
{
	Config config;
	config.extended = true;
	config.inline_data = 128;
	return both(config);
}

ibv_qp_ex *wr(Endpoint &end)
{
	return ibv_qp_to_qp_ex(end.qp());
}

ibv_cq_ex *ex(ibv_cq *cq)
{
	return reinterpret_cast<ibv_cq_ex *>(cq);
}

// Starts polling: the fields of the next completion can be read until end_poll.
void start(ibv_cq_ex *cq)
{
	auto end = std::chrono::steady_clock::now() + patience;
	ibv_poll_cq_attr attr{};
	while (int ret = ibv_start_poll(cq, &attr)) {
		if (ret != ENOENT || std::chrono::steady_clock::now() > end)
			throw Failure("ibv_start_poll", ret);
	}
}

uint64_t now(clockid_t clock)
{
	timespec t{};
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

// A time namespace whose CLOCK_MONOTONIC is a day ahead. The process, which has one thread, is in
// it until the end of the object's life.
class Tomorrow {
public:
	Tomorrow() : home_(open("/proc/self/ns/time", O_RDONLY | O_CLOEXEC))
	{
		if (home_ < 0 || unshare(CLONE_NEWTIME))
			throw Failure("unshare(CLONE_NEWTIME)", errno);
		std::ofstream("/proc/self/timens_offsets") << "monotonic 86400 0\n" << std::flush;
		int next = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
		int failed = setns(next, CLONE_NEWTIME);
		close(next);
		if (failed)
			throw Failure("setns(CLONE_NEWTIME)", errno);
	}

	~Tomorrow()
	{
		if (setns(home_, CLONE_NEWTIME))
			abort();
		close(home_);
	}

	Tomorrow(const Tomorrow &) = delete;
	Tomorrow &operator=(const Tomorrow &) = delete;

private:
	int home_;
};

} // namespace

TEST_F(extended, create__unknown_operations)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Cq cq = create_cq(context.get(), 16);
	ibv_qp_init_attr plain = qp_attr(cq.get());
	ibv_qp_init_attr_ex attr{};
	attr.send_cq = attr.recv_cq = cq.get();
	attr.cap = plain.cap;
	attr.qp_type = IBV_QPT_RC;
	attr.pd = pd.get();
	attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	for (uint64_t op :
	     {IBV_QP_EX_WITH_TSO, IBV_QP_EX_WITH_FLUSH, IBV_QP_EX_WITH_ATOMIC_WRITE}) {
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND | op;
		EXPECT_EQ(ibv_create_qp_ex(context.get(), &attr), nullptr);
		EXPECT_EQ(errno, EOPNOTSUPP);
	}
	attr.send_ops_flags = all_send_ops;
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	attr.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB;
	EXPECT_EQ(ibv_create_qp_ex(context.get(), &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
	attr.create_flags = 0;
	Qp qp(ibv_create_qp_ex(context.get(), &attr));
	ASSERT_TRUE(qp);
	EXPECT_NE(ibv_qp_to_qp_ex(qp.get()), nullptr);
	EXPECT_GE(attr.cap.max_send_wr, plain.cap.max_send_wr);
}

TEST_F(extended, wr__send_write_read)
{
	Pair pair(extended_pair());
	Region &mine = pair.client.memory(), &theirs = pair.server.memory();
	fill(mine.span(0, 300), 1);
	post_recv(pair.server.qp(), 5, {theirs.sge(0, 1000)});
	ibv_qp_ex *qp = wr(pair.client);
	Remote to = pair.server.remote(2000);

	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, mine.lkey(), mine.address(), 300);
	qp->wr_id = 2;
	ibv_wr_rdma_write(qp, to.rkey, to.address);
	ibv_sge list[] = {mine.sge(0, 100), mine.sge(100, 0), mine.sge(100, 200)};
	ibv_wr_set_sge_list(qp, 3, list);
	qp->wr_id = 3;
	qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
	ibv_wr_rdma_read(qp, to.rkey, to.address);
	ibv_wr_set_sge(qp, mine.lkey(), mine.address(1000), 300);
	ASSERT_EQ(ibv_wr_complete(qp), 0);

	std::vector<ibv_wc> all = wait_ok(pair.client.scq(), 3);
	EXPECT_EQ(all[0].opcode, IBV_WC_SEND);
	EXPECT_EQ(all[1].opcode, IBV_WC_RDMA_WRITE);
	EXPECT_EQ(all[2].opcode, IBV_WC_RDMA_READ);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(all[i].wr_id, uint64_t(i + 1));
	EXPECT_EQ(wait_ok(pair.server.rcq()).byte_len, 300u);
	EXPECT_TRUE(filled(theirs.span(0, 300), 1));
	EXPECT_TRUE(filled(theirs.span(2000, 300), 1));
	EXPECT_TRUE(filled(mine.span(1000, 300), 1));
}

TEST_F(extended, wr__inline)
{
	Pair pair(extended_pair());
	post_recv(pair.server.qp(), 5, {pair.server.memory().sge(0, 1000)});
	ibv_qp_ex *qp = wr(pair.client);
	Remote to = pair.server.remote(2000);
	uint8_t data[120];
	fill(data, 9);
	ibv_data_buf pieces[] = {{data, 50}, {nullptr, 0}, {data + 50, 70}};

	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = 0;
	ibv_wr_rdma_write(qp, to.rkey, to.address);
	ibv_wr_set_inline_data(qp, data, sizeof(data));
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_inline_data_list(qp, 3, pieces);
	ASSERT_EQ(ibv_wr_complete(qp), 0);
	memset(data, 0, sizeof(data));

	wait_ok(pair.client.scq());
	EXPECT_EQ(wait_ok(pair.server.rcq()).byte_len, 120u);
	EXPECT_TRUE(filled(pair.server.memory().span(0, 120), 9));
	EXPECT_TRUE(filled(pair.server.memory().span(2000, 120), 9));
}

TEST_F(extended, wr__immediate_and_atomics)
{
	lab::Policy a(lab::a(), "send_imm", 1), b(lab::b(), "send_imm", 1);
	PairConfig config = extended_pair();
	config.server.access |= IBV_ACCESS_REMOTE_ATOMIC;
	Pair pair(config);
	Region &mine = pair.client.memory(), &theirs = pair.server.memory();
	for (int i = 0; i < 2; i++)
		post_recv(pair.server.qp(), i, {theirs.sge(0, 64)});
	ibv_qp_ex *qp = wr(pair.client);
	Remote to = pair.server.remote(2000);
	auto number = [](Region &region, size_t offset) {
		uint64_t n;
		memcpy(&n, region.data() + offset, sizeof(n));
		return n;
	};

	ibv_wr_start(qp);
	qp->wr_flags = IBV_SEND_SIGNALED;
	qp->wr_id = 0;
	ibv_wr_rdma_write_imm(qp, to.rkey, to.address + 64, htobe32(0x01020304));
	ibv_wr_set_sge(qp, mine.lkey(), mine.address(), 30);
	qp->wr_id = 1;
	ibv_wr_send_imm(qp, htobe32(0x05060708));
	ibv_wr_set_sge(qp, mine.lkey(), mine.address(), 20);
	qp->wr_id = 2;
	ibv_wr_atomic_fetch_add(qp, to.rkey, to.address, 5);
	ibv_wr_set_sge(qp, mine.lkey(), mine.address(1000), 8);
	qp->wr_id = 3;
	ibv_wr_atomic_cmp_swp(qp, to.rkey, to.address, 5, 77);
	ibv_wr_set_sge(qp, mine.lkey(), mine.address(1008), 8);
	ASSERT_EQ(ibv_wr_complete(qp), 0);

	std::vector<ibv_wc> all = wait_ok(pair.client.scq(), 4);
	EXPECT_EQ(all[2].opcode, IBV_WC_FETCH_ADD);
	EXPECT_EQ(all[3].opcode, IBV_WC_COMP_SWAP);
	EXPECT_EQ(number(mine, 1000), 0u);
	EXPECT_EQ(number(mine, 1008), 5u);
	EXPECT_EQ(number(theirs, 2000), 77u);

	ibv_cq_ex *rcq = ex(pair.server.rcq());
	start(rcq);
	EXPECT_EQ(ibv_wc_read_opcode(rcq), IBV_WC_RECV_RDMA_WITH_IMM);
	EXPECT_EQ(ibv_wc_read_wc_flags(rcq), unsigned(IBV_WC_WITH_IMM));
	EXPECT_EQ(ibv_wc_read_imm_data(rcq), htobe32(0x01020304));
	ibv_end_poll(rcq);
	start(rcq);
	EXPECT_EQ(ibv_wc_read_opcode(rcq), IBV_WC_RECV);
	EXPECT_EQ(ibv_wc_read_imm_data(rcq), htobe32(0x05060708));
	ibv_end_poll(rcq);
}

TEST_F(extended, wr__abort_posts_nothing)
{
	Pair pair(extended_pair());
	ibv_qp_ex *qp = wr(pair.client);
	for (int i = 0; i < 3; i++) {
		ibv_wr_start(qp);
		qp->wr_id = 1;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qp, 0, 0);
		ibv_wr_set_sge(qp, 0, 0, 1000);
		ibv_wr_abort(qp);
	}
	post(pair.client.qp(), write(2, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	EXPECT_EQ(wait_ok(pair.client.scq()).wr_id, 2u);
}

TEST_F(extended, wr__all_or_nothing)
{
	Pair pair(extended_pair());
	ibv_qp_ex *qp = wr(pair.client);
	Region &mine = pair.client.memory();
	Remote to = pair.server.remote();
	std::vector<uint8_t> big(pair.client.cap().max_inline_data + 1);
	std::vector<ibv_sge> many(pair.client.cap().max_send_sge + 1, mine.sge(0, 1));
	fill(mine.span(0, 64), 3);
	qp->wr_flags = IBV_SEND_SIGNALED;
	auto good = [&] {
		ibv_wr_rdma_write(qp, to.rkey, to.address);
		ibv_wr_set_sge(qp, mine.lkey(), mine.address(), 64);
	};

	ibv_wr_start(qp);
	good();
	ibv_wr_rdma_write(qp, to.rkey, to.address);
	ibv_wr_set_inline_data(qp, big.data(), big.size());
	good();
	EXPECT_EQ(ibv_wr_complete(qp), EINVAL) << "inline beyond what was granted";

	ibv_wr_start(qp);
	good();
	ibv_wr_rdma_write(qp, to.rkey, to.address);
	ibv_wr_set_sge_list(qp, many.size(), many.data());
	EXPECT_EQ(ibv_wr_complete(qp), EINVAL) << "more elements than were granted";

	ibv_wr_start(qp);
	good();
	ibv_wr_rdma_read(qp, to.rkey, to.address);
	ibv_wr_set_inline_data(qp, big.data(), 1);
	EXPECT_EQ(ibv_wr_complete(qp), EINVAL) << "a Read with inline data";

	ibv_wr_start(qp);
	for (uint32_t i = 0; i <= pair.client.cap().max_send_wr; i++)
		good();
	EXPECT_EQ(ibv_wr_complete(qp), ENOMEM) << "more requests than the queue has room for";

	ibv_wr_start(qp);
	EXPECT_EQ(ibv_wr_complete(qp), 0) << "an empty batch has no effect";

	post(pair.client.qp(), send(77, {}));
	post_recv(pair.server.qp(), 1, {});
	EXPECT_EQ(wait(pair.client.scq()).wr_id, 77u) << "nothing of the batches was posted";
	EXPECT_TRUE(all_equal(pair.server.memory().span(0, 64), 0));
}

TEST_F(extended, cq__unknown_fields)
{
	Context context = open_device(lab::a().device);
	ibv_cq_init_attr_ex attr{};
	attr.cqe = 16;
	for (uint64_t flag :
	     {IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG, IBV_WC_EX_WITH_TM_INFO}) {
		attr.wc_flags = uint64_t{IBV_WC_STANDARD_FLAGS} | flag;
		EXPECT_EQ(ibv_create_cq_ex(context.get(), &attr), nullptr);
		EXPECT_EQ(errno, EOPNOTSUPP);
	}
	attr.wc_flags = IBV_WC_STANDARD_FLAGS;
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	EXPECT_EQ(ibv_create_cq_ex(context.get(), &attr), nullptr);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(extended, cq__bad_size_and_vector)
{
	Context context = open_device(lab::a().device);
	ibv_cq_init_attr_ex attr{};
	attr.cqe = query_device(context.get()).max_cqe + 1;
	EXPECT_EQ(ibv_create_cq_ex(context.get(), &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	attr.cqe = 16;
	attr.comp_vector = context->num_comp_vectors;
	EXPECT_EQ(ibv_create_cq_ex(context.get(), &attr), nullptr);
	EXPECT_EQ(errno, EINVAL);
	attr.comp_vector = context->num_comp_vectors - 1;
	Cq cq(ibv_cq_ex_to_cq(check(ibv_create_cq_ex(context.get(), &attr), "ibv_create_cq_ex")));
}

TEST_F(extended, cq__fields)
{
	Pair pair(extended_pair());
	ibv_cq_ex *rcq = ex(pair.server.rcq());
	ibv_poll_cq_attr attr{};
	EXPECT_EQ(ibv_start_poll(rcq, &attr), ENOENT);
	attr.comp_mask = 1;
	EXPECT_EQ(ibv_start_poll(rcq, &attr), EINVAL);

	uint64_t mono = now(CLOCK_MONOTONIC), wall = now(CLOCK_REALTIME);
	for (int i = 0; i < 3; i++)
		post_recv(pair.server.qp(), 10 + i, {pair.server.memory().sge(0, 64)});
	for (int i = 0; i < 3; i++)
		post(pair.client.qp(), send(i, {pair.client.memory().sge(0, 20 + i)}));
	wait_ok(pair.client.scq(), 3);

	start(rcq);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(rcq->wr_id, 10u + i);
		EXPECT_EQ(rcq->status, IBV_WC_SUCCESS);
		EXPECT_EQ(ibv_wc_read_opcode(rcq), IBV_WC_RECV);
		EXPECT_EQ(ibv_wc_read_byte_len(rcq), 20u + i);
		EXPECT_EQ(ibv_wc_read_qp_num(rcq), pair.server.qp()->qp_num);
		EXPECT_EQ(ibv_wc_read_wc_flags(rcq), 0u);
		EXPECT_EQ(ibv_wc_read_vendor_err(rcq), 0u);
		// in order, and between the times that the test itself measured
		uint64_t ts = ibv_wc_read_completion_ts(rcq);
		EXPECT_GE(ts, mono);
		mono = ts;
		EXPECT_LE(ts, now(CLOCK_MONOTONIC));
		// the provider reads two clocks one after the other
		const uint64_t begin = now(CLOCK_MONOTONIC);
		uint64_t seen = ibv_wc_read_completion_wallclock_ns(rcq);
		const uint64_t slack = 1000000 + now(CLOCK_MONOTONIC) - begin;
		EXPECT_GE(seen + slack, wall);
		EXPECT_LE(seen, now(CLOCK_REALTIME) + slack);
		int ret = ENOENT;
		auto end = std::chrono::steady_clock::now() + patience;
		while (i < 2 && (ret = ibv_next_poll(rcq)) == ENOENT &&
		       std::chrono::steady_clock::now() < end)
			;
		ASSERT_TRUE(i == 2 || ret == 0);
	}
	EXPECT_EQ(ibv_next_poll(rcq), ENOENT);
	ibv_end_poll(rcq);
	EXPECT_EQ(ibv_poll_cq(pair.server.rcq(), 0, nullptr), 0);
}

TEST_F(extended, cq__timestamps_in_a_time_namespace)
{
	const uint64_t today = now(CLOCK_MONOTONIC);
	Tomorrow tomorrow;
	const uint64_t begin = now(CLOCK_MONOTONIC), wall = now(CLOCK_REALTIME);
	ASSERT_GE(begin - today, 86400'000000000u);
	Pair pair(extended_pair());
	ibv_cq_ex *rcq = ex(pair.server.rcq());
	post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 64)});
	post(pair.client.qp(), send(2, {pair.client.memory().sge(0, 64)}));
	start(rcq);
	const uint64_t ts = ibv_wc_read_completion_ts(rcq);
	EXPECT_GE(ts, begin);
	EXPECT_LE(ts, now(CLOCK_MONOTONIC));
	// The provider reads two clocks, one after the other.
	const uint64_t slack = 1000000 + now(CLOCK_MONOTONIC) - begin;
	const uint64_t seen = ibv_wc_read_completion_wallclock_ns(rcq);
	EXPECT_GE(seen + slack, wall);
	EXPECT_LE(seen, now(CLOCK_REALTIME) + slack);
	ibv_end_poll(rcq);
}

TEST_F(extended, cq__errors)
{
	Pair pair(extended_pair());
	post_recv(pair.server.qp(), 4, {pair.server.memory().sge(0, 64)});
	pair.client.disconnect();
	ibv_cq_ex *rcq = ex(pair.server.rcq());
	start(rcq);
	EXPECT_EQ(rcq->wr_id, 4u);
	EXPECT_EQ(rcq->status, IBV_WC_WR_FLUSH_ERR);
	ibv_end_poll(rcq);
}

TEST_F(extended, cq__end_poll_gives_room_back)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	Cq cq = create_cq_ex(context.get(), 4, nullptr, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	ibv_qp_init_attr attr = qp_attr(cq.get(), 4);
	for (int round = 0; round < 20; round++) {
		Qp qp = create_qp(pd.get(), attr);
		for (int i = 0; i < 4; i++)
			post_recv(qp.get(), i, {});
		ASSERT_EQ(modify_state(qp.get(), IBV_QPS_ERR), 0);
		start(ex(cq.get()));
		for (int i = 0; i < 4; i++) {
			EXPECT_EQ(ex(cq.get())->wr_id, uint64_t(i));
			EXPECT_EQ(ibv_next_poll(ex(cq.get())), i < 3 ? 0 : ENOENT);
		}
		ibv_end_poll(ex(cq.get()));
	}
}

// A program that counts its requests may post one for each completion, before end_poll, too.
TEST_F(extended, cq__room_for_posts_within_a_batch)
{
	constexpr uint64_t depth = 4, count = 100;
	PairConfig config;
	config.client.extended = true;
	config.client.cq_entries = depth;
	Pair pair(config);
	uint64_t posted = 0;
	const auto post_one = [&] {
		post(pair.client.qp(),
		     write(posted++, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	};
	while (posted < depth)
		post_one();
	ibv_cq_ex *cq = ex(pair.client.scq());
	start(cq);
	for (uint64_t i = 0; i < count; i++) {
		ASSERT_EQ(cq->wr_id, i);
		ASSERT_EQ(cq->status, IBV_WC_SUCCESS);
		post_one();
		ASSERT_TRUE(eventually([&] { return !ibv_next_poll(cq); })) << i;
	}
	ibv_end_poll(cq);
}

TEST_F(extended, clock__of_the_device)
{
	Context context = open_device(lab::a().device);
	ibv_device_attr_ex attr{};
	ASSERT_EQ(ibv_query_device_ex(context.get(), nullptr, &attr), 0);
	EXPECT_EQ(attr.hca_core_clock, 1000000u) << "kHz: one tick is a nanosecond";
	EXPECT_EQ(attr.completion_timestamp_mask, UINT64_MAX);
	ibv_values_ex values{};
	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	uint64_t before = now(CLOCK_MONOTONIC);
	ASSERT_EQ(ibv_query_rt_values_ex(context.get(), &values), 0);
	EXPECT_EQ(values.comp_mask, uint32_t(IBV_VALUES_MASK_RAW_CLOCK));
	EXPECT_GE(uint64_t(values.raw_clock.tv_nsec), before);
	EXPECT_LE(uint64_t(values.raw_clock.tv_nsec), now(CLOCK_MONOTONIC));
}
