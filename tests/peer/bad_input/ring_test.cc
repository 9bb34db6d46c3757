// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A user's rings filled with random octets: the kernel survives, others notice nothing, and
// all is given back. (RFC 5042 6.4.3, 7; reliability.md "Local (ring) cases", S14)
#include <cstdio>
#include <sys/wait.h>

#include "attack.h"
#include "trial.h"

namespace bad_input {
namespace {

using namespace iwarp;
using victim::lab;

constexpr auto attack_time = "2500"; // ms
constexpr Millis teardown{25000};

// "pd 3 cq 2 qp 1 ..." of the device.
std::string resources()
{
	std::string all;
	FILE *f = popen("rdma resource show", "r");
	char line[256];
	while (f && fgets(line, sizeof(line), f))
		if (std::string(line).find(" " + lab().device.name() + ":") != std::string::npos)
			all += line;
	if (f)
		pclose(f);
	return all;
}

class Ring : public testing::Test {
protected:
	// Exit status, or -1 if it does not end in time.
	static int wait_for(int pid, Millis time)
	{
		int status;
		for (auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
			if (waitpid(pid, &status, WNOHANG) == pid)
				return status;
			std::this_thread::sleep_for(Millis{10});
		}
		return -1;
	}

	// A connection of somebody else, open all the time.
	static void expect_bystander_unharmed(Trial &t, const std::string &before)
	{
		for (int i = 0; i < 500 && resources() != before; i++)
			std::this_thread::sleep_for(Millis{10});
		EXPECT_EQ(resources(), before) << "something was not given back";
		t.good_message();
		for (victim::Region *r : t.v.all())
			EXPECT_EQ(r->changed(), "");
		EXPECT_EQ(t.v.ledger_fault(), "");
		expect_healthy(t.v);
	}

	static void attack(const std::vector<std::string> &args)
	{
		Trial t(Terms{});
		t.good_message();
		const std::string before = resources();
		int status = wait_for(start_attack(args), teardown);
		EXPECT_NE(status, -1) << "the hostile program cannot be torn down";
		EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
		expect_bystander_unharmed(t, before);
	}

	static void kill_attack(const std::vector<std::string> &args, Millis after)
	{
		Trial t(Terms{});
		t.good_message();
		const std::string before = resources();
		int pid = start_attack(args);
		std::this_thread::sleep_for(after);
		kill(pid, SIGKILL);
		EXPECT_NE(wait_for(pid, teardown), -1) << "a killed program does not go away";
		expect_bystander_unharmed(t, before);
	}
};

TEST_F(Ring, random_octets_in_init)
{
	attack({"init", "1", attack_time});
}

// It has to reach the checks of work requests, or it proves nothing: as often as a slow machine needs.
TEST_F(Ring, random_octets_in_rts)
{
	constexpr int most_attacks = 12;
	constexpr uint64_t enough = 10;
	const std::optional<uint64_t> before = lab().device.counter("local_errors");
	auto reached = [&] { return !before || lab().device.counter("local_errors").value_or(0) > *before + enough; };
	int attacks = 0;
	do
		attack({"rts", std::to_string(100000 + 10000 * attacks), attack_time});
	while (++attacks < most_attacks && !soon(reached, Millis{500}));
	EXPECT_TRUE(reached()) << attacks << " attacks";
}

TEST_F(Ring, killed_in_init)
{
	kill_attack({"init", "200000", "60000"}, Millis{1200});
}

TEST_F(Ring, killed_in_rts)
{
	for (int i = 0; i < 3; i++)
		kill_attack({"rts", std::to_string(300000 + i * 1000), "60000"}, Millis{900 + 70 * i});
}

TEST_F(Ring, mappings_of_others_and_of_the_dead)
{
	attack({"mapping"});
}

TEST_F(Ring, index_moved_backwards)
{
	attack({"backwards"});
}

// Doorbells in every state a QP can be brought to, with nothing in the rings.
TEST_F(Ring, doorbell_in_each_state)
{
	Trial t(Terms{});
	t.good_message();
	t.connection().disconnect();
	t.p.socket.close();
	EXPECT_TRUE(t.v.settled(0));
	ibv_qp_attr a{};
	a.qp_state = IBV_QPS_ERR;
	ibv_modify_qp(t.connection().qp(), &a, IBV_QP_STATE);
	t.connection().post_receive(0);
	t.connection().post_send(*t.v.rw, 0, 100);
	EXPECT_TRUE(t.v.settled(0)) << "a post in the error state must be flushed";
	EXPECT_EQ(t.v.ledger_fault(), "");
	expect_healthy(t.v);
}

} // namespace
} // namespace bad_input
