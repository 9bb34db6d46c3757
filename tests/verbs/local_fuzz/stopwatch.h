// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// How long the kernel keeps a processor: in calls of ours, and in what it does beside them.
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

// The calling thread's time on a processor. Not wall time: machines are loaded.
Nanoseconds thread_time();

/*
 * The longest call, and the longest of those that took more than they may. A processor that the machine below takes away
 * from the guest is not seen as such: the time counts as that of who ran. So behind a call that took long a loop of known
 * cost runs for as long, and the call's time is divided by how much slower that has become.
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
	// Of a call that works on a given number of bytes.
	void allow(Nanoseconds limit) { limit_ = limit; }
	template <class Function>
	auto operator()(const char *name, Function call, uint64_t bytes = 0)
	{
		const Nanoseconds begin = thread_time();
		auto ret = call();
		took({name, thread_time() - begin}, bytes);
		return ret;
	}
	// Since the last time.
	Seen take();
	uint64_t calls() const { return calls_; }

private:
	void took(Call call, uint64_t bytes);

	std::atomic<Nanoseconds> limit_{Nanoseconds(100ms)};
	std::atomic<Nanoseconds> longest_{Nanoseconds{}};
	std::atomic<uint64_t> calls_ = 0;
	Seen seen_;
};

Stopwatch &stopwatch();

// A thread of real-time priority on each processor, which wants it every few milliseconds: it gets it late if the kernel
// works with preemption off, in whatever context. A thread that does not get it at all is told of by the others.
class Watchdog {
public:
	Watchdog();
	~Watchdog();
	Watchdog(const Watchdog &) = delete;
	Watchdog &operator=(const Watchdog &) = delete;

	// The longest delay since the last time.
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
