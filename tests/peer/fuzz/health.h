// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Whether the device and the kernel are as they were.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "../iwarp/peer.h"
#include "../victim/victim.h"
#include "plan.h"

namespace live_fuzz {

// Writes what differs from what is in force; at the end, what was there at the beginning.
class PolicyFiles {
public:
	PolicyFiles();
	~PolicyFiles();
	void set(const Policy &p);

private:
	void write(const std::string &knob, const std::string &value);
	std::map<std::string, std::string> before_, now_;
};

// A connection that lives all the time, and does Send, Write and Read in each of its turns.
class Witness {
public:
	Witness();
	// Empty if all is well.
	std::string turn();

private:
	victim::Victim v_;
	std::optional<iwarp::Peer> p_;
	unsigned turns_ = 0;
};

// The device's objects, as "rdma resource" counts them.
std::string resources();

} // namespace live_fuzz
