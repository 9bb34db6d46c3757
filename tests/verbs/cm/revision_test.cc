// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// All combinations of MPA revisions 0, 1 and 2, and their forms.
#include <gtest/gtest.h>

#include <memory>

#include "cm/first_message.h"
#include "cm/kwarp_only.h"

using namespace rdma;
using lab::Policy;

namespace {

struct revision : KwarpOnly {};

} // namespace

TEST_F(revision, establish__each_with_each)
{
	for (int client : {1, 2})
		for (int server : {1, 2}) {
			SCOPED_TRACE("client " + std::to_string(client) + ", server " +
				     std::to_string(server));
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
	Policy p2p(lab::a(), "p2p", "send write read"); // no Rtr frame
	Pair pair;
	expect_held_until_client_sends(pair);
}

TEST_F(revision, server_first__held_if_the_server_has_no_rtr_frame)
{
	Policy a(lab::a(), "mpa_rev", 1), b(lab::b(), "mpa_rev", 1), p2p(lab::b(), "p2p", "off");
	Pair pair;
	expect_held_until_client_sends(pair);
}

TEST_F(revision, server_first__held_after_a_fallback)
{
	// RFC 6581 10: the second attempt is an RFC 5044 request
	Policy b(lab::b(), "mpa_rev", 1);
	uint64_t frames = lab::a().counter("tx_rtr_frames");
	Pair pair;
	expect_held_until_client_sends(pair);
	EXPECT_EQ(lab::a().counter("tx_rtr_frames"), frames);
}

TEST_F(revision, server_first__rtr_frame_of_revision_1)
{
	// as in the proposal of 2007
	Policy a(lab::a(), "mpa_rev", 1), b(lab::b(), "mpa_rev", 1);
	for (int markers : {0, 1})
		for (int crc : {0, 1}) {
			SCOPED_TRACE("markers " + std::to_string(markers) + ", crc " +
				     std::to_string(crc));
			Policy ma(lab::a(), "markers", markers), mb(lab::b(), "markers", markers);
			Policy ca(lab::a(), "crc", crc), cb(lab::b(), "crc", crc);
			uint64_t sent = lab::a().counter("tx_rtr_frames"),
				 received = lab::b().counter("rx_rtr_frames");
			Pair pair;
			expect_server_speaks_first(pair);
			EXPECT_EQ(lab::a().counter("tx_rtr_frames"), sent + 1);
			EXPECT_EQ(lab::b().counter("rx_rtr_frames"), received + 1);
		}
}

TEST_F(revision, server_first__rtr_frame_is_all_that_is_asked_for)
{
	// revision 2 has no Rtr frame, so the peer-to-peer model is not used
	Policy p2p(lab::a(), "p2p", "rtr-frame");
	{
		Pair pair;
		expect_held_until_client_sends(pair);
	}
	Policy a(lab::a(), "mpa_rev", 1);
	Pair pair;
	expect_server_speaks_first(pair);
}

TEST_F(revision, establish__rtr_frame_many_at_once)
{
	Policy a(lab::a(), "mpa_rev", 1);
	std::vector<std::unique_ptr<Pair>> pairs;
	for (int i = 0; i < 10; i++)
		pairs.push_back(std::make_unique<Pair>());
	for (auto &pair : pairs)
		expect_server_speaks_first(*pair);
}

TEST_F(revision, establish__client_leaves_behind_the_rtr_frame)
{
	Policy a(lab::a(), "mpa_rev", 1);
	for (int i = 0; i < 5; i++) {
		Pair pair;
		pair.client.destroy_qp();
		pair.server.disconnected();
		EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	}
}

// RFC 5044 appendix C: markers and CRC are used, whatever other policies say.
TEST_F(revision, establish__rdmac)
{
	Policy a(lab::a(), "mpa_rev", 0), crc_a(lab::a(), "crc", "off"),
		crc_b(lab::b(), "crc", "off");
	for (int server : {0, 1, 2}) {
		SCOPED_TRACE("server " + std::to_string(server));
		Policy b(lab::b(), "mpa_rev", server);
		uint64_t client = lab::a().counter("rdmac_connections"),
			 markers = lab::a().counter("rx_markers");
		Pair pair;
		expect_held_until_client_sends(pair);
		EXPECT_EQ(lab::a().counter("rdmac_connections"), client + 1);
		EXPECT_GT(lab::a().counter("rx_markers"), markers);
		EXPECT_EQ(query_qp(pair.client.qp()).qp_state, IBV_QPS_RTS);
	}
}

TEST_F(revision, refuse__rdmac_if_not_permissive)
{
	Policy a(lab::a(), "mpa_rev", 0), b(lab::b(), "permissive", 0);
	uint64_t refused = lab::b().counter("startup_revision_errors");
	Listener listener(lab::b());
	Endpoint client(lab::a());
	client.resolve(listener);
	client.connect();
	EXPECT_NE(client.channel().next().value().type, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(lab::b().counter("startup_revision_errors"), refused + 1);
}

// The responder sets the C bit if the initiator asks for CRC, whatever its own policy.
TEST_F(revision, establish__crc_required_by_either)
{
	for (const char *client : {"off", "preferred", "required"})
		for (const char *server : {"off", "preferred", "required"}) {
			Policy a(lab::a(), "crc", client), b(lab::b(), "crc", server);
			Pair pair;
			expect_server_speaks_first(pair);
			// RFC 5044 7.1.1 C
			const bool crc = client != std::string("off") ||
					 server != std::string("off");
			if (lab::a().is_mpa()) {
				EXPECT_EQ(crcs(pair), crc ? "11" : "00") << client << " " << server;
			}
		}
}
