/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// The commands status and monitor.
#pragma once

#include "counters.h"
#include "device.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace kwarpctl {

using Milliseconds = std::chrono::milliseconds;

using Time = std::chrono::steady_clock::time_point;
using Wait = std::function<void(Milliseconds)>;

// The tests change counters instead of sleeping.
struct Clock {
	Wait wait;
	std::function<Time()> now;
};

// Counters, and the time at which they were read.
struct Sample {
	Counters counters;
	Time time;
};
Sample sample(Machine &machine, const std::string &device, const Clock &clock);

struct Rates {
	std::uint64_t tx_bytes, rx_bytes; // per second
	std::uint64_t tx_fpdus, rx_fpdus; // per second
	Counters failures;		  // increase of the failure counters
};
Rates rates(const Sample &first, const Sample &second);

// With a unit, for text output.
std::string bytes_per_second(std::uint64_t bytes);

struct DeviceStatus {
	std::string device;
	std::optional<Link> link;
	Record changed; // policy that differs from the default
	std::vector<Connection> connections;
	Counters counters;
	Rates now;
};
// The rates are those since a first sample; the command takes it this long before.
constexpr Milliseconds rates_time{250};
DeviceStatus status_of(Machine &machine, const std::string &device, const Sample &first,
		       const Clock &clock);
std::string to_text(const DeviceStatus &status);
nlohmann::ordered_json to_json(const DeviceStatus &status);

// A line of the command monitor, with a newline at the end.
std::string monitor_line(const std::string &device, const Rates &rates, Form form);

} // namespace kwarpctl
