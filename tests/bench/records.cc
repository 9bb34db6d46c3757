// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "records.h"

#include <algorithm>
#include <format>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <tuple>

Records::Records(const std::string &file)
{
	std::ifstream in(file);
	if (!in)
		throw std::runtime_error(file + ": cannot be read");
	for (std::string line; std::getline(in, line);) {
		std::istringstream words(line);
		std::string round, value;
		Column c;
		Test t;
		if (!(words >> round >> c.first >> c.second >> t.name >> t.size >> t.qps >> t.mtu >>
		      value))
			throw std::runtime_error(file + ": not a record: " + line);
		if (std::ranges::find(order_, t) == order_.end())
			order_.push_back(t);
		if (std::ranges::find(columns_, c) == columns_.end())
			columns_.push_back(c);
		std::vector<double> &list = values_[{t, c}];
		if (value != "-")
			list.push_back(std::stod(value));
	}
	std::ranges::stable_sort(order_, {}, [](const Test &t) {
		return std::tuple{t.mtu, t.name, t.qps, t.size};
	});
}

bool Records::has(const Column &c) const
{
	return std::ranges::find(columns_, c) != columns_.end();
}

std::optional<Summary> Records::get(const Test &t, const Column &c) const
{
	auto found = values_.find({t, c});
	if (found == values_.end() || found->second.empty())
		return {};
	std::vector<double> v = found->second;
	std::ranges::sort(v);
	size_t n = v.size();
	return Summary{n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2, v.front(), v.back(), n};
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
