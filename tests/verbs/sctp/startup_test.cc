// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RFC 5043 6 and RFC 6581 7: how sessions begin. The device is the passive side (responder).
#include <algorithm>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "network.h"
#include "session.h"

using namespace rdma;
using namespace sctp;
namespace wire = iwarp::sctp;

namespace {

struct Asked {
	Listener listener{lab::b()};
	Association peer{associate(listener)};
	Event request;

	Asked(uint16_t code, const Bytes &data) : request(ask(code, data)) {}

private:
	Event ask(uint16_t code, const Bytes &data)
	{
		peer.control(code, data);
		return listener.request();
	}
};

// IRD 5 and ORD 3 in front of the private data.
Bytes enhanced(const Bytes &data)
{
	Bytes all{0, 5, 0, 3};
	all.insert(all.end(), data.begin(), data.end());
	return all;
}

void expect_control(const std::optional<Message> &m, uint16_t code)
{
	ASSERT_TRUE(m) << "the association ended";
	EXPECT_EQ(m->ppid, wire::ppid_control);
	EXPECT_TRUE(m->unordered);
	EXPECT_EQ(m->stream, 0);
	EXPECT_EQ(m->code(), code);
}

// RFC 5043 6.3: nothing follows a Reject but the end of the association.
void expect_shutdown(Association &peer)
{
	EXPECT_TRUE(peer.ends_silently());
	EXPECT_FALSE(peer.lost()) << "aborted, which could overtake the Reject";
}

// Expects a Session Terminate and the end of the association, or only this.
void expect_no_reject(Association &peer)
{
	const std::optional<Message> m = peer.receive();
	if (!m)
		return;
	expect_control(m, wire::terminate);
	EXPECT_TRUE(peer.ends_silently());
}

// Calls the function with a plain and with an enhanced request.
void for_each_request(const std::function<void(Asked &)> &function)
{
	for (uint16_t code : {wire::initiate, wire::enhanced_initiate}) {
		SCOPED_TRACE(code);
		Asked asked(code, code == wire::initiate ? Bytes{} : enhanced({}));
		function(asked);
	}
}

// Expects that the device ends the association, and that the consumer gets no request.
void expect_refused(Listener &listener, Association &peer)
{
	EXPECT_TRUE(peer.ends());
	EXPECT_FALSE(listener.channel().next(Milliseconds(50)));
}

void expect_first_refused(const Message &first)
{
	Listener listener(lab::b());
	Association peer = associate(listener);
	peer.send(first);
	expect_refused(listener, peer);
}

Message control(uint16_t code, size_t data = 0)
{
	Message m{.ppid = wire::ppid_control};
	m.data = {0, 0, static_cast<uint8_t>(code >> 8), static_cast<uint8_t>(code)};
	m.data.resize(4 + data);
	return m;
}

// Waits until the device's host has an association that was accepted.
bool has_accepted()
{
	return eventually([] {
		// before accept() the socket is the listener's
		return std::ranges::any_of(associations(), [](const Listed &a) {
			return a.socket_state == 1 && a.state == established;
		});
	});
}

// Timeouts of retransmission that the host's SCTP has had.
long timeouts(const lab::Host &host)
{
	lab::Inside inside(host);
	std::ifstream in("/proc/thread-self/net/sctp/snmp");
	std::string name;
	for (long value; in >> name >> value;)
		if (name == "SctpT3RtxExpireds")
			return value;
	throw std::runtime_error("SCTP does not count its timeouts");
}

} // namespace

// If COOKIE ACK is lost, the peer sends COOKIE ECHO again, to an association that is already
// accepted.
TEST(sctp_startup, cookie_ack__is_lost)
{
	Listener listener(lab::b());
	std::optional<Dropped> dropped(std::in_place, lab::b(), cookie_ack);
	auto connecting = std::async(std::launch::async, [&] { return associate(listener); });
	EXPECT_TRUE(has_accepted());
	dropped.reset();
	Association peer = connecting.get();
	peer.control(wire::initiate);
	Endpoint server(listener.request());
	server.accept();
	server.established();
	expect_control(peer.receive(), wire::accept);
}

TEST(sctp_startup, accept__plain)
{
	for (size_t size : {0, 1, 255}) {
		Asked asked(wire::initiate, pattern(1, size));
		EXPECT_EQ(asked.request.data, pattern(1, size)) << size;
		Endpoint server(asked.request);
		server.accept({pattern(2, size)});
		auto reply = asked.peer.receive();
		expect_control(reply, wire::accept);
		EXPECT_EQ(reply->private_data(), pattern(2, size)) << size;
		server.established();
	}
}

