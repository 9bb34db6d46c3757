// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What "rdma statistic" and "rdma resource" show, asked for directly: the values are of now, and
// all of one moment. Sysfs's hw_counters are up to 10 ms old, by the kernel's ticks, and older
// while the processor that counts the ticks stands still, as those of a guest do.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace victim {

using Counts = std::map<std::string, uint64_t>;

// In words; what is wanted of counts that it does not name is zero.
std::string difference(const Counts &got, const Counts &wanted);

class Nldev {
public:
	explicit Nldev(const std::string &device);
	~Nldev();
	Nldev(const Nldev &) = delete;
	Nldev &operator=(const Nldev &) = delete;

	// The device's hardware counters.
	Counts counters() { return ask(stat_get); }
	// Objects that programs hold: pd, cq, qp, cm_id, mr, ctx.
	Counts resources() { return ask(res_get); }

private:
	enum Command : uint16_t { dev_get, stat_get, res_get };
	Counts ask(Command c);

	int fd_;
	uint32_t seq_ = 0;
	uint32_t index_ = 0;
};

} // namespace victim
