// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Segments that arrive while a process holds the lock of the socket. tests/kernel/hold.c prolongs
// the time for which the process holds the lock.
#include <atomic>
#include <pthread.h>
#include <thread>

#include "../holder.h"
#include "session.h"

namespace ooo {
namespace {

// Posts an unsignaled RDMA Write without payload.
void post_write(ibv_qp *qp)
{
	ibv_send_wr wr{}, *bad;
	wr.opcode = IBV_WR_RDMA_WRITE;
	EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
}

// Bytes per segment. Smaller segments, with TCP's overhead for each, would exceed the receive
// buffer, and TCP itself would close the window.
constexpr uint32_t segment = 1400;

// While the victim's program posts a send, with the socket locked, data for the whole window
// arrive. TCP receives them when the lock is released, and its acknowledgments advertise a
// shrinking window. When the device has read all data, the window must open again. Returns false if
// the program released the lock before all data had been sent.
bool open_afterwards()
{
	FixedBuffers fixed;
	Session s({.ooo = false, .markers = false});
	s.message(30, 1);
	s.fill();
	s.delivers(30, 1);
	const uint32_t from = s.end(), to = s.edge();
	while (s.end() < to)
		s.write(0, 1000, 1);

	holder::go_on(false);
	stay_on(0);
	std::atomic<bool> over = false;
	std::thread sender([&] {
		stay_on(1);
		pthread_setname_np(pthread_self(), "holder");
		post_write(s.c().qp());
		over = true;
	});
	EXPECT_TRUE(soon([&] { return holder::holding() || over; }));
	for (uint32_t at = from; at < to; at += segment)
		s.throw_in(at, std::min(at + segment, to));
	const bool held = holder::holding();
	holder::go_on(true);
	sender.join();
	if (!held)
		return false;
	// The peer sends nothing: the victim must send a window update by itself.
	EXPECT_TRUE(victim::soon([&] {
		s.take();
		return s.acknowledged() == to && s.edge() - to >= (to - from) / 2;
	})) << s.edge() - to
	    << " of " << to - from;
	return true;
}

// hold.c holds a thread for at most two seconds; the test is repeated if this was not enough.
TEST(Backlog, window_is_open_afterwards)
{
	const auto end = std::chrono::steady_clock::now() + patience;
	while (!open_afterwards() && !HasFailure())
		ASSERT_LT(std::chrono::steady_clock::now(), end) << "never held long enough";
}

} // namespace
} // namespace ooo
