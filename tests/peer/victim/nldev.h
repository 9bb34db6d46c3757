// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The numbers that "rdma statistic" and "rdma resource" show, requested by netlink: current values,
// all taken at the same time. The kernel caches hw_counters in sysfs for 10 ms, counted in jiffies:
// longer in a guest while the CPU that updates jiffies is stopped.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace victim {

using Counts = std::map<std::string, uint64_t>;

// Describes each counter of got that differs from wanted; empty if none does. The wanted value of a
// counter that wanted lacks is 0.
std::string difference(const Counts &got, const Counts &wanted);

class Nldev {
public:
	explicit Nldev(const std::string &device);
	~Nldev();
	Nldev(const Nldev &) = delete;
	Nldev &operator=(const Nldev &) = delete;

	// Returns the device's hardware counters.
	Counts counters() { return ask(stat_get); }
	// Returns the numbers of the device's objects: pd, cq, qp, cm_id, mr, ctx.
	Counts resources() { return ask(res_get); }

private:
	enum Command : uint16_t { dev_get, stat_get, res_get };
	Counts ask(Command c);

	int fd_;
	uint32_t seq_ = 0;
	uint32_t index_ = 0;
};

} // namespace victim