TEST(sctp_startup, accept__enhanced)
{
	for (size_t size : {0, 1, 255}) {
		Asked asked(wire::enhanced_initiate, enhanced(pattern(1, size)));
		EXPECT_EQ(asked.request.data, pattern(1, size)) << size;
		EXPECT_EQ(asked.request.initiator_depth, 5) << "the peer's IRD";
		EXPECT_EQ(asked.request.responder_resources, 3) << "the peer's ORD";
		Endpoint server(asked.request);
		server.accept({pattern(2, size), 7, 8});
		auto reply = asked.peer.receive();
		expect_control(reply, wire::enhanced_accept);
		const Bytes data = reply->private_data();
		ASSERT_GE(data.size(), 4u);
		EXPECT_EQ(iwarp::get16(data, 0) & 0x3fff, 7) << "IRD";
		EXPECT_EQ(iwarp::get16(data, 2) & 0x3fff, 5) << "ORD, at most the peer's IRD";
		EXPECT_EQ(iwarp::slice(data, 4, data.size() - 4), pattern(2, size)) << size;
		server.established();
	}
}

TEST(sctp_startup, reject__plain)
{
	Asked asked(wire::initiate, {});
	Endpoint(asked.request).reject(pattern(3, 40));
	auto reply = asked.peer.receive();
	expect_control(reply, wire::reject);
	EXPECT_EQ(reply->private_data(), pattern(3, 40));
	expect_shutdown(asked.peer);
}

// RFC 6581 9.2: the first segment must be an RTR indication, here an empty RDMA Write.
TEST(sctp_startup, rtr__another_message)
{
	// A, and C: RDMA Write
	Asked asked(wire::enhanced_initiate, Bytes{0x80, 5, 0x80, 3});
	Endpoint server(asked.request);
	server.accept();
	expect_control(asked.peer.receive(), wire::enhanced_accept);
	const uint64_t fpdus = lab::b().counter("rx_fpdus");
	asked.peer.segment(send_of(1, 10));
	const auto event = server.channel().next();
	ASSERT_TRUE(event);
	EXPECT_FALSE(event->type == RDMA_CM_EVENT_ESTABLISHED && !event->status);
	EXPECT_EQ(lab::b().counter("rx_fpdus"), fpdus);
}

TEST(sctp_startup, reject__enhanced)
{
	Asked asked(wire::enhanced_initiate, enhanced({}));
	Endpoint(asked.request).reject(pattern(3, 40));
	auto reply = asked.peer.receive();
	expect_control(reply, wire::enhanced_reject);
	EXPECT_EQ(iwarp::slice(reply->private_data(), 4, 40), pattern(3, 40));
	expect_shutdown(asked.peer);
}

// RFC 5043 6.3: no Reject without a decision of the consumer.
TEST(sctp_startup, refusal__answer_does_not_come_in_time)
{
	lab::Policy impatient(lab::b(), "answer_timeout_ms", 300);
	for_each_request([](Asked &asked) {
		expect_no_reject(asked.peer);
		rdma_destroy_id(asked.request.id);
	});
}

TEST(sctp_startup, refusal__accept_fails)
{
	Session other;
	const uint32_t in_use = other.server.qp()->qp_num, unknown = 0xfffffe;
	for (uint32_t qpn : {in_use, unknown})
		for_each_request([&](Asked &asked) {
			CmId server(asked.request.id);
			rdma_conn_param param{};
			param.qp_num = qpn;
			EXPECT_EQ(rdma_accept(server.get(), &param), -1);
			expect_no_reject(asked.peer);
		});
}

TEST(sctp_startup, refusal__consumer_ends_without_an_answer)
{
	for_each_request([](Asked &asked) {
		rdma_destroy_id(asked.request.id);
		expect_no_reject(asked.peer);
	});
}

// rdma_cm has room for 255 bytes. RFC 5043 6.3: only the ULP sends a Reject; the device terminates.
TEST(sctp_startup, private_data__more_than_a_consumer_can_get)
{
	for (size_t size : {256, 512}) {
		Listener listener(lab::b());
		Association peer = associate(listener);
		peer.control(wire::initiate, pattern(1, size));
		expect_control(peer.receive(), wire::terminate);
		EXPECT_FALSE(listener.channel().next(Milliseconds(50)));
	}
}

