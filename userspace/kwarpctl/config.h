/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// /etc/kwarp/DEV.conf: netdev and policy of a device that is made again after a reboot.
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

// Each line is "key = value", one of them with the key "netdev"; "#" begins a comment. Throws an
// Error with file and line if a line has another form, or the key does not permit the value. The
// kernel checks keys that this version does not know.
Config parse_config(std::string_view text, const std::string &name);
Config read_config(const std::filesystem::path &file);

// Throws an Error if parse_config() would not return the same values.
std::string to_text(const Config &config);

// Replaces the file atomically; makes its folder.
void write_config(const std::filesystem::path &file, const Config &config);

} // namespace kwarpctl
