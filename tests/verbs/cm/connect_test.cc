// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Successful and failing connection set-up.
#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "cm/kwarp_only.h"
#include "iwarp/peer.h"
#include "rdma/endpoint.h"
#include "rdma/eventually.h"
#include "rdma/raw_listener.h"

using namespace rdma;
using Clock = std::chrono::steady_clock;

namespace {

struct connect_fails : KwarpOnly {};
struct connect_local : KwarpOnly {};
struct connect_backlog : KwarpOnly {};

void expect_data_flows(Endpoint &from, Endpoint &to)
{
	fill(from.memory().span(0, 3000), 5);
	post_recv(to.qp(), 1, {to.memory().sge(0, 3000)});
	post(from.qp(), send(1, {from.memory().sge(0, 3000)}));
	wait_ok(from.scq());
	EXPECT_EQ(wait_ok(to.rcq()).byte_len, 3000u);
	EXPECT_TRUE(filled(to.memory().span(0, 3000), 5));
}

// A client on host A connects to the listener.
void expect_service(Listener &listener)
{
	Endpoint client(lab::a());
	client.resolve(listener);
	client.connect();
	Endpoint server(listener.request());
	server.accept();
	client.established();
	server.established();
	expect_data_flows(client, server);
	expect_data_flows(server, client);
}

// A connect to a TCP listener that does not answer the MPA request.
struct Unanswered {
	const uint64_t before = lab::a().counter("revision_fallbacks");
	RawListener listener{lab::b()};
	Endpoint client{lab::a()};

	Unanswered()
	{
		client.resolve(lab::b().ip4, listener.port());
		client.connect();
	}
	int rejected() { return client.channel().expect(RDMA_CM_EVENT_REJECTED).status; }
	uint64_t fallbacks() const { return lab::a().counter("revision_fallbacks") - before; }
};

uint16_t port_of(const sockaddr *address)
{
	return ntohs(reinterpret_cast<const sockaddr_in *>(address)->sin_port);
}

} // namespace

TEST(connect, establish__ipv4)
{
	Pair pair;
	expect_data_flows(pair.client, pair.server);
}

TEST(connect, establish__ipv6)
{
	PairConfig config;
	config.family = lab::Family::ipv6;
	Pair pair(config);
	expect_data_flows(pair.client, pair.server);
}

TEST(connect, establish__other_direction)
{
	PairConfig config;
	config.swapped = true;
	Pair pair(config);
	expect_data_flows(pair.client, pair.server);
	expect_data_flows(pair.server, pair.client);
}

TEST(connect, establish__addresses_agree)
{
	Pair pair;
	rdma_cm_id *client = pair.client.id(), *server = pair.server.id();
	EXPECT_EQ(port_of(rdma_get_peer_addr(client)), port_of(rdma_get_local_addr(server)));
	auto *seen = reinterpret_cast<sockaddr_in *>(rdma_get_peer_addr(server));
	char text[64];
	EXPECT_EQ(inet_ntop(AF_INET, &seen->sin_addr, text, sizeof(text)), lab::a().ip4);
	EXPECT_EQ(server->verbs->device->name, lab::b().device);
}

TEST(connect, establish__one_after_another)
{
	for (int i = 0; i < 20; i++) {
		Pair pair;
		pair.client.disconnect();
		pair.server.disconnected();
		pair.client.disconnected();
	}
}

TEST(connect, establish__many_at_once)
{
	constexpr int count = 24;
	Listener listener(lab::b());
	std::vector<std::unique_ptr<Endpoint>> clients, servers;
	for (int i = 0; i < count; i++) {
		clients.push_back(std::make_unique<Endpoint>(lab::a()));
		clients.back()->resolve(listener);
		clients.back()->connect();
	}
	for (int i = 0; i < count; i++) {
		servers.push_back(std::make_unique<Endpoint>(listener.request()));
		servers.back()->accept();
	}
	for (int i = 0; i < count; i++) {
		clients[i]->established();
		servers[i]->established();
	}
	for (int i = 0; i < count; i++)
		post_recv(servers[i]->qp(), i, {servers[i]->memory().sge(0, 100)});
	for (int i = 0; i < count; i++)
		post(clients[i]->qp(), send(i, {clients[i]->memory().sge(0, 100)}));
	for (int i = 0; i < count; i++) {
		wait_ok(clients[i]->scq());
		wait_ok(servers[i]->rcq());
	}
}

