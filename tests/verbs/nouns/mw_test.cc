// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory windows of type 1 and 2B. The server binds windows to its memory; the client accesses the
// memory through the windows. The rules are those of the manual pages of verbs and, for errors
// reported to the peer, RFC 5040 and 5041.
#include <gtest/gtest.h>

#include <functional>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/host.h"
#include "rdma/window.h"

using namespace rdma;

namespace {

constexpr uint8_t untouched = 0x55;
constexpr size_t page = 4096;
constexpr int rw = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr int windowed = all_access | IBV_ACCESS_MW_BIND;

// A connected pair, memory of the server with a region over it, and a window that is not bound yet.
struct Stage {
	Pair pair;
	AsyncEvents server_events{pair.server.context()};
	Memory memory{8 * page};
	Mr mr;
	Mw mw;

	explicit Stage(ibv_mw_type type, int access = windowed, const PairConfig &config = {})
		: pair(config), mr(reg_mr(pair.server.pd(), memory.data(), memory.size(), access)),
		  mw(alloc_mw(pair.server.pd(), type))
	{
		memset(memory.data(), untouched, memory.size());
		speak(pair);
	}

	// A responder executes no request, not even a local one, before the initiator has sent.
	static void speak(Pair &pair)
	{
		post(pair.client.qp(), write(1, {}, pair.server.remote()));
		wait_ok(pair.client.scq());
	}

	uint64_t at(size_t offset) const
	{
		return reinterpret_cast<uintptr_t>(memory.data()) + offset;
	}

	ibv_mw_bind_info info(size_t offset, size_t length, int access = rw) const
	{
		return {mr.get(), at(offset), length, static_cast<unsigned int>(access)};
	}

	// Binds the window and waits for the completion; returns the status.
	ibv_wc_status bind(const ibv_mw_bind_info &what)
	{
		if (mw->type == IBV_MW_TYPE_1)
			bind_type1(pair.server.qp(), mw.get(), 7, what);
		else
			bind_type2(pair.server.qp(), mw.get(), 7, what);
		ibv_wc wc = wait(pair.server.scq());
		EXPECT_EQ(wc.wr_id, 7u);
		if (wc.status == IBV_WC_SUCCESS) {
			EXPECT_EQ(wc.opcode, IBV_WC_BIND_MW);
		}
		return wc.status;
	}

	void open(size_t offset, size_t length, int access = rw)
	{
		ASSERT_EQ(bind(info(offset, length, access)), IBV_WC_SUCCESS);
	}

	ibv_wc_status invalidate(uint32_t key)
	{
		post(pair.server.qp(), local_inv(8, key));
		ibv_wc wc = wait(pair.server.scq());
		if (wc.status == IBV_WC_SUCCESS) {
			EXPECT_EQ(wc.opcode, IBV_WC_LOCAL_INV);
		}
		return wc.status;
	}

	Remote through(size_t offset) const { return {at(offset), mw->rkey}; }

	// The client writes to remote memory and reads the data back.
	void reaches(Remote there, size_t offset, size_t length, unsigned int seed = 1)
	{
		Region &own = pair.client.memory();
		fill(own.span(0, length), seed);
		post(pair.client.qp(), write(1, {own.sge(0, length)}, there));
		post(pair.client.qp(), read(2, {own.sge(32768, length)}, there));
		wait_ok(pair.client.scq(), 2);
		EXPECT_TRUE(filled(memory.span(offset, length), seed));
		EXPECT_TRUE(filled(own.span(32768, length), seed));
	}

	// All other memory is unchanged.
	void others_untouched(size_t offset, size_t length)
	{
		EXPECT_TRUE(all_equal(memory.span(0, offset), untouched));
		EXPECT_TRUE(all_equal(memory.span(offset + length, memory.size() - offset - length),
				      untouched));
	}

	// A Write to this memory ends the connection, and no byte is written.
	void write_fails(Remote there, size_t length = 64)
	{
		memset(memory.data(), untouched, memory.size());
		memset(pair.client.memory().data(), 0xaa, length);
		post(pair.client.qp(), write(1, {pair.client.memory().sge(0, length)}, there));
		EXPECT_EQ(server_events.of(pair.server.qp()).event_type, IBV_EVENT_QP_ACCESS_ERR);
		ended();
		others_untouched(0, 0);
	}

