// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RFC 5043 5, 6, 10: messages of an established session, and its end. The device is the passive
// side, as RFC 5043 calls the responder.
#include "session.h"

#include <thread>

#include "iwarp/terminate.h"
#include "victim/watchdog.h"

using namespace rdma;
using namespace sctp;
namespace wire = iwarp::sctp;

namespace {

// Expects the device's RDMAP Terminate, then its Session Terminate, then the end.
void expect_terminated(Session &s, const char *counter, uint64_t before)
{
	auto m = s.peer.receive();
	ASSERT_TRUE(m) << "no Terminate";
	EXPECT_EQ(m->ppid, wire::ppid_segment);
	auto terminate = iwarp::Segment::decode(m->segment());
	ASSERT_TRUE(terminate);
	EXPECT_EQ(terminate->opcode, iwarp::op_terminate);
	m = s.peer.receive();
	ASSERT_TRUE(m) << "no Session Terminate";
	EXPECT_EQ(m->ppid, wire::ppid_control);
	EXPECT_EQ(m->code(), wire::terminate);
	s.server.disconnected();
	EXPECT_EQ(lab::b().counter(counter), before + 1) << counter;
}

// An RDMA Write to the server's memory, as a message with that DDP-SSN.
Message write_at(const Session &s, uint16_t ssn, size_t at, const Bytes &bytes)
{
	const Remote to = s.server.remote(at);
	return segment_at(ssn, iwarp::write_segment(to.rkey, to.address, bytes).encode());
}

// Expects that the device counts an error for this message, and ends the session.
void expect_error(const char *counter, const Message &m)
{
	Session s;
	const uint64_t before = lab::b().counter(counter);
	s.peer.send(m);
	expect_terminated(s, counter, before);
}

} // namespace

TEST(sctp_data, send__in_turn)
{
	Session s;
	for (uint32_t msn = 1; msn <= 20; msn++) {
		const size_t size = msn * 37;
		post_recv(s.server.qp(), msn, {s.server.memory().sge(0, size)});
		s.peer.segment(send_of(msn, size));
		s.expect_send(msn, size);
	}
}

// Messages arrive unordered; the device delivers them in the order of their DDP-SSNs.
TEST(sctp_data, ssn__reversed)
{
	constexpr uint16_t n = 60;
	Config config;
	config.recv_wr = n;
	config.memory = n * 100;
	Session s({}, config);
	for (uint16_t i = 0; i < n; i++)
		post_recv(s.server.qp(), i, {s.server.memory().sge(i * 100, 100)});
	for (uint16_t i = n; i > 0; i--)
		s.peer.send(segment_at(i, send_of(i, 100)));
	const auto all = wait_ok(s.server.rcq(), n);
	for (uint16_t i = 0; i < n; i++) {
		EXPECT_EQ(all[i].wr_id, i);
		EXPECT_TRUE(filled(s.server.memory().span(i * 100, 100), i + 1U)) << i;
	}
}

TEST(sctp_data, ssn__gap_that_is_filled)
{
	Session s;
	post_recv(s.server.qp(), 1, {s.server.memory().sge(0, 100)});
	post_recv(s.server.qp(), 2, {s.server.memory().sge(100, 100)});
	s.peer.send(segment_at(2, send_of(2, 100)));
	EXPECT_TRUE(drain(s.server.rcq()).empty()) << "delivered before the gap is closed";
	s.peer.send(segment_at(1, send_of(1, 100)));
	wait_ok(s.server.rcq(), 2);
	EXPECT_TRUE(filled(s.server.memory().span(0, 100), 1));
	EXPECT_TRUE(filled(s.server.memory().span(100, 100), 2));
}

// The DDP-SSN, a number of 16 bits, wraps around.
TEST(sctp_data, ssn__wraps)
{
	victim::may_take(std::chrono::minutes(15)); // 65552 segments
	Session s;
	for (uint32_t i = 1; i <= 0x10010; i++) {
		Bytes empty = iwarp::write_segment(0, 0, {}).encode();
		s.peer.segment(empty);
	}
	post_recv(s.server.qp(), 1, {s.server.memory().sge(0, 100)});
	s.peer.segment(send_of(1, 100));
	s.expect_send(1, 100);
}

