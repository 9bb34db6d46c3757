// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "lab.h"

#include <array>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace victim {
namespace {

constexpr std::array error_counters{
	"rx_terminate",
	"crc_errors",
	"marker_errors",
	"length_errors",
	"llp_lost",
	"ddp_tagged_errors",
	"ddp_untagged_errors",
	"rdmap_protection_errors",
	"rdmap_operation_errors",
	"local_errors",
	"startup_key_errors",
	"startup_revision_errors",
	"startup_length_errors",
	"startup_timeouts",
	"startup_closed",
	"startup_negotiation_errors",
	"backlog_drops",
	"rx_rejects",
	"cq_overflows",
};

std::string env(const char *name, const char *otherwise)
{
	const char *v = getenv(name);
	return v ? v : otherwise;
}

std::optional<std::string> read_line(const std::string &path)
{
	std::ifstream f(path);
	std::string line;
	if (!std::getline(f, line))
		return {};
	return line;
}

} // namespace

std::optional<std::string> Device::policy(const std::string &knob) const
{
	return read_line(dir() + "kwarp/" + knob);
}

bool Device::policy(const std::string &knob, const std::string &value) const
{
	std::ofstream f(dir() + "kwarp/" + knob);
	return f && f << value << std::flush;
}

std::optional<uint64_t> Device::counter(const std::string &name) const
{
	std::optional<std::string> line = read_line(dir() + "ports/1/hw_counters/" + name);
	if (!line)
		return {};
	return std::stoull(*line);
}

std::string Device::missing_counters() const
{
	std::string names;
	for (const char *name : error_counters)
		if (!counter(name))
			names += std::string(name) + " ";
	return names;
}

uint64_t Device::errors() const
{
	uint64_t sum = 0;
	for (const char *name : error_counters)
		sum += counter(name).value_or(0);
	return sum;
}

PolicyScope::PolicyScope(const Device &d, std::string knob, const std::string &value)
	: device_(d), knob_(std::move(knob)), before_(d.policy(knob_))
{
	if (before_)
		holds_ = *before_ == value || device_.policy(knob_, value);
}

PolicyScope::~PolicyScope()
{
	if (before_)
		device_.policy(knob_, *before_);
}

const Lab &lab()
{
	static const Lab the{
		Device(env("DEVICE", "kwarp0")),
		env("VICTIM_ADDR", "127.0.0.1"),
		env("PEER_ADDR", "127.0.0.1"),
		env("VICTIM_ADDR6", ""),
		env("PEER_ADDR6", ""),
		env("PEER_NETNS", ""),
	};
	return the;
}

bool soon(const std::function<bool()> &condition, iwarp::Millis limit)
{
	for (auto end = std::chrono::steady_clock::now() + limit; !condition();) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(iwarp::Millis{5});
	}
	return true;
}

} // namespace victim
