// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory that is deregistered, or whose window is invalidated, while the peer writes to it: when
// the verb has returned, or the work request is complete, no byte may be placed there any more.
//
// The fault to find is a single copy that continues a little too long. Therefore FPDUs are as large
// as MPA allows, which makes each copy 64 KiB long; the moment of closing differs between rounds;
// and we watch the last byte of the copy.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>

#include "cm/kwarp_only.h"
#include "rdma/urgent.h"
#include "rdma/window.h"

using namespace rdma;

namespace {

constexpr size_t length = 64 * 1024 - 1024; // one FPDU
constexpr uint8_t written = 0xaa, closed = 0x55;
const int rounds = lab::repetitions(48, 8);
constexpr int rw = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
constexpr int windowed = all_access | IBV_ACCESS_MW_BIND;

struct closing : KwarpOnly {
	// Without CRC and with large FPDUs, most of the time is spent in the copy.
	std::optional<lab::Policy> large, crc_a, crc_b;

	void SetUp() override
	{
		KwarpOnly::SetUp();
		if (IsSkipped())
			return;
		large.emplace(lab::a(), "fpdu", "large");
		crc_a.emplace(lab::a(), "crc", "off");
		crc_b.emplace(lab::b(), "crc", "off");
	}
};

// Memory of the server, to which the client writes as fast as it can until a Write is refused.
struct Target {
	Pair pair;
	Memory memory{length};
	Mr mr;
	std::thread writer;
	std::atomic<bool> stop = false;
	// the byte that a Write changes last
	volatile uint8_t &last = memory.data()[length - 1];

	Target() : mr(reg_mr(pair.server.pd(), memory.data(), length, windowed))
	{
		memset(pair.client.memory().data(), written, length);
		speak(pair);
	}
	~Target() { finish(); }

	// A responder executes no request, not even a local one, before the initiator has sent.
	static void speak(Pair &pair)
	{
		post(pair.client.qp(), write(1, {}, pair.server.remote()));
		wait_ok(pair.client.scq());
	}

	void begin(Remote there)
	{
		writer = std::thread([this, there] {
			int out = 0;
			while (!stop) {
				if (out < 8 &&
				    !try_post(pair.client.qp(),
					      write(1, {pair.client.memory().sge(0, length)},
						    there)))
					out++;
				ibv_wc wc;
				while (ibv_poll_cq(pair.client.scq(), 1, &wc) > 0) {
					out--;
					if (wc.status != IBV_WC_SUCCESS)
						return;
				}
			}
		});
	}
	void finish()
	{
		stop = true;
		if (writer.joinable())
			writer.join();
	}

	// Waits until some Writes have been placed, and then for a time that differs each round.
	// Returns false if none is placed.
	[[nodiscard]] bool under_way(int round)
	{
		constexpr long look = 100000; // at the clock, rarely: the last byte must be seen
		const auto end = std::chrono::steady_clock::now() + patience;
		for (int n = 0; n < 2; n++) {
			last = 0;
			for (long spin = 1; last != written; spin++)
				if (spin % look == 0 && std::chrono::steady_clock::now() > end)
					return false;
		}
		for (int spin = 0; spin < round * 100; spin++)
			asm volatile("" ::: "memory");
		return true;
	}
};

using Close = std::function<void(Target &)>;

// prepare: opens the memory, stores its remote address, and returns the function that closes it
void closed_at_any_moment(const std::function<Close(Target &, Remote &)> &prepare)
{
	int late = 0;
	for (int round = 0; round < rounds; round++) {
		Target target;
		Remote there{reinterpret_cast<uintptr_t>(target.memory.data()), target.mr->rkey};
		Close close = prepare(target, there);
		target.begin(there);
		ASSERT_TRUE(target.under_way(round)) << "nothing is written before the close";
		close(target);
		target.last = closed;
		// Wait until the peer has failed, so that none of its Writes is in flight any more.
		EXPECT_TRUE(target.pair.server.reaches(IBV_QPS_ERR));
		late += target.last != closed;
		target.finish();
	}
	EXPECT_EQ(late, 0) << "wrong data: written after the close, in so many of " << rounds
			   << " rounds";
}

// A second connection of the server, in the same protection domain.
PairConfig same_pd(const Target &target)
{
	PairConfig config;
	config.server.pd = target.pair.server.pd();
	return config;
}

// A window of type 1 on the target's memory, and the queue pair that will close it.
class Opened {
	Mw mw_;
	Pair other_;

public:
	Opened(const Target &t, Remote &there)
		: mw_(alloc_mw(t.pair.server.pd(), IBV_MW_TYPE_1)), other_(same_pd(t))
	{
		Target::speak(other_);
		post_bind({t.mr.get(), there.address, length, rw});
		wait_ok(scq());
		there.rkey = mw_->rkey;
	}
	void post_bind(const ibv_mw_bind_info &range)
	{
		bind_type1(other_.server.qp(), mw_.get(), 1, range);
	}
	void post_unbind() { post_bind({nullptr, 0, 0, 0}); }
	ibv_cq *scq() const { return other_.server.scq(); }
};

} // namespace

TEST_F(closing, deregistered)
{
	closed_at_any_moment([](Target &, Remote &) {
		return [](Target &t) { ASSERT_EQ(ibv_dereg_mr(t.mr.release()), 0); };
	});
}

