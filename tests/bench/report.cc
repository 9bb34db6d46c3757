// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// report RECORDS.tsv DIRECTORY: writes the measurements of guest.sh as DIRECTORY/bench.json, the
// tables of performance.rst as DIRECTORY/figures.csv and goals.csv, the figures of README's picture
// as DIRECTORY/picture.csv, and tables on standard output.
//
// report RECORDS.tsv settled TEST SIZE QPS MTU COLUMN...: exits with 0 if the ratios of these
// columns are known well enough, with 1 if more rounds are needed.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <format>
#include <fstream>
#include <iostream>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "records.h"

namespace {

const Column kwarp{"kwarp", "plain"}, crc{"kwarp", "crc"}, markers{"kwarp", "markers"},
	late{"kwarp", "late"}, early{"kwarp", "early"}, one{"kwarp", "one"}, siw{"siw", "plain"},
	rxe{"rxe", "plain"}, tcp{"tcp", "plain"}, kernel{"kernel", "plain"},
	over_sctp{"kwarp", "sctp"}, sctp{"sctp", "plain"}, rps{"kwarp", "rps"},
	tcp_rps{"tcp", "rps"}, load{"kwarp", "load"}, tcp_load{"tcp", "load"},
	napi{"kwarp", "napi"}, poll{"kwarp", "poll"};

// Two columns that are compared.
struct Pair {
	Column a, b;
};

const std::vector<Pair> pairs{
	{kwarp, siw},  {kwarp, rxe},	   {kwarp, tcp},      {crc, kwarp}, {markers, kwarp},
	{early, late}, {over_sctp, kwarp}, {over_sctp, sctp}, {kwarp, one}, {rps, tcp_rps},
	{rps, kwarp},  {load, tcp_load},   {load, kwarp},     {poll, siw},  {poll, napi}};

// The columns of the tables for readers; kwarp is the first.
const std::vector<std::pair<std::string, Column>> drivers{
	{"kwarp", kwarp}, {"siw", siw}, {"rxe", rxe}, {"TCP", tcp}};

// Half the interval of a ratio, as a fraction of it: a row with more is not to be trusted, and
// with at most the other it needs no more rounds.
constexpr double wide = 0.1, narrow = 0.04;

bool is_latency(const Test &t)
{
	return t.name.ends_with("_lat");
}

bool is_time(const Test &t)
{
	return is_latency(t) || t.name.ends_with("_bw") ||
	       (t.name.ends_with("_rate") && !t.name.starts_with("many"));
}

std::string unit(const Test &t)
{
	if (is_latency(t))
		return "µs";
	if (t.name.ends_with("_cost"))
		return "instructions";
	if (t.name == "connect_rate" || t.name.starts_with("many"))
		return t.name.ends_with("_rate") ? "1/s" : "bytes";
	if (t.name.ends_with("_rate"))
		return "1000/s";
	return t.name.starts_with("wire") ? "segments/FPDU" :
	       t.name == "idle_qp"	  ? "bytes" :
					    "MiB/s";
}

std::string title(const Test &t)
{
	const char *many = t.name.ends_with("connect_rate") ? ", {} in progress" : " x {} QPs";
	return std::format("{} {}{}", t.name, t.size,
			   t.qps > 1 ? std::vformat(many, std::make_format_args(t.qps)) : "");
}

// why a ratio is not to be trusted; empty if there is no reason
std::string doubt(const Records &r, const Test &t, const Ratio &ratio)
{
	if (!is_time(t))
		return "";
	if (ratio.rounds < 5)
		return "few rounds";
	if (ratio.spread() > wide)
		return "spread";
	auto pace = r.pace(t);
	return pace && pace->median > slow_machine ? "machine" : "";
}

void table(const Records &r)
{
	std::cout << "| test | MTU | A | | B | | A : B | interval | rounds | doubt |\n"
		     "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
	for (const Test &t : r.tests())
		for (const auto &[a, b] : pairs)
			if (auto ratio = r.ratio(t, a, b))
				std::cout << std::format(
					"| {}, {} | {} | {} | {} | {} | {} | {:.2f} | {:.2f} to "
					"{:.2f} | {} | {} |\n",
					title(t), unit(t), t.mtu, name_of(a), number(r.get(t, a)),
					name_of(b), number(r.get(t, b)), ratio->median, ratio->low,
					ratio->high, ratio->rounds, doubt(r, t, *ratio));
}

// measurements that are not compared
void singles(const Records &r)
{
	for (const Test &t : r.tests())
		for (const Column &c : r.columns())
			if ((!is_time(t) || c == kernel) && !t.name.ends_with("_cost") &&
			    r.get(t, c))
				std::cout << std::format("| {}, {} | {} | {} | {} |\n", title(t),
							 unit(t), t.mtu, name_of(c),
							 number(r.get(t, c)));
}

void about_machine(const Records &r)
{
	auto disturbed = r.disturbed();
	if (!disturbed)
		return;
	std::cout << std::format(
		"\nAt {:.0f} % of the measurements the machine was more than {:.0f} % slower "
		"than at its best{}.\n",
		*disturbed * 100, (slow_machine - 1) * 100,
		*disturbed > 0.1 ? ": it was not quiet, so only ratios mean something" : "");
}

// ---- goals ----

struct Goal {
	std::string text;
	std::optional<double> value;
	double wanted;
	bool at_most;
	std::string doubt;

