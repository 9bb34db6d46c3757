// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A control group of version 2, with the controllers rdma and memory.
#pragma once

#include <cstdint>
#include <string>

namespace limits {

// Exists until the end of the scope; its processes must have ended by then.
class Group {
public:
	Group();
	~Group();
	Group(const Group &) = delete;
	Group &operator=(const Group &) = delete;

	// Limit of RDMA objects of device A.
	void limit(const std::string &what) const;
	std::string used() const;
	// Limit of memory in bytes.
	void limit_memory(uint64_t bytes) const;
	// Sets whether allocations that are charged to the group have to wait.
	void throttle(bool on) const;
	// How often processes of the group had to wait.
	uint64_t throttled() const { return number("memory.events", "high"); }
	// Memory that the kernel has allocated for its processes.
	uint64_t kernel_memory() const { return number("memory.stat", "kernel"); }
	uint64_t killed() const { return number("memory.events", "oom_kill"); }
	// Moves the calling process into it.
	void enter() const;

private:
	void put(const std::string &name, const std::string &value) const;
	uint64_t number(const std::string &name, const std::string &key) const;
	const std::string path_ = "/sys/fs/cgroup/kwarp-limits";
};

} // namespace limits
