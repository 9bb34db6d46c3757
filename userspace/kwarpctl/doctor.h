/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// Checks for missing prerequisites, and for the reasons of failed connections.
#pragma once

#include "device.h"
#include "status.h"

#include <string>
#include <vector>

namespace kwarpctl {

struct Finding {
	enum class Kind { good, note, bad };

	Kind kind;
	std::string what; // a line: the fact, and the remedy
};

// A peer's TCP address.
struct Target {
	std::string host, port;
};

// Examines kernel, modules, the provider for libibverbs and limits of this machine. Waits up to two
// seconds for modules that udev loads with the first device.
std::vector<Finding> examine(Machine &machine, const Wait &wait);

// Examines a device.
std::vector<Finding> examine(Machine &machine, const std::string &device);

// Examines whether the peer's port answers. Waits up to three seconds for each of its addresses.
std::vector<Finding> examine(const Target &target);

} // namespace kwarpctl
