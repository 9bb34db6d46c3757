// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How long the kernel occupies a processor: in calls of the fuzzer, and in its work beside them.
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

// The calling thread's processor time. Not wall time: machines are loaded.
Nanoseconds thread_time();

/*
 * The longest call, and the longest of those that exceeded their limit. Processor time that the
 * underlying machine takes from the guest is not visible as such: it is charged to the running
 * thread. So after a long call a loop of known cost runs for as long, and the call's time is
 * divided by the loop's slowdown.
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
	// The limit of a call (none before); operator() takes the number of bytes that the call
	// works on.
	void allow(Nanoseconds limit) { limit_ = limit; }
	template <class Function>
	auto operator()(const char *name, Function call, uint64_t bytes = 0)
	{
		const Nanoseconds begin = thread_time();
		auto ret = call();
		took({name, thread_time() - begin}, bytes);
		return ret;
	}
	// Since the last call of this function.
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

// A real-time thread on each processor that runs every few milliseconds: it runs late if the kernel
// works with preemption disabled, in whatever context. A thread that does not run at all is
// reported by the others.
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
