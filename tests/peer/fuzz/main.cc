// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Fuzzes live connections of the device under test, which is taken from the environment
// (victim/lab.h). The output is TAP, with one line for each batch of sessions. A session that fails
// prints its seed, and "--seed SEED --sessions 1" repeats it. --verbose prints the plan of each
// session.
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <getopt.h>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <unistd.h>

#include "../victim/nldev.h"
#include "../victim/witness.h"
#include "kernel_log.h"
#include "session.h"

namespace live_fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds hang_limit{200}; // for one session; more than all its timeouts
constexpr unsigned most_failures = 10;
constexpr unsigned every = 25; // sessions between two checks of the device

struct Options {
	uint64_t seed = std::random_device()();
	uint64_t sessions = UINT64_MAX;
	std::chrono::seconds time{UINT32_MAX};
	bool verbose = false;
};

struct Totals {
	uint64_t sessions = 0, right = 0, established = 0, terminated = 0, startup = 0;
	unsigned tests = 0, failures = 0;
};

char running[128];

// A session that does not end in time is a failure of the kernel: prints its seed and exits.
void too_long(int)
{
	_exit(write(STDOUT_FILENO, running, strlen(running)) > 0 ? 3 : 4);
}

void report(Totals &t, const std::string &name, const std::string &fault)
{
	t.failures += !fault.empty();
	std::cout << (fault.empty() ? "ok " : "not ok ") << ++t.tests << " - " << name << "\n";
	std::istringstream lines(fault);
	for (std::string line; std::getline(lines, line);)
		std::cout << "#   " << line << "\n";
	std::cout << std::flush;
}

class Fuzzer {
public:
	explicit Fuzzer(const Options &o) : options_(o), end_(Clock::now() + o.time)
	{
		set({});
		witness_.turn();
		{
			victim::Victim once;
		} // the first use opens objects that the process keeps
		resources_ = nldev_.resources();
	}

	int run()
	{
		while (totals_.sessions < options_.sessions && Clock::now() < end_ &&
		       totals_.failures < most_failures)
			batch();
		std::cout << "1.." << totals_.tests << "\n# summary: seed " << options_.seed << ": "
			  << totals_.sessions << " sessions (" << totals_.right
			  << " without a fault, " << totals_.startup << " with one in startup), "
			  << totals_.established << " established, " << totals_.terminated
			  << " terminated by the device, " << totals_.failures << " failures\n";
		return totals_.failures || !totals_.sessions;
	}

private:
	void set(const Policy &p)
	{
		policy_.must("mpa_rev", p.mpa_rev);
		policy_.must("permissive", p.permissive);
		policy_.must("crc", p.crc);
		policy_.must("markers", p.markers);
		policy_.must("p2p", p.p2p);
		policy_.must("fpdu", p.fpdu);
		policy_.must("startup_timeout_ms", p.startup_timeout_ms);
		policy_.must("answer_timeout_ms", p.startup_timeout_ms);
	}

	void session()
	{
		uint64_t seed = options_.seed + totals_.sessions++;
		Plan plan = draw(seed, victim::lab().sctp);

		snprintf(running, sizeof(running),
			 "# seed: %llu\nnot ok 9998 - a session hangs: --seed %llu --sessions 1\n",
			 static_cast<unsigned long long>(seed),
			 static_cast<unsigned long long>(seed));
		alarm(machine::patience_s(hang_limit));
		if (options_.verbose)
			std::cout << "# seed " << seed << "\n" << plan << std::flush;
		set(plan.policy);
		Session s(plan);
		std::string fault = s.run(), complaints = log_.complaints();
		alarm(0);
		if (!complaints.empty())
			fault += "\nthe kernel: " + complaints;
		totals_.right += plan.right();
		totals_.established += s.established();
		totals_.terminated += s.terminated();
		totals_.startup += plan.startup.fault != StartupFault::none;
		if (fault.empty())
			return;
		std::ostringstream text;
		text << fault << "\n" << plan;
		// tests/run-suite.sh reads the seed from this line and repeats the session
		std::cout << "# seed: " << seed << "\n";
		report(totals_, "session --seed " + std::to_string(seed) + " --sessions 1",
		       text.str());
	}

	void batch()
	{
		uint64_t first = options_.seed + totals_.sessions;
		unsigned failures = totals_.failures;

		for (unsigned i = 0;
		     i < every && totals_.sessions < options_.sessions && Clock::now() < end_; i++)
			session();
		set({});
		std::string fault = witness_.turn();
		if (!fault.empty())
			fault = "the bystander connection: " + fault;
		try {
			victim::Victim v;
			if (std::string s = victim::Witness(v).turn(); !s.empty())
				fault += "\na new connection: " + s;
		} catch (const std::exception &e) {
			fault += std::string("\na new connection: ") + e.what();
		}
		victim::Counts now;
		if (!victim::soon([&] { return (now = nldev_.resources()) == resources_; },
				  long_patience))
			fault += "\nobject counts differ: " + victim::difference(now, resources_);
		if (totals_.failures == failures || !fault.empty())
			report(totals_,
			       "sessions from seed " + std::to_string(first) + " to " +
				       std::to_string(options_.seed + totals_.sessions - 1) +
				       ", and the device is as before",
			       fault);
	}

	const Options options_;
	const Clock::time_point end_;
	Totals totals_;
	KernelLog log_;
	victim::Policy policy_;
	victim::Nldev nldev_{victim::lab().device.name()};
	victim::Victim another_;
	victim::Witness witness_{another_};
	victim::Counts resources_;
};

} // namespace
} // namespace live_fuzz

int main(int argc, char **argv)
try {
	using namespace live_fuzz;
	static const option longs[] = {{"seed", required_argument, nullptr, 's'},
				       {"sessions", required_argument, nullptr, 'n'},
				       {"seconds", required_argument, nullptr, 't'},
				       {"verbose", no_argument, nullptr, 'v'},
				       {}};
	Options o;

	for (int c; (c = getopt_long(argc, argv, "", longs, nullptr)) != -1;) {
		switch (c) {
		case 's':
			o.seed = std::stoull(optarg, nullptr, 0);
			break;
		case 'n':
			o.sessions = std::stoull(optarg);
			break;
		case 't':
			o.time = std::chrono::seconds(std::stoul(optarg));
			break;
		case 'v':
			o.verbose = true;
			break;
		default:
			throw std::invalid_argument("usage: [--seed N] [--sessions N] [--seconds "
						    "N] [--verbose]");
		}
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGALRM, too_long);
	std::cout << "# seed " << o.seed << "\n" << std::flush;
	return Fuzzer(o).run();
} catch (const std::exception &e) {
	std::cout << "Bail out! " << e.what() << std::endl;
	return 1;
}
