// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The work that a program causes by words in rings, without a system call.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <unistd.h>

#include "attack.h"
#include "rdma/endpoint.h"
#include "send_queue.h"

using namespace isolation;

namespace {

struct rings : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

// Processor time of all workers with priority over programs, in seconds.
double high_priority_workers()
{
	double ticks = 0;
	for (const auto &process : std::filesystem::directory_iterator("/proc")) {
		std::ifstream file(process.path() / "stat");
		std::string line;
		const size_t name = std::getline(file, line) ? line.find("(kworker/") :
							       std::string::npos;
		if (name == std::string::npos)
			continue;
		// proc_pid_stat(5): after the name 11 fields, utime, stime, 3 more, nice
		std::istringstream rest(line.substr(line.rfind(')') + 1));
		std::string skipped;
		double user, system, nice;
		for (int i = 0; i < 11; i++)
			rest >> skipped;
		rest >> user >> system >> skipped >> skipped >> skipped >> nice;
		if (rest && nice < 0)
			ticks += user + system;
	}
	return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

} // namespace

// A flush ends with the elements that were posted when it began. For later ones, a program rings a
// doorbell.
TEST_F(rings, flush__no_end_without_doorbells)
{
	rdma::PairConfig config;
	config.client.send_wr = 4096;
	rdma::Pair pair(config);
	const SendQueue queue(pair.client.qp());
	uint32_t most = 0;
	for (int i = 0; i < 100; i++) {
		const uint32_t before = queue.done();
		queue.announce_all();
		rdma::check(rdma::modify_state(pair.client.qp(), IBV_QPS_ERR), "ERR");
		const auto end = std::chrono::steady_clock::now() + rdma::Milliseconds(10);
		while (std::chrono::steady_clock::now() < end)
			queue.announce_all();
		most = std::max(most, queue.done() - before);
	}
	// Besides this flush, the end of the previous one.
	EXPECT_LE(most, 3 * queue.depth());
	EXPECT_GE(most, queue.depth() / 2);
}

// Work that one program causes must not have priority over other programs.
TEST_F(rings, local_requests__without_priority)
{
	Attack attack(User::root, local_requests);
	const double before = high_priority_workers();
	std::this_thread::sleep_for(std::chrono::seconds(2));
	EXPECT_LT(high_priority_workers() - before, 0.5);
	EXPECT_TRUE(attack.goes_on());
}
