// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How long the kernel occupies a processor: in calls of the fuzzer, and in other work.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace local_fuzz {

using Nanoseconds = std::chrono::nanoseconds;
using namespace std::chrono_literals;

// The processor time of the calling thread. Wall time would depend on the load of the machine.
Nanoseconds thread_time();

/*
 * The longest call, and the longest of those that exceeded their limit. Time that the host takes
 * from the guest is charged to the running thread. Therefore, after a long call, we run a loop of
 * known cost for the same time, and divide the time of the call by the slowdown of the loop.
 */
class Stopwatch {
public:
	struct Call {
		const char *name = "";
		Nanoseconds time{};
	};
	struct Seen {
		Call longest;
		Call excess;
	};

	Stopwatch();
	// Sets the limit of a call; by default there is none. operator() gets the number of bytes
	// that the call works on.
	void allow(Nanoseconds limit) { limit_ = limit; }
	template <class Function>
	auto operator()(const char *name, Function call, uint64_t bytes = 0)
	{
		const Nanoseconds begin = thread_time();
		auto ret = call();
		took({name, thread_time() - begin}, bytes);
		return ret;
	}
	// The longest calls since the last call of this function.
	Seen take();
	uint64_t calls() const { return calls_; }

private:
	void took(Call call, uint64_t bytes);

	std::atomic<Nanoseconds> limit_{Nanoseconds(24h)};
	std::atomic<Nanoseconds> longest_{Nanoseconds{}};
	std::atomic<uint64_t> calls_ = 0;
	Seen seen_;
};

Stopwatch &stopwatch();

// Has a real-time thread on each processor that runs every few milliseconds. The thread is late if
// the kernel works with preemption disabled, in any context. If a thread does not run at all, the
// other threads report this.
class Watchdog {
public:
	Watchdog();
	~Watchdog();
	Watchdog(const Watchdog &) = delete;
	Watchdog &operator=(const Watchdog &) = delete;

	// The longest delay since the last call of this function.
	Nanoseconds take();

private:
	void watch(unsigned cpu);
	void look_at_others(unsigned cpu, Nanoseconds now);

	std::atomic<bool> stop_ = false;
	std::atomic<Nanoseconds> latest_{Nanoseconds{}};
	std::vector<std::atomic<Nanoseconds>> beats_;
	std::vector<std::thread> threads_;
};

} // namespace local_fuzz
