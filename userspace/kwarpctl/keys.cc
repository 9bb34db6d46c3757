// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "keys.h"

#include "error.h"
#include "output.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <format>
#include <optional>
#include <ranges>

namespace kwarpctl {
namespace {

using enum Key::Kind;

constexpr std::size_t most_netdevs = 3;

constexpr std::array keys{
	Key{"llp", choice, "tcp|tcp+sctp|sctp+tcp|sctp", 0, 0, "tcp",
	    "transport of the data: MPA over TCP, or SCTP"},
	Key{"paths", netdevs, "", 0, 0, "off",
	    "netdevs whose addresses SCTP uses besides the device's"},
	Key{"mpa_rev", number, "", 0, 2, "2", "highest MPA revision to offer and accept"},
	Key{"permissive", flag, "", 0, 0, "on", "accept MPA revision 0, too"},
	Key{"crc", choice, "off|preferred|required", 0, 0, "preferred", "use of CRC32c"},
	Key{"markers", flag, "", 0, 0, "off", "ask the peer for markers"},
	Key{"ooo", flag, "", 0, 0, "off", "place out-of-order FPDUs on arrival; needs markers"},
	Key{"p2p", set, "send|write|read|rtr-frame", 0, 0, "send,write,read,rtr-frame",
	    "peer-to-peer model: permitted ready-to-receive indications"},
	Key{"ird", number, "", 0, 128, "32", "maximum IRD (inbound RDMA Reads)"},
	Key{"ord", number, "", 0, 128, "32", "maximum ORD (outbound RDMA Reads)"},
	Key{"startup_timeout_ms", number, "", 100, 600000, "10000",
	    "limit of each wait for the peer in connection set-up"},
	Key{"answer_timeout_ms", number, "", 100, 600000, "60000",
	    "time that a program has to accept a connection"},
	Key{"backlog", number, "", 1, 65535, "1024",
	    "maximum number of connections of one listener in set-up"},
	Key{"keepalive_s", number, "", 0, 32767, "7200",
	    "seconds without traffic after which TCP probes the peer; 0: never"},
	Key{"poll_us", number, "", 0, 1000, "0",
	    "microseconds for which a poll of an empty CQ polls the network; 0: off"},
	Key{"send_imm", flag, "", 0, 0, "off", "Send with Immediate, by private opcodes"},
	Key{"rendezvous_port", number, "", 0, 65535, "0",
	    "TCP port of queue pairs without rdma_cm; 0: none"},
	Key{"rendezvous_ack", flag, "", 0, 0, "on",
	    "sends without rdma_cm complete when the peer has received them"},
	Key{"fpdu", choice, "emss|large", 0, 0, "emss",
	    "FPDUs fill one TCP segment, or are as large as MPA allows"},
};

std::vector<std::string_view> split(std::string_view text, char at)
{
	std::vector<std::string_view> words;
	for (auto word : text | std::views::split(at))
		words.emplace_back(word.begin(), word.end());
	return words;
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

bool in_range(const Key &key, std::string_view text)
{
	std::uint32_t n = 0;
	auto [end, error] = std::from_chars(text.begin(), text.end(), n);
	return error == std::errc() && end == text.end() && n >= key.min && n <= key.max;
}

bool is_choice(const Key &key, std::string_view text)
{
	const std::vector<std::string_view> words = split(key.words, '|');
	return std::ranges::find(words, text) != words.end();
}

// Words separated by commas or blanks, or one word for all or none of them.
bool is_set(const Key &key, std::string text)
{
	std::ranges::replace(text, ' ', ',');
	return text == "off" || text == "0" || text == "1" ||
	       std::ranges::all_of(split(text, ','),
				   [&](std::string_view word) { return is_choice(key, word); });
}

} // namespace

std::span<const Key> all_keys()
{
	return keys;
}

const Key *find_key(std::string_view name)
{
	auto found = std::ranges::find(keys, name, &Key::name);
	return found == keys.end() ? nullptr : &*found;
}

std::string values_of(const Key &key)
{
	switch (key.kind) {
	case flag:
		return "on|off";
	case choice:
		return std::string(key.words);
	case set:
		return std::format("off|all|any of {}", key.words);
	case number:
		return std::format("{}..{}", key.min, key.max);
	case netdevs:
		return "off|NETDEV[,NETDEV[,NETDEV]]";
	}
	return {};
}

std::vector<std::string> netdevs_in(const std::string &value)
{
	std::vector<std::string> names;
	std::string text = value == "off" ? "" : value;
	std::ranges::replace(text, ' ', ',');
	for (std::string_view name : split(text, ','))
		if (!name.empty())
			names.emplace_back(name);
	return names;
}

std::string checked_value(const Key &key, const std::string &value)
{
	bool good = true;
	std::string text = value;
	switch (key.kind) {
	case flag: {
		auto on = parse_flag(value);
		good = on.has_value();
		text = on.value_or(false) ? "1" : "0";
		break;
	}
	case choice:
		// The kernel takes two numbers for words.
		good = is_choice(key, value) ||
		       (key.name == "crc" && (value == "0" || value == "1"));
		break;
	case set:
		if (value == "all")
			text = "1";
		good = is_set(key, text);
		break;
	case number:
		good = in_range(key, value);
		text = to_text(parse_value(value));
		break;
	case netdevs: {
		const std::size_t n = netdevs_in(value).size();
		good = value == "off" || (n >= 1 && n <= most_netdevs);
		break;
	}
	}
	if (!good)
		throw Error(usage_error,
			    std::format("{} is {}, not '{}'", key.name, values_of(key), value));
	return text;
}

} // namespace kwarpctl
