// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RFC 5043 10, RFC 5041 5.3: early placement: a segment behind a gap is placed at once, and
// delivered when the gap is closed. The device is the passive side (responder); the message with
// DDP-SSN 1 is sent last.
#include <thread>

#include "session.h"

using namespace rdma;
using namespace sctp;
using iwarp::Bytes;

namespace {

constexpr size_t size = 100;

uint64_t placed()
{
	return lab::b().counter("ooo_placed_fpdus");
}

uint64_t delivered()
{
	return lab::b().counter("ooo_delivered_without_copy");
}

uint64_t replaced()
{
	return lab::b().counter("ooo_replaced");
}

// Waits for the counter of early segments, after which the memory can be compared.
bool placed_in_time(uint64_t count)
{
	return eventually([&] { return placed() >= count; });
}

struct Early : Session {
	explicit Early(const Config &config = {}) : Session({}, config) {}

	const uint64_t placed_before = placed();
	const uint64_t delivered_before = delivered();
	const uint64_t replaced_before = replaced();

	// A Write of this pattern to this place.
	Bytes write_of(uint32_t seed, size_t at = 0)
	{
		const Remote to = server.remote(at);
		return iwarp::write_segment(to.rkey, to.address, pattern(seed, size)).encode();
	}

	testing::AssertionResult memory_is(uint32_t seed, size_t at = 0)
	{
		return filled(server.memory().span(at, size), seed);
	}

	// Closes the gap by a Send, which is received at the end of the memory; waits for its
	// completion.
	void fill_gap()
	{
		post_recv(server.qp(), 1, {server.memory().sge(60000, size)});
		peer.send(segment_at(1, send_of(1, size)));
		EXPECT_EQ(wait_ok(server.rcq()).wr_id, 1U);
		EXPECT_TRUE(memory_is(1, 60000));
	}
};

} // namespace

TEST(sctp_early, write)
{
	Early s;
	s.peer.send(segment_at(2, s.write_of(7)));
	ASSERT_TRUE(placed_in_time(s.placed_before + 1));
	EXPECT_TRUE(s.memory_is(7));
	EXPECT_EQ(delivered(), s.delivered_before);
	s.fill_gap();
	EXPECT_TRUE(eventually([&] { return delivered() == s.delivered_before + 1; }));
	EXPECT_TRUE(s.memory_is(7));
	EXPECT_EQ(replaced(), s.replaced_before);
}

// Messages behind the gap are placed in the receives that they will complete.
TEST(sctp_early, send)
{
	Early s;
	for (uint32_t msn = 1; msn <= 3; msn++)
		post_recv(s.server.qp(), msn, {s.server.memory().sge(msn * size, size)});
	for (uint16_t n : {3, 2})
		s.peer.send(segment_at(n, send_of(n, size)));
	ASSERT_TRUE(placed_in_time(s.placed_before + 2));
	EXPECT_TRUE(s.memory_is(2, 2 * size));
	EXPECT_TRUE(s.memory_is(3, 3 * size));
	EXPECT_TRUE(drain(s.server.rcq()).empty()) << "delivered before the gap is closed";
	s.peer.send(segment_at(1, send_of(1, size)));
	const auto all = wait_ok(s.server.rcq(), 3);
	for (uint32_t i = 0; i < 3; i++)
		EXPECT_EQ(all[i].wr_id, i + 1);
	EXPECT_TRUE(s.memory_is(1, size));
	EXPECT_EQ(delivered(), s.delivered_before + 2);
}

// The second half of a message whose first half has arrived.
TEST(sctp_early, send__second_half)
{
	Early s;
	post_recv(s.server.qp(), 1, {s.server.memory().sge(0, 3 * size)});
	const Bytes all = pattern(1, 3 * size);
	const auto part = [&](size_t n) {
		return iwarp::send_segment(1, iwarp::slice(all, n * size, size), n * size, n == 2)
			.encode();
	};
	s.peer.send(segment_at(1, part(0)));
	s.peer.send(segment_at(3, part(2)));
	ASSERT_TRUE(placed_in_time(s.placed_before + 1));
	s.peer.send(segment_at(2, part(1)));
	EXPECT_EQ(wait_ok(s.server.rcq()).byte_len, 3 * size);
	EXPECT_TRUE(filled(s.server.memory().span(0, 3 * size), 1));
}

TEST(sctp_early, read_response)
{
	Early s;
	post(s.server.qp(), read(9, {s.server.memory().sge(0, 3 * size)}, {0x1000, 77}));
	auto request = s.peer.receive();
	ASSERT_TRUE(request);
	const auto segment = iwarp::Segment::decode(request->segment());
	ASSERT_TRUE(segment && segment->opcode == iwarp::op_read_request);
	const auto rr = iwarp::ReadRequest::decode(segment->payload);
	const Bytes all = pattern(5, 3 * size);
	const auto respond = [&](size_t n) {
		s.peer.send(segment_at(1 + n, iwarp::read_response_segment(
						      rr.sink_stag, rr.sink_to + n * size,
						      iwarp::slice(all, n * size, size), n == 2)
						      .encode()));
	};
	respond(2);
	respond(1);
	ASSERT_TRUE(placed_in_time(s.placed_before + 2));
	respond(0);
	EXPECT_EQ(wait_ok(s.server.scq()).wr_id, 9U);
	EXPECT_TRUE(filled(s.server.memory().span(0, 3 * size), 5));
	EXPECT_EQ(placed(), s.placed_before + 2);
	EXPECT_EQ(delivered(), s.delivered_before + 2);
}

