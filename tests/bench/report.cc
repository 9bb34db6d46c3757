// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// report RECORDS.tsv DIRECTORY: writes the measurements of guest.sh as DIRECTORY/bench.json and
// data files for gnuplot, README's table as DIRECTORY/readme.md, the figures of README's picture as
// DIRECTORY/picture.csv, and a table of medians on standard output.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <format>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "records.h"

namespace {

const Column kwarp{"kwarp", "plain"}, crc{"kwarp", "crc"}, markers{"kwarp", "markers"},
	siw{"siw", "plain"}, rxe{"rxe", "plain"}, tcp{"tcp", "plain"}, kernel{"kernel", "plain"},
	over_sctp{"kwarp", "sctp"}, sctp{"sctp", "plain"};

bool is_latency(const Test &t)
{
	return t.name.ends_with("_lat");
}

bool less_is_better(const Test &t)
{
	return is_latency(t) || t.name.ends_with("_cost") || t.name == "idle_qp";
}

std::string unit(const Test &t)
{
	if (is_latency(t))
		return "us";
	if (t.name.ends_with("_cost"))
		return "instructions";
	if (t.name.ends_with("_rate"))
		return "k/s";
	return t.name.starts_with("wire") ? "segments/FPDU" :
	       t.name == "idle_qp"	  ? "bytes" :
					    "MiB/s";
}

// factor of improvement: the ratio, or its inverse for latency and cost
std::string ratio(const Test &t, const std::optional<Summary> &ours,
		  const std::optional<Summary> &theirs)
{
	if (!ours || !theirs || ours->median <= 0 || theirs->median <= 0)
		return "–";
	return std::format("{:.2f}", less_is_better(t) ? theirs->median / ours->median :
							 ours->median / theirs->median);
}

std::optional<Summary> stream(const Records &r, unsigned long mtu)
{
	return r.get({"tcp", 131072, 1, mtu}, tcp);
}

void table(const Records &r)
{
	std::cout << "| test | MTU | kwarp | spread | siw | rxe | TCP | : siw | : rxe | : TCP | "
		     "CRC | markers |\n"
		  << "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
	for (const Test &t : r.tests()) {
		bool bw = t.name.ends_with("_bw");
		auto ours = r.get(t, kwarp), limit = bw ? stream(r, t.mtu) : std::nullopt;
		if (t.name == "tcp" || t.name == "sctp" || t.name == "crc32c")
			continue;
		std::cout << std::format(
			"| {} {}{}, {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
			t.name, t.size, t.qps > 1 ? std::format(" x {} QPs", t.qps) : "", unit(t),
			t.mtu, number(ours),
			ours ? std::format("{:.0f} %", ours->spread() * 100) : "–",
			number(r.get(t, siw)), number(r.get(t, rxe)), number(limit),
			ratio(t, ours, r.get(t, siw)), ratio(t, ours, r.get(t, rxe)),
			ratio(t, ours, limit), ratio(t, r.get(t, crc), ours),
			ratio(t, r.get(t, markers), ours));
	}
	std::cout << "\nColumns CRC and markers: kwarp with them, against kwarp without. A ratio "
		     "above 1 is better.\n";
}

std::optional<Summary> sctp_stream(const Records &r, unsigned long mtu)
{
	return r.get({"sctp", 65536, 1, mtu}, sctp);
}

// kwarp over SCTP, compared with kwarp over TCP and with SCTP without RDMA.
void sctp_table(const Records &r)
{
	std::cout
		<< "\n| over SCTP | MTU | kwarp | spread | over TCP | iperf3 | : TCP | : iperf3 |\n"
		   "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
	for (const Test &t : r.tests()) {
		const bool stream = t.name.ends_with("_bw") && t.size >= 65536;
		auto ours = r.get(t, over_sctp), plain = r.get(t, kwarp),
		     limit = stream ? sctp_stream(r, t.mtu) : std::nullopt;
		if (!ours)
			continue;
		std::cout << std::format("| {} {}, {} | {} | {} | {:.0f} % | {} | {} | {} | {} |\n",
					 t.name, t.size, unit(t), t.mtu, number(ours),
					 ours->spread() * 100, number(plain), number(limit),
					 ratio(t, ours, plain), ratio(t, ours, limit));
	}
}

// The table of README.md with its heading.
void readme(const Records &r, const std::filesystem::path &file)
{
	const std::vector<std::pair<const char *, Test>> rows{
		{"ib_write_bw 64 KiB, MiB/s", {"write_bw", 65536, 1, 1500}},
		{"ib_read_bw 64 KiB, MiB/s", {"read_bw", 65536, 1, 1500}},
		{"ib_send_bw 64 KiB, MiB/s", {"send_bw", 65536, 1, 1500}},
		{"ib_send_bw 4 KiB, MiB/s", {"send_bw", 4096, 1, 1500}},
		{"ib_send_bw 64 B, 1000 messages/s", {"send_rate", 64, 1, 1500}},
		{"ib_send_lat 64 B, typical, µs", {"send_lat", 64, 1, 1500}},
		{"ib_read_lat 64 B, typical, µs", {"read_lat", 64, 1, 1500}},
		{"ib_write_bw 64 KiB, 256 QPs, MiB/s", {"write_bw", 65536, 256, 1500}},
		{"ib_write_bw 64 KiB, MTU 9000, MiB/s", {"write_bw", 65536, 1, 9000}}};
	std::ofstream out(file);
	out << "| | kwarp | siw | rxe | TCP | kwarp : siw | kwarp : rxe | kwarp : TCP |\n"
	    << "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
	for (const auto &[title, t] : rows) {
		auto ours = r.get(t, kwarp),
		     limit = t.name.ends_with("_bw") ? stream(r, t.mtu) : std::nullopt;
		out << std::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", title,
				   number(ours), number(r.get(t, siw)), number(r.get(t, rxe)),
				   number(limit), ratio(t, ours, r.get(t, siw)),
				   ratio(t, ours, r.get(t, rxe)), ratio(t, ours, limit));
	}
}

