/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// The policy's keys as this version knows them. The kernel decides which keys there are and what it
// accepts; the table explains, checks files, and says what differs from the default.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kwarpctl {

struct Key {
	enum class Kind { flag, choice, set, number, netdevs };

	std::string_view name;
	Kind kind;
	std::string_view words;	  // choice, set: separated by '|'
	std::uint32_t min, max;	  // number
	std::string_view initial; // of a new device, as policy show prints it
	std::string_view meaning;
};

// In the order of output.
std::span<const Key> all_keys();

const Key *find_key(std::string_view name);

// What may be written, e.g. "on|off", "0..128".
std::string values_of(const Key &key);

// The value as the kernel takes it, e.g. 1 for on. Throws an Error (usage) if it is none of the
// key's.
std::string checked_value(const Key &key, const std::string &value);

} // namespace kwarpctl