TEST_F(connect_local, establish__requests_come_in_order)
{
	// programs number their queue pairs by this order: perftest does so on both sides
	constexpr int rounds = 10, count = 16;
	for (int round = 0; round < rounds; round++) {
		Listener listener(lab::b());
		std::vector<std::unique_ptr<Endpoint>> clients;
		for (int i = 0; i < count; i++) {
			clients.push_back(std::make_unique<Endpoint>(lab::a()));
			clients.back()->resolve(listener);
		}
		for (int i = 0; i < count; i++)
			clients[i]->connect({{uint8_t(i)}});
		for (int i = 0; i < count; i++) {
			Event request = listener.request();
			ASSERT_EQ(request.data.at(0), i) << "round " << round;
			rdma_reject(request.id, nullptr, 0);
			rdma_destroy_id(request.id);
		}
	}
}

TEST(connect, establish__server_takes_its_time)
{
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	client.connect();
	Event request = listener.request();
	EXPECT_FALSE(client.channel().next(Milliseconds(500)).has_value());
	Endpoint server(request);
	server.accept();
	client.established();
	server.established();
	expect_data_flows(client, server);
}

TEST(connect, establish__receives_posted_before)
{
	// as in rping: the first receive is posted before the connection is established
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	post_recv(client.qp(), 1, {client.memory().sge(0, 100)});
	client.connect();
	Endpoint server(listener.request());
	post_recv(server.qp(), 2, {server.memory().sge(0, 100)});
	server.accept();
	client.established();
	post(client.qp(), send(3, {client.memory().sge(200, 100)}));
	EXPECT_EQ(wait_ok(server.rcq()).wr_id, 2u);
	post(server.qp(), send(4, {server.memory().sge(200, 100)}));
	EXPECT_EQ(wait_ok(client.rcq()).wr_id, 1u);
	server.established();
}

TEST_F(connect_local, establish__own_address)
{
	Listener listener(lab::a());
	expect_service(listener);
}

TEST_F(connect_local, establish__wildcard_listener)
{
	for (const char *any : {"0.0.0.0", "::"}) {
		Channel channel;
		CmId id = create_id(lab::b(), channel);
		Address address(any, 0);
		ASSERT_EQ(rdma_bind_addr(id.get(), address.get()), 0) << any;
		ASSERT_EQ(rdma_listen(id.get(), 4), 0) << any;
		Endpoint client(lab::a());
		client.resolve(lab::b().ip4, ntohs(rdma_get_src_port(id.get())));
		client.connect();
		Endpoint server(channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST));
		EXPECT_EQ(server.context()->device->name, lab::b().device) << any;
		server.accept();
		client.established();
		server.established();
		expect_data_flows(client, server);
	}
}

// The administrator ends the listening socket ("ss -K"), twice.
TEST_F(connect_local, establish__listener_was_ended)
{
	Listener listener(lab::b());
	const std::string ours = "'sport = :" + std::to_string(listener.port()) + "'";
	for (int i = 0; i < 2; i++) {
		lab::shell(lab::b(), "ss -K state listening " + ours + ">/dev/null");
		EXPECT_TRUE(eventually([&ours] {
			lab::Inside inside(lab::b());
			return !system(("ss -Htln " + ours + " | grep -q .").c_str());
		}));
		expect_service(listener);
	}
}

// The time to answer does not become that of a peer, which is shorter.
TEST_F(connect_local, establish__answer_after_the_listener)
{
	std::optional<Listener> listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(*listener);
	client.connect();
	Endpoint server(listener->request());
	{
		lab::Policy quick(lab::b(), "startup_timeout_ms", 100);
		listener.reset();
		std::this_thread::sleep_for(Milliseconds(500));
	}
	server.accept();
	client.established();
	server.established();
	expect_data_flows(client, server);
}

TEST_F(connect_fails, refused__closed_port)
{
	Endpoint client(lab::a());
	client.resolve(lab::b().ip4, closed_port(lab::b()));
	client.connect();
	Event event = client.channel().expect(RDMA_CM_EVENT_REJECTED);
	EXPECT_EQ(event.status, -ECONNREFUSED);
	EXPECT_TRUE(event.data.empty());
}

