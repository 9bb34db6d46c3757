// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The peer-to-peer model of RFC 6581, and connections without it.
#include <gtest/gtest.h>

#include "cm/first_message.h"
#include "cm/kwarp_only.h"
#include "rdma/eventually.h"

using namespace rdma;
using lab::Policy;

namespace {

struct peer_to_peer : KwarpOnly {};

// Bytes that the server has received with a message of each kind without payload: an FPDU with a
// header of DDP and RDMAP, that of a Read Request too, and a CRC.
struct Rtr {
	const char *kind;
	uint64_t bytes;
};
constexpr Rtr each_rtr[] = {{"write", 2 + 14 + 4}, {"read", 2 + 18 + 28 + 4}, {"send", 2 + 18 + 4}};

// Only the RTR message has arrived.
void expect_sent(const Rtr &rtr, uint64_t before)
{
	if (!lab::a().is_mpa()) // no RTR message over SCTP
		return;
	EXPECT_TRUE(eventually([&] { return lab::b().counter("rx_octets") > before; }));
	EXPECT_EQ(lab::b().counter("rx_octets") - before, rtr.bytes);
}

// The server has accepted, but offers no kind that the client supports.
struct NoCommonKind {
	Policy a{lab::a(), "p2p", "send"}, b{lab::b(), "p2p", "write"};
	Listener listener{lab::b()};
	Endpoint client{lab::a()};
	Endpoint server{request()};

	NoCommonKind() { server.accept(); }

private:
	Event request()
	{
		client.resolve(listener);
		client.connect();
		return listener.request();
	}
};

} // namespace

TEST_F(peer_to_peer, off__server_is_held)
{
	Policy a(lab::a(), "p2p", 0);
	Pair pair;
	expect_held_until_client_sends(pair);
}

// RFC 5044 7.1.2 rule 4: no Terminate, either, if the server fails before the client's first FPDU.
TEST_F(peer_to_peer, off__server_fails_silently)
{
	Policy a(lab::a(), "p2p", 0);
	PairConfig small;
	small.server.cq_entries = 2;
	Pair held(small);
	PairConfig sharing;
	sharing.server.cq = held.server.rcq();
	Pair other(sharing);
	AsyncEvents events(held.server.context());
	const uint64_t before = lab::a().counter("rx_terminate");
	post(other.client.qp(), write(1, {other.client.memory().sge(0, 8)}, other.server.remote()));
	for (int i = 0; i <= held.server.rcq()->cqe; i++)
		post(other.server.qp(),
		     write(i, {other.server.memory().sge(0, 8)}, other.client.remote()));
	EXPECT_TRUE(held.server.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(held.client.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(other.client.reaches(IBV_QPS_ERR));
	EXPECT_EQ(events.of(held.server.qp()).event_type, IBV_EVENT_QP_FATAL);
	EXPECT_EQ(lab::a().counter("rx_terminate"), before + 1) << "of the other connection only";
}

TEST_F(peer_to_peer, off__client_write_releases_the_server)
{
	Policy a(lab::a(), "p2p", 0);
	Pair pair;
	server_sends(pair, 1);
	EXPECT_TRUE(drain(pair.client.rcq(), moment).empty());
	post(pair.client.qp(),
	     write(2, {pair.client.memory().sge(0, 8)}, pair.server.remote(2000)));
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
	post(pair.client.qp(),
	     write(2, {pair.client.memory().sge(0, 8)}, pair.server.remote(2000)));
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
	for (const Rtr &rtr : each_rtr) {
		SCOPED_TRACE(rtr.kind);
		Policy a(lab::a(), "p2p", rtr.kind);
		const uint64_t before = lab::b().counter("rx_octets");
		Pair pair;
		expect_sent(rtr, before);
		expect_server_speaks_first(pair);
	}
}

TEST_F(peer_to_peer, on__kinds_chosen_by_the_server)
{
	for (const Rtr &rtr : each_rtr) {
		SCOPED_TRACE(rtr.kind);
		Policy b(lab::b(), "p2p", rtr.kind);
		const uint64_t before = lab::b().counter("rx_octets");
		Pair pair;
		expect_sent(rtr, before);
		expect_server_speaks_first(pair);
	}
}

TEST_F(peer_to_peer, on__no_kind_in_common)
{
	// RFC 6581 9.2: the initiator supports no kind that the responder offers, and reports that
	uint64_t failed = lab::a().counter("startup_negotiation_errors");
	uint64_t rtr = lab::a().counter("startup_rtr_errors");
	NoCommonKind pair;
	EXPECT_NE(pair.client.channel().next().value().type, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	EXPECT_EQ(lab::a().counter("startup_negotiation_errors"), failed + 1);
	EXPECT_EQ(lab::a().counter("startup_rtr_errors"), rtr + 1);
}

TEST_F(peer_to_peer, on__reset_while_the_terminate_is_sent)
{
	// the program learns of the error before the Terminate is sent
	for (int i = 0; i < lab::repetitions(300, 60); i++) {
		NoCommonKind pair;
		ASSERT_EQ(pair.client.channel().next().value().type, RDMA_CM_EVENT_CONNECT_ERROR);
		ASSERT_EQ(modify_state(pair.client.qp(), IBV_QPS_RESET), 0) << i;
	}
}

TEST_F(peer_to_peer, on__with_markers_and_without_crc)
{
	Policy ma(lab::a(), "markers", 1), mb(lab::b(), "markers", 1);
	Policy ca(lab::a(), "crc", 0), cb(lab::b(), "crc", 0);
	for (const char *kind : {"write", "read", "send"}) {
		Policy a(lab::a(), "p2p", kind);
		Pair pair;
		expect_server_speaks_first(pair);
	}
}

TEST_F(peer_to_peer, on__no_depth_for_an_rtr_read)
{
	// zero-length Reads are possible even if the consumer asks for no IRD
	Policy a(lab::a(), "p2p", "read");
	PairConfig config;
	config.connect = {{}, 0, 0};
	config.accept = {{}, 0, 0};
	Pair pair(config);
	expect_server_speaks_first(pair);
}
