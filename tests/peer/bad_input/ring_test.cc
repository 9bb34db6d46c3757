// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A program fills its rings with random bytes. The kernel must survive, other connections must not
// be affected, and all objects must be released (RFC 5042 6.4.3, 7).
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"
#include "../session/session.h"
#include "../victim/rings.h"

namespace peer {
namespace {

constexpr auto attack_time = "2500"; // ms
const Millis teardown = 2 * patience;

Counts resources()
{
	return Nldev(lab().device.name()).resources();
}

class Ring : public testing::Test {
protected:
	// Returns the wait status of the process, or -1 if it does not end in time.
	static int wait_for(int pid, Millis time)
	{
		int status;
		for (auto end = std::chrono::steady_clock::now() + time;
		     std::chrono::steady_clock::now() < end;) {
			if (waitpid(pid, &status, WNOHANG) == pid)
				return status;
			std::this_thread::sleep_for(Millis{10});
		}
		return -1;
	}

	// Checks a connection that was open during the attack, and that all objects were released.
	static void expect_bystander_unharmed(Session &s, const Counts &before)
	{
		EXPECT_TRUE(soon([&] { return resources() == before; }))
			<< "objects were not released";
		s.message();
		for (Region *r : s.v.all())
			EXPECT_EQ(r->changed(), "");
		EXPECT_EQ(s.v.ledger_fault(), "");
		expect_healthy(s.v);
	}

	static void attack(const std::vector<std::string> &args)
	{
		Session s(Terms{});
		s.message();
		const Counts before = resources();
		int status = wait_for(start_attack(args), teardown);
		EXPECT_NE(status, -1) << "the hostile program does not end";
		EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
		expect_bystander_unharmed(s, before);
	}

	// Kills the program some time after its first attack.
	static void kill_attack(const std::vector<std::string> &args, Millis after)
	{
		Session s(Terms{});
		s.message();
		const Counts before = resources();
		int ends[2];
		ASSERT_EQ(pipe(ends), 0);
		int pid = start_attack(args, ends[1]);
		pollfd started{ends[0], POLLIN, 0};
		char byte;
		EXPECT_EQ(poll(&started, 1, static_cast<int>(teardown.count())), 1);
		EXPECT_EQ(read(ends[0], &byte, 1), 1) << "the program ends before it attacks";
		close(ends[0]);
		std::this_thread::sleep_for(after);
		kill(pid, SIGKILL);
		const int status = wait_for(pid, teardown);
		EXPECT_NE(status, -1) << "the killed program does not end";
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
			<< "the program has ended by itself: status " << status;
		expect_bystander_unharmed(s, before);
	}
};

TEST_F(Ring, random_bytes_in_init)
{
	attack({"init", "1", attack_time});
}

// The attack must reach the checks of work requests, which local_errors shows. On a slow machine
// this takes several attacks.
TEST_F(Ring, random_bytes_in_rts)
{
	constexpr uint64_t enough = 10;
	const uint64_t before = counter("local_errors");
	auto reached = [&] { return counter("local_errors") > before + enough; };
	const auto end = std::chrono::steady_clock::now() + 2 * patience;
	int attacks = 0;
	do
		attack({"rts", std::to_string(100000 + 10000 * attacks++), attack_time});
	while (!soon(reached, Millis{500}) && std::chrono::steady_clock::now() < end);
	EXPECT_TRUE(reached()) << attacks << " attacks";
}

TEST_F(Ring, killed_in_init)
{
	kill_attack({"init", "200000", "60000"}, Millis{700});
}

TEST_F(Ring, killed_in_rts)
{
	for (int i = 0; i < 3; i++)
		kill_attack({"rts", std::to_string(300000 + i * 1000), "60000"},
			    Millis{400 + 70 * i});
}

TEST_F(Ring, mappings_of_others_and_of_the_dead)
{
	attack({"mapping"});
}

TEST_F(Ring, index_moved_backwards)
{
	attack({"backwards"});
}

// In each state a doorbell without a work request has no effect; work requests posted in the error
// state are flushed.
TEST_F(Ring, doorbell_in_each_state)
{
	Session s;
	auto ring = [&](ibv_qp_state state) {
		EXPECT_EQ(s.c().state(), state);
		for (bool receive : {false, true})
			EXPECT_EQ(ring_doorbell(s.c().qp(), receive), 0);
	};
	auto modify = [&](ibv_qp_state state) {
		ibv_qp_attr a{};
		a.qp_state = state;
		EXPECT_EQ(ibv_modify_qp(s.c().qp(), &a, IBV_QP_STATE), 0);
		ring(state);
	};
	s.call([&](const Peer &p) {
		ring(IBV_QPS_INIT);
		return fitting(p);
	});
	s.message();
	ring(IBV_QPS_RTS);
	s.message();
	s.c().disconnect();
	s.p.close();
	EXPECT_TRUE(s.v.settled(s.c().index()));
	modify(IBV_QPS_ERR);
	s.c().post_receive(0);
	s.c().post_send(*s.v.rw, 0, 100);
	EXPECT_TRUE(s.v.settled(s.c().index())) << "a post in the error state must be flushed";
	modify(IBV_QPS_RESET);
	EXPECT_EQ(s.v.ledger_fault(), "");
	expect_healthy(s.v);
}

} // namespace
} // namespace peer
