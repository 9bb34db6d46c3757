// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Peers that do not close after the victim has sent its FIN: the number of sockets that they can
// occupy, and the end of the connection when the peer resets.
#include "../session/session.h"

#include <fstream>
#include <sstream>

namespace peer {
namespace {

constexpr unsigned backlog = 4;

// Returns the number of sockets with this local port that have sent FIN and wait for the peer's
// FIN. This process is in the victim's namespace.
unsigned half_closed(uint16_t port)
{
	std::ifstream table("/proc/thread-self/net/tcp");
	std::string line;
	std::getline(table, line);
	unsigned n = 0;
	while (std::getline(table, line)) {
		std::istringstream words(line);
		std::string slot, local, remote, state;
		words >> slot >> local >> remote >> state;
		bool waits = state == "04" || state == "05"; // FIN_WAIT1, FIN_WAIT2
		if (waits && std::stoul(local.substr(local.find(':') + 1), nullptr, 16) == port)
			n++;
	}
	return n;
}

struct Refusal {
	std::string name;
	Answer answer;
	size_t private_data;
};

class Ends : public testing::Test {
protected:
	void SetUp() override
	{
		policy_.must("backlog", backlog);
		policy_.must("startup_timeout_ms", 600000); // no timeout during the test
	}
	static uint64_t drops() { return counter("linger_drops"); }

private:
	Policy policy_;
};

class Linger : public Ends, public testing::WithParamInterface<Refusal> {};

TEST_P(Linger, refused__few_stay)
{
	const Refusal &c = GetParam();
	constexpr unsigned crowd = 60;
	const uint64_t before = drops();
	Victim v({.answer = c.answer});
	const uint16_t port = v.address().port();
	std::vector<Peer> peers;
	for (unsigned i = 0; i < crowd; i++) {
		peers.push_back(Peer::connect(v.address(),
					      StartupFrame::request(1, {}, pattern(c.private_data)),
					      lab().peer_socket()));
		EXPECT_TRUE(peers.back().reply.r);
		// a displaced endpoint is closed asynchronously
		ASSERT_TRUE(soon([&] { return half_closed(port) <= backlog; }))
			<< half_closed(port);
	}
	EXPECT_TRUE(soon([&] { return drops() == before + crowd - backlog; })) << drops() - before;
	// a displaced endpoint is closed asynchronously
	EXPECT_TRUE(soon([&] { return half_closed(port) == backlog; })) << half_closed(port);
	// lingering endpoints do not block new connections
	v.answers(Answer::accept);
	expect_healthy(v);
	// the youngest endpoints still linger
	EXPECT_TRUE(soon([&] { return half_closed(port) == backlog; })) << half_closed(port);
	for (unsigned i = 0; i < backlog; i++) {
		peers.back().close();
		peers.pop_back();
	}
	EXPECT_TRUE(soon([&] { return !half_closed(port); })) << half_closed(port);
	EXPECT_EQ(drops(), before + crowd - backlog);
}

const Refusal refusals[] = {
	{"by_the_consumer", Answer::reject, 10},
	{"private_data_too_long", Answer::accept, 300},
};

INSTANTIATE_TEST_SUITE_P(peer, Linger, testing::ValuesIn(refusals),
			 [](const auto &info) { return info.param.name; });

// Connections that were established have a separate limit, also the backlog.
TEST_F(Ends, connections__few_stay)
{
	const uint64_t before = drops();
	Victim v;
	std::vector<Peer> peers;
	for (unsigned i = 0; i < backlog + 3; i++) {
		peers.push_back(Peer::connect(v.address(), StartupFrame::request(1),
					      lab().peer_socket()));
		peers.back().send_message(pattern(10));
		EXPECT_TRUE(v.completion());
		v.drop(i);
	}
	EXPECT_TRUE(soon([&] { return drops() == before + 3; })) << drops() - before;
	expect_healthy(v);
}

// The victim has more data to send than the peer's window takes, so its FIN cannot be sent. When
// the peer resets, the victim must not wait any longer.
TEST_F(Ends, connection__reset_behind_fin)
{
	Victim v({.rw_size = 1 << 20});
	Peer p = Peer::connect(v.address(), StartupFrame::request(1), lab().peer_socket());
	p.send_message(pattern(100));
	EXPECT_TRUE(v.completion());
	Connection &c = v.connection(0);
	for (int i = 0; i < 40; i++)
		c.post_send(*v.rw, 0, v.rw->size());
	p.finish();
	EXPECT_TRUE(soon([&] { return c.state() == IBV_QPS_ERR; }));
	p.reset();
	EXPECT_TRUE(v.wait([&] { return c.happened.disconnected; })) << "no DISCONNECTED event";
	EXPECT_TRUE(v.settled(0));
	expect_healthy(v);
}

} // namespace
} // namespace peer
