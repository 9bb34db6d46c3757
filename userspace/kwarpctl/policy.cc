// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "policy.h"

#include "error.h"

#include <algorithm>
#include <format>
#include <sstream>
#include <system_error>

namespace kwarpctl {
namespace {

// The kernel shows all words of a choice, with the active ones in brackets. Return: the active
// words, separated by commas.
std::string in_force(const std::string &text)
{
	std::string chosen;
	std::istringstream words(text);
	for (std::string word; words >> word;)
		if (word.size() > 2 && word.front() == '[' && word.back() == ']')
			chosen += (chosen.empty() ? "" : ",") + word.substr(1, word.size() - 2);
	return chosen.empty() ? text : chosen;
}

// The name of a netdev may be in brackets, or be a number. The kernel separates names by blanks,
// and accepts commas. The kind of a key of a newer module is not known: what would not be shown as
// it is, is no number.
Value to_value(std::string_view name, const std::string &text)
{
	const Key *key = find_key(name);
	if (key && key->kind == Key::Kind::netdevs) {
		std::string names = text;
		std::ranges::replace(names, ' ', ',');
		return names;
	}
	if (key && key->kind == Key::Kind::flag && (text == "0" || text == "1"))
		return text == "1";
	const std::string shown = in_force(text);
	const Value number = parse_value(shown);
	return to_text(number) == shown ? number : shown;
}

// The keys of the device: known keys in the order of the table, then keys of a newer module.
std::vector<std::string> keys_of(const Sysfs &sysfs, const std::string &device)
{
	std::vector<std::string> names = attribute_names(sysfs.policy_dir(device));
	std::ranges::stable_sort(names, {}, [](const std::string &name) {
		return std::ranges::find(all_keys(), name, &Key::name) - all_keys().begin();
	});
	return names;
}

void require_key(const Sysfs &sysfs, const std::string &device, const std::string &key)
{
	if (has_key(sysfs, device, key))
		return;
	std::string list;
	for (const std::string &name : keys_of(sysfs, device))
		list += ' ' + name;
	throw Error(usage_error,
		    std::format("'{}' has no policy '{}'; there are:{}", device, key, list));
}

[[noreturn]] void throw_refused(const std::string &device, const std::string &name,
				const std::string &value, const std::system_error &error)
{
	std::string why = error.code().message();
	const Key *key = find_key(name);
	if (key && (error.code() == std::errc::invalid_argument ||
		    error.code() == std::errc::result_out_of_range))
		why += std::format(" (expected {})", values_of(*key));
	if (name == "paths" && error.code() == std::errc::device_or_resource_busy)
		why += " (a netdev with a kwarp device of its own cannot be a path)";
	if (name == "paths" && error.code() == std::errc::no_such_device)
		why += " (the network namespace of the device has no such netdev)";
	if (name == "rendezvous_port" && error.code() == std::errc::address_in_use)
		why += " (rendezvous_port is 0 now; choose the same free port on both ends)";
	if (error.code() == std::errc::protocol_not_supported)
		why += " (this kernel has no SCTP, or its module sctp cannot be loaded)";
	if (error.code() == std::errc::permission_denied ||
	    error.code() == std::errc::operation_not_permitted)
		why += " (run it as root of the host, with CAP_NET_ADMIN in the user "
		       "namespace that owns the netdev's network namespace)";
	throw Error(failure,
		    std::format("{}: cannot set {} to '{}': {}", device, name, value, why));
}

// The value in the kernel's form. The kernel checks values; only flags are checked here, because
// the kernel does not know their words. Numbers are decimal, also with leading zeros, which the
// kernel takes for octal.
std::string to_kernel(const std::string &name, const std::string &value)
{
	const Key *key = find_key(name);
	if (key && key->kind == Key::Kind::flag)
		return checked_value(*key, value);
	if (key && key->kind == Key::Kind::number)
		return to_text(parse_value(value));
	if (key && key->kind == Key::Kind::set && value == "all")
		return "1";
	return value;
}

} // namespace

Record policy_of(const Sysfs &sysfs, const std::string &device)
{
	Record record{device, {}};
	for (const std::string &key : keys_of(sysfs, device)) {
		std::string text = read_attribute(sysfs.policy_dir(device) / key);
		record.attributes.emplace_back(key, to_value(key, text));
	}
	return record;
}

std::string default_of(const Sysfs &sysfs, const Key &key)
{
	const std::string initial(key.initial);
	return key.name == "llp" ? sysfs.module_parameter("llp").value_or(initial) : initial;
}

Record changed_policy_of(const Sysfs &sysfs, const std::string &device)
{
	Record record = policy_of(sysfs, device);
	std::erase_if(record.attributes, [&](const auto &attribute) {
		const Key *key = find_key(attribute.first);
		return !key || to_text(attribute.second) == default_of(sysfs, *key);
	});
	return record;
}

bool has_key(const Sysfs &sysfs, const std::string &device, const std::string &key)
{
	const std::vector<std::string> keys = keys_of(sysfs, device);
	return std::ranges::find(keys, key) != keys.end();
}

void set_policy(const Sysfs &sysfs, const std::string &device, const std::string &key,
		const std::string &value)
{
	require_key(sysfs, device, key);
	const std::string text = to_kernel(key, value);
	try {
		write_attribute(sysfs.policy_dir(device) / key, text);
	} catch (const std::system_error &error) {
		throw_refused(device, key, value, error);
	}
}

std::string key_table()
{
	std::string out;
	for (const Key &key : all_keys())
		out += std::format("    {:<18} {}\n    {:<18}   {} (default: {})\n", key.name,
				   values_of(key), "", key.meaning, key.initial);
	return out;
}

} // namespace kwarpctl