// ---- goals: ratios of medians ----

struct Goal {
	std::string text;
	std::optional<double> value;
	double wanted;
	bool at_most;

	bool met() const { return at_most ? *value <= wanted : *value >= wanted; }
};

std::optional<double> quotient(const std::optional<Summary> &a, const std::optional<Summary> &b)
{
	if (!a || !b || b->median <= 0)
		return {};
	return a->median / b->median;
}

// The measured rate with CRC, as a fraction of the possible rate, at which each byte takes the time
// that it takes without CRC, plus one pass of crc32c() on each side. On a veth pair one processor
// makes both passes, because the receiver runs in the sender's softirq.
std::optional<double> crc_share(const Records &r, const Test &t)
{
	auto with = r.get(t, crc), without = r.get(t, kwarp),
	     pass = r.get({"crc32c", 1444, 1, 1500}, kernel);
	if (!with || !without || !pass)
		return {};
	return with->median * (1 / without->median + 2 / pass->median);
}

std::vector<Goal> goals(const Records &r)
{
	const Test write{"write_bw", 65536, 1, 1500}, read{"read_bw", 65536, 1, 1500},
		send{"send_bw", 4096, 1, 1500}, rate{"send_rate", 64, 1, 1500},
		lat{"send_lat", 64, 1, 1500}, jumbo{"write_bw", 65536, 1, 9000},
		many{"write_bw", 65536, 256, 1500}, few{"write_t16_bw", 65536, 1, 1500},
		idle{"idle_qp", 0, 1, 1500};
	auto against = [&](const Test &t, const Column &c) {
		return quotient(r.get(t, kwarp), r.get(t, c));
	};
	auto of_tcp = [&](const Test &t) { return quotient(r.get(t, kwarp), stream(r, t.mtu)); };
	auto of_sctp = [&](const Test &t) {
		return quotient(r.get(t, over_sctp), sctp_stream(r, t.mtu));
	};
	auto value = [&](const Test &t) -> std::optional<double> {
		auto s = r.get(t, kwarp);
		return s ? std::optional(s->median) : std::nullopt;
	};
	std::optional<double> segments;
	for (const Test &t : r.tests())
		if (auto found = t.name.starts_with("wire") ? value(t) : std::nullopt)
			segments = std::max(segments.value_or(0), std::abs(*found - 1));
	auto memory = value(idle);
	if (memory)
		memory = *memory / 1024;
	return {{"Write 64 KiB : siw", against(write, siw), 10, false},
		{"Write 64 KiB : TCP", of_tcp(write), 0.7, false},
		{"Read 64 KiB : siw", against(read, siw), 15, false},
		{"Send 4 KiB : siw", against(send, siw), 10, false},
		{"Send 64 bytes, rate : siw", against(rate, siw), 5, false},
		{"Send 64 bytes, latency : siw", against(lat, siw), 0.8, true},
		{"MTU 9000, Write 64 KiB : siw", against(jumbo, siw), 3, false},
		{"MTU 9000, Write 64 KiB : TCP", of_tcp(jumbo), 0.8, false},
		{"Write 64 KiB, markers : without",
		 quotient(r.get(write, markers), r.get(write, kwarp)), 0.8, false},
		{"Write 64 KiB, CRC : what a pass on each side leaves", crc_share(r, write), 0.9,
		 false},
		{"Write 64 KiB, 256 QPs : 1 QP, each with 16 in flight",
		 quotient(r.get(many, kwarp), r.get(few, kwarp)), 0.9, false},
		{"Write 64 KiB, 256 QPs with 16 in flight : 1 QP with 128",
		 quotient(r.get(many, kwarp), r.get(write, kwarp)), 0.9, false},
		{"SCTP, Write 64 KiB : iperf3 --sctp", of_sctp(write), 0.9, false},
		{"SCTP, MTU 9000, Write 64 KiB : iperf3 --sctp", of_sctp(jumbo), 0.9, false},
		{"SCTP, Send 64 bytes, latency : over TCP",
		 quotient(r.get(lat, over_sctp), r.get(lat, kwarp)), 1.5, true},
		{"idle QP, KiB", memory, 16, true},
		{"segments for an FPDU, distance from 1", segments, 0.01, true}};
}

