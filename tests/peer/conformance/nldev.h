// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What "rdma statistic" and "rdma resource" show, asked for directly: unlike sysfs's hw_counters the
// values are of now, and all of one moment.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace conformance {

using Counts = std::map<std::string, uint64_t>;

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

} // namespace conformance
