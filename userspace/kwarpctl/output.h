/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// Records and their three forms: text for people, one line each, JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kwarpctl {

using Value = std::variant<std::uint64_t, bool, std::string>;

// The attributes of one device, in the order of output. Labels are the same in every form.
struct Record {
	std::string device;
	std::vector<std::pair<std::string, Value>> attributes;
};

enum class Form { text, oneline, json };

// Decimal digits become a number, everything else stays text.
Value parse_value(std::string_view text);

std::string format(const std::vector<Record> &records, Form form);

} // namespace kwarpctl