	bool met() const { return at_most ? *value <= wanted : *value >= wanted; }
	std::string limit() const { return std::format("{} {}", at_most ? "<=" : ">=", wanted); }
	std::string found() const { return value ? std::format("{:.3g}", *value) : "–"; }
	const char *verdict() const { return !value ? "not measured" : met() ? "met" : "missed"; }
};

// The goal for the ratio of two columns.
Goal goal_of(const Records &r, std::string text, const Test &t, const Pair &pair, double wanted,
	     bool at_most = false)
{
	auto ratio = r.ratio(t, pair.a, pair.b);
	if (!ratio)
		return {std::move(text), {}, wanted, at_most, ""};
	return {std::move(text), ratio->median, wanted, at_most, doubt(r, t, *ratio)};
}

std::vector<Goal> time_goals(const Records &r)
{
	const Test write{"write_bw", 65536, 1, 1500}, read{"read_bw", 65536, 1, 1500},
		send{"send_bw", 65536, 1, 1500}, send_4k{"send_bw", 4096, 1, 1500},
		rate{"send_rate", 64, 1, 1500}, jumbo{"write_bw", 65536, 1, 9000};
	auto large = [](const char *name) { return Test{name, 1048576, 1, 1500}; };
	auto both = [](const char *name) { return Test{name, 65536, 1, 1500}; };
	auto many = [](unsigned long n) { return Test{"write_bw", 65536, n, 1500}; };
	auto lat = [](const char *name) { return Test{name, 64, 1, 1500}; };
	std::vector<Goal> list;
	auto add = [&](std::string text, const Test &t, const Pair &pair, double wanted,
		       bool at_most = false) {
		list.push_back(goal_of(r, std::move(text), t, pair, wanted, at_most));
	};
	add("Write 64 KiB : TCP", write, {kwarp, tcp}, 1.2);
	add("Read 64 KiB : TCP", read, {kwarp, tcp}, 1.2);
	add("Send 64 KiB : TCP", send, {kwarp, tcp}, 1.2);
	add("Write 1 MiB : TCP", large("write_bw"), {kwarp, tcp}, 1.2);
	add("Read 1 MiB : TCP", large("read_bw"), {kwarp, tcp}, 1.2);
	add("Send 1 MiB : TCP", large("send_bw"), {kwarp, tcp}, 1.2);
	add("Write 64 KiB, both directions : TCP", both("write_both_bw"), {kwarp, tcp}, 1.2);
	add("Read 64 KiB, both directions : TCP", both("read_both_bw"), {kwarp, tcp}, 1.2);
	add("Send 64 KiB, both directions : TCP", both("send_both_bw"), {kwarp, tcp}, 1.2);
	add("Send 4 KiB : TCP", send_4k, {kwarp, tcp}, 0.7);
	add("MTU 9000, Write 64 KiB : TCP", jumbo, {kwarp, tcp}, 0.8);
	add("Write 64 KiB : siw", write, {kwarp, siw}, 10);
	add("Read 64 KiB : siw", read, {kwarp, siw}, 15);
	add("Send 4 KiB : siw", send_4k, {kwarp, siw}, 10);
	add("Send 64 bytes, rate : siw", rate, {kwarp, siw}, 5);
	add("MTU 9000, Write 64 KiB : siw", jumbo, {kwarp, siw}, 3);
	add("Send 64 bytes, latency : siw", lat("send_lat"), {kwarp, siw}, 0.9, true);
	add("Read 64 bytes, latency : siw", lat("read_lat"), {kwarp, siw}, 0.9, true);
	for (const auto &[verb, test] :
	     {std::pair{"Send", "send_lat"}, std::pair{"Write", "write_lat"},
	      std::pair{"Read", "read_lat"}})
		add(std::format("{} 64 bytes, latency with poll_us : siw", verb), lat(test),
		    {poll, siw}, 0.6, true);
	add("Write 64 KiB, 16 QPs : 1 QP of the same depth", many(16), {kwarp, one}, 1);
	add("Write 64 KiB, 256 QPs : 1 QP of the same depth", many(256), {kwarp, one}, 1);
	add("Write 64 KiB, 4 connections, a thread for each : 1", {"together_bw", 65536, 4, 1500},
	    {kwarp, one}, 1.5);
	for (unsigned long flight : {1, 8, 32})
		add(std::format("connections, {} in progress : siw", flight),
		    {"connect_rate", 250, flight, 1500}, {kwarp, siw}, 1.5);
	add("Write 64 KiB, markers : without", write, {markers, kwarp}, 0.9);
	add("Write 64 KiB, CRC : without", write, {crc, kwarp}, 0.6);
	add("Write 64 KiB, early placement : without", write, {early, late}, 0.97);
	add("Send 4 KiB, early placement : without", send_4k, {early, late}, 0.97);
	add("SCTP, Write 64 KiB : iperf3 --sctp", write, {over_sctp, sctp}, 0.9);
	add("SCTP, MTU 9000, Write 64 KiB : iperf3 --sctp", jumbo, {over_sctp, sctp}, 0.9);
	add("SCTP, Send 64 bytes, latency : over TCP", lat("send_lat"), {over_sctp, kwarp}, 1.5,
	    true);

	std::optional<double> segments;
	for (const Test &t : r.tests())
		if (auto s = r.get(t, kwarp); s && t.name.starts_with("wire"))
			segments = std::max(segments.value_or(0), std::abs(s->median - 1));
	list.push_back({"segments for an FPDU, distance from 1", segments, 0.01, true, ""});
	auto memory = r.get({"idle_qp", 0, 1, 1500}, kwarp);
	list.push_back({"idle QP, KiB",
			memory ? std::optional(memory->median / 1024) : std::nullopt, 16, true,
			""});
	return list;
}

// The paths of cost-guest.sh: at least 0.8 of the rate of TCP, if only instructions take time.
std::vector<Goal> cost_goals(const Records &r)
{
	std::vector<Goal> list;
	for (const char *path : {"direct", "esp", "wireguard", "vlan", "mtu1492"}) {
		const auto name = std::format("write_{}_cost", path);
		const auto found = std::ranges::find(r.tests(), name, &Test::name);
		list.push_back(goal_of(
			r, std::format("Write 64 KiB, path {}, instructions : TCP", path),
			found == r.tests().end() ? Test{} : *found, {kwarp, tcp}, 1.25, true));
	}
	return list;
}

bool has_times(const Records &r)
{
	return std::ranges::any_of(r.tests(), is_time);
}

std::vector<Goal> goals(const Records &r)
{
	return has_times(r) ? time_goals(r) : cost_goals(r);
}

void print_goals(const Records &r)
{
	std::cout << "\n| goal | wanted | found | | doubt |\n| --- | --- | --- | --- | --- |\n";
	for (const Goal &g : goals(r))
		std::cout << std::format("| {} | {} | {} | {} | {} |\n", g.text, g.limit(),
					 g.found(), g.verdict(), g.doubt);
}

// ---- files ----

Json json_goals(const Records &r)
{
	Json list = Json::array();
	for (const Goal &g : goals(r)) {
		Json entry = {{"goal", g.text}, {g.at_most ? "at_most" : "at_least", g.wanted}};
		if (g.value) {
			entry["value"] = *g.value;
			entry["met"] = g.met();
		}
		if (!g.doubt.empty())
			entry["doubt"] = g.doubt;
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
		for (const Column &c : r.columns())
			if (auto s = r.get(t, c))
				entry[name_of(c)] = s->json();
		Json ratios = Json::array();
		for (const auto &[a, b] : pairs)
			if (auto ratio = r.ratio(t, a, b))
				ratios.push_back({{"of", name_of(a)},
						  {"to", name_of(b)},
						  {"median", ratio->median},
						  {"low", ratio->low},
						  {"high", ratio->high},
						  {"rounds", ratio->rounds},
						  {"doubt", doubt(r, t, *ratio)}});
		entry["ratios"] = ratios;
		list.push_back(entry);
	}
	Json all = {{"measurements", list}, {"goals", json_goals(r)}};
	if (auto disturbed = r.disturbed())
		all["disturbed"] = *disturbed;
	return all;
}

// "20.1 ±3 %": a ratio, and half its interval if there were enough rounds to know it
std::string with_spread(const std::optional<Ratio> &ratio)
{
	if (!ratio)
		return "";
	return std::format("{:.2f}", ratio->median) +
	       (ratio->rounds < 5 ? "" : std::format(" ±{:.0f} %", ratio->spread() * 100));
}

// The drivers beside each other, in the tests in which kwarp and another one have a value.
void figures_csv(const Records &r, const std::filesystem::path &file)
{
	const auto others = std::views::drop(drivers, 1);
	std::ofstream out(file);
	out << "test,unit,MTU";
	for (const auto &[name, column] : drivers)
		out << ',' << name;
	for (const auto &[name, column] : others)
		out << ",kwarp : " << name;
	out << '\n';
	for (const Test &t : r.tests()) {
		if (std::ranges::none_of(others, [&](const auto &other) {
			    return r.ratio(t, kwarp, other.second).has_value();
		    }))
			continue;
		out << '"' << title(t) << "\"," << unit(t) << ',' << t.mtu;
		for (const auto &[name, column] : drivers)
			out << ',' << number(r.get(t, column));
		for (const auto &[name, column] : others)
			out << ',' << with_spread(r.ratio(t, kwarp, column));
		out << '\n';
	}
}

void goals_csv(const Records &r, const std::filesystem::path &file)
{
	std::ofstream out(file);
	out << "goal,wanted,found,,doubt\n";
	for (const Goal &g : goals(r))
		out << std::format("\"{}\",{},{},{},{}\n", g.text, g.limit(), g.found(),
				   g.verdict(), g.doubt);
}

// The figures of README's picture: rate of Writes and latency of Sends by size, for each driver and
// TCP. Not written if either was not measured.
void picture(const Records &r, const std::filesystem::path &file)
{
	std::set<unsigned long> sizes;
	for (const Test &t : r.tests())
		if (t.qps == 1 && t.mtu == 1500 && (t.name == "write_bw" || t.name == "send_lat"))
			sizes.insert(t.size);
	auto rate = [&](unsigned long size, const Column &c) {
		return r.get({"write_bw", size, 1, 1500}, c);
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
		for (const auto &[name, column] : drivers)
			out << ',' << name << ' ' << unit;
	auto cell = [&](const std::optional<Summary> &s) { out << ',' << (s ? number(s) : ""); };
	for (unsigned long size : sizes) {
		out << '\n' << size;
		for (const auto &[name, column] : drivers)
			cell(rate(size, column));
		for (const auto &[name, column] : drivers)
			cell(latency(size, column));
	}
	out << '\n';
}

// ---- settled ----

// True if the ratios of all pairs of the columns are known, or will never be: a column without a
// value gives no ratio.
bool settled(const Records &r, const Test &t, const std::set<std::string> &columns)
{
	return std::ranges::all_of(pairs, [&](const Pair &pair) {
		if (!columns.contains(name_of(pair.a)) || !columns.contains(name_of(pair.b)))
			return true;
		auto ratio = r.ratio(t, pair.a, pair.b);
		return !ratio || ratio->spread() <= narrow;
	});
}

int run(const std::vector<std::string> &args)
{
	Records records(args.at(0));
	if (args.at(1) == "settled") {
		const Test t{args.at(2), std::stoul(args.at(3)), std::stoul(args.at(4)),
			     std::stoul(args.at(5))};
		return settled(records, t, {args.begin() + 6, args.end()}) ? 0 : 1;
	}
	std::filesystem::path dir = args.at(1);
	std::ofstream(dir / "bench.json") << json(records).dump(1, '\t') << '\n';
	figures_csv(records, dir / "figures.csv");
	goals_csv(records, dir / "goals.csv");
	picture(records, dir / "picture.csv");
	table(records);
	if (has_times(records)) {
		std::cout << '\n';
		singles(records);
	}
	print_goals(records);
	about_machine(records);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		return run({argv + 1, argv + argc});
	} catch (const std::out_of_range &) {
		std::cerr << "usage: report RECORDS.tsv DIRECTORY\n"
			     "       report RECORDS.tsv settled TEST SIZE QPS MTU COLUMN...\n";
	} catch (const std::exception &e) {
		std::cerr << "report: " << e.what() << "\n";
	}
	return 2;
}
