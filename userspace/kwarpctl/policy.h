/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// The policy of a device.
#pragma once

#include "keys.h"
#include "output.h"
#include "sysfs.h"

#include <string>

namespace kwarpctl {

Record policy_of(const Sysfs &sysfs, const std::string &device);

// The value that a new device has. The module's parameter llp sets that of policy llp.
std::string default_of(const Sysfs &sysfs, const Key &key);

// The policy that differs from the default, without keys that this version does not know.
Record changed_policy_of(const Sysfs &sysfs, const std::string &device);

bool has_key(const Sysfs &sysfs, const std::string &device, const std::string &key);

// Throws an Error if there is no such key, or if the kernel refuses the value.
void set_policy(const Sysfs &sysfs, const std::string &device, const std::string &key,
		const std::string &value);

// Each key with its values, its default and its meaning.
std::string key_table();

} // namespace kwarpctl