// RFC 5043 11.1
TEST(sctp_startup, indication__missing_or_another)
{
	for (auto adaptation : {std::optional<uint32_t>{}, std::optional<uint32_t>{2}}) {
		Listener listener(lab::b());
		Association peer = associate(listener, {.netns{}, .adaptation = adaptation});
		peer.control(wire::initiate);
		EXPECT_TRUE(peer.ends_silently());
		EXPECT_FALSE(listener.channel().next(Milliseconds(50)));
	}
}

// RFC 5043 6.1
TEST(sctp_startup, sequence__first_message)
{
	for (uint16_t code : {0, 2, 3, 4, 6, 7, 8, 0x100, 0xffff}) {
		SCOPED_TRACE(code);
		expect_first_refused(control(code));
	}
	expect_first_refused(control(wire::initiate, 513));
	expect_first_refused(control(wire::enhanced_initiate, 3));
	expect_first_refused({.data = iwarp::join({Bytes{0, 0}, send_of(1, 10)})});
}

// RFC 5043 5.2, 10
TEST(sctp_startup, chunk__illegal)
{
	auto wrong = control(wire::initiate);
	wrong.ppid = 18;
	expect_first_refused(wrong);
	wrong.ppid = 0;
	expect_first_refused(wrong);
	wrong = control(wire::initiate);
	wrong.unordered = false;
	expect_first_refused(wrong);
	wrong = control(wire::initiate);
	wrong.data = {0};
	expect_first_refused(wrong);
	wrong = control(wire::initiate);
	wrong.data[0] = 0x10; // 4096 ahead
	expect_first_refused(wrong);
}

TEST(sctp_startup, sequence__segment_before_the_answer)
{
	Asked asked(wire::initiate, {});
	asked.peer.segment(send_of(1, 10));
	EXPECT_TRUE(asked.peer.ends());
	rdma_destroy_id(asked.request.id);
}

// A message between it and the Initiate is missing.
TEST(sctp_startup, sequence__later_segment_before_the_answer)
{
	Asked asked(wire::initiate, {});
	asked.peer.segment(send_of(2, 10));
	EXPECT_TRUE(asked.peer.ends());
	rdma_destroy_id(asked.request.id);
}

TEST(sctp_startup, sequence__initiate_behind_another_message)
{
	Listener listener(lab::b());
	Association peer = associate(listener);
	auto first = control(wire::initiate), second = control(wire::initiate);
	second.data[1] = 1;
	peer.send(second);
	try {
		peer.send(first);
	} catch (const std::system_error &) {
		// The association has ended already.
	}
	// When the first message is delivered, the second becomes illegal.
	EXPECT_TRUE(peer.ends());
}

// The segment is illegal, and the device handles it while it sends its Accept.
TEST(sctp_startup, sequence__segment_while_accepting)
{
	for (int round = 0; round < 100; round++) {
		SCOPED_TRACE(round);
		Asked asked(wire::initiate, {});
		Endpoint server(asked.request);
		std::thread peer([&] {
			std::this_thread::sleep_for(std::chrono::microseconds(round * 5));
			asked.peer.send({.data = {0, 1, 0x41, 0x42}});
		});
		server.try_accept();
		peer.join();
		asked.peer.abort();
	}
	Asked asked(wire::initiate, {});
	Endpoint server(asked.request);
	server.accept();
	expect_control(asked.peer.receive(), wire::accept);
}

// RFC 6581 10: the peer may then connect again without enhanced mode.
TEST(sctp_startup, revision__not_supported)
{
	lab::Policy plain(lab::b(), "mpa_rev", 1);
	Listener listener(lab::b());
	Association peer = associate(listener);
	peer.control(wire::enhanced_initiate, enhanced({}));
	expect_control(peer.receive(), wire::terminate);
	peer.control(wire::terminate);
	expect_refused(listener, peer);
	EXPECT_FALSE(peer.lost()) << "aborted, which tells nothing about the revision";
}

TEST(sctp_startup, silence__is_limited)
{
	lab::Policy limit(lab::b(), "startup_timeout_ms", 300);
	Listener listener(lab::b());
	Association peer = associate(listener);
	expect_refused(listener, peer);
}

TEST(sctp_startup, listener__of_tcp_is_not_reached)
{
	lab::Policy tcp(lab::b(), "llp", "tcp");
	Listener listener(lab::b());
	EXPECT_THROW(associate(listener), std::system_error);
}

