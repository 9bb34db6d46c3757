// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The device's policy: what it accepts, and what each value changes for connections.
#include <gtest/gtest.h>

#include <fstream>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;
using lab::Policy;

namespace {

struct policy : KwarpOnly {};
struct revision : KwarpOnly {};
struct peer_to_peer : KwarpOnly {};

bool refuses(const std::string &name, const std::string &value)
{
	std::ofstream file(lab::a().sysfs() + "/kwarp/" + name);
	return !(file << value << std::flush);
}

constexpr Milliseconds moment{300};

// The server has something to say before the client has said anything.
void server_sends(Pair &pair, uint64_t id)
{
	post_recv(pair.client.qp(), id, {pair.client.memory().sge(0, 1000)});
	post(pair.server.qp(), send(id, {pair.server.memory().sge(0, 1000)}));
}

void expect_held_until_client_sends(Pair &pair)
{
	fill(pair.server.memory().span(0, 1000), 6);
	server_sends(pair, 1);
	EXPECT_TRUE(drain(pair.client.rcq(), moment).empty());
	post_recv(pair.server.qp(), 2, {pair.server.memory().sge(2000, 100)});
	post(pair.client.qp(), send(2, {pair.client.memory().sge(2000, 100)}));
	wait_ok(pair.server.rcq());
	EXPECT_EQ(wait_ok(pair.client.rcq()).byte_len, 1000u);
	EXPECT_TRUE(filled(pair.client.memory().span(0, 1000), 6));
	wait_ok(pair.server.scq());
	wait_ok(pair.client.scq());
}

void expect_server_speaks_first(Pair &pair)
{
	// a receive that nothing but a message of the client may use up
	post_recv(pair.server.qp(), 77, {pair.server.memory().sge(4000, 100)});
	fill(pair.server.memory().span(0, 1000), 7);
	server_sends(pair, 1);
	EXPECT_EQ(wait_ok(pair.client.rcq()).byte_len, 1000u);
	EXPECT_TRUE(filled(pair.client.memory().span(0, 1000), 7));
	EXPECT_TRUE(drain(pair.server.rcq()).empty());
	EXPECT_TRUE(drain(pair.client.scq(), Milliseconds(10)).empty());
	post(pair.client.qp(), send(2, {pair.client.memory().sge(2000, 100)}));
	EXPECT_EQ(wait_ok(pair.server.rcq()).wr_id, 77u);
}

} // namespace

TEST_F(policy, file__refuses_nonsense)
{
	EXPECT_TRUE(refuses("mpa_rev", "3"));
	EXPECT_TRUE(refuses("mpa_rev", "-1"));
	EXPECT_TRUE(refuses("crc", "2"));
	EXPECT_TRUE(refuses("markers", "x"));
	EXPECT_TRUE(refuses("p2p", "256"));
	EXPECT_TRUE(refuses("ird", "100000"));
	EXPECT_TRUE(refuses("ord", "65536"));
	EXPECT_TRUE(refuses("startup_timeout_ms", "0"));
	EXPECT_TRUE(refuses("startup_timeout_ms", "4294967296"));
	EXPECT_TRUE(refuses("backlog", "0"));
	EXPECT_TRUE(refuses("backlog", "\n"));
}

TEST_F(policy, file__keeps_what_was_written)
{
	for (const char *name : {"mpa_rev", "crc", "markers", "p2p", "ird", "ord"}) {
		Policy one(lab::a(), name, 1);
		EXPECT_EQ(lab::a().policy(name), "1") << name;
	}
	Policy timeout(lab::a(), "startup_timeout_ms", 1234);
	EXPECT_EQ(lab::a().policy("startup_timeout_ms"), "1234");
	EXPECT_NE(lab::b().policy("startup_timeout_ms"), "1234");
}

TEST_F(policy, change__leaves_connections_alone)
{
	Pair pair;
	Policy crc(lab::a(), "crc", 0), markers(lab::b(), "markers", 1), rev(lab::a(), "mpa_rev", 1);
	fill(pair.client.memory().span(0, 30000), 1);
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, 30000)}, pair.server.remote()));
	post(pair.client.qp(), read(2, {pair.client.memory().sge(30000, 30000)}, pair.server.remote()));
	wait_ok(pair.client.scq(), 2);
	EXPECT_TRUE(filled(pair.client.memory().span(30000, 30000), 1));
}

TEST_F(revision, establish__each_with_each)
{
	for (int client : {1, 2})
		for (int server : {1, 2}) {
			SCOPED_TRACE("client " + std::to_string(client) + ", server " + std::to_string(server));
			Policy a(lab::a(), "mpa_rev", client), b(lab::b(), "mpa_rev", server);
			uint64_t fallbacks = lab::a().counter("revision_fallbacks");
			Pair pair;
			fill(pair.client.memory().span(0, 9000), 1);
			post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 9000)});
			post(pair.client.qp(), send(1, {pair.client.memory().sge(0, 9000)}));
			wait_ok(pair.server.rcq());
			EXPECT_TRUE(filled(pair.server.memory().span(0, 9000), 1));
			EXPECT_EQ(lab::a().counter("revision_fallbacks") - fallbacks,
				  client == 2 && server == 1 ? 1u : 0u);
		}
}

