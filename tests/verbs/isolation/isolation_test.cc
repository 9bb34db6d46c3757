// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// An attack by one user or stranger must neither delay other users nor make their connections fail,
// and must leave no memory allocated.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "attach/fault.h"
#include "attack.h"
#include "innocent.h"
#include "iwarp/netstat.h"
#include "limits/group.h"
#include "loss/network.h"
#include "rdma/crowd.h"
#include "rdma/eventually.h"

using namespace isolation;

namespace {

constexpr size_t count = 40;
const std::chrono::seconds attack_time(lab::repetitions(3, 1));
// Allowance for caches of the kernel that grow and cannot be shrunk.
constexpr double noise = 12 << 20;

// Whether the clock of the guest counts its instructions. Otherwise times depend on the load of the
// machine.
bool clock_is_exact()
{
	const char *clock = getenv("KWARP_CLOCK");
	return clock && !strcmp(clock, "instructions");
}

struct beside : testing::Test {
	Innocent innocent;

	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}

	// Figures of connection set-up while another process only uses a processor. An attack must
	// not be worse than that.
	Figures noise_of_machine()
	{
		Attack busy(User::nobody, [](const std::function<void()> &begun) {
			begun();
			for (volatile bool on = true; on;)
				;
		});
		return innocent.connect(count);
	}

	// @throttled: the attacker's memory is charged to a control group that is over its limit.
	void attacked(User user, const Attack::Body &body, bool throttled = false)
	{
		// The first connections allocate memory that is kept.
		innocent.connect(5);
		const double memory = settled_memory();
		const Figures quiet = noise_of_machine();
		Figures beside;
		{
			std::optional<limits::Group> group;
			if (throttled)
				group.emplace();
			Attack attack(user, [&](const std::function<void()> &begun) {
				if (group)
					group->enter();
				body(begun);
			});
			if (group)
				group->throttle(true);
			const auto end = Clock::now() + attack_time;
			beside = innocent.connect(count, [&] { return Clock::now() > end; });
			EXPECT_TRUE(attack.goes_on());
			if (group)
				group->throttle(false);
		}
		EXPECT_EQ(quiet.failed, 0u) << quiet.failure;
		EXPECT_EQ(beside.failed, 0u) << beside.failure;
		if (clock_is_exact()) {
			EXPECT_LT(beside.longest, std::chrono::seconds(1) + quiet.longest);
		}
		EXPECT_TRUE(comes_back(memory + noise))
			<< "bytes left: " << settled_memory() - memory;
		printf("# summary: %s: %s; beside a busy process: %s\n",
		       testing::UnitTest::GetInstance()->current_test_info()->name(),
		       to_string(beside).c_str(), to_string(quiet).c_str());
	}

	// Kernel memory without freed objects that the allocator keeps.
	static double settled_memory()
	{
		for (const auto &cache : std::filesystem::directory_iterator("/sys/kernel/slab"))
			std::ofstream(cache.path() / "shrink") << "1";
		return rdma::kernel_memory();
	}

	static bool comes_back(double bytes)
	{
		return rdma::eventually([bytes] { return settled_memory() <= bytes; });
	}

	// How long a Read from the memory of a program takes that is over its limit.
	static Clock::duration longest_read_beside_doorbells()
	{
		const lab::Sysctl buffers("tcp_wmem", "4096 4194304 4194304");
		// Small packets take more memory than large ones.
		const lab::OneSegment small(lab::a());
		rdma::Listener listener(lab::b());
		const limits::Group group;
		Attack attack(User::root, doorbells(listener.port(), group));
		rdma::Config config;
		config.memory = doorbell_bytes;
		const rdma::Event request = listener.request();
		const rdma::Remote from = remote_of(request);
		rdma::Endpoint server(request, config);
		group.throttle(true);
		const uint64_t before = group.throttled();
		server.accept(with_remote(server));
		server.established();
		Clock::duration longest{};
		const auto end = Clock::now() + attack_time;
		while (Clock::now() < end) {
			const auto begin = Clock::now();
			rdma::post(server.qp(), rdma::read(1, {server.memory().sge(0, 64)}, from));
			rdma::wait_ok(server.scq());
			longest = std::max(longest, Clock::now() - begin);
		}
		EXPECT_GT(group.throttled(), before);
		EXPECT_TRUE(attack.goes_on());
		group.throttle(false);
		printf("# summary: throttled program: longest Read %s\n",
		       to_string(longest).c_str());
		return longest;
	}
};

// Limit of a Read, if times do not depend on the load of the machine.
const Clock::duration most = clock_is_exact() ? Clock::duration(std::chrono::seconds(1)) :
						Clock::duration::max();

} // namespace

TEST_F(beside, events)
{
	attacked(User::nobody, events);
}

TEST_F(beside, resizes)
{
	attacked(User::nobody, resizes);
}

TEST_F(beside, flushes)
{
	attacked(User::nobody, flushes);
}

TEST_F(beside, garbage_in_rings)
{
	attacked(User::root, garbage);
}

// An allocation that is charged to a throttled group sleeps for two seconds. No worker that also
// serves other users may make such allocations.
TEST_F(beside, throttled_memory)
{
	lab::Policy ird_a(lab::a(), "ird", 128), ord_a(lab::a(), "ord", 128);
	lab::Policy ird_b(lab::b(), "ird", 128), ord_b(lab::b(), "ord", 128);
	attacked(User::root, deep_connections, true);
}

// A program's doorbells send more than its control group allows, so its calls have to wait. None of
// them waits with the lock of the socket, which a worker of other programs could need as well: the
// peer's Reads, which need it, too, are answered meanwhile.
TEST_F(beside, throttled_doorbells)
{
	EXPECT_LT(longest_read_beside_doorbells(), most);
}

TEST_F(beside, throttled_doorbells__sctp)
{
	const lab::Policy a(lab::a(), "llp", "sctp"), b(lab::b(), "llp", "sctp");
	EXPECT_LT(longest_read_beside_doorbells(), most);
}

TEST_F(beside, held_sockets)
{
	if (!attach::have_fuse())
		GTEST_SKIP() << "the kernel has no FUSE";
	attacked(User::root, held_sockets);
}

TEST_F(beside, half_open_strangers)
{
	auto answered = [] {
		lab::Inside inside(lab::b());
		return iwarp::tcp_counter("SyncookiesSent") + iwarp::tcp_counter("TCPReqQFullDrop");
	};
	const uint64_t before = answered();
	attacked(User::root, half_open(innocent.port()));
	EXPECT_GT(answered(), before) << "the queue of requests was never full";
}

TEST_F(beside, silent_strangers)
{
	attacked(User::root, silent(innocent.port()));
}

TEST_F(beside, slow_strangers)
{
	attacked(User::root, slow(innocent.port()));
}

TEST_F(beside, malformed_strangers)
{
	attacked(User::root, malformed(innocent.port()));
}
