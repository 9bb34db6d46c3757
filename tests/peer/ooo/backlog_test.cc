// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What comes for a socket while a process holds its lock, which tests/kernel/hold.c makes long.
#include <atomic>
#include <pthread.h>
#include <thread>

#include "../holder.h"
#include "session.h"

namespace ooo {
namespace {

// A Write without payload, of which nobody is told.
void post_write(ibv_qp *qp)
{
	ibv_send_wr wr{}, *bad;
	wr.opcode = IBV_WR_RDMA_WRITE;
	EXPECT_EQ(ibv_post_send(qp, &wr, &bad), 0);
}

// Not smaller: with what each costs they would be more than the buffer holds, and TCP would close
// the window by itself.
constexpr uint32_t segment = 1400;

// The receiver's program posts, and all that the window has room for comes meanwhile. It is
// received when the lock is let go; the acknowledgments sent then offer less and less. When all has
// been read the window is open again. False if the program has gone on before all has come.
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
	// The peer asks for nothing.
	EXPECT_TRUE(victim::soon([&] {
		s.take();
		return s.acknowledged() == to && s.edge() - to >= (to - from) / 2;
	})) << s.edge() - to
	    << " of " << to - from;
	return true;
}

// The program stays for two seconds only (tests/kernel/hold.c): again if that was not enough.
TEST(Backlog, window_is_open_afterwards)
{
	const auto end = std::chrono::steady_clock::now() + patience;
	while (!open_afterwards() && !HasFailure())
		ASSERT_LT(std::chrono::steady_clock::now(), end) << "it goes on by itself";
}

} // namespace
} // namespace ooo
