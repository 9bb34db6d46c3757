/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// Records and their output forms: text, one line each, JSON, JSON with line breaks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace kwarpctl {

using Value = std::variant<std::uint64_t, bool, std::string>;

// The attributes of one device, in the order of output. The labels are the same in every form.
struct Record {
	std::string device;
	std::vector<std::pair<std::string, Value>> attributes;
};

enum class Form { text, oneline, json, pretty_json };

inline bool is_json(Form form)
{
	return form == Form::json || form == Form::pretty_json;
}

// Decimal digits become a number, everything else stays text.
Value parse_value(std::string_view text);

std::string to_text(const Value &value);
nlohmann::ordered_json to_json(const Value &value);

std::string format(const std::vector<Record> &records, Form form);

// With a newline at the end.
std::string format(const nlohmann::ordered_json &json, Form form);

} // namespace kwarpctl
