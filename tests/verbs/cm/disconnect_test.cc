// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// All ways in which a connection can end; each side is notified exactly once.
#include <gtest/gtest.h>

#include <thread>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"
#include "rdma/eventually.h"

using namespace rdma;

namespace {

// No event follows DISCONNECTED.
void expect_end(Endpoint &e)
{
	e.disconnected();
	EXPECT_TRUE(e.reaches(IBV_QPS_ERR));
	EXPECT_FALSE(e.channel().next(Milliseconds(50)).has_value());
}

struct disconnect_hard : KwarpOnly {};

// Messages whose Sends have completed, and which are still on their way when the connection ends.
class disconnect_early : public KwarpOnly {
protected:
	static constexpr uint32_t depth = 256;
	static constexpr size_t size = 4096;

	void SetUp() override
	{
		KwarpOnly::SetUp();
		if (!IsSkipped())
			connect();
	}

	void connect()
	{
		Config config;
		config.memory = size;
		config.send_wr = depth;
		config.recv_wr = depth;
		config.cq_entries = depth;
		pair.emplace(both(config));
		for (uint32_t i = 0; i < depth; i++)
			post_recv(pair->server.qp(), i, {pair->server.memory().sge(0, size)});
		sent_ = 0;
	}

	// From now on, the client's device waits only for so long.
	void hurry(int ms) { quick_.emplace(lab::a(), "startup_timeout_ms", ms); }

	// Whether a message is sent, as far as the client knows.
	bool send_message(Milliseconds limit = patience)
	{
		post(pair->client.qp(), send(sent_, {pair->client.memory().sge(0, size)}));
		try {
			wait_ok(pair->client.scq(), limit);
		} catch (const Timeout &) {
			return false;
		}
		sent_++;
		return true;
	}

	void expect_delivery()
	{
		wait_ok(pair->server.rcq(), sent_);
		pair->server.disconnected();
	}

	std::optional<Pair> pair;
	size_t sent_ = 0;

private:
	std::optional<lab::Policy> quick_;
};

// The client's packets are lost.
class disconnect_cut : public disconnect_early {
protected:
	void cut() { cut_.emplace(lab::a(), "loss 100%"); }
	void mend() { cut_.reset(); }

	// Sends as many messages as TCP takes without an acknowledgment. All are complete; the next
	// would not be.
	void fill_buffer()
	{
		size_t wanted, room = depth;
		do {
			wanted = room;
			mend();
			connect();
			cut();
			while (sent_ < wanted && send_message(Milliseconds(1000)))
				;
			room = sent_;
		} while (room && room < wanted);
		EXPECT_GT(sent_, 0u);
		EXPECT_LT(sent_, depth);
		hurry(1000);
	}

	// What the client has sent still arrives after a timeout of its device.
	void expect_late_delivery()
	{
		std::this_thread::sleep_for(Milliseconds(1500));
		mend();
		expect_delivery();
	}

private:
	std::optional<lab::Netem> cut_;
};

} // namespace

TEST(disconnect, graceful__by_client)
{
	Pair pair;
	pair.client.disconnect();
	expect_end(pair.server);
	expect_end(pair.client);
}

TEST(disconnect, graceful__by_server)
{
	Pair pair;
	pair.server.disconnect();
	expect_end(pair.client);
	expect_end(pair.server);
}

TEST(disconnect, graceful__by_both_at_once)
{
	for (int i = 0; i < 10; i++) {
		Pair pair;
		std::thread other([&] { pair.server.disconnect(); });
		pair.client.disconnect();
		other.join();
		expect_end(pair.client);
		expect_end(pair.server);
	}
}

TEST(disconnect, graceful__answering_the_peers)
{
	Pair pair;
	pair.client.disconnect();
	pair.server.disconnected();
	rdma_disconnect(pair.server.id()); // as most programs do
	pair.client.disconnected();
	EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
}

TEST(disconnect, graceful__twice)
{
	Pair pair;
	pair.client.disconnect();
	rdma_disconnect(pair.client.id());
	expect_end(pair.client);
	expect_end(pair.server);
}

TEST(disconnect, graceful__both_have_work_queued)
{
	Pair pair;
	for (int i = 0; i < 30; i++) {
		post_recv(pair.client.qp(), i, {pair.client.memory().sge(0, 5000)});
		post_recv(pair.server.qp(), i, {pair.server.memory().sge(0, 5000)});
	}
	for (int i = 0; i < 30; i++) {
		post(pair.client.qp(), send(i, {pair.client.memory().sge(0, 5000)}));
		post(pair.server.qp(), send(i, {pair.server.memory().sge(0, 5000)}));
	}
	pair.client.disconnect();
	pair.server.disconnect();
	// each completes exactly once, with any status
	wait(pair.client.scq(), 30);
	wait(pair.server.scq(), 30);
	wait(pair.client.rcq(), 30);
	wait(pair.server.rcq(), 30);
	expect_end(pair.client);
	expect_end(pair.server);
}

TEST(disconnect, abrupt__qp_destroyed_first)
{
	Pair pair;
	pair.client.destroy_qp();
	expect_end(pair.server);
}

TEST(disconnect, abrupt__qp_destroyed_on_both_sides)
{
	for (int i = 0; i < 10; i++) {
		Pair pair;
		std::thread other([&] { pair.server.destroy_qp(); });
		pair.client.destroy_qp();
		other.join();
	}
}

