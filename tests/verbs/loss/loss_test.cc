// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A network that loses, reorders, duplicates and delays packets; segment sizes that change during
// the transfer. RFC 5044 leaves all of this to TCP: every byte must arrive once, in its place, and
// no transfer may stall. Also: memory that the kernel reclaims during the transfer.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "network.h"
#include "traffic.h"

using namespace rdma;
using lab::BadNetwork;
using lab::Meanwhile;
using lab::OneSegment;
using lab::Sysctl;

namespace {

const int rounds = lab::repetitions(6, 2);

// With markers, which also shift all boundaries of FPDUs, or without; and with early placement
// (suite vm-ooo).
enum class Form { nomarkers, markers, ooo };

const char *name(Form f)
{
	return f == Form::ooo ? "ooo" : f == Form::markers ? "markers" : "nomarkers";
}

void put(const std::string &path, const std::string &value)
{
	std::ofstream file(path);
	if (!(file << value << std::flush))
		throw std::runtime_error("cannot write " + value + " to " + path);
}

// Traces what the shrinkers free, until the end of the scope.
class Shrinkers {
public:
	Shrinkers()
	{
		std::filesystem::create_directory(path_);
		put(path_ + "events/vmscan/mm_shrink_slab_end/enable", "1");
	}
	~Shrinkers() { std::filesystem::remove(path_); }
	Shrinkers(const Shrinkers &) = delete;
	Shrinkers &operator=(const Shrinkers &) = delete;

	// Calls all of them.
	static void run() { put("/proc/sys/vm/drop_caches", "2"); }
	// Whether that of the pages in which the driver builds FPDUs has freed some.
	bool freed_pages() const
	{
		const std::string returned = "shrinker return val ";
		std::ifstream trace(path_ + "trace");
		for (std::string line; std::getline(trace, line);) {
			const size_t at = line.find(returned);
			if (at != std::string::npos && line.find("[kwarp]") < at &&
			    std::stoi(line.substr(at + returned.size())) > 0)
				return true;
		}
		return false;
	}

private:
	const std::string path_ = "/sys/kernel/tracing/instances/kwarp-loss/";
};

class loss : public testing::TestWithParam<Form> {
protected:
	void SetUp() override
	{
		if (GetParam() == Form::nomarkers)
			return;
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
		for (const lab::Host *host : {&lab::a(), &lab::b()}) {
			policies_.push_back(std::make_unique<lab::Policy>(*host, "markers", 1));
			if (GetParam() == Form::ooo)
				policies_.push_back(std::make_unique<lab::Policy>(*host, "ooo", 1));
		}
	}

	// The sum of both hosts.
	static uint64_t counter(const char *name)
	{
		return lab::a().counter(name) + lab::b().counter(name);
	}

	// Traffic until at least one segment was retransmitted; otherwise the test would prove
	// nothing.
	void lossy(const std::string &how, lab::Family family = lab::Family::ipv4)
	{
		uint64_t before = lab::retransmitted(lab::a()) + lab::retransmitted(lab::b());
		const auto end = std::chrono::steady_clock::now() + patience;
		BadNetwork bad(how);
		uint64_t now;
		do {
			run(family);
			now = lab::retransmitted(lab::a()) + lab::retransmitted(lab::b());
		} while (now == before && !HasFailure() && std::chrono::steady_clock::now() < end);
		EXPECT_GT(now, before);
	}

	void run(lab::Family family = lab::Family::ipv4)
	{
		Traffic traffic(family);
		traffic.rounds(rounds);
		EXPECT_EQ(traffic.state(), IBV_QPS_RTS);
	}

	// Much traffic, and more until some of it has been placed early and delivered without a
	// copy. The amount depends on timing.
	void early(const std::string &how, int n)
	{
		if (GetParam() != Form::ooo)
			GTEST_SKIP() << "for policy ooo only";
		const char *const names[] = {"ooo_placed_fpdus", "ooo_placed_octets",
					     "ooo_delivered_without_copy", "ooo_replaced"};
		uint64_t before[4], now[4];
		for (int i = 0; i < 4; i++)
			before[i] = counter(names[i]);
		BadNetwork bad(how);
		Traffic traffic;
		const auto end = std::chrono::steady_clock::now() + 4 * patience;
		do {
			traffic.rounds(n);
			for (int i = 0; i < 4; i++)
				now[i] = counter(names[i]) - before[i];
		} while (!(now[0] && now[2]) && !HasFailure() &&
			 std::chrono::steady_clock::now() < end);
		EXPECT_EQ(traffic.state(), IBV_QPS_RTS);
		for (int i = 0; i < 4; i++)
			printf("# %s: %s %llu\n", how.c_str(), names[i],
			       static_cast<unsigned long long>(now[i]));
		EXPECT_GT(now[0], 0U) << "no FPDU was placed early";
		EXPECT_GT(now[2], 0U) << "all early FPDUs were copied again";
		EXPECT_GE(now[0], now[2]);
	}