TEST_F(revision, establish__ipv6_fallback)
{
	Policy b(lab::b(), "mpa_rev", 1);
	PairConfig config;
	config.family = lab::Family::ipv6;
	Pair pair(config);
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	wait_ok(pair.client.scq());
}

TEST_F(revision, server_first__held_with_revision_1)
{
	Policy a(lab::a(), "mpa_rev", 1), b(lab::b(), "mpa_rev", 1);
	Policy rtr(lab::a(), "rtr", "send write read"); // no Rtr frame either
	Pair pair;
	expect_held_until_client_sends(pair);
}

TEST_F(revision, server_first__rtr_frame_of_revision_1)
{
	Policy a(lab::a(), "mpa_rev", 1), b(lab::b(), "mpa_rev", 1);
	Policy rtr_a(lab::a(), "rtr", "frame send write read"), rtr_b(lab::b(), "rtr", "frame send write read");
	Pair pair;
	// served if it is implemented, else held; never lost
	server_sends(pair, 1);
	if (drain(pair.client.rcq(), moment).empty()) {
		post_recv(pair.server.qp(), 2, {});
		post(pair.client.qp(), send(2, {}));
		wait_ok(pair.client.rcq());
		GTEST_SKIP() << "no Rtr frame yet: held until the client sends";
	}
}

TEST_F(peer_to_peer, off__server_is_held)
{
	Policy a(lab::a(), "p2p", 0);
	Pair pair;
	expect_held_until_client_sends(pair);
}

TEST_F(peer_to_peer, off__client_write_releases_the_server)
{
	Policy a(lab::a(), "p2p", 0);
	Pair pair;
	server_sends(pair, 1);
	EXPECT_TRUE(drain(pair.client.rcq(), moment).empty());
	post(pair.client.qp(), write(2, {pair.client.memory().sge(0, 8)}, pair.server.remote(2000)));
	wait_ok(pair.client.rcq());
}

TEST_F(peer_to_peer, off__client_read_releases_the_server)
{
	Policy a(lab::a(), "p2p", 0);
	Pair pair;
	server_sends(pair, 1);
	EXPECT_TRUE(drain(pair.client.rcq(), moment).empty());
	post(pair.client.qp(), read(2, {pair.client.memory().sge(0, 8)}, pair.server.remote(2000)));
	wait_ok(pair.client.scq());
	wait_ok(pair.client.rcq());
}

TEST_F(peer_to_peer, off__many_are_held_in_order)
{
	Policy a(lab::a(), "p2p", 0);
	Pair pair;
	for (int i = 0; i < 10; i++)
		server_sends(pair, i);
	EXPECT_TRUE(drain(pair.client.rcq(), moment).empty());
	EXPECT_TRUE(drain(pair.server.scq(), Milliseconds(10)).empty());
	post(pair.client.qp(), write(2, {pair.client.memory().sge(0, 8)}, pair.server.remote(2000)));
	std::vector<ibv_wc> all = wait_ok(pair.client.rcq(), 10);
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(all[i].wr_id, uint64_t(i));
	wait_ok(pair.server.scq(), 10);
}

TEST_F(peer_to_peer, on__server_speaks_first)
{
	Policy a(lab::a(), "p2p", 1);
	Pair pair;
	expect_server_speaks_first(pair);
}

TEST_F(peer_to_peer, on__each_kind_of_rtr)
{
	for (const char *kind : {"write", "read", "send"}) {
		SCOPED_TRACE(kind);
		Policy a(lab::a(), "rtr", kind);
		Pair pair;
		expect_server_speaks_first(pair);
	}
}

TEST_F(peer_to_peer, on__kinds_chosen_by_the_server)
{
	for (const char *kind : {"write", "read", "send"}) {
		SCOPED_TRACE(kind);
		Policy b(lab::b(), "rtr", kind);
		Pair pair;
		expect_server_speaks_first(pair);
	}
}

TEST_F(peer_to_peer, on__no_kind_in_common)
{
	// RFC 6581 9.2: the initiator cannot, and says so
	Policy a(lab::a(), "rtr", "send"), b(lab::b(), "rtr", "write");
	uint64_t failed = lab::a().counter("startup_negotiation_errors");
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	client.connect();
	Endpoint server(listener.request());
	server.accept();
	EXPECT_NE(client.channel().next().value().type, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_TRUE(server.reaches(IBV_QPS_ERR));
	EXPECT_EQ(lab::a().counter("startup_negotiation_errors"), failed + 1);
}

TEST_F(peer_to_peer, on__with_markers_and_without_crc)
{
	Policy ma(lab::a(), "markers", 1), mb(lab::b(), "markers", 1);
	Policy ca(lab::a(), "crc", 0), cb(lab::b(), "crc", 0);
	for (const char *kind : {"write", "read", "send"}) {
		Policy a(lab::a(), "rtr", kind);
		Pair pair;
		expect_server_speaks_first(pair);
	}
}

TEST_F(peer_to_peer, on__no_depth_for_an_rtr_read)
{
	// zero-length reads are made room for, even if the consumer wants none
	Policy a(lab::a(), "rtr", "read");
	PairConfig config;
	config.connect = {{}, 0, 0};
	config.accept = {{}, 0, 0};
	Pair pair(config);
	expect_server_speaks_first(pair);
}
