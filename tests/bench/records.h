// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Measurements of guest.sh: for each test, column and round, a value or none.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using Json = nlohmann::ordered_json;

struct Test {
	std::string name;
	unsigned long size, qps, mtu;
	auto operator<=>(const Test &) const = default;
};

// a driver, and one of its variants
using Column = std::pair<std::string, std::string>;

// "kwarp", or "kwarp+VARIANT"
std::string name_of(const Column &c);

struct Summary {
	double median, low, high;
	size_t runs;
	Json json() const
	{
		return {{"median", median}, {"min", low}, {"max", high}, {"runs", runs}};
	}
};

// The ratio of two columns, one quotient for each round in which both have a value.
struct Ratio {
	// low to high contains the median of all possible rounds with a probability of 93 % or
	// more, if there are five rounds or more. It is bounded by two of the quotients: by the
	// least and the greatest up to seven rounds, by the second from either end up to ten, and
	// so on (the confidence interval of the sign test).
	double median, low, high;
	size_t rounds;
	// half the interval, as a fraction of the median
	double spread() const { return median > 0 ? (high - low) / 2 / median : 0; }
};

// how much slower than at its best the machine was, from 1
struct Pace {
	// the median and the greatest value of all measurements of a test
	double median, worst;
};

class Records {
public:
	// Throws if a line is no record.
	explicit Records(const std::string &file);

	// By MTU, name, queue pairs and size.
	const std::vector<Test> &tests() const { return order_; }
	// In the order of the file.
	const std::vector<Column> &columns() const { return columns_; }
	std::optional<Summary> get(const Test &t, const Column &c) const;
	std::optional<Ratio> ratio(const Test &t, const Column &a, const Column &b) const;
	// of the measurements of a test; none if the file does not tell
	std::optional<Pace> pace(const Test &t) const;
	// the fraction of all measurements at which the machine was disturbed
	std::optional<double> disturbed() const;

private:
	using Rounds = std::map<unsigned long, double>; // the value of each round that has one

	std::map<std::pair<Test, Column>, Rounds> values_;
	// nanoseconds of the program spin before each measurement
	std::map<Test, std::vector<double>> spins_;
	std::vector<Test> order_;
	std::vector<Column> columns_;
	double best_spin_ = 0;
};

// A measurement counts as disturbed if the machine was slower than this at its beginning.
constexpr double slow_machine = 1.25;

// Formatted for tables; a dash if there is none.
std::string number(const std::optional<Summary> &s);