TEST(disconnect, abrupt__modify_to_error)
{
	Pair pair;
	ASSERT_EQ(modify_state(pair.server.qp(), IBV_QPS_ERR), 0);
	expect_end(pair.client);
	expect_end(pair.server);
}

TEST(disconnect, abrupt__id_destroyed_with_work_in_flight)
{
	Listener listener(lab::b());
	auto client = std::make_unique<Endpoint>(lab::a());
	client->resolve(listener);
	client->connect();
	Endpoint server(listener.request());
	server.accept();
	client->established();
	server.established();
	for (int i = 0; i < 20; i++) {
		post(client->qp(), write(i, {client->memory().sge(0, 60000)}, server.remote()));
		post(server.qp(), read(i, {server.memory().sge(0, 60000)}, client->remote()));
	}
	client.reset();
	wait(server.scq(), 20);
	expect_end(server);
}

TEST(disconnect, early__right_after_connect)
{
	// The client disconnects as soon as the connection is established, before the server polls.
	for (int i = 0; i < 5; i++) {
		Listener listener(lab::b());
		Endpoint client(lab::a());
		client.resolve(listener);
		client.connect();
		Endpoint server(listener.request());
		server.accept();
		client.established();
		client.disconnect();
		server.established();
		server.disconnected();
		client.disconnected();
	}
}

TEST_F(disconnect_hard, reset__by_the_network)
{
	Pair pair;
	post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 8)});
	post_recv(pair.client.qp(), 1, {pair.client.memory().sge(0, 8)});
	lab::shell(lab::b(), "ss -K state established '( sport = :" +
				     std::to_string(ntohs(rdma_get_src_port(pair.server.id()))) +
				     " )' >/dev/null");
	EXPECT_EQ(wait(pair.server.rcq()).status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(wait(pair.client.rcq()).status, IBV_WC_WR_FLUSH_ERR);
	pair.client.disconnected();
	pair.server.disconnected();
}

TEST_F(disconnect_hard, silence__peer_does_not_answer_the_fin)
{
	// The wire is cut: a local disconnect still ends, in bounded time.
	Pair pair;
	lab::Policy quick(lab::a(), "startup_timeout_ms", 500);
	lab::shell(lab::b(), "ip link set " + lab::b().netdev + " down");
	pair.client.disconnect();
	std::optional<Event> event = pair.client.channel().next();
	lab::shell(lab::b(), "ip link set " + lab::b().netdev + " up && ip addr replace " +
				     lab::b().ip6 + "/64 dev " + lab::b().netdev + " nodad");
	ASSERT_TRUE(event.has_value());
	EXPECT_EQ(event->type, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(disconnect_cut, disconnected__message_arrives)
{
	cut();
	send_message();
	hurry(1000);
	pair->client.disconnect();
	pair->client.disconnected();
	expect_late_delivery();
}

TEST_F(disconnect_cut, disconnected__full_buffer_arrives)
{
	fill_buffer();
	pair->client.disconnect();
	pair->client.disconnected();
	expect_late_delivery();
}

TEST_F(disconnect_cut, disconnected__fin_arrives)
{
	cut();
	hurry(1000);
	pair->client.disconnect();
	pair->client.disconnected();
	expect_late_delivery();
}

// The peer's data would make TCP reset a socket that has no owner.
TEST_F(disconnect_cut, disconnected__message_arrives_while_the_peer_sends)
{
	post_recv(pair->client.qp(), 1, {pair->client.memory().sge(0, size)});
	cut();
	send_message();
	hurry(1000);
	pair->client.disconnect();
	pair->client.disconnected();
	post(pair->server.qp(), send(1, {pair->server.memory().sge(0, size)}));
	expect_late_delivery();
}

TEST_F(disconnect_cut, disconnected_by_server__full_buffer_arrives)
{
	fill_buffer();
	pair->server.disconnect();
	pair->client.disconnected();
	expect_late_delivery();
}

TEST_F(disconnect_cut, modified_to_error__full_buffer_arrives)
{
	fill_buffer();
	ASSERT_EQ(modify_state(pair->client.qp(), IBV_QPS_ERR), 0);
	pair->client.disconnected();
	expect_late_delivery();
}

TEST_F(disconnect_cut, destroyed__full_buffer_arrives)
{
	fill_buffer();
	pair->client.destroy_qp();
	expect_late_delivery();
}

// The connection lasts until all messages have arrived.
TEST_F(disconnect_early, slow__messages_arrive)
{
	post_recv(pair->client.qp(), 1, {pair->client.memory().sge(0, size)});
	lab::Netem slow(lab::a(), "rate 250kbit limit 10000");
	for (int i = 0; i < 32; i++)
		EXPECT_TRUE(send_message());
	hurry(1000);
	pair->client.disconnect();
	EXPECT_EQ(wait(pair->client.rcq()).status, IBV_WC_WR_FLUSH_ERR);
	size_t arrived = 0;
	for (ibv_wc wc; ibv_poll_cq(pair->server.rcq(), 1, &wc) > 0;)
		arrived += wc.status == IBV_WC_SUCCESS;
	EXPECT_EQ(arrived, sent_);
	pair->server.disconnected();
	pair->client.disconnected();
}
