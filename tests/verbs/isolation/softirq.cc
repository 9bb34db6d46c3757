// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "softirq.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "rdma/failure.h"

namespace isolation {
namespace {

void put(const std::string &path, const std::string &value)
{
	std::ofstream file(path);
	if (!(file << value << std::flush))
		throw rdma::Failure("cannot write " + value + " to " + path);
}

// The softirq that runs on a processor, and the completions that it has made so far.
struct Running {
	bool on = false;
	double since = 0;
	std::map<unsigned long, size_t> completions; // by queue pair
};

// "... [001] ..s1.   12.345678: softirq_entry: vec=3 [action=NET_RX]"
struct Line {
	int cpu;
	double time;
	char event[32];
	std::string rest;
};

bool parse(const std::string &line, Line &to)
{
	const size_t bracket = line.find(" [");
	int end = 0;
	if (line.starts_with("#") || bracket == std::string::npos ||
	    sscanf(line.c_str() + bracket, " [%d] %*s %lf: %31[a-z_]:%n", &to.cpu, &to.time,
		   to.event, &end) != 3)
		return false;
	to.rest = line.substr(bracket + static_cast<size_t>(end));
	return true;
}

} // namespace

Softirqs::Softirqs(bool completions)
{
	std::filesystem::create_directory(path_);
	put(path_ + "buffer_size_kb", completions ? "32768" : "4096");
	for (const char *event : {"softirq_entry", "softirq_exit"}) {
		const std::string at = path_ + "events/irq/" + event + "/";
		put(at + "filter", "vec == 3");
		put(at + "enable", "1");
	}
	if (completions)
		put(path_ + "events/kwarp/kwarp_cqe/enable", "1");
}

Softirqs::~Softirqs()
{
	put(path_ + "events/enable", "0");
	std::filesystem::remove(path_);
}

Softirqs::Most Softirqs::most() const
{
	put(path_ + "tracing_on", "0");
	std::map<int, Running> cpus;
	Most most;
	std::ifstream trace(path_ + "trace");
	for (std::string text; std::getline(trace, text);) {
		Line line;
		if (text.find("LOST") != std::string::npos)
			throw rdma::Failure("events were lost");
		if (!parse(text, line))
			continue;
		Running &cpu = cpus[line.cpu];
		const std::string event = line.event;
		if (event == "softirq_entry") {
			cpu = {true, line.time, {}};
		} else if (event == "softirq_exit" && cpu.on) {
			cpu.on = false;
			most.softirqs++;
			most.milliseconds =
				std::max(most.milliseconds, 1000 * (line.time - cpu.since));
		} else if (event == "kwarp_cqe" && cpu.on) {
			const size_t at = line.rest.find(" qpn=");
			if (at == std::string::npos)
				throw rdma::Failure("no queue pair in: " + text);
			size_t &n = cpu.completions[std::stoul(line.rest.substr(at + 5))];
			most.completions = std::max(most.completions, ++n);
		}
	}
	return most;
}

} // namespace isolation
