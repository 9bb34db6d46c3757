// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// report RECORDS.tsv DIRECTORY: what guest.sh measured, as DIRECTORY/bench.json and data files for
// gnuplot, and as a table of medians on the standard output. A spread is (maximum - minimum) / median.
#include <algorithm>
#include <filesystem>
#include <format>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;

struct Test {
	std::string name;
	unsigned long size, qps, mtu;
	auto operator<=>(const Test &) const = default;
};

// a driver, or one of its variants
using Column = std::pair<std::string, std::string>;

struct Summary {
	double median, low, high;
	size_t runs;
	double spread() const { return median > 0 ? (high - low) / median : 0; }
};

class Records {
public:
	explicit Records(const std::string &file)
	{
		std::ifstream in(file);
		if (!in)
			throw std::runtime_error(file + ": cannot be read");
		for (std::string line; std::getline(in, line);) {
			std::istringstream words(line);
			std::string round, driver, variant, value;
			Test t;
			if (!(words >> round >> driver >> variant >> t.name >> t.size >> t.qps >> t.mtu >> value))
				throw std::runtime_error(file + ": not a record: " + line);
			if (std::ranges::find(order_, t) == order_.end())
				order_.push_back(t);
			std::vector<double> &list = values_[{t, Column{driver, variant}}];
			if (value != "-")
				list.push_back(std::stod(value));
		}
		std::ranges::stable_sort(order_, {}, [](const Test &t) { return std::tuple{t.mtu, t.name, t.qps, t.size}; });
	}

	const std::vector<Test> &tests() const { return order_; }
	std::optional<Summary> get(const Test &t, const Column &c) const
	{
		auto found = values_.find({t, c});
		if (found == values_.end() || found->second.empty())
			return {};
		std::vector<double> v = found->second;
		std::ranges::sort(v);
		size_t n = v.size();
		return Summary{n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2, v.front(), v.back(), n};
	}

private:
	std::map<std::pair<Test, Column>, std::vector<double>> values_;
	std::vector<Test> order_;
};

const Column kwarp{"kwarp", "plain"}, crc{"kwarp", "crc"}, markers{"kwarp", "markers"}, siw{"siw", "plain"},
	rxe{"rxe", "plain"}, tcp{"tcp", "plain"};

bool is_latency(const Test &t)
{
	return t.name.ends_with("_lat");
}

bool less_is_better(const Test &t)
{
	return is_latency(t) || t.name.ends_with("_cost");
}

std::string unit(const Test &t)
{
	return is_latency(t) ? "us" : t.name.ends_with("_cost") ? "instructions" : t.name.ends_with("_rate") ? "k/s" : t.name == "wire" ? "segments/FPDU" : "MiB/s";
}

std::string number(const std::optional<Summary> &s)
{
	if (!s)
		return "–";
	double v = s->median;
	return v >= 1000 ? std::format("{:.0f}", v) : v >= 10 ? std::format("{:.1f}", v) : std::format("{:.3f}", v);
}

// how often better: more, or for latency and cost less
std::string ratio(const Test &t, const std::optional<Summary> &ours, const std::optional<Summary> &theirs)
{
	if (!ours || !theirs || ours->median <= 0 || theirs->median <= 0)
		return "–";
	return std::format("{:.2f}", less_is_better(t) ? theirs->median / ours->median : ours->median / theirs->median);
}

std::optional<Summary> stream(const Records &r, unsigned long mtu)
{
	return r.get({"tcp", 131072, 1, mtu}, tcp);
}

void table(const Records &r)
{
	std::cout << "| test | MTU | kwarp | spread | siw | rxe | TCP | : siw | : rxe | : TCP | CRC | markers |\n"
		  << "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
	for (const Test &t : r.tests()) {
		bool bw = t.name.ends_with("_bw");
		auto ours = r.get(t, kwarp), limit = bw ? stream(r, t.mtu) : std::nullopt;
		if (t.name == "tcp")
			continue;
		std::cout << std::format("| {} {}{}, {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", t.name, t.size,
					 t.qps > 1 ? std::format(" x {} QPs", t.qps) : "", unit(t), t.mtu, number(ours),
					 ours ? std::format("{:.0f} %", ours->spread() * 100) : "–", number(r.get(t, siw)),
					 number(r.get(t, rxe)), number(limit), ratio(t, ours, r.get(t, siw)),
					 ratio(t, ours, r.get(t, rxe)), ratio(t, ours, limit), ratio(t, r.get(t, crc), ours),
					 ratio(t, r.get(t, markers), ours));
	}
	std::cout << "\nColumns CRC and markers: kwarp with them, against kwarp without. A ratio above 1 is better.\n";
}

Json json(const Records &r)
{
	Json list = Json::array();
	for (const Test &t : r.tests()) {
		Json entry = {{"test", t.name}, {"unit", unit(t)}, {"size", t.size}, {"qps", t.qps}, {"mtu", t.mtu}};
		for (const Column &c : {kwarp, crc, markers, siw, rxe, tcp})
			if (auto s = r.get(t, c))
				entry[c.second == "plain" ? c.first : c.first + "_" + c.second] = {
					{"median", s->median}, {"min", s->low}, {"max", s->high}, {"runs", s->runs}};
		list.push_back(entry);
	}
	return {{"measurements", list}};
}

// a file for gnuplot: x, and a column for each driver
void data(const Records &r, const std::filesystem::path &file, auto &&wanted, auto &&x)
{
	std::ofstream out(file);
	out << "x kwarp siw rxe\n";
	for (const Test &t : r.tests()) {
		if (t.mtu != 1500 || !wanted(t))
			continue;
		out << x(t);
		for (const Column &c : {kwarp, siw, rxe}) {
			auto s = r.get(t, c);
			out << ' ' << (s ? std::to_string(s->median) : "nan");
		}
		out << '\n';
	}
}

void plots(const Records &r, const std::filesystem::path &dir)
{
	auto verb = [](const Test &t) { return t.name.substr(0, t.name.find('_')); };
	for (std::string name : {"write_bw", "read_bw", "send_bw"})
		data(r, dir / (name + ".dat"), [&](const Test &t) { return t.name == name && t.qps == 1; },
		     [](const Test &t) { return t.size; });
	data(r, dir / "qps.dat", [](const Test &t) { return t.name == "write_bw" && t.size == 65536; },
	     [](const Test &t) { return t.qps; });
	data(r, dir / "rate.dat", [](const Test &t) { return t.name.ends_with("_rate"); }, verb);
	data(r, dir / "latency.dat", [](const Test &t) { return is_latency(t) && t.size == 64; }, verb);
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::cerr << "usage: report RECORDS.tsv DIRECTORY\n";
		return 2;
	}
	try {
		Records records(argv[1]);
		std::filesystem::path dir = argv[2];
		std::ofstream(dir / "bench.json") << json(records).dump(1, '\t') << '\n';
		plots(records, dir);
		table(records);
	} catch (const std::exception &e) {
		std::cerr << "report: " << e.what() << "\n";
		return 2;
	}
}
