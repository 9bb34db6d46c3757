/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// /etc/kwarp/DEV.conf: the netdev and the policy of a device that comes back after a reboot.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kwarpctl {

struct Setting {
	std::string key, value;
	std::string where; // file and line, for errors; empty on the command line
};

struct Config {
	std::string netdev;
	std::vector<Setting> settings;
};

bool names(const Config &config, std::string_view key);

// One "key = value" to a line, "netdev" among them; "#" begins a comment. Throws an Error that
// names file and line if a line is none, or its value none of the key's. A key that this version
// does not know is left to the kernel.
Config parse_config(std::string_view text, const std::string &name);
Config read_config(const std::filesystem::path &file);

std::string to_text(const Config &config);

// Replaces the file in one step; makes its folder.
void write_config(const std::filesystem::path &file, const Config &config);

} // namespace kwarpctl