	void read_fails(Remote there, size_t length = 64)
	{
		post(pair.client.qp(), read(1, {pair.client.memory().sge(0, length)}, there));
		EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_REM_ACCESS_ERR);
		ended();
		EXPECT_TRUE(all_equal(pair.client.memory().span(0, length), 0));
	}

	void ended()
	{
		EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
		EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	}
};

// A second connection to the same server program: same protection domain, another QP.
PairConfig same_pd(const Stage &stage)
{
	PairConfig config;
	config.server.pd = stage.pair.server.pd();
	return config;
}

struct mw : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

struct mw_types : mw, testing::WithParamInterface<ibv_mw_type> {};

INSTANTIATE_TEST_SUITE_P(type, mw_types, testing::Values(IBV_MW_TYPE_1, IBV_MW_TYPE_2),
			 [](const auto &info) { return std::to_string(info.param); });

} // namespace

// ---- access through a window ----

TEST_P(mw_types, access__the_part_that_is_bound)
{
	Stage stage(GetParam());
	stage.open(page + 100, 5000);
	stage.reaches(stage.through(page + 100), page + 100, 5000);
	stage.others_untouched(page + 100, 5000);
}

TEST_P(mw_types, access__single_byte)
{
	Stage stage(GetParam());
	stage.open(3 * page - 1, 1);
	stage.reaches(stage.through(3 * page - 1), 3 * page - 1, 1);
	stage.others_untouched(3 * page - 1, 1);
}

TEST_P(mw_types, access__all_of_the_region)
{
	Stage stage(GetParam());
	stage.open(0, stage.memory.size());
	stage.reaches(stage.through(0), 0, stage.memory.size());
}

TEST_P(mw_types, access__zero_based)
{
	Stage stage(GetParam());
	stage.open(page + 77, 6000, rw | IBV_ACCESS_ZERO_BASED);
	stage.reaches({0, stage.mw->rkey}, page + 77, 6000);
	stage.reaches({5000, stage.mw->rkey}, page + 5077, 1000, 2);
	stage.others_untouched(page + 77, 6000);
	stage.write_fails({5999, stage.mw->rkey}, 2);
}

TEST_P(mw_types, access__zero_based_window_has_no_addresses)
{
	Stage stage(GetParam());
	stage.open(page, page, rw | IBV_ACCESS_ZERO_BASED);
	stage.write_fails(stage.through(page));
}

TEST_P(mw_types, access__region_is_zero_based)
{
	Stage stage(GetParam(), windowed | IBV_ACCESS_ZERO_BASED);
	ASSERT_EQ(stage.bind({stage.mr.get(), page + 10, 500, rw}), IBV_WC_SUCCESS);
	stage.reaches({page + 10, stage.mw->rkey}, page + 10, 500);
	stage.others_untouched(page + 10, 500);
}

TEST_P(mw_types, access__before_it)
{
	Stage stage(GetParam());
	stage.open(page, page);
	stage.write_fails(stage.through(page - 1), 64);
}

TEST_P(mw_types, access__behind_it)
{
	Stage stage(GetParam());
	stage.open(page, page);
	stage.write_fails(stage.through(2 * page - 63), 64);
}

TEST_P(mw_types, access__read_behind_it)
{
	Stage stage(GetParam());
	stage.open(page, page);
	stage.read_fails(stage.through(2 * page - 63), 64);
}

TEST_P(mw_types, access__window_for_reading_only)
{
	Stage stage(GetParam());
	stage.open(page, page, IBV_ACCESS_REMOTE_READ);
	post(stage.pair.client.qp(),
	     read(1, {stage.pair.client.memory().sge(0, 64)}, stage.through(page)));
	wait_ok(stage.pair.client.scq());
	EXPECT_TRUE(all_equal(stage.pair.client.memory().span(0, 64), untouched));
	stage.write_fails(stage.through(page));
}

