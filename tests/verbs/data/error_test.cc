// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Work requests that are invalid at this end or at the other. In each case no byte is read or
// written without right, both ends are notified, and other connections continue.
#include <gtest/gtest.h>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

constexpr uint8_t untouched = 0x55;
constexpr size_t n = 4096;

// A connected pair; the server's target is in the middle of its memory, registered separately.
struct Target {
	Pair pair;
	AsyncEvents client_events{pair.client.context()};
	AsyncEvents server_events{pair.server.context()};
	Memory memory{3 * n};
	Mr mr;

	explicit Target(int access = all_access)
		: mr(reg_mr(pair.server.pd(), memory.data() + n, n, access))
	{
		memset(memory.data(), untouched, memory.size());
	}

	Remote at(int64_t offset, uint32_t key_change = 0)
	{
		return {reinterpret_cast<uintptr_t>(memory.data()) + n + offset,
			mr->rkey ^ key_change};
	}

	// A Write to this memory must fail.
	void write_fails(Remote to, size_t length = 64)
	{
		memset(pair.client.memory().data(), 0xaa, length);
		post(pair.client.qp(), write(1, {pair.client.memory().sge(0, length)}, to));
		EXPECT_EQ(server_events.of(pair.server.qp()).event_type, IBV_EVENT_QP_ACCESS_ERR);
		EXPECT_EQ(client_events.of(pair.client.qp()).event_type, IBV_EVENT_QP_FATAL);
		both_in_error();
		EXPECT_TRUE(all_equal(memory.span(0, memory.size()), untouched));
		// the Write may have been sent or flushed; it must be reported
		ibv_wc wc = wait(pair.client.scq());
		EXPECT_TRUE(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR ||
			    wc.status == IBV_WC_REM_ACCESS_ERR)
			<< to_string(wc);
	}

	// A Read of this memory must fail and report the reason.
	void read_fails(Remote from, size_t length = 64)
	{
		post(pair.client.qp(), read(1, {pair.client.memory().sge(0, length)}, from));
		post(pair.client.qp(), read(2, {pair.client.memory().sge(0, length)}, at(0)));
		EXPECT_EQ(server_events.of(pair.server.qp()).event_type, IBV_EVENT_QP_ACCESS_ERR);
		EXPECT_EQ(client_events.of(pair.client.qp()).event_type, IBV_EVENT_QP_FATAL);
		both_in_error();
		std::vector<ibv_wc> all = wait(pair.client.scq(), 2);
		EXPECT_EQ(all[0].wr_id, 1u);
		EXPECT_EQ(all[0].status, IBV_WC_REM_ACCESS_ERR);
		EXPECT_NE(all[0].vendor_err, 0u);
		EXPECT_EQ(all[1].status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_TRUE(all_equal(pair.client.memory().span(0, length), 0));
	}

	void both_in_error()
	{
		EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
		EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
		pair.client.disconnected();
		pair.server.disconnected();
	}
};

struct remote_error : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

struct local_error : remote_error {};

} // namespace

// ---- the other side's memory ----

TEST_F(remote_error, write__wrong_key)
{
	Target target;
	target.write_fails(target.at(0, 1));
}

TEST_F(remote_error, write__no_such_region)
{
	Target target;
	target.write_fails(target.at(0, 0x12345600));
	Target zero;
	zero.write_fails({zero.at(0).address, 0});
}

TEST_F(remote_error, write__behind_the_end)
{
	Target target;
	target.write_fails(target.at(n - 63), 64);
}

TEST_F(remote_error, write__just_behind_the_end)
{
	Target target;
	target.write_fails(target.at(n), 1);
}

TEST_F(remote_error, write__before_the_start)
{
	Target target;
	target.write_fails(target.at(-1), 64);
}

TEST_F(remote_error, write__address_wraps)
{
	Target target;
	target.write_fails({~0ull - 10, target.mr->rkey}, 64);
}

