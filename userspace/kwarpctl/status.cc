// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "status.h"

#include "output.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <format>

#include <nlohmann/json.hpp>

namespace kwarpctl {
namespace {

std::uint64_t value(const Counters &counters, const std::string &name)
{
	const auto found = counters.find(name);
	return found == counters.end() ? 0 : found->second;
}

// If the device was made again in between, its counters have started from zero.
std::uint64_t growth(const Counters &before, const Counters &after, const std::string &name)
{
	const std::uint64_t a = value(before, name), b = value(after, name);
	return b < a ? b : b - a;
}

std::string counts(const Counters &counters)
{
	std::string out;
	for (const auto &[name, n] : counters)
		out += std::format("{}{} {}", out.empty() ? "" : ", ", name, n);
	return out;
}

Counters failures_in(const Counters &counters)
{
	Counters out;
	for (const auto &[name, n] : counters)
		if (n && !failure_of(name).empty())
			out[name] = n;
	return out;
}

std::string text(const Connection &c)
{
	return std::format("    {} {} {}  {}  qp {}{}\n", c.local,
			   c.role == "responder" ? "<-" : "->", c.remote, c.llp, c.qpn,
			   c.retransmits ? std::format("  {} retransmits", c.retransmits) : "");
}

std::string time_of_day()
{
	std::array<char, 16> text{};
	const std::time_t now = std::time(nullptr);
	std::tm local{};
	localtime_r(&now, &local);
	std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
	return text.data();
}

std::string line_of(const std::string &device, const Rates &r)
{
	std::string out = std::format("{} {}: rx {} ({} FPDUs/s), tx {} ({} FPDUs/s)",
				      time_of_day(), device, bytes_per_second(r.rx_bytes),
				      r.rx_fpdus, bytes_per_second(r.tx_bytes), r.tx_fpdus);
	if (!r.failures.empty())
		out += "; " + counts(r.failures);
	return out + '\n';
}

nlohmann::ordered_json json_of(const Rates &r)
{
	return {{"rx_bytes_per_s", r.rx_bytes},
		{"tx_bytes_per_s", r.tx_bytes},
		{"rx_fpdus_per_s", r.rx_fpdus},
		{"tx_fpdus_per_s", r.tx_fpdus}};
}

} // namespace

Sample sample(Machine &machine, const std::string &device, const Clock &clock)
{
	Counters counters = machine.counters(device);
	return {std::move(counters), clock.now()};
}

Rates rates(const Sample &first, const Sample &second)
{
	const Counters &before = first.counters, &after = second.counters;
	const double seconds = std::chrono::duration<double>(second.time - first.time).count();
	const auto per_second = [&](const char *name) {
		const auto n = static_cast<double>(growth(before, after, name));
		return static_cast<std::uint64_t>(n / std::max(seconds, 0.001));
	};
	Rates r{per_second("tx_octets"),
		per_second("rx_octets"),
		per_second("tx_fpdus"),
		per_second("rx_fpdus"),
		{}};
	for (const auto &[name, n] : after)
		if (const std::uint64_t grown = growth(before, after, name);
		    grown && !failure_of(name).empty())
			r.failures[name] = grown;
	return r;
}

std::string bytes_per_second(std::uint64_t bytes)
{
	double n = static_cast<double>(bytes);
	for (const char *unit : {"B/s", "KiB/s", "MiB/s"}) {
		if (n < 1024)
			return std::format("{:.{}f} {}", n,
					   n < 10 && n > 0 && bytes >= 1024 ? 1 : 0, unit);
		n /= 1024;
	}
	return std::format("{:.1f} GiB/s", n);
}

DeviceStatus status_of(Machine &machine, const std::string &device, const Sample &first,
		       const Clock &clock)
{
	DeviceStatus status{
		device, machine.rdma.find(device), changed_policy_of(machine.sysfs, device), {}, {},
		{}};
	if (status.link)
		status.connections = machine.rdma.connections(*status.link);
	const Sample now = sample(machine, device, clock);
	status.counters = now.counters;
	status.now = rates(first, now);
	return status;
}

std::string to_text(const DeviceStatus &status)
{
	std::string out = std::format("{}: ", status.device);
	if (!status.link || status.link->netdev.empty())
		out += "without a netdev\n";
	else
		out += std::format("on {}, {}\n", status.link->netdev,
				   status.link->active ? "active" : "down");
	std::string policy;
	for (const auto &[name, setting] : status.changed.attributes)
		policy +=
			std::format("{}{} {}", policy.empty() ? "" : ", ", name, to_text(setting));
	out += std::format("  policy: {}\n", policy.empty() ? "default" : policy);
	out += std::format("  rates: rx {}, tx {}\n", bytes_per_second(status.now.rx_bytes),
			   bytes_per_second(status.now.tx_bytes));
	out += std::format("  connections: {}\n", status.connections.size());
	for (const Connection &c : status.connections)
		out += text(c);
	if (const Counters failures = failures_in(status.counters); !failures.empty())
		out += std::format("  failures: {}\n", counts(failures));
	return out;
}

nlohmann::ordered_json to_json(const DeviceStatus &status)
{
	nlohmann::ordered_json out{{"ifname", status.device}};
	out["netdev"] = status.link ? status.link->netdev : "";
	out["active"] = status.link && status.link->active;
	out["policy"] = nlohmann::ordered_json::object();
	for (const auto &[name, setting] : status.changed.attributes)
		out["policy"][name] = to_json(setting);
	out["rates"] = json_of(status.now);
	out["connections"] = nlohmann::ordered_json::array();
	for (const Connection &c : status.connections)
		out["connections"].push_back({{"qpn", c.qpn},
					      {"local", c.local},
					      {"remote", c.remote},
					      {"llp", c.llp},
					      {"role", c.role},
					      {"retransmits", c.retransmits}});
	out["failures"] = failures_in(status.counters);
	return out;
}

std::string monitor_line(const std::string &device, const Rates &rates, Form form)
{
	if (!is_json(form))
		return line_of(device, rates);
	nlohmann::ordered_json line{{"time", std::time(nullptr)}, {"ifname", device}};
	line.update(json_of(rates));
	line["failures"] = rates.failures;
	return format(line, Form::json);
}

} // namespace kwarpctl
