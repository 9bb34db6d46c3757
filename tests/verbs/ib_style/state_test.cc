// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// modify_qp and query_qp of a queue pair with a partner: ibv_modify_qp(3), ibv_query_qp(3).
#include "player.h"

#include <atomic>
#include <future>
#include <thread>

using namespace rdma;
using namespace ib_style;

namespace {

struct state : Rendezvous {};

void expect_rtr(const ibv_qp_attr &got, const ibv_qp_attr &set)
{
	EXPECT_EQ(got.path_mtu, set.path_mtu);
	EXPECT_EQ(got.dest_qp_num, set.dest_qp_num);
	EXPECT_EQ(got.rq_psn, set.rq_psn);
	EXPECT_EQ(got.max_dest_rd_atomic, set.max_dest_rd_atomic);
	EXPECT_EQ(got.min_rnr_timer, set.min_rnr_timer);
	EXPECT_EQ(got.port_num, 1);
	EXPECT_EQ(got.ah_attr.is_global, 1);
	EXPECT_EQ(got.ah_attr.port_num, 1);
	EXPECT_EQ(got.ah_attr.sl, set.ah_attr.sl);
	EXPECT_EQ(got.ah_attr.grh.sgid_index, set.ah_attr.grh.sgid_index);
	EXPECT_EQ(got.ah_attr.grh.hop_limit, set.ah_attr.grh.hop_limit);
	EXPECT_EQ(got.ah_attr.grh.flow_label, set.ah_attr.grh.flow_label);
	EXPECT_EQ(memcmp(&got.ah_attr.grh.dgid, &set.ah_attr.grh.dgid, sizeof(ibv_gid)), 0);
}

void expect_rts(const ibv_qp_attr &got, const ibv_qp_attr &set)
{
	EXPECT_EQ(got.timeout, set.timeout);
	EXPECT_EQ(got.retry_cnt, set.retry_cnt);
	EXPECT_EQ(got.rnr_retry, set.rnr_retry);
	EXPECT_EQ(got.sq_psn, set.sq_psn);
	EXPECT_EQ(got.max_rd_atomic, set.max_rd_atomic);
}

} // namespace

TEST_F(state, query__what_was_set)
{
	Player a(lab::a()), b(lab::b());
	a.to_init();
	EXPECT_EQ(a.state(), IBV_QPS_INIT);
	ibv_qp_attr rtr = a.rtr(b.name()), rts = a.rts();
	ASSERT_EQ(a.try_rtr(rtr), 0);
	EXPECT_EQ(a.state(), IBV_QPS_RTR);
	expect_rtr(a.query(), rtr);
	ASSERT_EQ(a.try_rts(rts), 0);
	EXPECT_EQ(a.state(), IBV_QPS_RTS);
	expect_rts(a.query(), rts);
	// and also after the partner has connected
	b.bring_up(a.name());
	transfers(a, b);
	EXPECT_EQ(a.state(), IBV_QPS_RTS);
	EXPECT_EQ(a.query().cur_qp_state, IBV_QPS_RTS);
	expect_rtr(a.query(), rtr);
	expect_rts(a.query(), rts);
	EXPECT_EQ(a.query().qp_access_flags, static_cast<unsigned int>(all_access));
}

TEST_F(state, rtr__needs_the_policy)
{
	lab::Policy off(lab::a(), "rendezvous_port", 0);
	Player a(lab::a()), b(lab::b());
	a.to_init();
	const uint64_t before = lab::a().counter("rendezvous_disabled");
	EXPECT_EQ(a.try_rtr(a.rtr(b.name())), EOPNOTSUPP);
	EXPECT_EQ(a.state(), IBV_QPS_INIT);
	EXPECT_EQ(lab::a().counter("rendezvous_disabled"), before + 1);
}

