// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A control group of version 2, with the controllers rdma and memory.
#pragma once

#include <cstdint>
#include <string>

namespace limits {

// There until the end of the scope; by then its processes have to be gone.
class Group {
public:
	Group();
	~Group();
	Group(const Group &) = delete;
	Group &operator=(const Group &) = delete;

	// RDMA objects of device A.
	void limit(const std::string &what) const;
	std::string used() const;
	// Octets of memory.
	void limit_memory(uint64_t octets) const;
	// What the kernel has allocated for its processes.
	uint64_t kernel_memory() const { return number("memory.stat", "kernel"); }
	uint64_t killed() const { return number("memory.events", "oom_kill"); }
	// The calling process belongs to it.
	void enter() const;

private:
	void put(const std::string &name, const std::string &value) const;
	uint64_t number(const std::string &name, const std::string &key) const;
	const std::string path_ = "/sys/fs/cgroup/kwarp-limits";
};

} // namespace limits
