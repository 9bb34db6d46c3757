// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Data exchanged in connection set-up: private data, rejections, IRD and ORD.
#include <gtest/gtest.h>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

Bytes bytes(size_t size, unsigned int seed)
{
	Bytes data(size);
	fill(data, seed);
	return data;
}

constexpr size_t data_sizes[] = {0, 1, 3, 4, 5, 56, 148, 200, 251, 252, 255};

// An initiator whose request has arrived at the listener.
struct Asked {
	Listener listener;
	Endpoint client{lab::a()};
	Event request;

	explicit Asked(const Param &param = {}) : listener(lab::b()), request(ask(param)) {}

private:
	Event ask(const Param &param)
	{
		client.resolve(listener);
		client.connect(param);
		return listener.request();
	}
};

struct private_data : KwarpOnly {};
struct reject : KwarpOnly {};
struct depth : KwarpOnly {};

void exchange_private_data(size_t size)
{
	Asked asked({bytes(size, 1)});
	EXPECT_EQ(asked.request.data, bytes(size, 1)) << size;
	Endpoint server(asked.request);
	server.accept({bytes(size, 2)});
	EXPECT_EQ(asked.client.established().data, bytes(size, 2)) << size;
	server.established();
}

} // namespace

// ---- private data ----

TEST_F(private_data, exchange__revision_2)
{
	for (size_t size : data_sizes)
		exchange_private_data(size);
}

TEST_F(private_data, exchange__revision_1)
{
	lab::Policy a(lab::a(), "mpa_rev", 1), b(lab::b(), "mpa_rev", 1);
	for (size_t size : data_sizes)
		exchange_private_data(size);
}

TEST_F(private_data, exchange__fallback_to_revision_1)
{
	lab::Policy b(lab::b(), "mpa_rev", 1);
	for (size_t size : {0, 5, 255})
		exchange_private_data(size);
}

TEST_F(private_data, exchange__client_only)
{
	Asked asked({bytes(40, 1)});
	EXPECT_EQ(asked.request.data, bytes(40, 1));
	Endpoint server(asked.request);
	server.accept();
	EXPECT_TRUE(asked.client.established().data.empty());
}

// ---- reject ----

TEST_F(reject, answer__private_data_arrives)
{
	for (size_t size : data_sizes) {
		Asked asked;
		Endpoint server(asked.request);
		server.reject(bytes(size, 3));
		Event event = asked.client.channel().expect(RDMA_CM_EVENT_REJECTED);
		EXPECT_EQ(event.status, -ECONNREFUSED);
		EXPECT_EQ(event.data, bytes(size, 3)) << size;
	}
}

TEST_F(reject, answer__revision_1)
{
	lab::Policy a(lab::a(), "mpa_rev", 1), b(lab::b(), "mpa_rev", 1);
	for (size_t size : {0, 1, 255}) {
		Asked asked;
		Endpoint server(asked.request);
		server.reject(bytes(size, 3));
		Event event = asked.client.channel().expect(RDMA_CM_EVENT_REJECTED);
		EXPECT_EQ(event.status, -ECONNREFUSED);
		EXPECT_EQ(event.data, bytes(size, 3)) << size;
	}
}

TEST_F(reject, answer__listener_goes_on)
{
	uint64_t sent = lab::b().counter("tx_rejects"), received = lab::a().counter("rx_rejects");
	Listener listener(lab::b());
	for (int i = 0; i < 6; i++) {
		Endpoint client(lab::a());
		client.resolve(listener);
		client.connect();
		Endpoint server(listener.request());
		if (i % 2) {
			server.accept();
			client.established();
		} else {
			server.reject({1, 2, 3});
			client.channel().expect(RDMA_CM_EVENT_REJECTED);
		}
	}
	EXPECT_EQ(lab::b().counter("tx_rejects"), sent + 3);
	EXPECT_EQ(lab::a().counter("rx_rejects"), received + 3);
}

// If the consumer got the request and does not or cannot answer it, that is final: the initiator
// must not try again with the next lower revision, which the consumer would see as another request.
struct reject_final : reject {
	void expect_final(Asked &asked)
	{
		// Over SCTP only a consumer may reject (RFC 5043 6.3): the association is aborted.
		EXPECT_EQ(asked.client.channel().expect(RDMA_CM_EVENT_REJECTED).status,
			  lab::b().is_mpa() ? -ECONNREFUSED : -ECONNRESET);
		EXPECT_FALSE(asked.listener.channel().next(Milliseconds(100))) << "asked again";
		EXPECT_EQ(lab::a().counter("revision_fallbacks"), fallbacks);
	}

	const uint64_t fallbacks = lab::a().counter("revision_fallbacks");
};

TEST_F(reject_final, destroy__unanswered_request)
{
	Asked asked;
	{
		Endpoint server(asked.request);
	}
	expect_final(asked);
}

TEST_F(reject_final, accept__with_a_queue_pair_in_use)
{
	Pair other;
	Asked asked;
	CmId server(asked.request.id);
	rdma_conn_param param{};
	param.qp_num = other.server.qp()->qp_num;
	EXPECT_EQ(rdma_accept(server.get(), &param), -1);
	expect_final(asked);
}

TEST_F(reject_final, answer__does_not_come_in_time)
{
	lab::Policy impatient(lab::b(), "answer_timeout_ms", 300);
	Asked asked;
	expect_final(asked);
}

