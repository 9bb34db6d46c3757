// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "output.h"

#include <algorithm>
#include <charconv>
#include <format>

#include <nlohmann/json.hpp>

namespace kwarpctl {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::vector<Record> &records)
{
	Json all = Json::array();
	for (const Record &record : records) {
		Json object{{"ifname", record.device}};
		for (const auto &[label, value] : record.attributes)
			object[label] = to_json(value);
		all.push_back(std::move(object));
	}
	return all;
}

std::string oneline(const Record &record)
{
	std::string out = record.device + ':';
	for (const auto &[label, value] : record.attributes)
		out += std::format(" {} {}", label, to_text(value));
	return out + '\n';
}

std::string lines(const Record &record)
{
	std::size_t width = 0;
	for (const auto &attribute : record.attributes)
		width = std::max(width, attribute.first.size());

	std::string out = record.device + ":\n";
	for (const auto &[label, value] : record.attributes)
		out += std::format("    {:<{}} {}\n", label, width, to_text(value));
	return out;
}

} // namespace

Value parse_value(std::string_view text)
{
	std::uint64_t number = 0;
	auto [end, error] = std::from_chars(text.begin(), text.end(), number);
	if (error == std::errc() && end == text.end())
		return number;
	return std::string(text);
}

std::string to_text(const Value &value)
{
	if (auto number = std::get_if<std::uint64_t>(&value))
		return std::to_string(*number);
	if (auto flag = std::get_if<bool>(&value))
		return *flag ? "on" : "off";
	return std::get<std::string>(value);
}

Json to_json(const Value &value)
{
	return std::visit([](const auto &v) { return Json(v); }, value);
}

std::string format(const std::vector<Record> &records, Form form)
{
	if (is_json(form))
		return format(json_of(records), form);

	std::string out;
	for (const Record &record : records)
		out += form == Form::oneline ? oneline(record) : lines(record);
	return out;
}

std::string format(const Json &json, Form form)
{
	// Names come from the kernel and need not be UTF-8: replace invalid bytes.
	return json.dump(form == Form::pretty_json ? 4 : -1, ' ', false,
			 Json::error_handler_t::replace) +
	       '\n';
}

} // namespace kwarpctl
