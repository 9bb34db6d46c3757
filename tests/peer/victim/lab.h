// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Where the suite runs: the device under test, addresses, and the peer's namespace.
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
	// False if the device has no such knob or refuses the value.
	bool policy(const std::string &knob, const std::string &value) const;
	uint64_t counter(const std::string &name) const { return Nldev(name_).counters().at(name); }

private:
	std::string dir() const { return "/sys/class/infiniband/" + name_ + "/"; }
	std::string name_;
};

// Any number of knobs. One is written only when its value changes, and all are put back at the end.
class Policy {
public:
	Policy();
	~Policy() { restore(); }
	Policy(const Policy &) = delete;
	Policy &operator=(const Policy &) = delete;

	// False if the device does not know the knob or the value.
	bool set(const std::string &knob, const std::string &value);
	// As set(), but then throws.
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
	std::string victim_ip6; // empty: no IPv6
	std::string peer_ip6;
	std::string peer_netns; // empty: the same as the victim's
	bool sctp = false;	// the device's policy llp is so, too

	iwarp::PeerOptions peer_socket(int rcvbuf = 0) const
	{
		return {{peer_netns, rcvbuf}, sctp};
	}
};

const Lab &lab();

// Whether the condition comes true in time.
bool soon(const std::function<bool()> &condition, iwarp::Millis limit = iwarp::patience);

} // namespace victim
