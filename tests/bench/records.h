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

// a driver, or one of its variants
using Column = std::pair<std::string, std::string>;

// A spread is (maximum - minimum) / median.
struct Summary {
	double median, low, high;
	size_t runs;
	double spread() const { return median > 0 ? (high - low) / median : 0; }
	Json json() const
	{
		return {{"median", median}, {"min", low}, {"max", high}, {"runs", runs}};
	}
};

class Records {
public:
	// Throws if a line is no record.
	explicit Records(const std::string &file);

	// By MTU, name, queue pairs and size.
	const std::vector<Test> &tests() const { return order_; }
	// In the order of the file.
	const std::vector<Column> &columns() const { return columns_; }
	bool has(const Column &c) const;
	std::optional<Summary> get(const Test &t, const Column &c) const;

private:
	std::map<std::pair<Test, Column>, std::vector<double>> values_;
	std::vector<Test> order_;
	std::vector<Column> columns_;
};

// Formatted for tables; a dash if there is none.
std::string number(const std::optional<Summary> &s);