TEST_F(reject, posts__are_flushed_when_the_consumer_says_so)
{
	Asked asked;
	post_recv(asked.client.qp(), 1, {asked.client.memory().sge(0, 8)});
	Endpoint server(asked.request);
	server.reject();
	asked.client.channel().expect(RDMA_CM_EVENT_REJECTED);
	ASSERT_EQ(modify_state(asked.client.qp(), IBV_QPS_ERR), 0);
	EXPECT_EQ(wait(asked.client.rcq()).status, IBV_WC_WR_FLUSH_ERR);
}

// ---- IRD and ORD ----

namespace {

struct Depths {
	Param client, server;
	// the negotiated ORD of each side
	int client_ord, server_ord;
};

// The ORD of a side is its requested value, limited by the IRD of the other side. A responder
// raises its IRD to the requested value, within its policy (RFC 6581 9.1).
const Depths cases[] = {
	{{{}, 8, 8}, {{}, 8, 8}, 8, 8},	 {{{}, 4, 8}, {{}, 8, 8}, 8, 4},
	{{{}, 8, 2}, {{}, 8, 16}, 2, 8}, {{{}, 0, 8}, {{}, 8, 8}, 8, 0},
	{{{}, 8, 0}, {{}, 0, 8}, 0, 8},	 {{{}, 0, 0}, {{}, 0, 0}, 0, 0},
	{{{}, 1, 1}, {{}, 1, 1}, 1, 1},	 {{{}, 32, 32}, {{}, 32, 32}, 32, 32},
};

} // namespace

TEST_F(depth, negotiate__table)
{
	lab::Policy a(lab::a(), "p2p", 0); // a Read as RTR message would raise the IRD
	for (const Depths &c : cases) {
		PairConfig config;
		config.connect = c.client;
		config.accept = c.server;
		Pair pair(config);
		SCOPED_TRACE("case " + std::to_string(&c - cases));
		ibv_qp_attr client = query_qp(pair.client.qp()),
			    server = query_qp(pair.server.qp());
		EXPECT_EQ(client.max_rd_atomic, c.client_ord);
		EXPECT_EQ(server.max_rd_atomic, c.server_ord);
		EXPECT_GE(client.max_dest_rd_atomic, server.max_rd_atomic);
		EXPECT_GE(server.max_dest_rd_atomic, client.max_rd_atomic);
	}
}

TEST_F(depth, negotiate__events_report_it)
{
	Param asked_for;
	asked_for.responder_resources = 5;
	asked_for.initiator_depth = 7;
	Asked asked(asked_for);
	// the peer's values, as rdma_get_cm_event(3) names them: initiator_depth is the number of
	// Reads that we may initiate, responder_resources the number that we should grant
	EXPECT_EQ(asked.request.initiator_depth, 5);
	EXPECT_EQ(asked.request.responder_resources, 7);
	Endpoint server(asked.request);
	Param grant;
	grant.responder_resources = 7;
	grant.initiator_depth = 3;
	server.accept(grant);
	// our own, as negotiated: initiator_depth of the event is the ird of iw_cm
	Event event = asked.client.established();
	EXPECT_EQ(event.initiator_depth, 5);
	EXPECT_EQ(event.responder_resources, 7);
}

TEST_F(depth, negotiate__policy_limits_the_client)
{
	lab::Policy ord(lab::a(), "ord", 3), ird(lab::a(), "ird", 2);
	PairConfig config;
	config.connect = {{}, 8, 8};
	Pair pair(config);
	EXPECT_EQ(query_qp(pair.client.qp()).max_rd_atomic, 3);
	EXPECT_EQ(query_qp(pair.server.qp()).max_rd_atomic, 2);
}

TEST_F(depth, negotiate__policy_limits_the_server)
{
	lab::Policy ord(lab::b(), "ord", 3), ird(lab::b(), "ird", 2);
	PairConfig config;
	config.accept = {{}, 8, 8};
	Pair pair(config);
	EXPECT_EQ(query_qp(pair.client.qp()).max_rd_atomic, 2);
	EXPECT_EQ(query_qp(pair.server.qp()).max_rd_atomic, 3);
}

TEST_F(depth, negotiate__revision_1_takes_what_each_says)
{
	lab::Policy a(lab::a(), "mpa_rev", 1), b(lab::b(), "mpa_rev", 1);
	PairConfig config;
	config.connect = {{}, 6, 5};
	config.accept = {{}, 7, 4};
	Pair pair(config);
	EXPECT_EQ(query_qp(pair.client.qp()).max_rd_atomic, 5);
	EXPECT_EQ(query_qp(pair.client.qp()).max_dest_rd_atomic, 6);
	EXPECT_EQ(query_qp(pair.server.qp()).max_rd_atomic, 4);
	EXPECT_EQ(query_qp(pair.server.qp()).max_dest_rd_atomic, 7);
}

// Revision 1 does not tell the client the IRD of the server.
TEST_F(depth, revision_1__more_reads_than_were_granted)
{
	lab::Policy a(lab::a(), "mpa_rev", 1), b(lab::b(), "mpa_rev", 1);
	constexpr int reads = 16;
	for (uint8_t granted : {0, 1}) {
		PairConfig config;
		config.connect = {{}, 0, reads};
		config.accept = {{}, granted, 0};
		Pair pair(config);
		EXPECT_EQ(query_qp(pair.server.qp()).max_dest_rd_atomic, granted);
		std::vector<Send> all;
		for (int i = 0; i < reads; i++)
			all.push_back(read(i, {pair.client.memory().sge(i * 100, 100)},
					   pair.server.remote()));
		post_list(pair.client.qp(), std::move(all));
		wait_ok(pair.client.scq(), reads);
	}
}