// The memory must have the data of the last Write in the stream, whichever arrived last.
TEST(sctp_early, write__twice_to_one_place)
{
	Early s;
	s.peer.send(segment_at(3, s.write_of(3)));
	ASSERT_TRUE(placed_in_time(s.placed_before + 1));
	s.peer.send(segment_at(2, s.write_of(2)));
	ASSERT_TRUE(placed_in_time(s.placed_before + 2));
	s.fill_gap();
	EXPECT_TRUE(eventually([&] { return s.memory_is(3); }));
	EXPECT_EQ(replaced(), s.replaced_before + 1);
}

TEST(sctp_early, write__overwritten_in_turn)
{
	Early s;
	s.peer.send(segment_at(3, s.write_of(3)));
	ASSERT_TRUE(placed_in_time(s.placed_before + 1));
	s.fill_gap();
	s.peer.send(segment_at(2, s.write_of(2)));
	EXPECT_TRUE(eventually([&] { return replaced() == s.replaced_before + 1; }));
	EXPECT_TRUE(eventually([&] { return s.memory_is(3); }));
}

// An error is handled in the order of the stream: messages before it are delivered.
TEST(sctp_early, write__not_allowed)
{
	Early s;
	Remote to = s.server.remote(0);
	s.peer.send(segment_at(
		2, iwarp::write_segment(to.rkey ^ 0x100, to.address, pattern(7, size)).encode()));
	EXPECT_TRUE(!s.server.channel().next(Milliseconds(100)));
	EXPECT_EQ(placed(), s.placed_before);
	s.fill_gap();
	const auto m = s.peer.receive();
	ASSERT_TRUE(m) << "no Terminate";
	const auto terminate = iwarp::Segment::decode(m->segment());
	ASSERT_TRUE(terminate);
	EXPECT_EQ(terminate->opcode, iwarp::op_terminate);
}

// Messages for a shared receive queue are not placed early: their receives are not known yet.
TEST(sctp_early, send__shared_receive_queue)
{
	Listener listener{lab::b()};
	auto peer = associate(listener);
	peer.control(iwarp::sctp::initiate);
	const Event request = listener.request();
	const Pd pd = alloc_pd(request.id->verbs);
	const Srq srq = create_srq(pd.get(), 4);
	Config config;
	config.pd = pd.get();
	config.srq = srq.get();
	Endpoint server(request, config);
	server.accept();
	server.established();
	ASSERT_TRUE(peer.receive());

	const uint64_t before = placed();
	for (uint32_t i = 1; i <= 2; i++)
		post_srq_recv(srq.get(), i, {server.memory().sge(i * size, size)});
	peer.send(segment_at(2, send_of(2, size)));
	EXPECT_TRUE(drain(server.rcq()).empty());
	peer.send(segment_at(1, send_of(1, size)));
	wait_ok(server.rcq(), 2);
	EXPECT_TRUE(filled(server.memory().span(size, size), 1));
	EXPECT_TRUE(filled(server.memory().span(2 * size, size), 2));
	EXPECT_EQ(placed(), before);
}

// More segments than the ledger has room for: the others wait until the gap is closed.
TEST(sctp_early, write__more_than_are_remembered)
{
	constexpr uint16_t n = 1500, remembered = 1024;
	Early s;
	for (uint16_t i = 0; i < n; i++) {
		const Remote to = s.server.remote(i);
		s.peer.send(segment_at(2 + i, iwarp::write_segment(to.rkey, to.address,
								   {static_cast<uint8_t>(i)})
						      .encode()));
	}
	ASSERT_TRUE(placed_in_time(s.placed_before + remembered));
	ASSERT_TRUE(eventually([&] { return !s.peer.socket().unacknowledged(); }));
	EXPECT_EQ(placed(), s.placed_before + remembered);
	s.fill_gap();
	post_recv(s.server.qp(), 2, {s.server.memory().sge(50000, size)});
	s.peer.send(segment_at(2 + n, send_of(2, size)));
	EXPECT_EQ(wait_ok(s.server.rcq()).wr_id, 2U);
	// Now the ledger had room for others, too. Some of the many segments in one page are copied
	// again, because the search for overlaps is limited.
	EXPECT_TRUE(eventually([&] {
		return delivered() - s.delivered_before + replaced() - s.replaced_before ==
		       placed() - s.placed_before;
	}));
	for (uint16_t i = 0; i < n; i++)
		ASSERT_EQ(s.server.memory().span(i, 1)[0], static_cast<uint8_t>(i))
			<< "wrong data: byte " << i;
}
