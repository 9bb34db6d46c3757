// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A peer that vanishes without notice: the connection ends in limited time, idle or not.
#include <thread>

#include <gtest/gtest.h>

#include "loss/network.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

bool shown(const std::string &pattern)
{
	try {
		lab::shell(lab::a(), "ss -Htno | grep -q 'timer:(" + pattern + "'");
	} catch (const std::runtime_error &) {
		return false;
	}
	return true;
}

// Whether ss shows a timer of that kind on a connection of host A. The kernel reports only one
// timer per connection: while data are not acknowledged, that of TCP's retransmission ("on").
bool timer(const std::string &pattern)
{
	while (shown("on,"))
		std::this_thread::sleep_for(Milliseconds(10));
	return shown(pattern);
}

void expect_end(Endpoint &end)
{
	end.disconnected();
	EXPECT_TRUE(end.reaches(IBV_QPS_ERR));
}

} // namespace

TEST(keepalive, default__two_hours)
{
	Pair pair;
	EXPECT_EQ(lab::a().policy("keepalive_s"), "7200");
	EXPECT_TRUE(timer("keepalive,1[12][0-9]min"));
}

TEST(keepalive, off__no_timer)
{
	lab::Policy off(lab::a(), "keepalive_s", 0), off_too(lab::b(), "keepalive_s", 0);
	Pair pair;
	lab::shell(lab::a(), "ss -Htn state established | grep -q ."); // throws if there is none
	EXPECT_FALSE(timer("keepalive"));
}

TEST(keepalive, peer_vanishes__both_ends_notice)
{
	lab::Policy a(lab::a(), "keepalive_s", 1), b(lab::b(), "keepalive_s", 1);
	lab::Sysctl interval("tcp_keepalive_intvl", "1"), probes("tcp_keepalive_probes", "2");
	Pair pair;
	post_recv(pair.client.qp(), 1, {pair.client.memory().sge(0, 64)});
	lab::BadNetwork cut("loss 100%");
	expect_end(pair.client);
	expect_end(pair.server);
	EXPECT_EQ(wait(pair.client.rcq()).status, IBV_WC_WR_FLUSH_ERR);
}

// A peer that answers keeps its connection.
TEST(keepalive, peer_is_silent_but_there)
{
	lab::Policy a(lab::a(), "keepalive_s", 1);
	// several probes, since an answer may be late
	lab::Sysctl interval("tcp_keepalive_intvl", "1"), probes("tcp_keepalive_probes", "5");
	Pair pair;
	EXPECT_FALSE(pair.client.channel().next(Milliseconds(9000)));
	EXPECT_EQ(pair.client.state(), IBV_QPS_RTS);
}

// With unacknowledged data, net.ipv4.tcp_retries2 limits the time; no policy is needed.
TEST(retransmission, peer_vanishes__with_work_in_flight)
{
	Pair pair;
	lab::BadNetwork cut("loss 100%");
	lab::Sysctl retries("tcp_retries2", "2");
	post(pair.client.qp(), read(1, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
	expect_end(pair.client);
	EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_WR_FLUSH_ERR);
}
