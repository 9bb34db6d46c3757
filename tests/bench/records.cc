// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "records.h"

#include <algorithm>
#include <format>
#include <fstream>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace {

double median(const std::vector<double> &sorted)
{
	size_t n = sorted.size();
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

// How many of n sorted values can be left out at either end, so that the others enclose the median
// with a probability of 93 % or more: each value is above it or below it like a tossed coin.
size_t outside(size_t n)
{
	size_t k = 0;
	double all = 1, below = 0, choose = 1;
	for (size_t i = 0; i < n; i++)
		all *= 2;
	for (; 2 * (below + choose) <= 0.071 * all; k++) {
		below += choose;
		choose = choose * static_cast<double>(n - k) / static_cast<double>(k + 1);
	}
	return k ? k - 1 : 0;
}

} // namespace

std::string name_of(const Column &c)
{
	return c.second == "plain" ? c.first : c.first + "+" + c.second;
}

Records::Records(const std::string &file)
{
	std::ifstream in(file);
	if (!in)
		throw std::runtime_error(file + ": cannot be read");
	for (std::string line; std::getline(in, line);) {
		std::istringstream words(line);
		std::string value;
		unsigned long round;
		Column c;
		Test t;
		double spin;
		if (!(words >> round >> c.first >> c.second >> t.name >> t.size >> t.qps >> t.mtu >>
		      value))
			throw std::runtime_error(file + ": not a record: " + line);
		if (std::ranges::find(order_, t) == order_.end())
			order_.push_back(t);
		if (std::ranges::find(columns_, c) == columns_.end())
			columns_.push_back(c);
		Rounds &rounds = values_[{t, c}];
		if (value != "-")
			rounds[round] = std::stod(value);
		if (words >> spin && spin > 0) {
			spins_[t].push_back(spin);
			best_spin_ = best_spin_ > 0 ? std::min(best_spin_, spin) : spin;
		}
	}
	std::ranges::stable_sort(order_, {}, [](const Test &t) {
		return std::tuple{t.mtu, t.name, t.qps, t.size};
	});
}

std::optional<Summary> Records::get(const Test &t, const Column &c) const
{
	auto found = values_.find({t, c});
	if (found == values_.end() || found->second.empty())
		return {};
	std::vector<double> v;
	std::ranges::copy(found->second | std::views::values, std::back_inserter(v));
	std::ranges::sort(v);
	return Summary{median(v), v.front(), v.back(), v.size()};
}

std::optional<Ratio> Records::ratio(const Test &t, const Column &a, const Column &b) const
{
	auto of = values_.find({t, a}), to = values_.find({t, b});
	if (of == values_.end() || to == values_.end())
		return {};
	std::vector<double> v;
	for (const auto &[round, value] : of->second)
		if (auto other = to->second.find(round);
		    other != to->second.end() && other->second > 0)
			v.push_back(value / other->second);
	if (v.empty())
		return {};
	std::ranges::sort(v);
	size_t out = outside(v.size());
	return Ratio{median(v), v[out], v[v.size() - 1 - out], v.size()};
}

std::optional<Pace> Records::pace(const Test &t) const
{
	auto found = spins_.find(t);
	if (found == spins_.end())
		return {};
	std::vector<double> v = found->second;
	std::ranges::sort(v);
	return Pace{median(v) / best_spin_, v.back() / best_spin_};
}

std::optional<double> Records::disturbed() const
{
	size_t all = 0, slow = 0;
	for (const auto &spins : spins_ | std::views::values) {
		all += spins.size();
		slow += static_cast<size_t>(std::ranges::count_if(spins, [&](double spin) {
			return spin > slow_machine * best_spin_;
		}));
	}
	if (!all)
		return {};
	return static_cast<double>(slow) / static_cast<double>(all);
}

std::string number(const std::optional<Summary> &s)
{
	if (!s)
		return "–";
	double v = s->median;
	return v >= 1000 ? std::format("{:.0f}", v) :
	       v >= 10	 ? std::format("{:.1f}", v) :
			   std::format("{:.3f}", v);
}
