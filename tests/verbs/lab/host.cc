// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "host.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sched.h>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

#include "victim/nldev.h"

namespace lab {
namespace {

std::string env(const char *name, const char *otherwise)
{
	const char *value = getenv(name);
	return value ? value : otherwise;
}

std::optional<std::string> read_line(const std::string &path)
{
	std::ifstream file(path);
	std::string line;
	if (!std::getline(file, line))
		return {};
	return line;
}

void write_line(const std::string &path, const std::string &value)
{
	std::ofstream file(path);
	if (!(file << value << std::flush))
		throw std::runtime_error("cannot write '" + value + "' to " + path);
}

int open_netns(const std::string &path)
{
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		throw std::system_error(errno, std::generic_category(), path);
	return fd;
}

} // namespace

bool Host::is_kwarp() const
{
	return std::filesystem::is_directory(sysfs() + "/kwarp");
}

std::optional<std::string> Host::policy(const std::string &name) const
{
	return read_line(sysfs() + "/kwarp/" + name);
}

bool Host::is_mpa() const
{
	return policy("llp").value_or("[tcp]").find("[tcp]") != std::string::npos;
}

uint64_t Host::counter(const std::string &name) const
{
	victim::Counts counters = victim::Nldev(device).counters();
	auto found = counters.find(name);
	if (found == counters.end())
		throw std::runtime_error("no counter " + name + " of " + device);
	return found->second;
}

std::string Host::qp_detail(uint32_t qpn, const std::string &name) const
{
	const std::string all = output(*this, "rdma -jdd resource show qp link " + device +
						      "/1 lqpn " + std::to_string(qpn));
	const std::regex field("\"(drv_)?" + name + "\":\"?([^\",}]*)");
	std::smatch found;
	if (!std::regex_search(all, found, field))
		throw std::runtime_error("no " + name + " of a queue pair in: " + all);
	return found[2];
}

const Host &a()
{
	static const Host host{"hostA", "vA", env("DEV_A", "kwarpA"), env("IP_A", "10.0.0.1"),
			       env("IP6_A", "fd00::1")};
	return host;
}

const Host &b()
{
	static const Host host{"hostB", "vB", env("DEV_B", "kwarpB"), env("IP_B", "10.0.0.2"),
			       env("IP6_B", "fd00::2")};
	return host;
}

bool both_kwarp()
{
	return a().is_kwarp() && b().is_kwarp();
}

int repetitions(int many, int few)
{
	return getenv("KWARP_SHORT") ? few : many;
}

Inside::Inside(const Host &host) : home_(open_netns("/proc/thread-self/ns/net"))
{
	int fd = open_netns("/run/netns/" + host.netns);
	int failed = setns(fd, CLONE_NEWNET);
	close(fd);
	if (failed) {
		close(home_);
		throw std::system_error(errno, std::generic_category(), "setns");
	}
}

Inside::~Inside()
{
	// Retry if memory is short: all later tests would run in the wrong namespace.
	for (int tries = 0; setns(home_, CLONE_NEWNET); tries++)
		if (tries == 10)
			abort();
	close(home_);
}

Policy::Policy(const Host &host, const std::string &name, const std::string &value)
	: path_(host.sysfs() + "/kwarp/" + name)
{
	std::optional<std::string> before = read_line(path_);
	if (!before)
		throw std::runtime_error("no policy " + path_);
	before_ = *before;
	write_line(path_, value);
}

Policy::~Policy()
{
	std::ofstream(path_) << before_;
}

Netem::Netem(const Host &host, const std::string &how, const std::string &netdev)
	: host_(host), netdev_(netdev)
{
	shell(host_, "tc qdisc add dev " + netdev_ + " root netem " + how);
}

Netem::~Netem()
{
	shell(host_, "tc qdisc del dev " + netdev_ + " root");
}

void shell(const Host &host, const std::string &command)
{
	Inside inside(host);
	if (system(command.c_str()))
		throw std::runtime_error("failed: " + command);
}

std::string output(const Host &host, const std::string &command)
{
	Inside inside(host);
	std::unique_ptr<FILE, int (*)(FILE *)> pipe(popen(command.c_str(), "r"), pclose);
	std::string text;
	char part[4096];
	while (size_t n = pipe ? fread(part, 1, sizeof(part), pipe.get()) : 0)
		text.append(part, n);
	if (!pipe || pclose(pipe.release()))
		throw std::runtime_error("failed: " + command);
	return text;
}

} // namespace lab
