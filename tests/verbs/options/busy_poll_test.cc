// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Policy poll_us: a program that polls an empty CQ polls the network's NAPI instance. veth has NAPI
// while generic receive offload is on, for packets of a peer without segmentation offload.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "iwarp/netstat.h"
#include "loss/network.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

// Host B receives by NAPI.
class Napi {
public:
	Napi()
	{
		offload(lab::a(), "tso off");
		set("on");
	}
	~Napi()
	{
		set("off");
		offload(lab::a(), "tso on");
	}
	Napi(const Napi &) = delete;
	Napi &operator=(const Napi &) = delete;
	void set(const std::string &state) const { offload(lab::b(), "gro " + state); }

private:
	static void offload(const lab::Host &host, const std::string &setting)
	{
		lab::shell(host, "ethtool -K " + host.netdev + " " + setting);
	}
};

// Packets that programs on this host have received by polling.
uint64_t polled(const lab::Host &host)
{
	lab::Inside inside(host);
	return iwarp::tcp_counter("BusyPollRxPackets");
}

// Takes the next completion. The program never sleeps, in contrast to wait_ok().
void spin(const Endpoint &end)
{
	while (!poll_ok(end.rcq()))
		;
}

void spin_extended(const Endpoint &end)
{
	auto *cq = reinterpret_cast<ibv_cq_ex *>(end.rcq());
	ibv_poll_cq_attr attr{};
	int ret;
	while ((ret = ibv_start_poll(cq, &attr)) == ENOENT)
		;
	check(ret, "ibv_start_poll");
	check(cq->status ? EIO : 0, ibv_wc_status_str(cq->status));
	ibv_end_poll(cq);
}

// The server waits for messages that arrive while it polls: a network with a delay delivers them
// by a timer, whatever the number of processors.
struct busy_poll : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
		napi.emplace();
		delay.emplace("delay 1ms");
	}

	template <class Wait>
	void message(Wait wait)
	{
		const unsigned seed = ++count;
		post_recv(pair->server.qp(), 0, {pair->server.memory().sge(0, 512)});
		fill(pair->client.memory().span(0, 512), seed);
		post(pair->client.qp(), send(0, {pair->client.memory().sge(0, 512)}));
		wait(pair->server);
		EXPECT_TRUE(filled(pair->server.memory().span(0, 512), seed));
		wait_ok(pair->client.scq());
	}

	// Whether the server receives packets by polling, sooner or later.
	template <class Wait>
	bool polls(Wait wait)
	{
		const uint64_t before = polled(lab::b());
		const auto end = std::chrono::steady_clock::now() + patience;
		while (std::chrono::steady_clock::now() < end) {
			message(wait);
			if (polled(lab::b()) > before)
				return true;
		}
		return false;
	}

	// The server's messages arrive without polls. Connects, if there is no connection yet.
	void expect_no_polls()
	{
		const uint64_t before = polled(lab::b());
		if (!pair)
			pair.emplace();
		for (int i = 0; i < 20; i++)
			message(spin);
		EXPECT_EQ(polled(lab::b()), before);
	}

	std::optional<Napi> napi;
	std::optional<lab::BadNetwork> delay;
	std::optional<Pair> pair;
	unsigned count = 0;
};

} // namespace

TEST_F(busy_poll, off_by_default)
{
	EXPECT_EQ(lab::b().policy("poll_us"), "0");
	expect_no_polls();
}

TEST_F(busy_poll, empty_cq__polls_the_network)
{
	lab::Policy on(lab::b(), "poll_us", 1000);
	pair.emplace();
	EXPECT_TRUE(polls(spin));
}

TEST_F(busy_poll, empty_extended_cq__polls_the_network)
{
	lab::Policy on(lab::b(), "poll_us", 1000);
	Config config;
	config.extended = true;
	pair.emplace(both(config));
	EXPECT_TRUE(polls(spin_extended));
}

TEST_F(busy_poll, change__applies_to_existing_connections)
{
	pair.emplace();
	message(spin);
	{
		lab::Policy on(lab::b(), "poll_us", 1000);
		EXPECT_TRUE(polls(spin));
	}
	expect_no_polls();
}

// A netdev without NAPI is polled by nobody.
TEST_F(busy_poll, netdev_without_napi)
{
	napi.reset();
	lab::Policy on(lab::b(), "poll_us", 1000);
	expect_no_polls();
}

// The CQ moves to another ring, and the NAPI instance is destroyed, while a program polls.
TEST_F(busy_poll, cq_is_resized__napi_comes_and_goes)
{
	lab::Policy on(lab::b(), "poll_us", 1000);
	pair.emplace();
	message(spin);
	std::atomic<bool> stop = false;
	std::atomic<unsigned> got = 0;
	std::thread poller([&] {
		while (!stop)
			got += poll_ok(pair->server.rcq());
	});
	for (int i = 0; i < lab::repetitions(40, 10); i++) {
		napi->set(i % 2 ? "on" : "off");
		EXPECT_EQ(ibv_resize_cq(pair->server.rcq(), i % 2 ? 64 : 256), 0);
		message([&](const Endpoint &) {
			while (got != count - 1)
				std::this_thread::yield();
		});
	}
	stop = true;
	poller.join();
}