TEST(sctp_data, ssn__repeated)
{
	// The DDP-SSN of a delivered message, and that of a held one.
	expect_error("ssn_errors", segment_at(0, send_of(1, 10)));
	Session s;
	const uint64_t before = lab::b().counter("ssn_errors");
	s.peer.send(segment_at(5, send_of(2, 10)));
	s.peer.send(segment_at(5, send_of(2, 10)));
	expect_terminated(s, "ssn_errors", before);
}

TEST(sctp_data, ssn__too_far_ahead)
{
	expect_error("ssn_errors", segment_at(1 + 4096, send_of(1, 10)));
	expect_error("ssn_errors", segment_at(0x8001, send_of(1, 10)));
}

// As many messages behind a gap as the DDP-SSN allows.
TEST(sctp_data, held__whole_window)
{
	constexpr uint16_t n = 4095;
	Session s;
	for (uint16_t i = 0; i < n; i++)
		s.peer.send(write_at(s, 2 + i, i * 10, pattern(i, 10)));
	post_recv(s.server.qp(), 1, {s.server.memory().sge(60000, 100)});
	s.peer.send(segment_at(1, send_of(1, 100)));
	EXPECT_EQ(wait_ok(s.server.rcq()).wr_id, 1U);
	post_recv(s.server.qp(), 2, {s.server.memory().sge(60000, 100)});
	s.peer.send(segment_at(2 + n, send_of(2, 100)));
	EXPECT_EQ(wait_ok(s.server.rcq()).wr_id, 2U);
	for (uint16_t i = 0; i < n; i++)
		ASSERT_TRUE(filled(s.server.memory().span(i * 10, 10), i)) << i;
}

// The bytes of held messages have a limit, which is above the socket's initial receive buffer.
TEST(sctp_data, held__more_than_the_limit)
{
	constexpr uint16_t n = 4095;
	const auto large = [](Session &s, uint16_t ssn) {
		return write_at(s, ssn, 0, pattern(ssn, 1400));
	};
	{
		Session s;
		for (uint16_t i = 0; i < n / 2; i++)
			s.peer.send(large(s, 2 + i));
		post_recv(s.server.qp(), 1, {s.server.memory().sge(0, 100)});
		s.peer.send(segment_at(1, send_of(1, 100)));
		EXPECT_EQ(wait_ok(s.server.rcq()).wr_id, 1U);
	}
	Session s;
	const uint64_t before = lab::b().counter("chunk_errors");
	try {
		for (uint16_t i = 0; i < n; i++)
			s.peer.send(large(s, 2 + i));
	} catch (const std::system_error &) {
		// The device has ended the association.
	}
	s.server.disconnected();
	EXPECT_EQ(lab::b().counter("chunk_errors"), before + 1);
}

namespace {

// Bytes of received messages that are charged to the sockets of the device's host.
uint64_t charged()
{
	return std::stoull(lab::output(lab::b(),
				       "ss -SHnm | grep -o 'skmem:(r[0-9]*' |"
				       " awk -F '[(]r' '{ n += $2 } END { print n + 0 }'"));
}

// Has the device returned most of what it has read to SCTP?
bool returned()
{
	return lab::output(lab::b(), "awk '$5 == 3 && $9 > 200000' /proc/net/sctp/assocs").empty();
}

} // namespace