TEST_F(connect_fails, refused__ipv6)
{
	Endpoint client(lab::a());
	client.resolve(lab::b().ip6, closed_port(lab::b()));
	client.connect();
	EXPECT_EQ(client.channel().expect(RDMA_CM_EVENT_REJECTED).status, -ECONNREFUSED);
}

TEST_F(connect_fails, refused__other_end_closes)
{
	RawListener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(lab::b().ip4, listener.port());
	client.connect();
	std::optional<Event> event;
	while (!event) { // repeated for the fallback to revision 1
		listener.slam_door(Milliseconds(20));
		event = client.channel().next(Milliseconds(0));
	}
	EXPECT_EQ(event->type, RDMA_CM_EVENT_REJECTED) << rdma_event_str(event->type);
	EXPECT_EQ(event->status, -ECONNRESET);
}

TEST_F(connect_fails, timeout__nobody_answers)
{
	lab::Policy quick(lab::a(), "startup_timeout_ms", 1000),
		answer(lab::a(), "answer_timeout_ms", 1000);
	RawListener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(lab::b().ip4, listener.port());
	Clock::time_point start = Clock::now();
	client.connect();
	EXPECT_EQ(client.channel().expect(RDMA_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
	// much less than the timeout, because the kernel's ticks may be late when the wait begins
	EXPECT_GT(Clock::now() - start, Milliseconds(300));
}

// A reset does not mean that the host does not know revision 2: a busy host resets, too.
TEST_F(connect_fails, refused__reset_behind_the_request)
{
	Unanswered to;
	ASSERT_TRUE(to.listener.refuse(true));
	EXPECT_EQ(to.rejected(), -ECONNRESET);
	EXPECT_FALSE(to.listener.slam_door(Milliseconds(50))) << "another attempt";
	EXPECT_EQ(to.fallbacks(), 0u);
}

// RFC 6581 10: a host that does not know revision 2 closes the connection.
TEST_F(connect_fails, refused__fin_behind_the_request)
{
	Unanswered to;
	ASSERT_TRUE(to.listener.refuse(false));
	ASSERT_TRUE(to.listener.refuse(false)) << "revision 1 is not tried";
	EXPECT_EQ(to.rejected(), -ECONNRESET);
	EXPECT_EQ(to.fallbacks(), 1u);
}

// A killed program ends at once, although the peer's consumer has not answered the request.
TEST_F(connect_fails, killed__while_the_server_thinks)
{
	lab::Policy answer(lab::a(), "answer_timeout_ms", 600000);
	Listener listener(lab::b());
	fflush(stdout);
	const pid_t child = fork();
	if (!child) {
		// Files that were opened last are closed first. Open the device early, so that its
		// closing does not destroy the queue pair first.
		Endpoint opens_the_device(lab::a());
		opens_the_device.resolve(listener);
		Endpoint client(lab::a());
		client.resolve(listener);
		client.connect();
		pause();
		_exit(1);
	}
	const Event request = listener.request();
	kill(child, SIGKILL);
	EXPECT_TRUE(eventually([child] { return waitpid(child, nullptr, WNOHANG) == child; }));
	Endpoint server(request);
	EXPECT_TRUE(server.try_accept() || server.channel().next());
}

namespace {

// The server accepts after this time.
void accepts_after(Milliseconds time)
{
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	client.connect();
	Endpoint server(listener.request());
	std::this_thread::sleep_for(time);
	server.accept();
	client.established();
	server.established();
	expect_data_flows(client, server);
}

uint64_t startup_timeouts()
{
	return lab::a().counter("startup_timeouts") + lab::b().counter("startup_timeouts");
}

} // namespace

// The server may take longer to accept than the startup timeout, which is for silent hosts. If a
// host gets no processor for so long, its peer finds it silent: repeat.
TEST(connect, establish__server_accepts_after_the_startup_timeout)
{
	const int limit = static_cast<int>(machine::patience(Milliseconds(2000)).count());
	lab::Policy a(lab::a(), "startup_timeout_ms", limit),
		b(lab::b(), "startup_timeout_ms", limit);
	for (int tries = 1;; tries++) {
		const uint64_t before = startup_timeouts();
		try {
			accepts_after(Milliseconds(limit + 1000));
			return;
		} catch (const std::runtime_error &) {
			if (tries == 5 || startup_timeouts() == before)
				throw;
		}
	}
}

TEST_F(connect_fails, timeout__packets_vanish)
{
	lab::Policy quick(lab::a(), "startup_timeout_ms", 300);
	lab::shell(lab::a(),
		   "ip neigh replace 10.0.0.77 lladdr 02:00:00:00:00:77 nud permanent dev " +
			   lab::a().netdev);
	Endpoint client(lab::a());
	client.resolve("10.0.0.77", 4711);
	client.connect();
	EXPECT_EQ(client.channel().expect(RDMA_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
}

// Destruction does not wait for the startup timeout, which is ten minutes here.
TEST_F(connect_fails, destroy__id_while_connecting)
{
	lab::Policy patient(lab::a(), "startup_timeout_ms", 600000);
	RawListener listener(lab::b());
	Clock::time_point start = Clock::now();
	{
		Endpoint client(lab::a());
		client.resolve(lab::b().ip4, listener.port());
		client.connect();
	}
	EXPECT_LT(Clock::now() - start, Milliseconds(600000));
}

TEST_F(connect_fails, destroy__qp_while_connecting)
{
	lab::Policy patient(lab::a(), "startup_timeout_ms", 600000);
	RawListener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(lab::b().ip4, listener.port());
	client.connect();
	client.destroy_qp();
	Event event = client.channel().next().value();
	EXPECT_NE(event.type, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_NE(event.status, 0);
}

TEST_F(connect_fails, again__same_id_is_refused)
{
	Pair pair;
	EXPECT_NE(pair.client.try_connect(), 0);
	expect_data_flows(pair.client, pair.server);
}

TEST_F(connect_fails, listener__goes_with_the_request_pending)
{
	auto listener = std::make_unique<Listener>(lab::b());
	Endpoint client(lab::a());
	client.resolve(*listener);
	client.connect();
	listener->request();
	listener.reset();
	Event event = client.channel().next().value();
	EXPECT_NE(event.type, RDMA_CM_EVENT_ESTABLISHED);
}

TEST_F(connect_fails, accept__client_has_gone)
{
	Listener listener(lab::b());
	auto client = std::make_unique<Endpoint>(lab::a());
	client->resolve(listener);
	client->connect();
	Endpoint server(listener.request());
	client.reset();
	usleep(200000);
	// accept fails at once, or an event follows
	if (!server.try_accept()) {
		Event event = server.channel().next().value();
		if (event.type == RDMA_CM_EVENT_ESTABLISHED)
			server.disconnected();
	}
}

namespace {

// The listener's program gets at most @room requests at a time, in the order of the clients.
void expect_later_ones_wait(Listener &listener, size_t room)
{
	constexpr size_t all = 12;
	const uint64_t drops = lab::b().counter("backlog_drops");
	std::vector<std::unique_ptr<Endpoint>> clients, servers;
	std::vector<Event> requests;
	for (size_t i = 0; i < all; i++) {
		clients.push_back(std::make_unique<Endpoint>(lab::a()));
		clients.back()->resolve(listener);
		clients.back()->connect({Bytes{static_cast<uint8_t>(i)}});
	}
	for (size_t i = 0; i < room; i++)
		requests.push_back(listener.request());
	EXPECT_FALSE(listener.channel().next(Milliseconds(300))) << "one too many";
	for (size_t i = 0; i < all; i++) {
		EXPECT_EQ(requests[i].data, Bytes{static_cast<uint8_t>(i)});
		servers.push_back(std::make_unique<Endpoint>(requests[i]));
		servers.back()->accept();
		servers.back()->established();
		if (i + room < all)
			requests.push_back(listener.request());
	}
	for (size_t i = 0; i < all; i++) {
		clients[i]->established();
		expect_data_flows(*clients[i], *servers[i]);
	}
	EXPECT_EQ(lab::b().counter("backlog_drops"), drops);
}

} // namespace

// The others wait in the queue of the socket.
TEST_F(connect_backlog, full__later_ones_wait)
{
	constexpr int room = 3;
	lab::Policy limit(lab::b(), "backlog", room);
	Listener listener(lab::b());
	expect_later_ones_wait(listener, room);
}

// The device reads the other requests, too.
TEST_F(connect_backlog, full__later_ones_wait_for_the_program)
{
	for (int room : {1, 3}) {
		Listener listener(lab::b(), lab::Family::ipv4, room);
		expect_later_ones_wait(listener, static_cast<size_t>(room));
	}
}

// A request waits longer than a silent connection may. If its client leaves, the program does not
// get it.
TEST_F(connect_backlog, full__one_leaves)
{
	const int limit = static_cast<int>(machine::patience(Milliseconds(2000)).count());
	lab::Policy quick(lab::b(), "startup_timeout_ms", limit);
	const uint64_t timeouts = lab::b().counter("startup_timeouts"),
		       closed = lab::b().counter("startup_closed");
	Listener listener(lab::b(), lab::Family::ipv4, 1);
	std::vector<std::unique_ptr<Endpoint>> clients;
	for (uint8_t i = 0; i < 3; i++) {
		clients.push_back(std::make_unique<Endpoint>(lab::a()));
		clients.back()->resolve(listener);
		clients.back()->connect({Bytes{i}});
	}
	const Event request = listener.request();
	std::this_thread::sleep_for(Milliseconds(limit + 1000));
	clients[1].reset();
	EXPECT_TRUE(eventually([&] { return lab::b().counter("startup_closed") > closed; }));
	Endpoint first(request);
	first.accept();
	first.established();
	const Event next = listener.request();
	EXPECT_EQ(next.data, Bytes{2});
	Endpoint last(next);
	last.accept();
	last.established();
	clients[0]->established();
	clients[2]->established();
	EXPECT_EQ(lab::b().counter("startup_timeouts"), timeouts);
}

// Connections without a request take no place of the program's backlog. Otherwise each would keep
// one for a quarter of a second, until it is displaced.
TEST_F(connect_backlog, silent__others_do_not_wait)
{
	constexpr size_t crowd = 40;
	lab::Policy patient(lab::b(), "startup_timeout_ms", 600000);
	const uint64_t drops = lab::b().counter("backlog_drops");
	Listener listener(lab::b(), lab::Family::ipv4, 1);
	std::vector<iwarp::Peer> silent;
	for (size_t i = 0; i < crowd; i++)
		silent.push_back(iwarp::Peer::reach({listener.ip(), listener.port()},
						    {"/run/netns/" + lab::a().netns,
						     !lab::b().is_mpa()}));
	expect_service(listener);
	EXPECT_EQ(lab::b().counter("backlog_drops"), drops);
}

// ---- source ports ----

namespace {

struct connect_port : connect_fails {
	// Binds the client's id to this source port.
	static void bind(Endpoint &client, uint16_t port)
	{
		lab::Inside inside(lab::a());
		ASSERT_EQ(rdma_bind_addr(client.id(), Address(lab::a().ip4, port).get()), 0);
	}
};

} // namespace

// Two ports, one of them privileged.
TEST_F(connect_port, bound__is_used)
{
	for (uint16_t port : {12345, 700}) {
		Listener listener(lab::b());
		Endpoint client(lab::a());
		bind(client, port);
		client.resolve(listener);
		client.connect();
		Endpoint server(listener.request());
		EXPECT_EQ(ntohs(rdma_get_dst_port(server.id())), port);
	}
}

TEST_F(connect_port, bound__taken_by_another)
{
	for (uint16_t port : {12345, 700}) {
		RawListener other(lab::a(), port);
		Listener listener(lab::b());
		Endpoint client(lab::a());
		bind(client, port);
		client.resolve(listener);
		EXPECT_EQ(client.try_connect(), EADDRINUSE) << port;
		EXPECT_FALSE(listener.channel().next(Milliseconds(20)));
	}
}

// rdma_cm has chosen the port without asking TCP.
TEST_F(connect_port, chosen__taken_by_another)
{
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	const uint16_t chosen = ntohs(rdma_get_src_port(client.id()));
	RawListener other(lab::a(), chosen);
	client.connect();
	Endpoint server(listener.request());
	server.accept();
	client.established();
	server.established();
	const uint16_t used = ntohs(rdma_get_dst_port(server.id()));
	EXPECT_NE(used, chosen);
	lab::shell(lab::a(), "rdma resource show cm_id | grep -q ' src-addr " + lab::a().ip4 + ":" +
				     std::to_string(used) + " '");
}
