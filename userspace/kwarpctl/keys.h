/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// The policy keys of this version. The kernel module defines the keys and checks the values; this
// table has the help texts and the defaults, and serves to check files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kwarpctl {

struct Key {
	enum class Kind { flag, choice, set, number, netdevs };

	std::string_view name;
	Kind kind;
	std::string_view words;	  // choice, set: separated by '|'
	std::uint32_t min, max;	  // number
	std::string_view initial; // the default, as policy show prints it
	std::string_view meaning;
};

// In the order of output.
std::span<const Key> all_keys();

const Key *find_key(std::string_view name);

// The permitted values, e.g. "on|off", "0..128".
std::string values_of(const Key &key);

// The names in a value of kind netdevs; none for "off".
std::vector<std::string> netdevs_in(const std::string &value);

// The value in the kernel's form, e.g. 1 for on. Throws an Error (usage) if the key does not permit
// the value.
std::string checked_value(const Key &key, const std::string &value);

} // namespace kwarpctl
