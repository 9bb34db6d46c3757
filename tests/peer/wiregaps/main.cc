// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// wire_gaps FILE.pcap [TIMES]: describes the longest TCP stream in a capture at the receiver, as
// lines "word number":
//
//	bytes         of the stream up to the first gap that stays open
//	early         bytes that arrived while earlier ones were missing
//	gaps          gaps that closed when bytes behind them were waiting
//	burst_mean, burst_p50, burst_p99, burst_max
//	              bytes that were waiting when a gap closed
//
// TIMES is a file of the times at which messages were delivered, one a line, in nanoseconds on the
// capture's clock and in ascending order. It adds:
//
//	closings      gaps after which a message was delivered before the next segment arrived
//	closing_p50, closing_p90, closing_p99, closing_max
//	              microseconds from the segment that closed the gap to the last of
//	              these deliveries
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>

#include "gaps.h"

namespace {

uint64_t rank(const std::vector<uint64_t> &sorted, double share)
{
	return sorted.empty() ?
		       0 :
		       sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void print_closings(const wiregaps::Gaps &gaps, const std::string &file)
{
	std::ifstream in(file);
	std::vector<uint64_t> deliveries{std::istream_iterator<uint64_t>(in), {}};
	if (deliveries.empty())
		throw std::runtime_error(file + ": no delivery times");
	std::vector<uint64_t> times = wiregaps::closing_times(gaps.closings(), deliveries);
	std::ranges::sort(times);
	std::cout << "closings " << times.size() << '\n';
	if (times.empty())
		return;
	for (auto [name, share] :
	     {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1.0}})
		std::cout << "closing_" << name << ' '
			  << static_cast<double>(rank(times, share)) / 1000 << '\n';
}

void print(const std::string &file, const char *times)
{
	auto all = wiregaps::read_gaps(file);
	auto longest = std::ranges::max_element(all, {}, [](const auto &flow) {
		return flow.second.bytes();
	});
	if (longest == all.end())
		throw std::runtime_error(file + ": no TCP connection with its SYN");
	const wiregaps::Gaps &gaps = longest->second;
	std::vector<uint64_t> bursts;
	std::ranges::transform(gaps.closings(), std::back_inserter(bursts),
			       &wiregaps::Closing::bytes);
	std::ranges::sort(bursts);
	uint64_t sum = std::accumulate(bursts.begin(), bursts.end(), uint64_t{0});
	std::cout << "bytes " << gaps.bytes() << "\nearly " << gaps.early() << "\ngaps "
		  << bursts.size() << "\nburst_mean " << (bursts.empty() ? 0 : sum / bursts.size())
		  << "\nburst_p50 " << rank(bursts, 0.5) << "\nburst_p99 " << rank(bursts, 0.99)
		  << "\nburst_max " << rank(bursts, 1) << '\n';
	if (times)
		print_closings(gaps, times);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 3) {
		std::cerr << "usage: wire_gaps FILE.pcap [TIMES]\n";
		return 2;
	}
	try {
		print(argv[1], argc == 3 ? argv[2] : nullptr);
		return 0;
	} catch (const std::exception &e) {
		std::cerr << "wire_gaps: " << e.what() << "\n";
		return 2;
	}
}