TEST_P(mw_types, access__window_for_writing_only)
{
	Stage stage(GetParam());
	stage.open(page, page, IBV_ACCESS_REMOTE_WRITE);
	stage.read_fails(stage.through(page));
}

TEST_P(mw_types, access__rights_that_the_region_does_not_give)
{
	// A window has its own access rights.
	Stage stage(GetParam(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	stage.open(page, page);
	stage.reaches(stage.through(page), page, page);
	stage.write_fails({stage.at(4 * page), stage.mr->rkey});
}

TEST_P(mw_types, access__not_bound)
{
	Stage stage(GetParam());
	stage.write_fails(stage.through(page));
}

TEST_P(mw_types, access__key_before_the_bind)
{
	Stage stage(GetParam());
	uint32_t old = stage.mw->rkey;
	stage.open(page, page);
	EXPECT_NE(stage.mw->rkey, old);
	EXPECT_EQ(stage.mw->rkey >> 8, old >> 8);
	stage.write_fails({stage.at(page), old});
}

TEST_P(mw_types, access__no_key_to_local_memory)
{
	Stage stage(GetParam());
	stage.open(page, page);
	post(stage.pair.server.qp(), send(1, {{stage.at(page), 64, stage.mw->rkey}}));
	EXPECT_EQ(wait(stage.pair.server.scq()).status, IBV_WC_LOC_PROT_ERR);
}

TEST(mw_pd, access__other_queue_pair)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	// Type 1 belongs to the protection domain.
	Stage stage(IBV_MW_TYPE_1);
	Pair other(same_pd(stage));
	stage.open(page, page);
	fill(other.client.memory().span(0, 64), 5);
	post(other.client.qp(), write(1, {other.client.memory().sge(0, 64)}, stage.through(page)));
	post(other.client.qp(), read(2, {other.client.memory().sge(64, 64)}, stage.through(page)));
	wait_ok(other.client.scq(), 2);
	EXPECT_TRUE(filled(stage.memory.span(page, 64), 5));

	// Type 2B belongs to the queue pair that bound it.
	Mw mine = alloc_mw(stage.pair.server.pd(), IBV_MW_TYPE_2);
	bind_type2(stage.pair.server.qp(), mine.get(), 1, stage.info(2 * page, page));
	wait_ok(stage.pair.server.scq());
	stage.reaches({stage.at(2 * page), mine->rkey}, 2 * page, 64);
	memset(stage.memory.data(), untouched, stage.memory.size());
	post(other.client.qp(),
	     write(3, {other.client.memory().sge(0, 64)}, {stage.at(2 * page), mine->rkey}));
	EXPECT_EQ(stage.server_events.of(other.server.qp()).event_type, IBV_EVENT_QP_ACCESS_ERR);
	EXPECT_TRUE(other.server.reaches(IBV_QPS_ERR));
	stage.others_untouched(0, 0);
	// the failure does not affect the owner of the window
	stage.reaches({stage.at(2 * page), mine->rkey}, 2 * page, 64);
}

TEST_P(mw_types, access__other_protection_domain)
{
	Stage stage(GetParam());
	Pair other;
	stage.open(page, page);
	memset(other.client.memory().data(), 0xaa, 64);
	post(other.client.qp(), write(1, {other.client.memory().sge(0, 64)}, stage.through(page)));
	EXPECT_EQ(stage.server_events.of(other.server.qp()).event_type, IBV_EVENT_QP_ACCESS_ERR);
	EXPECT_TRUE(other.server.reaches(IBV_QPS_ERR));
	stage.others_untouched(0, 0);
}

// ---- binding: what is refused ----

TEST_P(mw_types, bind__region_without_the_right)
{
	Stage stage(GetParam(), all_access);
	EXPECT_EQ(stage.bind(stage.info(page, page)), IBV_WC_MW_BIND_ERR);
	stage.ended();
}

TEST_P(mw_types, bind__for_writing_needs_a_writable_region)
{
	Stage stage(GetParam(), IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	stage.open(page, page, IBV_ACCESS_REMOTE_READ);
	Stage other(GetParam(), IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	EXPECT_EQ(other.bind(other.info(page, page, IBV_ACCESS_REMOTE_WRITE)), IBV_WC_MW_BIND_ERR);
	Stage third(GetParam(), IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	EXPECT_EQ(third.bind(third.info(page, page, IBV_ACCESS_REMOTE_ATOMIC)), IBV_WC_MW_BIND_ERR);
}

TEST_P(mw_types, bind__invalid_rights)
{
	for (int access : {int(IBV_ACCESS_MW_BIND), 1 << 12}) {
		Stage stage(GetParam());
		EXPECT_EQ(stage.bind(stage.info(page, page, IBV_ACCESS_REMOTE_READ | access)),
			  IBV_WC_MW_BIND_ERR)
			<< access;
	}
}

TEST_P(mw_types, bind__local_write_is_the_regions)
{
	// rdma-core's own suite sets this right, which has no effect on the key of a window
	Stage stage(GetParam());
	stage.open(page, page, rw | IBV_ACCESS_LOCAL_WRITE);
	stage.reaches(stage.through(page), page, 64);
	post(stage.pair.server.qp(),
	     read(1, {{stage.at(page), 64, stage.mw->rkey}}, stage.pair.client.remote()));
	EXPECT_EQ(wait(stage.pair.server.scq()).status, IBV_WC_LOC_PROT_ERR);
}

TEST_P(mw_types, bind__outside_of_the_region)
{
	Stage sizes(GetParam());
	size_t size = sizes.memory.size();
	for (auto [offset, length] : {std::pair<size_t, size_t>{0, size + 1},
				      {size - 10, 11},
				      {size, 1},
				      {size_t(-1), 2},
				      {page, SIZE_MAX}}) {
		Stage stage(GetParam());
		EXPECT_EQ(stage.bind(stage.info(offset, length)), IBV_WC_MW_BIND_ERR)
			<< offset << ' ' << length;
	}
}

TEST_P(mw_types, bind__region_of_another_pd)
{
	Stage stage(GetParam());
	Pd pd = alloc_pd(stage.pair.server.context());
	Mr foreign = reg_mr(pd.get(), stage.memory.data(), page, windowed);
	ibv_mw_bind_info what{foreign.get(), stage.at(0), 64, rw};
	if (GetParam() == IBV_MW_TYPE_1) {
		ibv_mw_bind bind{1, IBV_SEND_SIGNALED, what};
		EXPECT_EQ(ibv_bind_mw(stage.pair.server.qp(), stage.mw.get(), &bind), EPERM);
	} else {
		EXPECT_EQ(stage.bind(what), IBV_WC_MW_BIND_ERR);
	}
}

TEST_P(mw_types, bind__window_of_another_pd)
{
	Stage stage(GetParam());
	Pd pd = alloc_pd(stage.pair.server.context());
	Mw foreign = alloc_mw(pd.get(), GetParam());
	Send wr = bind_mw(1, foreign.get(), ibv_inc_rkey(foreign->rkey), stage.info(page, page));
	post(stage.pair.server.qp(), wr);
	EXPECT_EQ(wait(stage.pair.server.scq()).status, IBV_WC_MW_BIND_ERR);
}

TEST_P(mw_types, bind__region_is_gone)
{
	Stage stage(GetParam());
	ibv_mr gone = *stage.mr;
	ibv_mw_bind_info what = stage.info(page, page);
	what.mr = &gone;
	stage.mr.reset();
	EXPECT_EQ(stage.bind(what), IBV_WC_MW_BIND_ERR);
}

TEST_P(mw_types, bind__window_is_no_region)
{
	Stage stage(GetParam());
	stage.open(0, 4 * page);
	ibv_mr wrong = *stage.mr;
	wrong.lkey = stage.mw->rkey;
	Mw second = alloc_mw(stage.pair.server.pd(), GetParam());
	post(stage.pair.server.qp(),
	     bind_mw(1, second.get(), ibv_inc_rkey(second->rkey), {&wrong, stage.at(0), page, rw}));
	EXPECT_EQ(wait(stage.pair.server.scq()).status, IBV_WC_MW_BIND_ERR);
}

TEST_P(mw_types, bind__region_is_no_window)
{
	Stage stage(GetParam());
	ibv_mw wrong = *stage.mw;
	wrong.rkey = stage.mr->rkey;
	post(stage.pair.server.qp(),
	     bind_mw(1, &wrong, ibv_inc_rkey(wrong.rkey), stage.info(page, page)));
	EXPECT_EQ(wait(stage.pair.server.scq()).status, IBV_WC_MW_BIND_ERR);
}

TEST_F(mw, bind__key_with_another_index)
{
	Stage stage(IBV_MW_TYPE_2);
	post(stage.pair.server.qp(),
	     bind_mw(1, stage.mw.get(), stage.mw->rkey ^ 0x100, stage.info(page, page)));
	EXPECT_EQ(wait(stage.pair.server.scq()).status, IBV_WC_MW_BIND_ERR);
}

TEST_F(mw, bind__type_2_is_bound_already)
{
	Stage stage(IBV_MW_TYPE_2);
	stage.open(page, page);
	EXPECT_EQ(stage.bind(stage.info(2 * page, page)), IBV_WC_MW_BIND_ERR);
}

TEST_F(mw, bind__type_2_with_length_zero)
{
	Stage stage(IBV_MW_TYPE_2);
	EXPECT_EQ(stage.bind(stage.info(page, 0)), IBV_WC_MW_BIND_ERR);
}

TEST_F(mw, bind__type_2_is_not_for_ibv_bind_mw)
{
	Stage stage(IBV_MW_TYPE_2);
	ibv_mw_bind bind{1, IBV_SEND_SIGNALED, stage.info(page, page)};
	EXPECT_EQ(ibv_bind_mw(stage.pair.server.qp(), stage.mw.get(), &bind), EINVAL);
}

TEST_F(mw, bind__unsignaled_and_before_a_send)
{
	// A peer that gets the key in a Send on the same queue pair may use it.
	Stage stage(IBV_MW_TYPE_1);
	Region &note = stage.pair.server.memory();
	post_recv(stage.pair.client.qp(), 1, {stage.pair.client.memory().sge(0, 4)});
	ibv_mw_bind bind{1, 0, stage.info(page, page)};
	ASSERT_EQ(ibv_bind_mw(stage.pair.server.qp(), stage.mw.get(), &bind), 0);
	memcpy(note.data(), &stage.mw->rkey, 4);
	post(stage.pair.server.qp(), send(2, {note.sge(0, 4)}));
	wait_ok(stage.pair.client.rcq());
	uint32_t key;
	memcpy(&key, stage.pair.client.memory().data(), 4);
	stage.reaches({stage.at(page), key}, page, page);
	EXPECT_EQ(wait_ok(stage.pair.server.scq()).wr_id, 2u);
}

// ---- type 1: moving and closing ----

TEST_F(mw, rebind__moves_the_window)
{
	Stage stage(IBV_MW_TYPE_1);
	for (size_t i = 0; i < 300; i++) {
		stage.open(i % 7 * page, page);
		if (i % 50 == 0)
			stage.reaches(stage.through(i % 7 * page), i % 7 * page, page, i);
	}
	stage.open(0, page);
	stage.write_fails(stage.through(page));
}

TEST_F(mw, rebind__failure_leaves_the_old_binding)
{
	Stage stage(IBV_MW_TYPE_1);
	Pair other(same_pd(stage));
	stage.open(page, page);
	uint32_t key = stage.mw->rkey;
	EXPECT_EQ(stage.bind(stage.info(0, stage.memory.size() + 1)), IBV_WC_MW_BIND_ERR);
	fill(other.client.memory().span(0, 64), 5);
	post(other.client.qp(),
	     write(1, {other.client.memory().sge(0, 64)}, {stage.at(page), key}));
	post(other.client.qp(),
	     read(2, {other.client.memory().sge(64, 64)}, {stage.at(page), key}));
	wait_ok(other.client.scq(), 2);
	EXPECT_TRUE(filled(stage.memory.span(page, 64), 5));
}

TEST_F(mw, unbind__by_length_zero)
{
	Stage stage(IBV_MW_TYPE_1);
	stage.open(page, page);
	uint32_t key = stage.mw->rkey;
	ASSERT_EQ(stage.bind({nullptr, 0, 0, 0}), IBV_WC_SUCCESS);
	EXPECT_EQ(ibv_dereg_mr(stage.mr.release()), 0);
	stage.write_fails({stage.at(page), key});
}

TEST_F(mw, unbind__what_is_not_bound)
{
	Stage stage(IBV_MW_TYPE_1);
	EXPECT_EQ(stage.bind({nullptr, 0, 0, 0}), IBV_WC_SUCCESS);
	stage.open(page, page);
	stage.reaches(stage.through(page), page, page);
}

// ---- invalidation ----

TEST_F(mw, local_invalidate__closes_it)
{
	Stage stage(IBV_MW_TYPE_2);
	stage.open(page, page);
	EXPECT_EQ(stage.invalidate(stage.mw->rkey), IBV_WC_SUCCESS);
	stage.write_fails(stage.through(page));
}

TEST_F(mw, local_invalidate__then_bind_again)
{
	Stage stage(IBV_MW_TYPE_2);
	for (int i = 0; i < 300; i++) {
		stage.open(page, page);
		ASSERT_EQ(stage.invalidate(stage.mw->rkey), IBV_WC_SUCCESS);
	}
	stage.open(2 * page, page);
	stage.reaches(stage.through(2 * page), 2 * page, page);
}

TEST_F(mw, local_invalidate__refused)
{
	Stage wrong_key(IBV_MW_TYPE_2);
	wrong_key.open(page, page);
	EXPECT_EQ(wrong_key.invalidate(wrong_key.mw->rkey ^ 1), IBV_WC_LOC_QP_OP_ERR);

	Stage nothing(IBV_MW_TYPE_2);
	EXPECT_EQ(nothing.invalidate(0), IBV_WC_LOC_QP_OP_ERR);

	Stage type1(IBV_MW_TYPE_1);
	type1.open(page, page);
	EXPECT_EQ(type1.invalidate(type1.mw->rkey), IBV_WC_LOC_QP_OP_ERR);

	Stage region(IBV_MW_TYPE_2);
	EXPECT_EQ(region.invalidate(region.mr->rkey), IBV_WC_LOC_QP_OP_ERR);
}

TEST_F(mw, local_invalidate__window_of_another_queue_pair)
{
	Stage stage(IBV_MW_TYPE_2);
	Pair other(same_pd(stage));
	Stage::speak(other);
	stage.open(page, page);
	post(other.server.qp(), local_inv(1, stage.mw->rkey));
	EXPECT_EQ(wait(other.server.scq()).status, IBV_WC_LOC_QP_OP_ERR);
	stage.reaches(stage.through(page), page, page);
}

TEST_F(mw, remote_invalidate__closes_it)
{
	Stage stage(IBV_MW_TYPE_2);
	stage.open(page, page);
	stage.reaches(stage.through(page), page, 64);
	post_recv(stage.pair.server.qp(), 5, {});
	post(stage.pair.client.qp(), send_inv(1, {}, stage.mw->rkey));
	ibv_wc wc = wait_ok(stage.pair.server.rcq());
	EXPECT_TRUE(wc.wc_flags & IBV_WC_WITH_INV);
	EXPECT_EQ(wc.invalidated_rkey, stage.mw->rkey);
	// the window is unbound: it can be bound again, and the region can be freed
	wait_ok(stage.pair.client.scq());
	uint32_t old = stage.mw->rkey;
	stage.open(2 * page, page);
	stage.reaches(stage.through(2 * page), 2 * page, 64);
	stage.write_fails({stage.at(page), old});
}

TEST_F(mw, remote_invalidate__refused)
{
	auto refused = [](Stage &stage, uint32_t key) {
		post_recv(stage.pair.server.qp(), 5, {});
		post(stage.pair.client.qp(), send_inv(1, {}, key));
		EXPECT_EQ(stage.server_events.of(stage.pair.server.qp()).event_type,
			  IBV_EVENT_QP_ACCESS_ERR);
		EXPECT_NE(wait(stage.pair.server.rcq()).status, IBV_WC_SUCCESS);
		stage.ended();
	};
	Stage type1(IBV_MW_TYPE_1);
	type1.open(page, page);
	refused(type1, type1.mw->rkey);

	Stage region(IBV_MW_TYPE_2);
	refused(region, region.mr->rkey);

	Stage wrong_key(IBV_MW_TYPE_2);
	wrong_key.open(page, page);
	refused(wrong_key, wrong_key.mw->rkey ^ 1);

	Stage not_bound(IBV_MW_TYPE_2);
	refused(not_bound, not_bound.mw->rkey);

	Stage foreign(IBV_MW_TYPE_2);
	Stage other(IBV_MW_TYPE_2, windowed, same_pd(foreign));
	foreign.open(page, page);
	refused(other, foreign.mw->rkey);
	foreign.reaches(foreign.through(page), page, page);
}

// ---- region and window ----

TEST_P(mw_types, deregister__region_with_a_window)
{
	Stage stage(GetParam());
	stage.open(page, page);
	EXPECT_EQ(ibv_dereg_mr(stage.mr.get()), EBUSY);
	stage.reaches(stage.through(page), page, page);
	stage.mw.reset();
	EXPECT_EQ(ibv_dereg_mr(stage.mr.release()), 0);
}

TEST_P(mw_types, reregister__region_with_a_window)
{
	Stage stage(GetParam());
	stage.open(page, page);
	EXPECT_EQ(ibv_rereg_mr(stage.mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			       windowed),
		  IBV_REREG_MR_ERR_CMD);
	stage.reaches(stage.through(page), page, page);
	stage.mw.reset();
	EXPECT_EQ(ibv_rereg_mr(stage.mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0,
			       windowed),
		  0);
}

TEST_P(mw_types, free__closes_it)
{
	Stage stage(GetParam());
	stage.open(page, page);
	Remote there = stage.through(page);
	stage.mw.reset();
	stage.write_fails(there);
}

// Not a test by itself: the next test runs this function in a separate process.
TEST(mw_child, DISABLED_ends_with_bound_windows)
{
	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		Stage *stage = new Stage(type);
		Mr young = reg_mr(stage->pair.server.pd(), stage->memory.data(), page, windowed);
		EXPECT_EQ(stage->bind({young.release(), stage->at(0), 64, rw}), IBV_WC_SUCCESS);
	}
	_exit(HasFailure());
}

TEST_F(mw, free__by_the_end_of_the_process)
{
	// The region is younger than the window, so the kernel tries to free the region first.
	pid_t child = fork();
	if (!child) {
		execl("/proc/self/exe", "verbs", "--gtest_filter=mw_child.*",
		      "--gtest_also_run_disabled_tests", nullptr);
		_exit(99);
	}
	int status = -1;
	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
}

TEST_F(mw, free__queue_pair_before_its_window)
{
	Stage stage(IBV_MW_TYPE_2);
	stage.open(page, page);
	stage.pair.server.destroy_qp();
	// The window still refers to its region, but can no longer be used.
	EXPECT_EQ(ibv_dereg_mr(stage.mr.get()), EBUSY);
	Pair other(same_pd(stage));
	memset(other.client.memory().data(), 0xaa, 64);
	post(other.client.qp(), write(1, {other.client.memory().sge(0, 64)}, stage.through(page)));
	EXPECT_EQ(stage.server_events.of(other.server.qp()).event_type, IBV_EVENT_QP_ACCESS_ERR);
	stage.others_untouched(0, 0);
}

TEST_P(mw_types, alloc__keys_are_not_guessable)
{
	Context context = open_device(lab::a().device);
	Pd pd = alloc_pd(context.get());
	std::vector<Mw> windows;
	for (int i = 0; i < 32; i++) {
		windows.push_back(alloc_mw(pd.get(), GetParam()));
		if (i > 1) {
			EXPECT_NE((windows[i]->rkey >> 8) - (windows[i - 1]->rkey >> 8),
				  (windows[i - 1]->rkey >> 8) - (windows[i - 2]->rkey >> 8));
		}
	}
	EXPECT_EQ(ibv_dealloc_pd(pd.get()), EBUSY);
}

// ---- under traffic: no byte is written after the call has returned, or the request completed ----

namespace {

// The client writes through a window continuously while the server closes it.
void closed_under_traffic(ibv_mw_type type, const std::function<void(Stage &)> &close)
{
	for (int round = 0; round < 8; round++) {
		Stage stage(type);
		stage.open(0, stage.memory.size());
		Remote there = stage.through(0);
		memset(stage.pair.client.memory().data(), 0xaa, 32768);
		for (int i = 0; i < 48; i++)
			post(stage.pair.client.qp(),
			     write(i, {stage.pair.client.memory().sge(0, 32768)}, there)
				     .unsignaled());
		// in some rounds, close the window after the Write has begun; in others, before
		for (int spin = 0; round % 2 && spin < 1000000 && stage.memory.data()[0] != 0xaa;
		     spin++)
			asm volatile("" ::: "memory");
		close(stage);
		memset(stage.memory.data(), untouched, stage.memory.size());
		// another Write, if all others completed before the window was closed
		try_post(stage.pair.client.qp(),
			 write(99, {stage.pair.client.memory().sge(0, 64)}, there));
		stage.ended();
		stage.others_untouched(0, 0);
	}
}

} // namespace

TEST_F(mw, traffic__local_invalidate)
{
	closed_under_traffic(IBV_MW_TYPE_2, [](Stage &stage) {
		post(stage.pair.server.qp(), local_inv(1, stage.mw->rkey));
		EXPECT_EQ(wait(stage.pair.server.scq()).status, IBV_WC_SUCCESS);
	});
}

TEST_P(mw_types, traffic__free)
{
	closed_under_traffic(GetParam(), [](Stage &stage) { stage.mw.reset(); });
}

TEST_F(mw, traffic__unbind_by_another_queue_pair)
{
	closed_under_traffic(IBV_MW_TYPE_1, [](Stage &stage) {
		Pair other(same_pd(stage));
		Stage::speak(other);
		bind_type1(other.server.qp(), stage.mw.get(), 1, {nullptr, 0, 0, 0});
		wait_ok(other.server.scq());
	});
}

TEST_F(mw, traffic__move_by_another_queue_pair)
{
	// The old memory is not written to; the peer, which uses the old key, is refused.
	closed_under_traffic(IBV_MW_TYPE_1, [](Stage &stage) {
		Memory elsewhere(page);
		Mr mr = reg_mr(stage.pair.server.pd(), elsewhere.data(), page, windowed);
		Pair other(same_pd(stage));
		Stage::speak(other);
		bind_type1(other.server.qp(), stage.mw.get(), 1,
			   {mr.get(), reinterpret_cast<uintptr_t>(elsewhere.data()), page, rw});
		wait_ok(other.server.scq());
		EXPECT_EQ(ibv_dereg_mr(stage.mr.get()), 0);
		stage.mr.release();
		stage.mw.reset();
	});
}

TEST_F(mw, traffic__two_queue_pairs_bind_the_same_window)
{
	Stage stage(IBV_MW_TYPE_1);
	Pair other(same_pd(stage));
	Stage::speak(other);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 32; i++) {
			ibv_mw_bind_info one = stage.info(0, page), two = stage.info(page, page);
			post(stage.pair.server.qp(),
			     bind_mw(i, stage.mw.get(), stage.mw->rkey, one));
			post(other.server.qp(), bind_mw(i, stage.mw.get(), stage.mw->rkey, two));
		}
		wait_ok(stage.pair.server.scq(), 32);
		wait_ok(other.server.scq(), 32);
	}
	// No binding is left: the region can be freed when the window is freed.
	stage.mw.reset();
	EXPECT_EQ(ibv_dereg_mr(stage.mr.release()), 0);
}
