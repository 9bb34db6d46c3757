// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The receive engine is re-entered while it raises an error. It first sends the Read Responses that
// were requested before the error; after 16 segments TCP's send function processes the backlog of
// the socket, which calls the engine again.
#include <atomic>
#include <thread>

#include "session.h"

namespace ooo {
namespace {

// More FPDUs than one pass processes. A worker processes the rest; segments that arrive meanwhile
// go to the backlog of the socket, whose lock the worker holds.
constexpr unsigned empty_writes = 3000;

// Of the peer, in units of 128 bytes: small, so that TCP builds segments of one MSS each.
constexpr uint16_t window = 40;

void bad_message_behind_a_read()
{
	Session s({.ooo = false, .markers = false, .window = window});
	Span first = s.write(0, 40, 1);
	for (unsigned i = 0; i < empty_writes; i++)
		s.add(write_segment(0, 0, {}));
	s.message(30, 3);
	ReadRequest read;
	read.sink_stag = 1;
	read.size = 100000;
	read.src_stag = s.v.rw->rkey();
	read.src_to = s.v.rw->base();
	s.add(read_request_segment(1, read));
	s.message(receive_size + 1, 4);
	uint32_t from = s.end();
	s.send(first.to, from);
	for (unsigned i = 0; i < 1000; i++)
		s.message(10, 5);
	// The worker runs on the processor that sends the segment which closes the gap.
	std::atomic<bool> go = false;
	std::thread others([&] {
		stay_on(1);
		while (!go)
			;
		for (; from < s.end(); from += 50)
			s.throw_in(from, std::min(from + 50, s.end()));
	});
	stay_on(0);
	go = true;
	s.throw_in(first.from, first.to);
	others.join();

	s.delivers(30, 3);
	std::optional<ibv_wc> wc = s.v.completion();
	ASSERT_TRUE(wc);
	EXPECT_EQ(wc->status, IBV_WC_LOC_LEN_ERR);
	for (unsigned i = 2; i < receives; i++) {
		wc = s.v.completion();
		ASSERT_TRUE(wc);
		ASSERT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR) << "receive " << i;
	}
}

TEST(Again, below_an_error)
{
	for (int i = 0; i < 8 && !testing::Test::HasFailure(); i++)
		bad_message_behind_a_read();
}

} // namespace
} // namespace ooo
