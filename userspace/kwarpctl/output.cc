// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "output.h"

#include <algorithm>
#include <charconv>
#include <format>

namespace kwarpctl {
namespace {

std::string plain(const Value &value)
{
	if (auto number = std::get_if<std::uint64_t>(&value))
		return std::to_string(*number);
	if (auto flag = std::get_if<bool>(&value))
		return *flag ? "on" : "off";
	return std::get<std::string>(value);
}

std::string quoted(std::string_view text)
{
	std::string out = "\"";
	for (char c : text) {
		if (c == '"' || c == '\\')
			out += std::format("\\{}", c);
		else if (static_cast<unsigned char>(c) < 0x20)
			out += std::format("\\u{:04x}", static_cast<unsigned>(c));
		else
			out += c;
	}
	return out + '"';
}

std::string json(const Value &value)
{
	if (auto flag = std::get_if<bool>(&value))
		return *flag ? "true" : "false";
	if (auto text = std::get_if<std::string>(&value))
		return quoted(*text);
	return plain(value);
}

std::string json(const Record &record)
{
	std::string out = std::format("{{\"ifname\":{}", quoted(record.device));
	for (const auto &[label, value] : record.attributes)
		out += std::format(",{}:{}", quoted(label), json(value));
	return out + '}';
}

std::string json(const std::vector<Record> &records)
{
	std::string out = "[";
	for (const Record &record : records)
		out += (out.size() > 1 ? "," : "") + json(record);
	return out + "]\n";
}

std::string oneline(const Record &record)
{
	std::string out = record.device + ':';
	for (const auto &[label, value] : record.attributes)
		out += std::format(" {} {}", label, plain(value));
	return out + '\n';
}

std::string text(const Record &record)
{
	std::size_t width = 0;
	for (const auto &attribute : record.attributes)
		width = std::max(width, attribute.first.size());

	std::string out = record.device + ":\n";
	for (const auto &[label, value] : record.attributes)
		out += std::format("    {:<{}} {}\n", label, width, plain(value));
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

std::string format(const std::vector<Record> &records, Form form)
{
	if (form == Form::json)
		return json(records);

	std::string out;
	for (const Record &record : records)
		out += form == Form::oneline ? oneline(record) : text(record);
	return out;
}

} // namespace kwarpctl
