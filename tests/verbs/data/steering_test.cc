// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Receive flow steering (RFS).
#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "rdma/endpoint.h"
#include "rdma/urgent.h"

using namespace rdma;

namespace {

// How often RPS or RFS has woken the processor for packets.
uint64_t directed_to(unsigned long cpu)
{
	constexpr size_t received_rps = 9, index = 12; // columns of a line, in hexadecimal
	std::ifstream table("/proc/net/softnet_stat");
	for (std::string line; std::getline(table, line);) {
		std::istringstream words(line);
		std::vector<unsigned long> all;
		for (std::string word; words >> word;)
			all.push_back(std::stoul(word, nullptr, 16));
		if (all.at(index) == cpu)
			return all.at(received_rps);
	}
	throw Failure("no processor " + std::to_string(cpu));
}

// RFS of host A.
class Rfs {
public:
	// So many that two connections hardly ever share an entry.
	Rfs() { set(32768); }
	~Rfs() { set(0); }
	Rfs(const Rfs &) = delete;
	Rfs &operator=(const Rfs &) = delete;

private:
	static void set(int flows)
	{
		const lab::Host &a = lab::a();
		const std::string n = std::to_string(flows);
		// "ip netns exec" mounts the namespace's sysfs
		lab::shell(a, "ip netns exec " + a.netns + " sh -c 'echo " + n +
				      " >/sys/class/net/" + a.netdev +
				      "/queues/rx-0/rps_flow_cnt'");
		if (system(("sysctl -qw net.core.rps_sock_flow_entries=" + n).c_str()))
			throw Failure("net.core.rps_sock_flow_entries");
	}
};

// The test may run on two processors, and ends on all of them.
class steering : public testing::Test {
protected:
	void SetUp() override
	{
		sched_getaffinity(0, sizeof(all_), &all_);
		if (!lab::a().is_kwarp() || !lab::a().is_mpa() || !CPU_ISSET(0, &all_) ||
		    !CPU_ISSET(1, &all_))
			GTEST_SKIP() << "kwarp over TCP on processors 0 and 1 only";
		// there a thread of each processor receives, which is not counted
		if (std::filesystem::exists("/sys/kernel/realtime"))
			GTEST_SKIP() << "not with PREEMPT_RT";
	}
	void TearDown() override { sched_setaffinity(0, sizeof(all_), &all_); }

private:
	cpu_set_t all_;
};

} // namespace

// The server's messages are sent on processor 0, and received where the client posts.
TEST_F(steering, messages__follow_the_doorbell)
{
	constexpr uint64_t count = 100;
	Rfs rfs;
	Pair pair;
	const uint64_t before = directed_to(1);
	for (uint64_t i = 0; i < count; i++) {
		post_recv(pair.client.qp(), i, {pair.client.memory().sge(0, 8)});
		post_recv(pair.server.qp(), i, {pair.server.memory().sge(0, 8)});
		stay_on(pthread_self(), 1);
		post(pair.client.qp(), send(i, {pair.client.memory().sge(0, 8)}));
		wait_ok(pair.client.scq());
		stay_on(pthread_self(), 0);
		post(pair.server.qp(), send(i, {pair.server.memory().sge(0, 8)}));
		wait_ok(pair.server.scq());
		wait_ok(pair.client.rcq());
		wait_ok(pair.server.rcq());
	}
	// a processor that is awake needs no waking
	EXPECT_GE(directed_to(1) - before, count / 2);
}