// What SCTP has put together from fragments is charged, too, while it is held.
TEST(sctp_data, held__in_pieces_is_charged)
{
	constexpr uint16_t n = 32;
	constexpr size_t size = 30000;
	Config config;
	config.memory = 100 + size;
	Session s({.netns{}, .most = 1000}, config);
	for (uint16_t i = 0; i < n; i++)
		s.peer.send(write_at(s, 2 + i, 100, pattern(i, size)));
	ASSERT_TRUE(eventually([&] { return charged() >= n * size; })) << charged();
	ASSERT_TRUE(eventually(returned));
	EXPECT_GE(charged(), n * size);
	post_recv(s.server.qp(), 1, {s.server.memory().sge(0, 100)});
	s.peer.send(segment_at(1, send_of(1, 100)));
	EXPECT_EQ(wait_ok(s.server.rcq()).wr_id, 1U);
	post_recv(s.server.qp(), 2, {s.server.memory().sge(0, 100)});
	s.peer.send(segment_at(2 + n, send_of(2, 100)));
	EXPECT_EQ(wait_ok(s.server.rcq()).wr_id, 2U);
	EXPECT_TRUE(filled(s.server.memory().span(100, size), n - 1));
}

TEST(sctp_data, chunk__illegal)
{
	Message wrong = segment_at(1, send_of(1, 10));
	wrong.ppid = 15;
	expect_error("chunk_errors", wrong);
	wrong = segment_at(1, send_of(1, 10));
	wrong.unordered = false;
	expect_error("chunk_errors", wrong);
	expect_error("chunk_errors", {.data = {0}});
	// longer than a Terminate can report
	expect_error("chunk_errors", segment_at(1, Bytes(0x10000)));
}

TEST(sctp_data, session__control_out_of_sequence)
{
	for (uint8_t code : {0, 1, 2, 3, 5, 6, 7, 8}) {
		SCOPED_TRACE(int(code));
		expect_error("session_errors",
			     {.ppid = wire::ppid_control, .data = {0, 1, 0, code}});
	}
	// A Terminate has no private data.
	expect_error("session_errors", {.ppid = wire::ppid_control, .data = {0, 1, 0, 4, 0}});
}

// A segment that is too short for a DDP header.
TEST(sctp_data, segment__too_short)
{
	for (size_t size : {0, 1, 13, 17})
		expect_error("length_errors", segment_at(1, Bytes(size, 0x41)));
}

// RFC 5043 9: SCTP may fragment a message that IP would have to fragment.
TEST(sctp_data, message__fragmented_by_sctp)
{
	Config config;
	config.memory = 40000;
	Session s({.netns{}, .most = 700}, config);
	for (size_t size : {2000, 39000}) {
		const uint32_t msn = size == 2000 ? 1 : 2;
		post_recv(s.server.qp(), msn, {s.server.memory().sge(0, size)});
		s.peer.segment(send_of(msn, size));
		s.expect_send(msn, size);
	}
}

TEST(sctp_data, bundle__many_small_messages)
{
	constexpr uint32_t n = 2000;
	Session s;
	for (uint32_t i = 0; i < n; i++)
		s.peer.segment(iwarp::write_segment(s.server.remote().rkey,
						    s.server.remote(i).address,
						    {static_cast<uint8_t>(i)})
				       .encode());
	post_recv(s.server.qp(), 1, {s.server.memory().sge(n, 10)});
	s.peer.segment(send_of(1, 10));
	wait_ok(s.server.rcq());
	for (uint32_t i = 0; i < n; i++)
		ASSERT_EQ(s.server.memory().span(i, 1)[0], static_cast<uint8_t>(i))
			<< "wrong data: byte " << i;
}

// ---- messages without acknowledgment ----

namespace {

// No packet of the peer arrives, and therefore no acknowledgment.
struct Silence : lab::Netem {
	Silence() : Netem(lab::a(), "loss 100%") {}
};

} // namespace

// RFC 5043 11.2: a message is not delayed for bundling while others are in flight (Nagle).
TEST(sctp_data, send__while_others_are_not_acknowledged)
{
	Session s;
	Silence silence;
	for (uint32_t msn = 1; msn <= 5; msn++) {
		post(s.server.qp(), send(msn, {s.server.memory().sge(0, 10)}));
		auto m = s.peer.receive();
		ASSERT_TRUE(m);
		const auto segment = iwarp::Segment::decode(m->segment());
		ASSERT_TRUE(segment);
		EXPECT_EQ(segment->msn, msn);
	}
}

