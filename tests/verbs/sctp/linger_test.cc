// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Peers that fall silent while their association ends. SCTP repeats SHUTDOWN for 50 seconds, and a
// message that is not acknowledged for minutes, and limits the number of such associations by
// nothing. So the device does.
#include "network.h"
#include "session.h"

using namespace rdma;
using namespace sctp;
namespace wire = iwarp::sctp;

namespace {

constexpr size_t few = 2, crowd = 6;

class sctp_linger : public testing::Test {
	lab::Policy limit_{lab::b(), "backlog", few};
	lab::Policy patient_{lab::b(), "startup_timeout_ms", 600000}; // no timeout
};

Message first(uint16_t code, uint32_t ppid = wire::ppid_control)
{
	return {.ppid = ppid, .data = {0, 0, 0, static_cast<uint8_t>(code)}};
}

} // namespace

TEST_F(sctp_linger, wrong_beginning__none_stays)
{
	const wire::Options right{}, no_indication{.netns{}, .adaptation = {}};
	const std::pair<wire::Options, Message> cases[] = {
		{right, first(wire::terminate)},
		{right, first(wire::accept)},
		{right, first(wire::initiate, 18)},
		{no_indication, first(wire::initiate)},
	};
	Listener listener(lab::b());
	Dropped dropped(lab::a(), shutdown_ack);
	for (const auto &[options, message] : cases) {
		Association peer = associate(listener, options);
		peer.send(message);
		EXPECT_TRUE(all_end(listener.port()));
		EXPECT_EQ(associations(listener.port()), 0u);
	}
}

TEST_F(sctp_linger, shut_down__none_stays)
{
	Listener listener(lab::b());
	Dropped dropped(lab::a(), shutdown_complete);
	Association peer = associate(listener);
	peer.shut();
	EXPECT_TRUE(eventually([&] { return !associations(listener.port()); }));
}

// The peers get no Session Terminate, so they do not acknowledge any, but send theirs.
TEST_F(sctp_linger, refused__few_stay)
{
	Listener listener(lab::b());
	Dropped dropped(lab::b(), data_chunk, wire::ppid_control);
	std::vector<Association> peers;
	for (size_t i = 0; i < crowd; i++) {
		const uint64_t refused = lab::b().counter("tx_rejects");
		peers.push_back(associate(listener));
		// more than a consumer can get
		peers.back().control(wire::initiate, pattern(1, 256));
		ASSERT_TRUE(eventually([&] { return lab::b().counter("tx_rejects") > refused; }));
		peers.back().control(wire::terminate);
		EXPECT_TRUE(all_end(listener.port()));
	}
	EXPECT_TRUE(eventually([&] { return associations(listener.port()) <= few; }))
		<< associations(listener.port());
}

// Some of them wait in the socket's queue when the listener is closed.
TEST_F(sctp_linger, listener_closed__none_stays)
{
	std::vector<Association> peers;
	Dropped dropped(lab::a(), shutdown_ack);
	uint16_t port;
	{
		Listener listener(lab::b());
		port = listener.port();
		for (size_t i = 0; i < crowd; i++)
			peers.push_back(associate(listener));
	}
	EXPECT_TRUE(eventually([&] { return !associations(port); })) << associations(port);
}

// The peers do not acknowledge the device's Session Terminate, which answers theirs.
TEST_F(sctp_linger, ended__few_stay)
{
	std::vector<std::unique_ptr<Session>> sessions;
	for (size_t i = 0; i < crowd; i++)
		sessions.push_back(std::make_unique<Session>());
	Dropped dropped(lab::a(), sack);
	for (auto &s : sessions) {
		s->peer.control(wire::terminate);
		s->server.disconnected();
		EXPECT_TRUE(all_end(s->listener.port()));
	}
	EXPECT_TRUE(eventually([&] {
		size_t all = 0;
		for (auto &s : sessions)
			all += associations(s->listener.port());
		return all <= few;
	}));
}
