// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "group.h"

#include <filesystem>
#include <fstream>

#include "lab/host.h"
#include "rdma/failure.h"

namespace limits {

Group::Group()
{
	std::filesystem::create_directory(path_);
}

Group::~Group()
{
	// The kernel (6.12) frees a group that is removed with limits set, but not the limits.
	limit("hca_handle=max hca_object=max");
	std::filesystem::remove(path_);
}

void Group::limit(const std::string &what) const
{
	put("rdma.max", lab::a().device + " " + what);
}

std::string Group::used() const
{
	const std::string &device = lab::a().device;
	std::ifstream file(path_ + "/rdma.current");
	for (std::string line; std::getline(file, line);)
		if (line.starts_with(device + " "))
			return line.substr(device.size() + 1,
					   line.find_last_not_of(' ') - device.size());
	return "hca_handle=0 hca_object=0";
}

void Group::limit_memory(uint64_t bytes) const
{
	put("memory.max", std::to_string(bytes));
}

void Group::throttle(bool on) const
{
	put("memory.high", on ? "0" : "max");
}

void Group::enter() const
{
	put("cgroup.procs", "0");
}

void Group::put(const std::string &name, const std::string &value) const
{
	std::ofstream file(path_ + "/" + name);
	if (!(file << value << std::flush))
		throw rdma::Failure("cannot write " + value + " to " + name);
}

uint64_t Group::number(const std::string &name, const std::string &key) const
{
	std::ifstream file(path_ + "/" + name);
	std::string word;
	for (uint64_t value; file >> word >> value;)
		if (word == key)
			return value;
	throw rdma::Failure("no " + key + " in " + name);
}

} // namespace limits
