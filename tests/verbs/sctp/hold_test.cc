// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A push releases the socket lock while SCTP sends. What ends the connection meanwhile has to wait
// until SCTP's function has returned, because the engine's memory goes then. tests/kernel/hold.c
// makes that time long, so these run only where there are kprobes, which user-mode Linux has not.
#include <atomic>
#include <functional>
#include <pthread.h>
#include <thread>

#include "holder.h"
#include "session.h"

using namespace rdma;
using namespace sctp;
namespace wire = iwarp::sctp;

namespace {

class sctp_hold : public testing::Test {
protected:
	void SetUp() override { holder::go_on(false); }

	void TearDown() override
	{
		holder::go_on(true);
		holder::workers(false);
	}

	// Starts end() while a sender stays, and tells the sender to go on. False if the sender had
	// gone on before, after its two seconds: then nothing was tested.
	bool ends_meanwhile(const std::function<void()> &end)
	{
		std::atomic<bool> ended = false;
		std::thread ender([&] {
			end();
			ended = true;
		});
		// It would have ended by now, but for the sender.
		std::this_thread::sleep_for(Milliseconds(300));
		const bool too_early = ended;
		const bool held = holder::holding();
		holder::go_on(true);
		ender.join();
		EXPECT_FALSE(held && too_early) << "it did not wait for the sender";
		return held;
	}

	// Repeats the round until the sender has stayed long enough.
	static void until_held(const std::function<bool()> &round)
	{
		const auto end = std::chrono::steady_clock::now() + patience;
		while (!round() && !HasFailure())
			ASSERT_LT(std::chrono::steady_clock::now(), end) << "it goes on by itself";
	}

	// A program's thread that posts a Send, and stays in its doorbell.
	class Sender {
	public:
		explicit Sender(Session &s)
			: thread_([this, &s] {
				  pthread_setname_np(pthread_self(), "holder");
				  post(s.server.qp(), send(7, {s.server.memory().sge(0, 100)}));
				  over_ = true;
			  })
		{
			EXPECT_TRUE(eventually([&] { return holder::holding() || over_; }));
		}
		~Sender() { join(); }
		void join()
		{
			if (thread_.joinable())
				thread_.join();
		}

	private:
		std::atomic<bool> over_ = false;
		std::thread thread_;
	};

	// Then one completion tells of the Send, of either result, and of each receive.
	static void all_are_completed(Session &s)
	{
		EXPECT_TRUE(s.server.reaches(IBV_QPS_ERR));
		EXPECT_EQ(wait(s.server.scq()).wr_id, 7U);
		EXPECT_EQ(wait(s.server.rcq()).status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_TRUE(drain(s.server.scq()).empty());
		EXPECT_TRUE(drain(s.server.rcq()).empty());
	}

	// In the doorbell: the connection ends in that way, and its QP is detached from it.
	static void detached_in_the_doorbell(const std::function<void(Session &)> &end);
};

void sctp_hold::detached_in_the_doorbell(const std::function<void(Session &)> &end)
{
	holder::go_on(false);
	Session s;
	post_recv(s.server.qp(), 1, {s.server.memory().sge(0, 100)});
	Sender sender(s);
	std::thread ender([&] { end(s); });
	std::this_thread::sleep_for(Milliseconds(100));
	holder::go_on(true);
	sender.join();
	ender.join();
	s.server.disconnected();
	all_are_completed(s);
}

} // namespace

TEST_F(sctp_hold, doorbell__peer_aborts)
{
	detached_in_the_doorbell([](Session &s) { s.peer.abort(); });
}

TEST_F(sctp_hold, doorbell__peer_shuts_down)
{
	detached_in_the_doorbell([](Session &s) { s.peer.close(); });
}

TEST_F(sctp_hold, doorbell__peer_terminates)
{
	detached_in_the_doorbell([](Session &s) { s.peer.control(wire::terminate); });
}

// The device's RDMAP Terminate is due as well.
TEST_F(sctp_hold, doorbell__peer_sends_nonsense)
{
	detached_in_the_doorbell([](Session &s) { s.peer.segment(Bytes(40, 0x41)); });
}

TEST_F(sctp_hold, doorbell__another_thread_modifies_to_error)
{
	detached_in_the_doorbell([](Session &s) {
		ibv_qp_attr attr{};
		attr.qp_state = IBV_QPS_ERR;
		EXPECT_EQ(ibv_modify_qp(s.server.qp(), &attr, IBV_QP_STATE), 0);
	});
}

// A worker sends the response to the peer's Read; the program destroys the queue pair.
TEST_F(sctp_hold, worker__queue_pair_is_destroyed)
{
	until_held([&] {
		holder::go_on(false);
		Session s;
		holder::workers(true);
		const Remote from = s.server.remote();
		s.peer.segment(iwarp::read_request_segment(1, {.sink_stag = 1,
							       .sink_to = 0,
							       .size = 100,
							       .src_stag = from.rkey,
							       .src_to = from.address})
				       .encode());
		EXPECT_TRUE(eventually([] { return holder::holding(); }));
		const bool held = ends_meanwhile([&] { s.server.destroy_qp(); });
		holder::workers(false);
		return held;
	});
}
