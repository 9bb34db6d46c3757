// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "campaign.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <getopt.h>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

#include "patience.h"

namespace local_fuzz {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds hang_limit{300}; // for one round
constexpr unsigned most_failures = 5;
constexpr unsigned batch = 100;

/*
 * With --limit, a round with a slow call is repeated from the same seed: a slow kernel is slow
 * again, a busy machine usually not. Only an extreme duration fails at once.
 */
constexpr unsigned most_repeats = 5;
constexpr Nanoseconds beyond_measure{10s};

std::atomic<uint64_t> running;

void alarmed(int)
{
	hangs("the round does not end");
}

// Writes the seed to the kernel log, so that each complaint follows the seed that caused it.
void note(uint64_t seed)
{
	const std::string text = "<6>local_fuzz: seed " + std::to_string(seed);
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text.c_str(), text.size()) < 0)
		throw std::runtime_error("cannot write to /dev/kmsg");
	close(fd);
}

std::string milliseconds(Nanoseconds time)
{
	return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) +
	       " ms";
}

} // namespace

void hangs(const char *how)
{
	char text[200];
	const unsigned long long seed = running;
	int n = snprintf(text, sizeof(text),
			 "# seed: %llu\nnot ok 9998 - --seed %llu --rounds 1: %s\n", seed, seed,
			 how);
	if (write(STDOUT_FILENO, text, static_cast<size_t>(n)) < 0)
		_exit(4);
	_exit(3);
}

namespace {

// Throws std::invalid_argument.
Options options(int argc, char **argv)
{
	static const option longs[] = {{"seed", required_argument, nullptr, 's'},
				       {"rounds", required_argument, nullptr, 'n'},
				       {"seconds", required_argument, nullptr, 't'},
				       {"limit", required_argument, nullptr, 'l'},
				       {"verbose", no_argument, nullptr, 'v'},
				       {}};
	Options o;

	for (int c; (c = getopt_long(argc, argv, "", longs, nullptr)) != -1;) {
		switch (c) {
		case 's':
			o.seed = std::stoull(optarg, nullptr, 0);
			break;
		case 'n':
			o.rounds = std::stoull(optarg);
			break;
		case 't':
			o.time = std::chrono::seconds(std::stoul(optarg));
			break;
		case 'l':
			o.limit = std::chrono::milliseconds(std::stoul(optarg));
			break;
		case 'v':
			o.verbose = true;
			break;
		default:
			throw std::invalid_argument("usage: [--seed N] [--rounds N] [--seconds N] "
						    "[--limit MS] [--verbose]");
		}
	}
	return o;
}

} // namespace

int run_main(int argc, char **argv, int (*fuzz)(const Options &))
try {
	signal(SIGPIPE, SIG_IGN);
	return fuzz(options(argc, argv));
} catch (const std::exception &e) {
	std::cout << "Bail out! " << e.what() << std::endl;
	return 1;
}

Campaign::Campaign(const Options &o, Bystander &bystander) : options_(o), bystander_(bystander)
{
	signal(SIGALRM, alarmed);
	if (o.limit)
		stopwatch().allow(*o.limit);
}

std::string Campaign::summary() const
{
	using std::chrono::duration_cast, std::chrono::milliseconds;
	std::ostringstream text;
	text << "longest call " << longest_.name << " "
	     << duration_cast<milliseconds>(longest_.time).count() << " ms, processor late by "
	     << duration_cast<milliseconds>(latest_).count() << " ms; bystander "
	     << bystander_.turns() << " turns";
	return text.str();
}

// Records the longest times since the last call. Return: what took too long; empty if nothing
// did, or if there is no limit.
std::string Campaign::too_slow()
{
	const Stopwatch::Seen calls = stopwatch().take();
	const Nanoseconds delay = watchdog_.take();

	if (calls.longest.time > longest_.time)
		longest_ = calls.longest;
	latest_ = std::max(latest_, delay);
	if (!options_.limit)
		return "";
	if (calls.excess.time > beyond_measure || delay > beyond_measure)
		repeats_ = most_repeats;
	if (delay > beyond_measure)
		return "a thread of high priority got its processor " + milliseconds(delay) +
		       " late";
	if (calls.excess.time.count())
		return std::string(calls.excess.name) + " took " + milliseconds(calls.excess.time) +
		       " of processor time";
	return "";
}

std::string Campaign::once(uint64_t seed, const Round &round)
{
	std::string fault;

	running = seed;
	note(seed);
	if (options_.verbose)
		std::cout << "# seed " << seed << std::endl;
	alarm(machine::patience_s(hang_limit));
	try {
		fault = round(seed);
	} catch (const std::exception &e) {
		fault = e.what();
	}
	slow_ = too_slow();
	if (std::string s = bystander_.turn(); !s.empty())
		fault += (fault.empty() ? "" : "\n") + s;
	alarm(0);
	if (std::string s = log_.complaints(); !s.empty())
		fault += (fault.empty() ? "" : "\n") + std::string("the kernel: ") + s;
	return fault;
}

std::string Campaign::judged(uint64_t seed, const Round &round)
{
	for (repeats_ = 0;; repeats_++) {
		std::string fault = once(seed, round);
		if (!fault.empty() || slow_.empty())
			return fault;
		if (repeats_ >= most_repeats)
			return slow_;
		std::cout << "# seed " << seed << ", once more: " << slow_ << std::endl;
	}
}

void Campaign::report(const std::string &name, const std::string &fault)
{
	failures_ += !fault.empty();
	std::cout << (fault.empty() ? "ok " : "not ok ") << ++tests_ << " - " << name << "\n";
	std::istringstream lines(fault);
	for (std::string line; std::getline(lines, line);)
		std::cout << "#   " << line << "\n";
	std::cout << std::flush;
}

void Campaign::check(const std::string &name, const std::function<std::string()> &test)
{
	report(name, once(0, [&](uint64_t) { return test(); }));
}

int Campaign::run(const Round &round)
{
	const auto end = Clock::now() + options_.time;
	const auto more = [&] {
		return rounds_ < options_.rounds && Clock::now() < end && failures_ < most_failures;
	};

	std::cout << "# seed " << options_.seed << std::endl;
	while (more()) {
		const uint64_t first = options_.seed + rounds_;
		const unsigned failures = failures_;
		for (unsigned i = 0; i < batch && more(); i++) {
			const uint64_t seed = options_.seed + rounds_++;
			std::string fault = judged(seed, round);
			if (fault.empty())
				continue;
			// tests/run-suite.sh repeats the round of this seed
			std::cout << "# seed: " << seed << "\n";
			report("--seed " + std::to_string(seed) + " --rounds 1", fault);
		}
		if (failures_ == failures)
			report("rounds from seed " + std::to_string(first) + " to " +
				       std::to_string(options_.seed + rounds_ - 1),
			       "");
	}
	std::cout << "1.." << tests_ << "\n";
	return failures_ || !rounds_;
}

} // namespace local_fuzz
