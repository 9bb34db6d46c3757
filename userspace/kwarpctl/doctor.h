/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// What is missing on this machine, and why connections failed.
#pragma once

#include "device.h"
#include "status.h"

#include <string>
#include <vector>

namespace kwarpctl {

struct Finding {
	enum class Kind { good, note, bad };

	Kind kind;
	std::string what; // a line: the fact, and what to do about it
};

// Where a peer is to be reached, by TCP.
struct Target {
	std::string host, port;
};

// Kernel, modules, the library's provider, limits, devices; the machine's own files. Waits up to
// two seconds for modules that udev loads with the first device.
std::vector<Finding> examine(Machine &machine, const std::vector<std::string> &devices,
			     const Wait &wait);

// Whether the peer's port answers. Waits up to three seconds for each of its addresses.
std::vector<Finding> examine(const Target &target);

} // namespace kwarpctl