TEST_F(state, rtr__refuses)
{
	Player a(lab::a()), b(lab::b());
	a.to_init();
	ibv_qp_attr attr = a.rtr(b.name());
	attr.ah_attr.is_global = 0;
	EXPECT_EQ(a.try_rtr(attr), EINVAL);
	attr = a.rtr(b.name());
	attr.ah_attr.grh.dgid = gid_of("::");
	EXPECT_EQ(a.try_rtr(attr), EINVAL);
	attr.ah_attr.grh.dgid = gid_of("224.0.0.1");
	EXPECT_EQ(a.try_rtr(attr), EINVAL);
	attr.ah_attr.grh.dgid = gid_of("ff02::1");
	EXPECT_EQ(a.try_rtr(attr), EINVAL);
	attr = a.rtr(b.name());
	attr.ah_attr.grh.sgid_index = 60; // empty
	EXPECT_NE(a.try_rtr(attr), 0);
	// a queue pair cannot be its own partner
	attr = a.rtr(a.name());
	EXPECT_EQ(a.try_rtr(attr), EINVAL);
	for (uint32_t nobody : {0u, 1u, 0xffffffu}) {
		attr = a.rtr(b.name());
		attr.dest_qp_num = nobody;
		EXPECT_EQ(a.try_rtr(attr), EINVAL) << nobody;
	}
	attr = a.rtr(b.name());
	attr.path_mtu = static_cast<ibv_mtu>(0);
	EXPECT_EQ(a.try_rtr(attr), EINVAL);
	// an attribute is missing
	attr = a.rtr(b.name());
	EXPECT_EQ(ibv_modify_qp(a.qp(), &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN), EINVAL);
	EXPECT_EQ(a.state(), IBV_QPS_INIT);
	// none of these has changed anything
	introduce(a, b);
	transfers(a, b);
}

TEST_F(state, rts__needs_rtr_and_all_attributes)
{
	Player a(lab::a()), b(lab::b());
	a.to_init();
	EXPECT_EQ(a.try_rts(a.rts()), EINVAL);
	a.to_rtr(b.name());
	ibv_qp_attr attr = a.rts();
	EXPECT_EQ(ibv_modify_qp(a.qp(), &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), EINVAL);
	EXPECT_EQ(a.state(), IBV_QPS_RTR);
	a.to_rts();
}

// perftest's server posts its credits in this state and goes no further.
TEST_F(state, rtr__takes_sends)
{
	Player a(lab::a()), b(lab::b());
	a.to_init();
	a.to_rtr(b.name());
	a.post_send(1, 0, 64);
	b.to_init();
	b.post_recv(2, 0, 64);
	b.to_rtr(a.name());
	b.to_rts();
	EXPECT_EQ(wait(b.rcq()).status, IBV_WC_SUCCESS);
	EXPECT_EQ(wait(a.scq()).status, IBV_WC_SUCCESS);
	EXPECT_EQ(a.state(), IBV_QPS_RTR);
}

TEST_F(state, error__flushes_what_waits)
{
	for (bool connected : {false, true}) {
		Player a(lab::a()), b(lab::b());
		a.bring_up(b.name());
		if (connected) {
			b.bring_up(a.name());
			transfers(a, b);
		}
		a.post_recv(1, 0, 64);
		if (!connected)
			a.post_send(2, 0, 64);
		ASSERT_EQ(a.modify(IBV_QPS_ERR), 0);
		EXPECT_EQ(a.state(), IBV_QPS_ERR);
		EXPECT_EQ(wait(a.rcq()).status, IBV_WC_WR_FLUSH_ERR);
		if (!connected) {
			EXPECT_EQ(wait(a.scq()).status, IBV_WC_WR_FLUSH_ERR);
		}
		// as with InfiniBand, the partner notices only when it sends a request
		if (connected) {
			std::this_thread::sleep_for(Milliseconds(200));
			EXPECT_EQ(b.state(), IBV_QPS_RTS);
		}
		ASSERT_EQ(a.modify(IBV_QPS_RESET), 0);
		EXPECT_EQ(a.state(), IBV_QPS_RESET);
	}
}

