/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// A device's policy: the sysfs group "kwarp", one file per key.
#pragma once

#include "output.h"
#include "sysfs.h"

namespace kwarpctl {

Record policy_of(const Sysfs &sysfs, const std::string &device);

// Throws an Error; if the key is unknown, nothing has been written.
void set_policy(const Sysfs &sysfs, const std::string &device, const std::string &key,
		const std::string &value);

// "    key   values" for each known key, for help.
std::string policy_help();

} // namespace kwarpctl
