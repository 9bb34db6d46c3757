// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Several paths between the hosts (the suite vm-multihoming makes the second one): one of them is
// cut in mid-stream, in both directions, as by a switch that fails. No data may be lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "network.h"
#include "traffic.h"

using namespace rdma;
using Clock = std::chrono::steady_clock;

namespace {

// A netdev of each host.
struct Wire {
	std::string a;
	std::string b;
};

const Wire &first()
{
	static const Wire wire{lab::a().netdev, lab::b().netdev};
	return wire;
}

const Wire &second()
{
	static const Wire wire{"pA", "pB"};
	return wire;
}

struct Cut {
	explicit Cut(const Wire &wire)
		: a_(lab::a(), "loss 100%", wire.a), b_(lab::b(), "loss 100%", wire.b)
	{
	}

private:
	lab::Netem a_, b_;
};

uint64_t failures()
{
	return lab::a().counter("path_failures") + lab::b().counter("path_failures");
}

class failover : public testing::TestWithParam<lab::Family> {
protected:
	// Traffic until a path has failed, and 5 more rounds. Prints how long the longest round
	// took. On a busy machine a path may have failed before it was cut, so a path that is
	// already inactive counts as failed, too.
	void fails_over(const char *what)
	{
		const uint64_t before = failures();
		auto longest = Clock::duration::zero();
		for (int after = 0; after < 5;) {
			const auto begin = Clock::now();
			traffic_.rounds(1);
			longest = std::max(longest, Clock::now() - begin);
			ASSERT_FALSE(HasFailure());
			if (failures() > before || active_paths() < 2)
				after++;
		}
		EXPECT_EQ(traffic_.state(), IBV_QPS_RTS);
		printf("# summary: %s: the longest round took %lld ms\n", what,
		       static_cast<long long>(
			       std::chrono::duration_cast<Milliseconds>(longest).count()));
	}

	// Waits until SCTP's heartbeats have found that both paths work.
	void both_work()
	{
		const auto end = Clock::now() + 4 * patience;
		while (active_paths() < 2 && Clock::now() < end)
			std::this_thread::sleep_for(Milliseconds(100));
		ASSERT_GE(active_paths(), 2) << "the path that was cut is not used again";
		traffic_.rounds(5);
		EXPECT_EQ(traffic_.state(), IBV_QPS_RTS);
	}

	// The number of addresses of the peer whose state is active at the client.
	static int active_paths()
	{
		lab::Inside inside(lab::a());
		std::ifstream in("/proc/thread-self/net/sctp/remaddr");
		int n = 0;
		for (std::string line; std::getline(in, line);)
			n += line.ends_with(" 2");
		return n;
	}

	Traffic traffic_{GetParam()};
};

} // namespace

TEST_P(failover, path__cut)
{
	both_work();
	Cut cut(first());
	fails_over("first path cut");
}

TEST_P(failover, path__cut_and_restored_and_the_other_cut)
{
	both_work();
	{
		Cut cut(first());
		fails_over("first path cut");
	}
	both_work();
	{
		// This path carries heartbeats only.
		Cut cut(second());
		traffic_.rounds(5);
		EXPECT_EQ(traffic_.state(), IBV_QPS_RTS);
	}
	both_work();
	Cut cut(first());
	fails_over("first path cut again");
}

// As when a cable is pulled.
TEST_P(failover, path__netdev_goes_down)
{
	both_work();
	lab::shell(lab::b(), "ip link set " + first().b + " down");
	fails_over("netdev down");
	lab::shell(lab::b(), "ip link set " + first().b + " up");
	lab::shell(lab::b(), "ip addr replace " + lab::b().ip6 + "/64 dev " + first().b + " nodad");
	lab::shell(lab::a(), "ip addr replace " + lab::a().ip6 + "/64 dev " + first().a + " nodad");
}

INSTANTIATE_TEST_SUITE_P(family, failover, testing::Values(lab::Family::ipv4, lab::Family::ipv6),
			 [](const testing::TestParamInfo<lab::Family> &info) {
				 return info.param == lab::Family::ipv4 ? "ipv4" : "ipv6";
			 });