TEST_F(closing, reregistered_elsewhere)
{
	Memory elsewhere(length);
	closed_at_any_moment([&](Target &, Remote &) {
		return [&](Target &t) {
			ASSERT_EQ(ibv_rereg_mr(t.mr.get(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr,
					       elsewhere.data(), length, 0),
				  0);
		};
	});
}

TEST_F(closing, reregistered_without_the_right)
{
	closed_at_any_moment([](Target &, Remote &) {
		return [](Target &t) {
			ASSERT_EQ(ibv_rereg_mr(t.mr.get(), IBV_REREG_MR_CHANGE_ACCESS, nullptr,
					       nullptr, 0,
					       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
				  0);
		};
	});
}

TEST_F(closing, rights_withdrawn)
{
	closed_at_any_moment([](Target &, Remote &) {
		return [](Target &t) {
			ibv_qp_attr none{};
			ASSERT_EQ(ibv_modify_qp(t.pair.server.qp(), &none, IBV_QP_ACCESS_FLAGS), 0);
		};
	});
}

// A window of type 1 belongs to the protection domain, so another queue pair can unbind it.
TEST_F(closing, window_unbound)
{
	closed_at_any_moment([](Target &t, Remote &there) {
		auto window = std::make_shared<Opened>(t, there);
		return [window](Target &) {
			window->post_unbind();
			wait_ok(window->scq());
		};
	});
}

TEST_F(closing, window_moved)
{
	closed_at_any_moment([](Target &t, Remote &there) {
		auto window = std::make_shared<Opened>(t, there);
		return [window](Target &target) {
			window->post_bind({target.mr.get(),
					   reinterpret_cast<uintptr_t>(target.memory.data()), 1,
					   rw});
			wait_ok(window->scq());
		};
	});
}

// With PREEMPT_RT the thread that unbinds the window can preempt a pass that uses the window. The
// thread must sleep, so that the pass can end; if it spins, this test never ends.
TEST_F(closing, window_unbound_with_priority)
{
	Urgent urgent;
	closed_at_any_moment([&](Target &t, Remote &there) {
		auto window = std::make_shared<Opened>(t, there);
		return [window, &urgent](Target &target) {
			stay_on(target.writer.native_handle(), 0);
			ASSERT_TRUE(target.under_way(0));
			urgent.run([&] { window->post_unbind(); });
			wait_ok(window->scq());
		};
	});
}

TEST_F(closing, window_freed)
{
	closed_at_any_moment([](Target &t, Remote &there) {
		auto mw = std::make_shared<Mw>(alloc_mw(t.pair.server.pd(), IBV_MW_TYPE_1));
		bind_type1(t.pair.server.qp(), mw->get(), 1,
			   {t.mr.get(), there.address, length, rw});
		wait_ok(t.pair.server.scq());
		there.rkey = (*mw)->rkey;
		return [mw](Target &) { mw->reset(); };
	});
}

// A window of type 2 is invalidated on the queue pair that serves the peer: the invalidation
// completes after all copies.
TEST_F(closing, window_invalidated)
{
	closed_at_any_moment([](Target &t, Remote &there) {
		auto mw = std::make_shared<Mw>(alloc_mw(t.pair.server.pd(), IBV_MW_TYPE_2));
		bind_type2(t.pair.server.qp(), mw->get(), 1,
			   {t.mr.get(), there.address, length, rw});
		wait_ok(t.pair.server.scq());
		there.rkey = (*mw)->rkey;
		return [mw](Target &target) {
			post(target.pair.server.qp(), local_inv(2, (*mw)->rkey));
			wait_ok(target.pair.server.scq());
		};
	});
}

// The peer invalidates the window by a Send: when the Send is delivered, all Writes before it have
// been placed, and none follows.
TEST_F(closing, window_invalidated_by_the_peer)
{
	for (int round = 0; round < rounds; round++) {
		Target t;
		Mw mw = alloc_mw(t.pair.server.pd(), IBV_MW_TYPE_2);
		Remote there{reinterpret_cast<uintptr_t>(t.memory.data()), 0};
		bind_type2(t.pair.server.qp(), mw.get(), 1,
			   {t.mr.get(), there.address, length, rw});
		wait_ok(t.pair.server.scq());
		there.rkey = mw->rkey;
		post_recv(t.pair.server.qp(), 5, {t.pair.server.memory().sge(0, 64)});
		for (int i = 0; i < 4; i++)
			post(t.pair.client.qp(),
			     write(i, {t.pair.client.memory().sge(0, length)}, there).unsignaled());
		post(t.pair.client.qp(),
		     send_inv(9, {t.pair.client.memory().sge(0, 8)}, mw->rkey).unsignaled());
		post(t.pair.client.qp(),
		     write(10, {t.pair.client.memory().sge(0, length)}, there).unsignaled());
		ibv_wc wc = wait_ok(t.pair.server.rcq());
		ASSERT_TRUE(wc.wc_flags & IBV_WC_WITH_INV);
		ASSERT_EQ(wc.invalidated_rkey, mw->rkey);
		ASSERT_EQ(t.last, written) << "wrong data: not placed";
		t.last = closed;
		ASSERT_TRUE(t.pair.server.reaches(IBV_QPS_ERR));
		ASSERT_EQ(t.last, closed) << "wrong data: written after the close";
	}
}
