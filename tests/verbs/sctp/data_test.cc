// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RFC 5043 5, 6, 10: messages of an established session, and its end. The device is the passive
// side, as RFC 5043 calls the responder.
#include "session.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <linux/sctp.h>
#include <list>
#include <thread>

#include "iwarp/terminate.h"
#include "rdma/urgent.h"
#include "victim/watchdog.h"

using namespace rdma;
using namespace sctp;
namespace wire = iwarp::sctp;
using namespace std::chrono_literals;

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
TEST(sctp_data, held__in_fragments_is_charged)
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

namespace {

// RDMA Writes of one size, each to a place of its own, in fragments. The receive window becomes
// full in the middle of one of them, so SCTP delivers the rest of that one in pieces.
class Pieces : public testing::Test {
protected:
	static constexpr uint16_t count = 20;
	static constexpr size_t size = 30000, sends = 100;
	static constexpr auto slow = "the window was not full after ten seconds";

	void SetUp() override
	{
		if (std::thread::hardware_concurrency() < 2)
			GTEST_SKIP() << "one processor: the thread that sends never stops";
		const int room = 4 * 1024 * 1024;
		if (setsockopt(s.peer.socket().fd(), SOL_SOCKET, SO_SNDBUFFORCE, &room,
			       sizeof(room)))
			throw Failure("SO_SNDBUFFORCE", errno);
	}

	std::vector<Message> writes(uint16_t first_ssn, uint16_t n = count) const
	{
		std::vector<Message> messages;
		for (uint16_t i = 0; i < n; i++)
			messages.push_back(write_at(s, first_ssn + i, sends + i * size,
						    pattern(i, size)));
		return messages;
	}

	// Sends these messages before any worker of the kernel runs, so that the device returns to
	// SCTP nothing of what it has read. Then does the other job. Returns false if the machine
	// was too slow.
	[[nodiscard]] bool send_alone(const std::vector<Message> &messages,
				      const std::function<void()> &then = {})
	{
		using Clock = std::chrono::steady_clock;
		sctp_status status{};
		bool broken = false, full = false;
		Alone alone;
		alone.run([&] {
			// The kernel reports a fault if no worker runs for half a minute.
			const auto end = Clock::now() + 10s;
			for (const Message &m : messages)
				if (!broken && Clock::now() < end)
					broken = !s.peer.try_send(m);
			// With less than a fragment left, the peer sends a fragment as a probe,
			// with which the delivery in pieces begins.
			while (!broken && !full && Clock::now() < end) {
				socklen_t length = sizeof(status);
				broken = getsockopt(s.peer.socket().fd(), IPPROTO_SCTP, SCTP_STATUS,
						    &status, &length);
				full = !broken && !status.sstat_rwnd;
			}
			if (then)
				then();
		});
		EXPECT_FALSE(broken);
		return full || broken;
	}

	// A message of the peer that arrives by a Send.
	void expect_message(uint16_t ssn, uint32_t msn)
	{
		post_recv(s.server.qp(), msn, {s.server.memory().sge(0, sends)});
		s.peer.send(segment_at(ssn, send_of(msn, sends)));
		s.expect_send(msn, sends);
	}

	void expect_writes()
	{
		for (uint16_t i = 0; i < count; i++)
			EXPECT_TRUE(filled(s.server.memory().span(sends + i * size, size), i)) << i;
	}

	Session s{{}, memory()};

private:
	// One thread on each processor, with priority over the kernel's workers.
	class Alone {
	public:
		Alone()
		{
			const int cpus = static_cast<int>(std::thread::hardware_concurrency());
			for (int cpu = 1; cpu < cpus; cpu++)
				others_.emplace_back(cpu);
		}
		void run(const std::function<void()> &job)
		{
			std::atomic<bool> over{false};
			for (Urgent &u : others_)
				u.start([&] {
					while (!over)
						;
				});
			sender_.run(job);
			over = true;
			for (Urgent &u : others_)
				u.wait();
		}

	private:
		Urgent sender_;
		std::list<Urgent> others_;
	};

	static Config memory()
	{
		Config config;
		config.memory = sends + count * size;
		return config;
	}
};

} // namespace

TEST_F(Pieces, in_order)
{
	if (!send_alone(writes(1)))
		GTEST_SKIP() << slow;
	expect_message(1 + count, 1);
	expect_writes();
}

TEST_F(Pieces, out_of_order)
{
	if (!send_alone(writes(2)))
		GTEST_SKIP() << slow;
	expect_message(1, 1);
	expect_message(2 + count, 2);
	expect_writes();
}

TEST_F(Pieces, never_complete)
{
	const uint64_t before = lab::b().counter("chunk_errors");
	if (!send_alone(writes(2), [this] { s.peer.abort(); }))
		GTEST_SKIP() << slow;
	s.server.disconnected();
	EXPECT_EQ(lab::b().counter("chunk_errors"), before);
}

TEST_F(Pieces, too_long)
{
	const uint64_t before = lab::b().counter("chunk_errors");
	auto messages = writes(2, 17); // about 14000 bytes less than the window
	messages.push_back({.data = Bytes(70000)});
	if (!send_alone(messages))
		GTEST_SKIP() << slow;
	expect_terminated(s, "chunk_errors", before);
}

// Larger than the window, so SCTP delivers it in pieces although workers run.
TEST_F(Pieces, first_is_too_long)
{
	const uint64_t before = lab::b().counter("chunk_errors");
	s.peer.send({.data = Bytes(1 << 20)});
	expect_terminated(s, "chunk_errors", before);
}

// The peer has lost the state of the session, and connects again from the same port.
TEST(sctp_data, peer__restarted)
{
	Session s;
	const uint16_t port = s.peer.socket().local().port();
	{
		const lab::Netem silent(lab::a(), "loss 100%");
		s.peer.abort();
	}
	try {
		EXPECT_TRUE(associate(s.listener, {.netns{}, .port = port}).ends());
	} catch (const std::system_error &e) {
		// The device has ended the new association before connect() returned.
		EXPECT_EQ(e.code().value(), ECONNREFUSED);
	}
	s.server.disconnected();
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