TEST_F(remote_error, write__long_one_is_not_placed_beyond)
{
	// The first segments are within the region, a later one is not: only the former may be
	// written.
	Target target;
	memset(target.pair.client.memory().data(), 0xaa, 2 * n);
	post(target.pair.client.qp(),
	     write(1, {target.pair.client.memory().sge(0, 2 * n)}, target.at(0)));
	target.both_in_error();
	EXPECT_TRUE(all_equal(target.memory.span(0, n), untouched));
	EXPECT_TRUE(all_equal(target.memory.span(2 * n, n), untouched));
}

TEST_F(remote_error, write__no_right)
{
	Target target(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	target.write_fails(target.at(0));
}

TEST_F(remote_error, write__region_of_another_pd)
{
	Target target;
	Pd other = alloc_pd(target.pair.server.context());
	target.mr = reg_mr(other.get(), target.memory.data() + n, n);
	target.write_fails(target.at(0));
	target.mr.reset();
}

TEST_F(remote_error, write__region_is_gone)
{
	Target target;
	Remote there = target.at(0);
	target.mr.reset();
	target.write_fails(there);
}

TEST_F(remote_error, read__wrong_key)
{
	Target target;
	target.read_fails(target.at(0, 0x80));
}

TEST_F(remote_error, read__behind_the_end)
{
	Target target;
	target.read_fails(target.at(n - 63), 64);
}

TEST_F(remote_error, read__before_the_start)
{
	Target target;
	target.read_fails(target.at(-1));
}

TEST_F(remote_error, read__address_wraps)
{
	Target target;
	target.read_fails({~0ull - 10, target.mr->rkey});
}

TEST_F(remote_error, read__no_right)
{
	Target target(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	target.read_fails(target.at(0));
}

TEST_F(remote_error, read__region_of_another_pd)
{
	Target target;
	Pd other = alloc_pd(target.pair.server.context());
	target.mr = reg_mr(other.get(), target.memory.data() + n, n);
	target.read_fails(target.at(0));
	target.mr.reset();
}

// Also if all requests arrive in one segment, which is processed in a single call.
TEST_F(remote_error, read__good_ones_before_it_succeed)
{
	for (bool together : {false, true}) {
		SCOPED_TRACE(together);
		Target target;
		std::vector<Send> list;
		for (int i = 0; i < 5; i++)
			list.push_back(read(i, {target.pair.client.memory().sge(0, 1000)},
					    target.at(0)));
		list.push_back(read(5, {target.pair.client.memory().sge(0, 1000)}, target.at(n)));
		list.push_back(send(6, {}));
		if (together)
			post_list(target.pair.client.qp(), list);
		else
			for (Send &one : list)
				post(target.pair.client.qp(), one);
		std::vector<ibv_wc> all = wait(target.pair.client.scq(), 7);
		for (int i = 0; i < 5; i++)
			EXPECT_EQ(all[i].status, IBV_WC_SUCCESS) << i;
		EXPECT_EQ(all[5].status, IBV_WC_REM_ACCESS_ERR);
	}
}

TEST_F(remote_error, connection__others_go_on)
{
	Pair other;
	{
		Target target;
		target.write_fails(target.at(0, 1));
	}
	fill(other.client.memory().span(0, 1000), 1);
	post(other.client.qp(),
	     write(1, {other.client.memory().sge(0, 1000)}, other.server.remote()));
	post(other.client.qp(),
	     read(2, {other.client.memory().sge(2000, 1000)}, other.server.remote()));
	wait_ok(other.client.scq(), 2);
	EXPECT_TRUE(filled(other.client.memory().span(2000, 1000), 1));
}

TEST_F(remote_error, counters__move)
{
	uint64_t protection = lab::b().counter("ddp_tagged_errors");
	uint64_t sent = lab::b().counter("tx_terminate");
	uint64_t received = lab::a().counter("rx_terminate");
	Target target;
	target.write_fails(target.at(0, 1));
	EXPECT_EQ(lab::b().counter("ddp_tagged_errors"), protection + 1);
	EXPECT_EQ(lab::b().counter("tx_terminate"), sent + 1);
	EXPECT_EQ(lab::a().counter("rx_terminate"), received + 1);
}

// ---- receives at the other side ----

TEST_F(remote_error, send__no_receive_is_posted)
{
	Target target;
	post(target.pair.client.qp(), send(1, {target.pair.client.memory().sge(0, 64)}));
	EXPECT_NE(target.server_events.of(target.pair.server.qp()).event_type, IBV_EVENT_COMM_EST);
	EXPECT_EQ(target.client_events.of(target.pair.client.qp()).event_type, IBV_EVENT_QP_FATAL);
	target.both_in_error();
}

TEST_F(remote_error, send__receive_is_too_short)
{
	Target target;
	post_recv(target.pair.server.qp(), 7, {target.pair.server.memory().sge(0, 100)});
	post_recv(target.pair.server.qp(), 8, {target.pair.server.memory().sge(0, 100)});
	post(target.pair.client.qp(), send(1, {target.pair.client.memory().sge(0, 101)}));
	std::vector<ibv_wc> all = wait(target.pair.server.rcq(), 2);
	EXPECT_EQ(all[0].wr_id, 7u);
	EXPECT_EQ(all[0].status, IBV_WC_LOC_LEN_ERR);
	EXPECT_EQ(all[1].wr_id, 8u);
	EXPECT_EQ(all[1].status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_NE(all[0].vendor_err, 0u);
	EXPECT_EQ(all[1].vendor_err, all[0].vendor_err);
	target.both_in_error();
	// nothing that comes later has this reason
	ibv_qp *qp = target.pair.server.qp();
	ASSERT_EQ(modify_state(qp, IBV_QPS_INIT), 0);
	post_recv(qp, 9, {target.pair.server.memory().sge(0, 64)});
	ASSERT_EQ(modify_state(qp, IBV_QPS_ERR), 0);
	EXPECT_EQ(wait(target.pair.server.rcq()).vendor_err, 0u);
}

TEST_F(remote_error, send__receive_has_a_bad_key)
{
	Target target;
	ibv_sge bad = target.pair.server.memory().sge(0, 100);
	bad.lkey ^= 1;
	post_recv(target.pair.server.qp(), 7, {bad});
	post(target.pair.client.qp(), send(1, {target.pair.client.memory().sge(0, 100)}));
	EXPECT_EQ(wait(target.pair.server.rcq()).status, IBV_WC_LOC_PROT_ERR);
	target.both_in_error();
}

TEST_F(remote_error, send__receive_buffer_is_not_writable)
{
	Target target(IBV_ACCESS_REMOTE_READ);
	post_recv(target.pair.server.qp(), 7, {{target.at(0).address, 100, target.mr->lkey}});
	post(target.pair.client.qp(), send(1, {target.pair.client.memory().sge(0, 100)}));
	EXPECT_EQ(wait(target.pair.server.rcq()).status, IBV_WC_LOC_PROT_ERR);
	EXPECT_TRUE(all_equal(target.memory.span(0, 3 * n), untouched));
	target.both_in_error();
}

// ---- our own memory ----

TEST_F(local_error, send__bad_key)
{
	Target target;
	ibv_sge bad = target.pair.client.memory().sge(0, 64);
	bad.lkey ^= 0x100;
	post(target.pair.client.qp(), send(1, {bad}));
	post(target.pair.client.qp(), send(2, {}));
	std::vector<ibv_wc> all = wait(target.pair.client.scq(), 2);
	EXPECT_EQ(all[0].status, IBV_WC_LOC_PROT_ERR);
	EXPECT_EQ(all[1].status, IBV_WC_WR_FLUSH_ERR);
	target.both_in_error();
}

TEST_F(local_error, send__range_outside)
{
	Target target;
	size_t size = target.pair.client.memory().size();
	post(target.pair.client.qp(), send(1, {target.pair.client.memory().sge(size - 10, 11)}));
	EXPECT_EQ(wait(target.pair.client.scq()).status, IBV_WC_LOC_PROT_ERR);
	target.both_in_error();
}

TEST_F(local_error, send__second_piece_is_bad)
{
	Target target;
	ibv_sge bad = target.pair.client.memory().sge(0, 64);
	bad.lkey = 0;
	post_recv(target.pair.server.qp(), 1, {target.pair.server.memory().sge(0, n)});
	post(target.pair.client.qp(), send(1, {target.pair.client.memory().sge(0, 3000), bad}));
	EXPECT_EQ(wait(target.pair.client.scq()).status, IBV_WC_LOC_PROT_ERR);
	EXPECT_EQ(wait(target.pair.server.rcq()).status, IBV_WC_WR_FLUSH_ERR);
	target.both_in_error();
}

TEST_F(local_error, send__longer_than_a_message_can_be)
{
	// RFC 5041 5.2: less than 2^32 bytes; the sum of the lengths must not overflow 32 bits
	Target target;
	ibv_sge half = target.pair.client.memory().sge(0, 64);
	half.length = 1U << 31;
	ibv_sge rest = target.pair.client.memory().sge(0, 64);
	post_recv(target.pair.server.qp(), 1, {target.pair.server.memory().sge(0, n)});
	post(target.pair.client.qp(), send(1, {half, half, rest}));
	EXPECT_EQ(wait(target.pair.client.scq()).status, IBV_WC_LOC_LEN_ERR);
	EXPECT_EQ(wait(target.pair.server.rcq()).status, IBV_WC_WR_FLUSH_ERR);
	target.both_in_error();
}

TEST_F(local_error, send__good_ones_before_it_arrive)
{
	Target target;
	for (int i = 0; i < 4; i++)
		post_recv(target.pair.server.qp(), i, {target.pair.server.memory().sge(0, n)});
	for (int i = 0; i < 3; i++)
		post(target.pair.client.qp(), send(i, {target.pair.client.memory().sge(0, 2000)}));
	ibv_sge bad = target.pair.client.memory().sge(0, 64);
	bad.lkey ^= 1;
	post(target.pair.client.qp(), send(3, {bad}));
	std::vector<ibv_wc> sent = wait(target.pair.client.scq(), 4),
			    received = wait(target.pair.server.rcq(), 4);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(sent[i].status, IBV_WC_SUCCESS);
		EXPECT_EQ(received[i].status, IBV_WC_SUCCESS);
	}
	EXPECT_EQ(sent[3].status, IBV_WC_LOC_PROT_ERR);
	EXPECT_EQ(received[3].status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(local_error, write__region_of_another_pd)
{
	Target target;
	Pd other = alloc_pd(target.pair.client.context());
	Region foreign(other.get(), n);
	post(target.pair.client.qp(), write(1, {foreign.sge(0, 64)}, target.at(0)));
	EXPECT_EQ(wait(target.pair.client.scq()).status, IBV_WC_LOC_PROT_ERR);
	EXPECT_TRUE(all_equal(target.memory.span(0, 3 * n), untouched));
	target.both_in_error();
}

TEST_F(local_error, read__sink_is_not_writable)
{
	Target target;
	Region sink(target.pair.client.pd(), n, IBV_ACCESS_REMOTE_READ);
	post(target.pair.client.qp(), read(1, {sink.sge(0, 64)}, target.at(0)));
	EXPECT_EQ(wait(target.pair.client.scq()).status, IBV_WC_LOC_PROT_ERR);
	target.both_in_error();
}

TEST_F(local_error, read__sink_is_deregistered_meanwhile)
{
	// The sink of the response is no longer registered: an error, and nothing is written.
	Target target;
	auto sink = std::make_unique<Region>(target.pair.client.pd(), 65536);
	for (int i = 0; i < 8; i++)
		post(target.pair.client.qp(),
		     read(i, {sink->sge(0, 60000)}, target.pair.server.remote()));
	sink->deregister();
	memset(sink->data(), untouched, 65536);
	wait(target.pair.client.scq(), 8);
	EXPECT_TRUE(all_equal(sink->span(0, 65536), untouched));
}