// ---- the device is the active side (initiator) ----

namespace {

struct Active {
	wire::Listener at{{lab::b().ip4, 0}, {.netns = "/run/netns/" + lab::b().netns}};
	Endpoint client{lab::a()};

	explicit Active(const Param &param = {})
	{
		client.resolve(lab::b().ip4, at.port());
		client.connect(param);
	}
};

} // namespace

TEST(sctp_active, accept__enhanced)
{
	Active active({pattern(1, 30), 6, 4});
	Association peer = active.at.accept();
	auto request = peer.receive();
	expect_control(request, wire::enhanced_initiate);
	const Bytes data = request->private_data();
	EXPECT_EQ(iwarp::get16(data, 0), 6) << "IRD; no flags: either side may send first";
	EXPECT_EQ(iwarp::get16(data, 2), 4) << "ORD";
	EXPECT_EQ(iwarp::slice(data, 4, 30), pattern(1, 30));
	peer.control(wire::enhanced_accept, enhanced(pattern(2, 20)));
	EXPECT_EQ(active.client.established().data, pattern(2, 20));
}

// The responder's first segment may follow its Accept at once, and may even arrive before it.
TEST(sctp_active, accept__behind_a_segment)
{
	Active active;
	post_recv(active.client.qp(), 1, {active.client.memory().sge(0, 100)});
	Association peer = active.at.accept();
	peer.receive();
	Message accept = control(wire::enhanced_accept), segment{};
	accept.data = iwarp::join({accept.data, enhanced({})});
	segment.data = iwarp::join({Bytes{0, 1}, send_of(1, 100)});
	peer.send(segment);
	peer.send(accept);
	active.client.established();
	EXPECT_EQ(wait_ok(active.client.rcq()).byte_len, 100u);
}

TEST(sctp_active, fallback__to_the_plain_form)
{
	const uint64_t before = lab::a().counter("revision_fallbacks");
	Active active({pattern(1, 30)});
	Association first = active.at.accept();
	expect_control(first.receive(), wire::enhanced_initiate);
	first.control(wire::terminate);
	Association second = active.at.accept();
	auto request = second.receive();
	expect_control(request, wire::initiate);
	EXPECT_EQ(request->private_data(), pattern(1, 30));
	second.control(wire::accept, pattern(2, 20));
	EXPECT_EQ(active.client.established().data, pattern(2, 20));
	EXPECT_EQ(lab::a().counter("revision_fallbacks"), before + 1);
}

TEST(sctp_active, reject__with_private_data)
{
	Active active;
	Association peer = active.at.accept();
	peer.receive();
	peer.control(wire::enhanced_reject, enhanced(pattern(3, 9)));
	Event event = active.client.channel().expect(RDMA_CM_EVENT_REJECTED);
	EXPECT_EQ(event.status, -ECONNREFUSED);
	EXPECT_EQ(event.data, pattern(3, 9));
}

// An Enhanced Reject is for requests that would have been accepted in the plain form (RFC 6581 7),
// so after a plain one the device does not try the plain form.
TEST(sctp_active, reject__plain)
{
	const uint64_t before = lab::a().counter("revision_fallbacks");
	Active active;
	Association peer = active.at.accept();
	expect_control(peer.receive(), wire::enhanced_initiate);
	peer.control(wire::reject, pattern(3, 9));
	Event event = active.client.channel().expect(RDMA_CM_EVENT_REJECTED);
	EXPECT_EQ(event.status, -ECONNREFUSED);
	EXPECT_EQ(event.data, pattern(3, 9));
	EXPECT_EQ(lab::a().counter("revision_fallbacks"), before);
}

// RFC 6581 7 does not name the Enhanced Reject where it requires IRD and ORD.
TEST(sctp_active, reject__without_depths)
{
	for (size_t size : {0, 1, 3}) {
		Active active;
		Association peer = active.at.accept();
		peer.receive();
		peer.control(wire::enhanced_reject, pattern(3, size));
		Event event = active.client.channel().expect(RDMA_CM_EVENT_REJECTED);
		EXPECT_EQ(event.status, -ECONNREFUSED) << size;
		EXPECT_EQ(event.data, pattern(3, size));
	}
}

