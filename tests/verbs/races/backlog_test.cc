// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What comes for a socket while a process holds its lock.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <pthread.h>
#include <sched.h>
#include <sstream>
#include <thread>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct backlog : KwarpOnly {
	void SetUp() override
	{
		KwarpOnly::SetUp();
		if (!std::filesystem::exists("/sys/module/kwarp_ktest"))
			GTEST_SKIP() << "nobody holds locks: no kprobes";
	}
};

// Probes of a closed window that the host has sent.
uint64_t window_probes(const lab::Host &host)
{
	lab::Inside inside(host);
	std::ifstream file("/proc/thread-self/net/netstat");
	std::string names, values, name;
	while (std::getline(file, names) && std::getline(file, values)) {
		std::istringstream n(names), v(values);
		std::string value;
		while (n >> name && v >> value)
			if (name == "TCPWinProbe")
				return std::stoull(value);
	}
	throw Failure("no TCPWinProbe in netstat", ENOENT);
}

// How often a thread was held until its socket's backlog was full.
unsigned int backlogs_filled()
{
	std::ifstream file("/sys/module/kwarp_ktest/parameters/filled");
	unsigned int n = 0;
	if (!(file >> n))
		throw Failure("no kwarp_ktest hold=1", ENOENT);
	return n;
}

// The calling thread runs nowhere else.
void stay_on(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(pthread_setaffinity_np(pthread_self(), sizeof(set), &set), "pthread_setaffinity_np");
}

// Writes of the whole memory, some in flight, until @enough.
template <class Enough>
void flood(Pair &pair, size_t size, Enough enough)
{
	const int in_flight = 32;
	for (int i = 0; i < in_flight; i++)
		post(pair.client.qp(), write(1, {pair.client.memory().sge(0, size)}, pair.server.remote()));
	while (!enough()) {
		wait_ok(pair.client.scq());
		post(pair.client.qp(), write(1, {pair.client.memory().sge(0, size)}, pair.server.remote()));
	}
	wait_ok(pair.client.scq(), in_flight);
}

// The receiver's program posts, and its socket is held while the sender uses up the window.
// All of that is received when the lock is let go, and the window is open again: the sender has no need to ask.
TEST_F(backlog, window_is_open_afterwards)
{
	const size_t size = 65536;
	lab::shell(lab::b(), "sysctl -qw net.ipv4.tcp_rmem='4096 131072 524288'");
	// The receiver's window limits the sender, not his own.
	lab::shell(lab::a(), "ip route replace " + lab::b().ip4 + "/32 dev " + lab::a().netdev + " initcwnd 1000");
	Config config;
	config.memory = size;
	Pair pair(both(config));
	stay_on(0);
	// The receive buffer has grown as far as it may.
	auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
	flood(pair, size, [&] { return std::chrono::steady_clock::now() > end; });

	uint64_t before = window_probes(lab::a());
	unsigned int filled = backlogs_filled();
	std::atomic<bool> done = false;
	std::thread holder([&] {
		stay_on(1);
		pthread_setname_np(pthread_self(), "holder");
		// On a busy machine the sender may not get that far in time.
		for (int i = 0; i < 100 && backlogs_filled() < filled + 2; i++) {
			std::this_thread::sleep_for(Milliseconds(250));
			post(pair.server.qp(), write(1, {pair.server.memory().sge(0, 8)}, pair.client.remote()));
			wait_ok(pair.server.scq());
		}
		std::this_thread::sleep_for(Milliseconds(500));
		done = true;
	});
	flood(pair, size, [&] { return done.load(); });
	holder.join();
	// A window that stays next to closed is not used up again in all that time.
	EXPECT_GE(backlogs_filled(), filled + 2);
	EXPECT_EQ(window_probes(lab::a()), before);
}

} // namespace
