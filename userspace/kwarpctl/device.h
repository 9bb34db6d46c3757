/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// The commands up and down, and the files in /etc/kwarp.
#pragma once

#include "config.h"
#include "policy.h"
#include "rdma.h"
#include "sysfs.h"

#include <filesystem>
#include <string>

namespace kwarpctl {

// The interfaces of the machine; the tests replace them.
struct Machine {
	Sysfs sysfs;
	std::filesystem::path config_dir;
	Rdma &rdma;

	std::filesystem::path config_file(const std::string &device) const;
	bool has(const std::string &device) const;
	// Makes /sys show a device that netlink shows; see Sysfs::mount().
	void see(const std::string &device) const;
	// Throws an Error if there is no kwarp device of that name.
	Counters counters(const std::string &device) const;
};

// Makes the device unless it exists, and sets its policy. If this fails, a new device is removed
// again, and an older one keeps its policy. Throws an Error if the device exists on another netdev.
void up(Machine &machine, const std::string &device, const Config &config);

// Removes the device. Return: false if it does not exist.
bool down(Machine &machine, const std::string &device);

// Sets the policy from the file, and all other keys to their defaults. If this fails, the policy
// stays as it was.
void apply_policy(Machine &machine, const std::string &device, const Config &config);

// Writes netdev and current policy of a device to its file, without keys that have their default.
// Keys whose default this version does not know are written, too.
void save_policy(Machine &machine, const std::string &device);

// Throws an Error if a netdev of the file does not exist.
void check_netdevs(Machine &machine, const std::string &device, const Config &config);

// Throws an Error if the file cannot be applied: a netdev or a key does not exist. If the device
// does not exist, it is taken to have the keys of this version.
void check_config(Machine &machine, const std::string &device, const Config &config);

} // namespace kwarpctl
