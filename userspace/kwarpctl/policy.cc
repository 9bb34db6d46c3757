// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "policy.h"

#include "error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <format>
#include <optional>
#include <sstream>
#include <system_error>

namespace kwarpctl {
namespace {

struct Key {
	std::string_view name;
	std::string_view values;
	std::string_view meaning;
};

constexpr std::string_view on_off = "on|off";

// In the order of output. The kernel decides which keys there are and what it accepts: a key that
// is not in this table works as well, and a value is never refused here unless its type is wrong.
constexpr std::array keys{
	Key{"llp", "tcp|tcp+sctp|sctp+tcp|sctp", "what carries the data: MPA over TCP, or SCTP"},
	Key{"paths", "off|NETDEV,...", "netdevs whose addresses SCTP uses besides the device's"},
	Key{"mpa_rev", "0|1|2", "MPA revision to offer"},
	Key{"permissive", on_off, "serve MPA revision 0, too"},
	Key{"crc", "off|preferred|required", "use of CRC32c"},
	Key{"markers", on_off, "ask the peer for markers"},
	Key{"ooo", on_off, "place out-of-order FPDUs on arrival; needs markers"},
	Key{"p2p", "off|LIST", "peer-to-peer model: any of send,write,read,rtr-frame"},
	Key{"ird", "NUMBER", "maximum of inbound RDMA Reads granted"},
	Key{"ord", "NUMBER", "maximum of outbound RDMA Reads requested"},
	Key{"startup_timeout_ms", "NUMBER", "limit of each wait for the peer in connection set-up"},
	Key{"answer_timeout_ms", "NUMBER", "limit of the wait for a program that is to accept"},
	Key{"backlog", "NUMBER", "maximum of connections of one listener in set-up"},
	Key{"keepalive_s", "NUMBER", "silence after which TCP probes the peer; 0: never"},
	Key{"send_imm", on_off, "Send with Immediate, by private opcodes"},
	Key{"rendezvous_port", "NUMBER", "TCP port of queue pairs without rdma_cm; 0: none"},
	Key{"rendezvous_ack", on_off, "their sends complete when the peer has received them"},
	Key{"fpdu", "emss|large", "FPDUs fill one TCP segment, or are as large as MPA allows"},
};

const Key *find_key(std::string_view name)
{
	auto found = std::ranges::find(keys, name, &Key::name);
	return found == keys.end() ? nullptr : &*found;
}

bool is_flag(std::string_view name)
{
	const Key *key = find_key(name);
	return key && key->values == on_off;
}

std::optional<bool> parse_flag(std::string_view text)
{
	for (std::string_view yes : {"on", "1", "yes", "true", "y", "Y"})
		if (text == yes)
			return true;
	for (std::string_view no : {"off", "0", "no", "false", "n", "N"})
		if (text == no)
			return false;
	return std::nullopt;
}

// A choice is shown with all its words; those in force are in brackets, separated by commas.
std::string in_force(const std::string &text)
{
	std::string chosen;
	std::istringstream words(text);
	for (std::string word; words >> word;)
		if (word.size() > 2 && word.front() == '[' && word.back() == ']')
			chosen += (chosen.empty() ? "" : ",") + word.substr(1, word.size() - 2);
	return chosen.empty() ? text : chosen;
}

Value to_value(std::string_view key, const std::string &text)
{
	if (is_flag(key))
		if (auto flag = parse_flag(text))
			return *flag;
	return parse_value(in_force(text));
}

// Keys of the device: the known ones in their order, then others, which a newer kernel may have.
std::vector<std::string> keys_of(const Sysfs &sysfs, const std::string &device)
{
	std::vector<std::string> names = attribute_names(sysfs.policy_dir(device));
	std::ranges::stable_sort(names, {}, [](const std::string &name) {
		return std::ranges::find(keys, name, &Key::name) - keys.begin();
	});
	return names;
}

void require_key(const Sysfs &sysfs, const std::string &device, const std::string &key)
{
	std::vector<std::string> names = keys_of(sysfs, device);
	if (std::ranges::find(names, key) != names.end())
		return;

	std::string list;
	for (const std::string &name : names)
		list += ' ' + name;
	throw Error(usage_error,
		    std::format("'{}' has no policy '{}'; there are:{}", device, key, list));
}

[[noreturn]] void throw_refused(const std::string &device, const std::string &key,
				const std::string &value, const std::system_error &error)
{
	std::string why = error.code().message();
	if (const Key *known = find_key(key);
	    known && (error.code() == std::errc::invalid_argument ||
		      error.code() == std::errc::result_out_of_range))
		why += std::format(" (expected {})", known->values);
	if (error.code() == std::errc::protocol_not_supported)
		why += " (this kernel has no SCTP, or its module sctp cannot be loaded)";
	throw Error(failure, std::format("{}: cannot set {} to '{}': {}", device, key, value, why));
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

void set_policy(const Sysfs &sysfs, const std::string &device, const std::string &key,
		const std::string &value)
{
	require_key(sysfs, device, key);

	std::string text = value;
	if (is_flag(key)) {
		auto flag = parse_flag(value);
		if (!flag)
			throw Error(usage_error,
				    std::format("{} is {}, not '{}'", key, on_off, value));
		text = *flag ? "1" : "0";
	}

	try {
		write_attribute(sysfs.policy_dir(device) / key, text);
	} catch (const std::system_error &error) {
		throw_refused(device, key, value, error);
	}
}

std::string policy_help()
{
	std::string out;
	for (const Key &key : keys)
		out += std::format("    {:<18} {:<22} {}\n", key.name, key.values, key.meaning);
	return out;
}

} // namespace kwarpctl
