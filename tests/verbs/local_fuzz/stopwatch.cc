// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "stopwatch.h"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

#include "campaign.h"
#include "patience.h"

namespace local_fuzz {
namespace {

constexpr Nanoseconds beat{20ms};
// Much longer than the host takes a processor from the guest.
const Nanoseconds dead = machine::patience(60s);

// The time to allocate or free memory depends on its size.
constexpr Nanoseconds per_mebibyte{20ms};

std::mutex mutex;

Nanoseconds read(clockid_t id)
{
	timespec t;
	clock_gettime(id, &t);
	return std::chrono::seconds(t.tv_sec) + Nanoseconds(t.tv_nsec);
}

template <class T>
void raise(std::atomic<T> &most, T value)
{
	T old = most.load();
	while (value > old && !most.compare_exchange_weak(old, value))
		;
}

// A loop of known cost, without calls of the kernel.
void spin()
{
	for (unsigned n = 0; n < 500000; n++)
		asm volatile("");
}

// The time of spin() on an undisturbed processor: the shortest of many.
Nanoseconds spin_time()
{
	static const Nanoseconds shortest = [] {
		Nanoseconds least = Nanoseconds::max();
		for (unsigned n = 0; n < 200; n++) {
			const Nanoseconds begin = read(CLOCK_MONOTONIC);
			spin();
			least = std::min(least, read(CLOCK_MONOTONIC) - begin);
		}
		return least;
	}();
	return shortest;
}

// Spins for that time, and returns the factor by which this thread is slowed down; at least 1.
double slowness(Nanoseconds time)
{
	const Nanoseconds begin = thread_time();
	unsigned spins = 0;

	while (thread_time() - begin < time || !spins) {
		spin();
		spins++;
	}
	return std::max(1.0, static_cast<double>((thread_time() - begin).count()) /
				     (spins * spin_time().count()));
}

} // namespace

Nanoseconds thread_time()
{
	return read(CLOCK_THREAD_CPUTIME_ID);
}

void Stopwatch::took(Call call, uint64_t bytes)
{
	calls_++;
	const Nanoseconds limit = limit_.load() + per_mebibyte * (bytes >> 20);
	if (call.time <= longest_.load() && call.time <= limit)
		return;
	if (call.time > limit)
		call.time =
			Nanoseconds(static_cast<int64_t>(call.time.count() / slowness(call.time)));
	std::lock_guard lock(mutex);
	if (call.time > seen_.longest.time)
		seen_.longest = call;
	if (call.time > limit && call.time > seen_.excess.time)
		seen_.excess = call;
	raise(longest_, call.time);
}

Stopwatch::Seen Stopwatch::take()
{
	std::lock_guard lock(mutex);
	Seen seen = seen_;
	seen_ = {};
	longest_ = Nanoseconds{};
	return seen;
}

Stopwatch::Stopwatch()
{
	spin_time();
}

Stopwatch &stopwatch()
{
	static Stopwatch the;
	return the;
}

Watchdog::Watchdog() : beats_(static_cast<size_t>(sysconf(_SC_NPROCESSORS_ONLN)))
{
	const Nanoseconds now = read(CLOCK_MONOTONIC);
	for (auto &b : beats_)
		b = now;
	for (unsigned cpu = 0; cpu < beats_.size(); cpu++)
		threads_.emplace_back([this, cpu] { watch(cpu); });
}

Watchdog::~Watchdog()
{
	stop_ = true;
	for (std::thread &t : threads_)
		t.join();
}

Nanoseconds Watchdog::take()
{
	return latest_.exchange(Nanoseconds{});
}

void Watchdog::watch(unsigned cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	const sched_param high{.sched_priority = 50};
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &high);
	while (!stop_) {
		const Nanoseconds due = read(CLOCK_MONOTONIC) + beat;
		const auto seconds = std::chrono::floor<std::chrono::seconds>(due);
		const timespec until{seconds.count(), (due - seconds).count()};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
		const Nanoseconds now = read(CLOCK_MONOTONIC);
		raise(latest_, now - due);
		beats_[cpu] = now;
		look_at_others(cpu, now);
	}
}

void Watchdog::look_at_others(unsigned cpu, Nanoseconds now)
{
	for (unsigned other = 0; other < beats_.size(); other++)
		if (other != cpu && now - beats_[other].load() > dead)
			hangs("the kernel does not release a processor");
}

} // namespace local_fuzz