// RFC 5043 10: fewer messages than half of the DDP-SSNs are in flight, however many are posted.
TEST(sctp_data, unacknowledged__at_most_32767)
{
	constexpr uint32_t most = 32767, depth = 8192;
	Config config;
	config.send_wr = depth;
	Session s({}, config);
	const uint64_t before = lab::b().counter("tx_fpdus");
	Silence silence;
	// Post until the queue stays full.
	uint32_t posted = 0;
	for (int refused = 0; posted <= most + depth && refused < 20;) {
		if (!try_post(s.server.qp(),
			      send(posted, {s.server.memory().sge(0, 1)}).unsignaled())) {
			posted++;
			refused = 0;
		} else {
			std::this_thread::sleep_for(Milliseconds(20));
			refused++;
		}
	}
	const uint64_t sent = lab::b().counter("tx_fpdus") - before;
	EXPECT_GT(sent, 0U);
	EXPECT_LE(sent, most);
	EXPECT_LE(posted, most + depth) << "the number of messages in flight has no limit";
}

// ---- the end ----

// Two workers race to send the device's Terminate: that of a callback, and the one that closes the
// association. The Terminate must be sent in any case.
TEST(sctp_end, terminate__by_the_peer)
{
	for (int round = 0; round < 25; round++) {
		SCOPED_TRACE(round);
		Session s;
		s.peer.control(wire::terminate);
		s.server.disconnected();
		auto m = s.peer.receive();
		ASSERT_TRUE(m) << "no Session Terminate";
		EXPECT_EQ(m->code(), wire::terminate);
		EXPECT_FALSE(s.peer.receive()) << "SHUTDOWN follows";
	}
}

TEST(sctp_end, terminate__by_the_device)
{
	Session s;
	s.server.disconnect();
	auto m = s.peer.receive();
	ASSERT_TRUE(m);
	EXPECT_EQ(m->ppid, wire::ppid_control);
	EXPECT_EQ(m->code(), wire::terminate);
	s.peer.control(wire::terminate);
	s.server.disconnected();
	EXPECT_TRUE(s.peer.ends());
}

// Messages from before the Terminate are delivered.
TEST(sctp_end, terminate__overtakes_data)
{
	Session s;
	post_recv(s.server.qp(), 1, {s.server.memory().sge(0, 100)});
	s.peer.send({.ppid = wire::ppid_control, .data = {0, 2, 0, wire::terminate}});
	s.peer.send(segment_at(1, send_of(1, 100)));
	s.expect_send(1, 100);
	s.server.disconnected();
}

TEST(sctp_end, shutdown__without_terminate)
{
	Session s;
	s.peer.close();
	s.server.disconnected();
	EXPECT_TRUE(s.server.reaches(IBV_QPS_ERR));
}

TEST(sctp_end, abort__by_the_peer)
{
	Session s;
	const uint64_t before = lab::b().counter("llp_lost");
	s.peer.abort();
	s.server.disconnected();
	EXPECT_TRUE(s.server.reaches(IBV_QPS_ERR));
	EXPECT_EQ(lab::b().counter("llp_lost"), before + 1);
}

TEST(sctp_end, destroy__sends_terminate)
{
	Session s;
	s.server.destroy_qp();
	auto m = s.peer.receive();
	ASSERT_TRUE(m);
	EXPECT_EQ(m->code(), wire::terminate);
	s.peer.control(wire::terminate);
	EXPECT_TRUE(s.peer.ends());
}

// A worker answers the peer's Session Terminate while the association is closed. No connection may
// remain; otherwise the suite could not delete the devices.
TEST(sctp_end, terminate__by_the_peer_and_destroy)
{
	for (int round = 0; round < 400; round++) {
		Session s;
		s.peer.control(wire::terminate);
		std::this_thread::sleep_for(std::chrono::microseconds(round * 5 / 2));
	}
}
