// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "lab.h"

#include <cstdlib>
#include <fstream>
#include <system_error>
#include <thread>

namespace victim {
namespace {

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

Policy::Policy() : device_(lab().device) {}

bool Policy::set(const std::string &knob, const std::string &value)
{
	auto k = knobs_.find(knob);
	if (k == knobs_.end()) {
		std::optional<std::string> before = device_.policy(knob);
		if (!before)
			return false;
		k = knobs_.emplace(knob, Knob{*before, *before}).first;
	}
	if (k->second.now == value)
		return true;
	if (!device_.policy(knob, value))
		return false;
	k->second.now = value;
	return true;
}

void Policy::must(const std::string &knob, const std::string &value)
{
	if (!set(knob, value))
		throw std::runtime_error("cannot set the device's policy: " + knob + " = " + value);
}

void Policy::restore()
{
	for (const auto &[knob, k] : knobs_)
		if (k.now != k.before)
			device_.policy(knob, k.before);
	knobs_.clear();
}

const Lab &lab()
{
	static const Lab the{
		Device(env("DEVICE", "kwarp0")), env("VICTIM_ADDR", "127.0.0.1"),
		env("PEER_ADDR", "127.0.0.1"),	 env("VICTIM_ADDR6", ""),
		env("PEER_ADDR6", ""),		 env("PEER_NETNS", ""),
		env("LLP", "tcp") == "sctp",
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
