/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// Devices come and go: up, down, and what /etc/kwarp says of them.
#pragma once

#include "config.h"
#include "policy.h"
#include "rdma.h"
#include "sysfs.h"

#include <filesystem>
#include <string>

namespace kwarpctl {

// What the commands work on; the tests have their own.
struct Machine {
	Sysfs sysfs;
	std::filesystem::path config_dir;
	Rdma &rdma;

	std::filesystem::path config_file(const std::string &device) const;
	// Throws an Error if there is no kwarp device of that name.
	Counters counters(const std::string &device) const;
};

// Makes the device unless it is there, and sets its policy. If that fails, a device that was made
// is removed again. Throws an Error if it is there and on another netdev.
void up(Machine &machine, const std::string &device, const Config &config);

// Removes the device. Return: false if it is not there.
bool down(Machine &machine, const std::string &device);

// Sets the policy in the file, and those keys to their defaults that it does not name.
void apply_policy(Machine &machine, const std::string &device, const Config &config);

// Writes netdev and policy of a device as it is now; keys with their default value are left out.
void save_policy(Machine &machine, const std::string &device);

// Whether the file can be applied: its netdev is there, and its keys are known to the device, if it
// is there, or to this version. Throws an Error if not.
void check_config(Machine &machine, const std::string &device, const Config &config);

} // namespace kwarpctl
