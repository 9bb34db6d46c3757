// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The module releases the socket lock while SCTP's send function runs. A call that ends the
// connection meanwhile has to wait until that function has returned, and only then free memory. By
// kprobes, which user-mode Linux lacks, tests/kernel/hold.c makes that time long.
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

	// Starts end() while a sender is held, and then releases the sender. False if the sender
	// was released before, after two seconds, so that the case has tested nothing.
	bool ends_meanwhile(const std::function<void()> &end)
	{
		std::atomic<bool> ended = false;
		std::thread ender([&] {
			end();
			ended = true;
		});
		// Without the sender, end() would have returned by then.
		std::this_thread::sleep_for(Milliseconds(300));
		const bool too_early = ended;
		const bool held = holder::holding();
		holder::go_on(true);
		ender.join();
		EXPECT_FALSE(held && too_early) << "end() did not wait for the sender";
		return held;
	}

	// Repeats the round until the sender was held long enough.
	static void until_held(const std::function<bool()> &round)
	{
		const auto end = std::chrono::steady_clock::now() + patience;
		while (!round() && !HasFailure())
			ASSERT_LT(std::chrono::steady_clock::now(), end)
				<< "the sender is not held";
	}

	// A thread of the program that posts a Send, and is held in the doorbell call.
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

	// Afterwards the Send, with either result, and each receive have one completion.
	static void all_are_completed(Session &s)
	{
		EXPECT_TRUE(s.server.reaches(IBV_QPS_ERR));
		EXPECT_EQ(wait(s.server.scq()).wr_id, 7U);
		EXPECT_EQ(wait(s.server.rcq()).status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_TRUE(drain(s.server.scq()).empty());
		EXPECT_TRUE(drain(s.server.rcq()).empty());
	}

	// While a thread is held in the doorbell call, end() ends the connection.
	static void detached_in_the_doorbell(const std::function<void(Session &)> &end);
};

void sctp_hold::detached_in_the_doorbell(const std::function<void(Session &)> &end)
{
	until_held([&] {
		holder::go_on(false);
		Session s;
		post_recv(s.server.qp(), 1, {s.server.memory().sge(0, 100)});
		Sender sender(s);
		std::thread ender([&] { end(s); });
		std::this_thread::sleep_for(Milliseconds(100));
		const bool held = holder::holding();
		holder::go_on(true);
		sender.join();
		ender.join();
		s.server.disconnected();
		all_are_completed(s);
		return held;
	});
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

// The device has to send an RDMAP Terminate, too.
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