	// Traffic until the changes of the network are complete.
	void run_during(Traffic &traffic, Meanwhile &meanwhile)
	{
		do
			traffic.rounds(1);
		while (!meanwhile.over() && !HasFailure());
		EXPECT_FALSE(meanwhile.failed());
		EXPECT_EQ(traffic.state(), IBV_QPS_RTS);
	}

	// Posts, by one call, a Write of this many bytes and a Send that fails.
	static void post_and_fail(const Pair &pair, uint32_t size)
	{
		ibv_sge wrong = pair.client.memory().sge(0, 100);
		wrong.lkey ^= 1;
		std::vector<rdma::Send> both;
		both.push_back(write(1, {pair.client.memory().sge(0, size)}, pair.server.remote()));
		both.push_back(send(2, {wrong}));
		post_list(pair.client.qp(), both);
	}

private:
	std::vector<std::unique_ptr<lab::Policy>> policies_;
};

} // namespace

TEST_P(loss, netem__one_percent)
{
	lossy("delay 1ms loss 1%");
}

TEST_P(loss, netem__bursts)
{
	lossy("delay 1ms loss gemodel 2% 50% 80% 0.1%");
}

TEST_P(loss, netem__reorders)
{
	BadNetwork bad("delay 2ms reorder 25% 50%");
	run();
}

TEST_P(loss, netem__doubles)
{
	BadNetwork bad("delay 1ms duplicate 10%");
	run();
}

TEST_P(loss, netem__corrupts)
{
	lossy("delay 1ms corrupt 1%");
}

TEST_P(loss, netem__all)
{
	lossy("delay 2ms 1ms loss 1% duplicate 5% reorder 25% corrupt 0.5%");
}

TEST_P(loss, netem__all_over_ipv6)
{
	lossy("delay 2ms 1ms loss 1% duplicate 5% reorder 25% corrupt 0.5%", lab::Family::ipv6);
}

TEST_P(loss, tcp__without_sack_and_timestamps)
{
	Sysctl sack("tcp_sack", "0"), timestamps("tcp_timestamps", "0");
	lossy("delay 1ms loss 1% reorder 10%");
}

TEST_P(loss, tcp__without_window_scaling)
{
	Sysctl scaling("tcp_window_scaling", "0");
	lossy("delay 1ms loss 1%");
}

// Few segments may be in flight at first, and few bytes may wait, so TCP takes a part of the batch.
// The request before the wrong one succeeds when TCP has taken all of it.
TEST_P(loss, tcp__takes_a_part_of_a_batch)
{
	constexpr uint32_t size = 60000;
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Sysctl unsent("tcp_notsent_lowat", "4096");
	const OneSegment packets(lab::a());
	Pair pair;
	fill(pair.client.memory().span(0, size), 1);
	post_and_fail(pair, size);
	const std::vector<ibv_wc> ended = wait(pair.client.scq(), 2);
	EXPECT_EQ(ended[0].wr_id, 1u);
	EXPECT_EQ(ended[0].status, IBV_WC_SUCCESS);
	EXPECT_EQ(ended[1].wr_id, 2u);
	EXPECT_EQ(ended[1].status, IBV_WC_LOC_PROT_ERR);
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(filled(pair.server.memory().span(0, size), 1));
}