// A consumer cannot get more than 255 bytes. It learns of the rejection without them.
TEST(sctp_active, reject__more_private_data_than_a_consumer_can_get)
{
	for (size_t size : {256, 508}) {
		Active active;
		Association peer = active.at.accept();
		peer.receive();
		peer.control(wire::enhanced_reject, enhanced(pattern(3, size)));
		Event event = active.client.channel().expect(RDMA_CM_EVENT_REJECTED);
		EXPECT_EQ(event.status, -ECONNREFUSED) << size;
		EXPECT_TRUE(event.data.empty()) << size;
	}
}

// As above, but there is no connection without the data: an RDMAP Terminate (RFC 6581 9.3), and the
// Session Terminate.
TEST(sctp_active, accept__more_private_data_than_a_consumer_can_get)
{
	for (size_t size : {256, 508}) {
		Active active;
		Association peer = active.at.accept();
		peer.receive();
		peer.control(wire::enhanced_accept, enhanced(pattern(3, size)));
		auto m = peer.receive();
		ASSERT_TRUE(m && m->ppid == wire::ppid_segment) << size;
		EXPECT_EQ(iwarp::Segment::decode(m->segment()).value().opcode, iwarp::op_terminate);
		expect_control(peer.receive(), wire::terminate);
		EXPECT_NE(active.client.channel().next().value().type, RDMA_CM_EVENT_ESTABLISHED);
	}
}

// RFC 5043 6.2: the session was accepted. Without enhanced data there is no error code for this.
TEST(sctp_active, accept__more_private_data_in_the_plain_form)
{
	lab::Policy plain(lab::a(), "mpa_rev", 1);
	for (size_t size : {256, 512}) {
		Active active;
		Association peer = active.at.accept();
		expect_control(peer.receive(), wire::initiate);
		peer.control(wire::accept, pattern(3, size));
		expect_control(peer.receive(), wire::terminate);
		EXPECT_TRUE(peer.ends());
		EXPECT_NE(active.client.channel().next().value().type, RDMA_CM_EVENT_ESTABLISHED);
	}
}

// The rejection is reported even if the association has ended when the device reads the message.
TEST(sctp_active, reject__and_gone)
{
	for (int round = 0; round < 20; round++) {
		SCOPED_TRACE(round);
		Active active;
		Association peer = active.at.accept();
		peer.receive();
		peer.control(wire::enhanced_reject, enhanced(pattern(3, 9)));
		peer.abort();
		Event event = active.client.channel().expect(RDMA_CM_EVENT_REJECTED);
		EXPECT_EQ(event.status, -ECONNREFUSED);
		EXPECT_EQ(event.data, pattern(3, 9));
	}
}

// RFC 5043 11.1
TEST(sctp_active, indication__missing_or_another)
{
	for (auto adaptation : {std::optional<uint32_t>{}, std::optional<uint32_t>{2}}) {
		wire::Listener at{
			{lab::b().ip4, 0},
			{.netns = "/run/netns/" + lab::b().netns, .adaptation = adaptation}};
		Endpoint client(lab::a());
		client.resolve(lab::b().ip4, at.port());
		client.connect();
		Association peer = at.accept();
		EXPECT_TRUE(peer.ends_silently());
		EXPECT_NE(client.channel().next().value().type, RDMA_CM_EVENT_ESTABLISHED);
	}
}

// RFC 5043 6.6: no segment arrives before Initiate, although the first packets with Initiate are
// lost and the consumer sends as soon as it may.
TEST(sctp_active, initiate__is_lost)
{
	const long before = timeouts(lab::a());
	std::optional<Dropped> dropped(std::in_place, lab::a(), data_chunk, wire::ppid_control);
	Active active;
	Association peer = active.at.accept();
	EXPECT_TRUE(eventually([&] { return timeouts(lab::a()) > before; }));
	dropped.reset();
	expect_control(peer.arrival(), wire::enhanced_initiate);
	peer.control(wire::enhanced_accept, enhanced({}));
	active.client.established();
	post(active.client.qp(), send(1, {active.client.memory().sge(0, 10)}));
	auto first = peer.arrival();
	ASSERT_TRUE(first);
	EXPECT_EQ(first->ppid, wire::ppid_segment);
	EXPECT_EQ(first->ssn(), 1);
}

TEST(sctp_active, connect__nobody_listens)
{
	Endpoint client(lab::a());
	client.resolve(lab::b().ip4, 1);
	client.connect();
	Event event = client.channel().expect(RDMA_CM_EVENT_REJECTED);
	EXPECT_EQ(event.status, -ECONNREFUSED);
}