// Room in a CQ that others use: RESET removes the completions of the flush.
TEST_F(state, reset__takes_no_room)
{
	constexpr uint32_t receives = 200;
	Player neighbour(lab::a()), b(lab::b());
	Cq small = create_cq(neighbour.context(), 16);
	ASSERT_LT(small->cqe, int(receives));
	Settings settings;
	settings.depth = receives;
	settings.rcq = small.get();
	Player a(neighbour, settings);
	introduce(a, b);
	transfers(a, b);
	for (uint32_t i = 0; i < receives; i++)
		a.post_recv(i, 0, 64);
	ASSERT_EQ(a.modify(IBV_QPS_RESET), 0);
	ibv_wc wc;
	EXPECT_EQ(ibv_poll_cq(small.get(), 1, &wc), 0) << "the queue has not overflowed";
	// and flushing works again
	a.to_init();
	a.post_recv(300, 0, 64);
	ASSERT_EQ(a.modify(IBV_QPS_ERR), 0);
	EXPECT_EQ(wait(small.get()).status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(state, sqd__pauses_and_goes_on)
{
	Player a(lab::a()), b(lab::b());
	introduce(a, b);
	transfers(a, b);
	ASSERT_EQ(a.modify(IBV_QPS_SQD), 0);
	EXPECT_EQ(a.state(), IBV_QPS_SQD);
	EXPECT_EQ(a.query().sq_draining, 0);
	b.post_recv(1, 0, 64);
	a.post_send(2, 0, 64);
	EXPECT_TRUE(drain(b.rcq(), Milliseconds(300)).empty());
	// the other direction is not affected
	a.post_recv(3, 0, 64);
	b.post_send(4, 0, 64);
	EXPECT_EQ(wait_ok(a.rcq()).wr_id, 3u);
	ASSERT_EQ(a.modify(IBV_QPS_RTS), 0);
	EXPECT_EQ(wait_ok(b.rcq()).wr_id, 1u);
	EXPECT_EQ(wait_ok(a.scq()).wr_id, 2u);
}

TEST_F(state, destroy__at_every_step)
{
	for (int step = 0; step < 6; step++)
		for (int round = 0; round < 4; round++) {
			Player a(lab::a()), b(lab::b());
			Player &first = round % 2 ? a : b, &second = round % 2 ? b : a;
			Name name_second = second.name();
			first.to_init();
			if (step >= 1)
				first.to_rtr(name_second);
			if (step >= 2)
				first.to_rts();
			if (step >= 3)
				second.bring_up(first.name());
			if (step == 4)
				std::this_thread::sleep_for(Milliseconds(3 * round));
			if (step == 5)
				transfers(first, second);
			first.destroy_qp();
			second.destroy_qp();
		}
}

// Two threads reset one queue pair. If the first thread connects the queue pair again, the second
// must not wait for the end of the new connection.
TEST_F(state, reset__by_two_threads)
{
	const int rounds = lab::repetitions(200, 40);
	for (int round = 0; round < rounds; round++) {
		Player a(lab::a()), b(lab::b());
		introduce(a, b);
		transfers(a, b);
		std::atomic<bool> begun = false;
		auto other = std::async(std::launch::async, [&] {
			begun = true;
			a.modify(IBV_QPS_RESET);
		});
		while (!begun)
			std::this_thread::yield();
		a.modify(IBV_QPS_RESET);
		ASSERT_EQ(b.modify(IBV_QPS_RESET), 0);
		// The second thread may reset the queue pair again after we have connected it.
		if (!a.try_init() && !a.try_rtr(a.rtr(b.name())) && !a.try_rts(a.rts()))
			b.bring_up(a.name());
		if (other.wait_for(patience) == std::future_status::ready)
			continue;
		b.destroy_qp();
		a.modify(IBV_QPS_ERR);
		FAIL() << "round " << round << ": the reset waits for the next connection";
	}
}