void print_goals(const Records &r)
{
	std::cout << "\n| goal | wanted | found | |\n| --- | --- | --- | --- |\n";
	for (const Goal &g : goals(r))
		std::cout << std::format("| {} | {} {} | {} | {} |\n", g.text,
					 g.at_most ? "<=" : ">=", g.wanted,
					 g.value ? std::format("{:.3g}", *g.value) : "–",
					 g.value ? g.met() ? "met" : "missed" : "not measured");
}

Json json_goals(const Records &r)
{
	Json list = Json::array();
	for (const Goal &g : goals(r)) {
		Json entry = {{"goal", g.text}, {g.at_most ? "at_most" : "at_least", g.wanted}};
		if (g.value) {
			entry["value"] = *g.value;
			entry["met"] = g.met();
		}
		list.push_back(entry);
	}
	return list;
}

Json json(const Records &r)
{
	Json list = Json::array();
	for (const Test &t : r.tests()) {
		Json entry = {{"test", t.name},
			      {"unit", unit(t)},
			      {"size", t.size},
			      {"qps", t.qps},
			      {"mtu", t.mtu}};
		for (const Column &c :
		     {kwarp, crc, markers, over_sctp, siw, rxe, tcp, sctp, kernel})
			if (auto s = r.get(t, c))
				entry[c.second == "plain" ? c.first : c.first + "_" + c.second] =
					s->json();
		list.push_back(entry);
	}
	return {{"measurements", list}, {"goals", json_goals(r)}};
}

// A data file for gnuplot: x, and a column for each driver that has any measurement.
void data(const Records &r, const std::filesystem::path &file, auto &&wanted, auto &&x)
{
	std::vector<Test> rows;
	std::ranges::copy_if(r.tests(), std::back_inserter(rows),
			     [&](const Test &t) { return t.mtu == 1500 && wanted(t); });
	std::vector<Column> columns{kwarp, siw, rxe};
	auto measured = [&](const Test &t, const Column &c) { return r.get(t, c).has_value(); };
	std::erase_if(columns, [&](const Column &c) {
		return std::ranges::none_of(rows, [&](const Test &t) { return measured(t, c); });
	});
	std::ofstream out(file);
	out << 'x';
	for (const Column &c : columns)
		out << ' ' << c.first;
	out << '\n';
	for (const Test &t : rows) {
		if (std::ranges::none_of(columns, [&](const Column &c) { return measured(t, c); }))
			continue;
		out << x(t);
		for (const Column &c : columns) {
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
		data(
			r, dir / (name + ".dat"),
			[&](const Test &t) { return t.name == name && t.qps == 1; },
			[](const Test &t) { return t.size; });
	data(
		r, dir / "qps.dat",
		[](const Test &t) { return t.name == "write_bw" && t.size == 65536; },
		[](const Test &t) { return t.qps; });
	data(r, dir / "rate.dat", [](const Test &t) { return t.name.ends_with("_rate"); }, verb);
	data(
		r, dir / "latency.dat", [](const Test &t) { return is_latency(t) && t.size == 64; },
		verb);
}

// The figures of README's picture: rate of Writes and latency of Sends by size, for each driver and
// TCP. Not written if either was not measured.
void picture(const Records &r, const std::filesystem::path &file)
{
	const std::vector<std::pair<std::string, Column>> columns{
		{"kwarp", kwarp}, {"siw", siw}, {"rxe", rxe}, {"TCP", tcp}};
	std::set<unsigned long> sizes;
	for (const Test &t : r.tests())
		if (t.qps == 1 && t.mtu == 1500 && (t.name == "write_bw" || t.name == "send_lat"))
			sizes.insert(t.size);
	auto rate = [&](unsigned long size, const Column &c) {
		return r.get({c == tcp ? "tcp" : "write_bw", size, 1, 1500}, c);
	};
	auto latency = [&](unsigned long size, const Column &c) {
		return r.get({"send_lat", size, 1, 1500}, c);
	};
	auto measured = [&](auto &&figure) {
		return std::ranges::any_of(sizes, [&](auto size) {
			return figure(size, kwarp).has_value();
		});
	};
	if (!measured(rate) || !measured(latency))
		return;
	std::ofstream out(file);
	out << "bytes";
	for (const char *unit : {"MiB/s", "µs"})
		for (const auto &[name, column] : columns)
			out << ',' << name << ' ' << unit;
	auto cell = [&](const std::optional<Summary> &s) { out << ',' << (s ? number(s) : ""); };
	for (unsigned long size : sizes) {
		out << '\n' << size;
		for (const auto &[name, column] : columns)
			cell(rate(size, column));
		for (const auto &[name, column] : columns)
			cell(latency(size, column));
	}
	out << '\n';
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
		picture(records, dir / "picture.csv");
		table(records);
		if (records.has(over_sctp))
			sctp_table(records);
		// Counted instructions have no goals and are not in README.
		if (records.has(tcp)) {
			print_goals(records);
			readme(records, dir / "readme.md");
		}
	} catch (const std::exception &e) {
		std::cerr << "report: " << e.what() << "\n";
		return 2;
	}
}
