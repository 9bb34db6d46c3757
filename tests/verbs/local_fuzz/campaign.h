// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Rounds of a fuzzer, each drawn from a seed, and the checks after each.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "bystander.h"
#include "fuzz/kernel_log.h"
#include "stopwatch.h"

namespace local_fuzz {

// The current round hangs: reports it with its seed and ends the process.
[[noreturn]] void hangs(const char *how);

struct Options {
	uint64_t seed = std::random_device()();
	uint64_t rounds = UINT64_MAX;
	std::chrono::seconds time{UINT32_MAX};
	// Limit for the time of a call in the kernel, useful on idle machines only. Without a limit
	// the longest time is reported.
	std::optional<std::chrono::milliseconds> limit;
	bool verbose = false;
};

// A fuzzer's main(): parses options and prints TAP for exceptions. Return: exit status.
int run_main(int argc, char **argv, int (*fuzz)(const Options &));

class Campaign {
public:
	// Returns an empty string on success, or the error; may throw.
	using Round = std::function<std::string(uint64_t seed)>;

	Campaign(const Options &options, Bystander &bystander);
	// A case before the rounds: returns the error, or nothing.
	void check(const std::string &name, const std::function<std::string()> &test);
	// Prints TAP. Return: exit status.
	int run(const Round &round);
	uint64_t rounds() const { return rounds_; }
	// Describes the slowest call, the slowest processor and the bystander.
	std::string summary() const;

private:
	std::string once(uint64_t seed, const Round &round);
	std::string judged(uint64_t seed, const Round &round);
	std::string too_slow();
	void report(const std::string &name, const std::string &fault);

	const Options options_;
	Bystander &bystander_;
	live_fuzz::KernelLog log_;
	Watchdog watchdog_;
	Stopwatch::Call longest_;
	Nanoseconds latest_{};
	uint64_t rounds_ = 0;
	unsigned tests_ = 0;
	unsigned failures_ = 0;
	std::string slow_;
	unsigned repeats_ = 0;
};

} // namespace local_fuzz
