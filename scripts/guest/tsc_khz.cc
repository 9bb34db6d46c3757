// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Prints this machine's time stamp counter rate in kHz; scripts/guest/vm.sh passes it to the
// guest's kernel.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>

#include <x86intrin.h>

namespace {

using Clock = std::chrono::steady_clock;

struct Moment {
	uint64_t ticks;
	Clock::time_point time;
};

// Reads counter and clock at the same time. Takes the closest pair of several readings, because any
// reading may be interrupted.
Moment now()
{
	Moment best{};
	auto closest = Clock::duration::max();

	for (int i = 0; i < 100; i++) {
		auto before = Clock::now();
		uint64_t ticks = __rdtsc();
		auto after = Clock::now();
		if (after - before < closest) {
			closest = after - before;
			best = {ticks, before + (after - before) / 2};
		}
	}
	return best;
}

} // namespace

int main()
{
	Moment begin = now();
	std::this_thread::sleep_for(std::chrono::milliseconds(100));
	Moment end = now();
	std::chrono::duration<double, std::milli> took = end.time - begin.time;

	printf("%.0f\n", static_cast<double>(end.ticks - begin.ticks) / took.count());
}