// The stream ends before: the wrong request keeps its status.
TEST_P(loss, tcp__takes_a_part_of_a_batch_at_last)
{
	constexpr uint32_t size = 24000; // more than may be in flight, less than a batch
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	Sysctl unsent("tcp_notsent_lowat", "4096");
	const OneSegment packets(lab::a());
	Pair pair;
	const lab::Netem silent(lab::a(), "loss 100%");
	post_and_fail(pair, size);
	EXPECT_TRUE(drain(pair.client.scq()).empty());
	check(modify_state(pair.client.qp(), IBV_QPS_ERR), "ERR");
	const std::vector<ibv_wc> ended = wait(pair.client.scq(), 2);
	EXPECT_EQ(ended[0].wr_id, 1u);
	EXPECT_EQ(ended[0].status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(ended[1].wr_id, 2u);
	EXPECT_EQ(ended[1].status, IBV_WC_LOC_PROT_ERR);
}

TEST_P(loss, buffers__small)
{
	Sysctl receive("tcp_rmem", "4096 8192 16384"), send("tcp_wmem", "4096 8192 16384");
	run();
	lossy("delay 1ms loss 1%");
}

TEST_P(loss, mtu__changes_under_way)
{
	lab::Mtu scope(1500);
	Traffic traffic;
	constexpr int mtus[] = {1280, 9000, 1499, 65535, 1281, 1500};
	Meanwhile meanwhile(lab::repetitions(24, 6), [&](int i) { lab::Mtu::set(mtus[i % 6]); });
	run_during(traffic, meanwhile);
}

TEST_P(loss, mtu__changes_under_way_and_packets_are_lost)
{
	lab::Mtu scope(1500);
	BadNetwork bad("delay 1ms loss 1% reorder 25%");
	Traffic traffic;
	constexpr int mtus[] = {1280, 9000, 1499, 1281, 1500};
	Meanwhile meanwhile(lab::repetitions(15, 5), [&](int i) { lab::Mtu::set(mtus[i % 5]); });
	run_during(traffic, meanwhile);
}

TEST_P(loss, mtu__of_the_route_changes_under_way)
{
	lab::RouteMtu scope(1500);
	Traffic traffic;
	constexpr int mtus[] = {600, 1500, 552, 1003, 1499};
	Meanwhile meanwhile(lab::repetitions(25, 5),
			    [&](int i) { lab::RouteMtu::set(mtus[i % 5]); });
	run_during(traffic, meanwhile);
}

TEST_P(loss, offload__changes_under_way)
{
	Traffic traffic;
	Meanwhile meanwhile(lab::repetitions(16, 4), [](int i) {
		for (const lab::Host *host : {&lab::a(), &lab::b()})
			lab::shell(*host, "ethtool -K " + host->netdev +
						  (i % 2 ? " tso on gso on gro off" :
							   " tso off gso off gro on"));
	});
	run_during(traffic, meanwhile);
}

TEST_P(loss, wire__is_cut_for_a_moment)
{
	// RFC 5044 has no keepalive: the stream stays open until TCP gives up
	Traffic traffic;
	Meanwhile meanwhile(6, [](int i) {
		lab::shell(lab::b(), "ip link set " + lab::b().netdev + (i % 2 ? " up" : " down"));
	});
	run_during(traffic, meanwhile);
	for (const lab::Host *host : {&lab::a(), &lab::b()})
		lab::shell(*host,
			   "ip addr replace " + host->ip6 + "/64 dev " + host->netdev + " nodad");
}

TEST_P(loss, memory__is_reclaimed_under_way)
{
	if (!lab::both_kwarp())
		GTEST_SKIP() << "kwarp only";
	if (!lab::a().is_mpa())
		GTEST_SKIP() << "MPA only";
	Shrinkers shrinkers;
	Traffic traffic;
	const auto end = std::chrono::steady_clock::now() + patience;
	do {
		Meanwhile meanwhile(lab::repetitions(100, 20), [](int) { Shrinkers::run(); });
		run_during(traffic, meanwhile);
	} while (!shrinkers.freed_pages() && !HasFailure() &&
		 std::chrono::steady_clock::now() < end);
	EXPECT_TRUE(shrinkers.freed_pages());
}

TEST_P(loss, early__lost)
{
	early("delay 1ms loss 1%", lab::repetitions(20, 2));
}

TEST_P(loss, early__reordered)
{
	early("delay 2ms reorder 25% 50%", lab::repetitions(20, 2));
}

TEST_P(loss, early__lost_and_reordered)
{
	early("delay 2ms loss 1% reorder 25% 50%", lab::repetitions(40, 4));
}

INSTANTIATE_TEST_SUITE_P(policy, loss, testing::Values(Form::nomarkers, Form::markers, Form::ooo),
			 [](const testing::TestParamInfo<Form> &info) {
				 return std::string(name(info.param));
			 });
