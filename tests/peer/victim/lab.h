// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The environment of the suite: the device under test, the addresses, and the peer's network
// namespace.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "../iwarp/peer.h"
#include "nldev.h"

namespace victim {

// An RDMA device: its policy (directory kwarp/ in sysfs) and its counters.
class Device {
public:
	explicit Device(std::string name) : name_(std::move(name)) {}

	const std::string &name() const { return name_; }
	std::optional<std::string> policy(const std::string &knob) const;
	// Sets the knob. Returns false if the device has no such knob or refuses the value.
	bool policy(const std::string &knob, const std::string &value) const;
	uint64_t counter(const std::string &name) const { return Nldev(name_).counters().at(name); }

private:
	std::string dir() const { return "/sys/class/infiniband/" + name_ + "/"; }
	std::string name_;
};

// Sets knobs of the policy of the device under test, and restores their former values when
// destroyed. A knob is written only if its value changes.
class Policy {
public:
	Policy();
	~Policy() { restore(); }
	Policy(const Policy &) = delete;
	Policy &operator=(const Policy &) = delete;

	// Returns false if the device has no such knob or refuses the value.
	bool set(const std::string &knob, const std::string &value);
	// As set(), but throws instead of returning false.
	void must(const std::string &knob, const std::string &value);
	void must(const std::string &knob, std::integral auto value)
	{
		must(knob, std::to_string(value));
	}
	void restore();

private:
	struct Knob {
		std::string before, now;
	};
	const Device &device_;
	std::map<std::string, Knob> knobs_;
};

// From the environment: DEVICE, VICTIM_ADDR, PEER_ADDR, PEER_NETNS; VICTIM_ADDR6, PEER_ADDR6; LLP.
struct Lab {
	Device device;
	std::string victim_ip;
	std::string peer_ip;
	std::string victim_ip6; // empty: no tests of IPv6
	std::string peer_ip6;
	std::string peer_netns; // empty: the same as the victim's
	bool sctp = false;	// as in the device's policy "llp"

	iwarp::PeerOptions peer_socket() const { return {peer_netns, sctp}; }
};

const Lab &lab();

// Waits for the condition, with an evaluation every 5 ms. Returns false if the limit is reached
// first.
bool soon(const std::function<bool()> &condition, iwarp::Millis limit = iwarp::patience);

} // namespace victim
