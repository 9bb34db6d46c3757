// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// spin: prints the nanoseconds in which as many threads as there are processors have each done a
// fixed amount of work, about 10 ms. The least of many values is the speed of the undisturbed
// machine; a greater value means that other processes, or other guests of the host, take a share.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

#include <sched.h>

namespace {

// Otherwise two threads may share a processor until the scheduler moves one of them.
void stay_on(unsigned processor)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

// Each step depends on the one before, so that compilers can neither shorten nor vectorize the
// loop.
uint64_t work(uint64_t x)
{
	for (int i = 0; i < 6'000'000; i++)
		x = x * 6364136223846793005 + 1442695040888963407;
	return x;
}

} // namespace

int main()
{
	const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
	std::vector<uint64_t> results(processors);
	const auto begin = std::chrono::steady_clock::now();
	{
		std::vector<std::jthread> threads;
		for (unsigned i = 0; i < processors; i++)
			threads.emplace_back([&results, i] {
				stay_on(i);
				results[i] = work(i);
			});
	}
	const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
	// The results are used, so that the work is not left out.
	std::cout << time.count() + (results[0] == 0) << '\n';
}
