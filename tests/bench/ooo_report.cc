// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// ooo_report RECORDS.tsv FILE.json: writes the measurements of ooo.sh as JSON and, to standard
// output, as tables of medians, with rows for each network with early placement off and on.
#include <format>
#include <fstream>
#include <iostream>

#include "records.h"

namespace {

// A column of a table: one test, or percentiles.
struct Field {
	std::string title;
	std::vector<Test> tests;
};

Test paced(const std::string &name)
{
	return {name, 4096, 1, 1500};
}

Field percentiles(const std::string &title, const std::string &prefix,
		  std::initializer_list<const char *> ranks)
{
	Field f{title, {}};
	for (const char *rank : ranks)
		f.tests.push_back(paced(prefix + "_" + rank));
	return f;
}

void table(const Records &r, const std::vector<Field> &fields)
{
	std::string rule = "| --- | --- |";
	std::cout << "| network | ooo |";
	for (const Field &f : fields) {
		std::cout << ' ' << f.title << " |";
		rule += " --- |";
	}
	std::cout << '\n' << rule << '\n';
	for (const Column &c : r.columns()) {
		std::cout << std::format("| {} | {} |", c.first, c.second);
		for (const Field &f : fields) {
			const char *between = " ";
			for (const Test &t : f.tests) {
				std::cout << between << number(r.get(t, c));
				between = " / ";
			}
			std::cout << " |";
		}
		std::cout << '\n';
	}
}

Json json(const Records &r)
{
	Json all = Json::array();
	for (const Column &c : r.columns()) {
		Json entry = {{"network", c.first}, {"ooo", c.second}};
		for (const Test &t : r.tests())
			if (auto s = r.get(t, c))
				entry[t.name] = s->json();
		all.push_back(entry);
	}
	return all;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3) {
		std::cerr << "usage: ooo_report RECORDS.tsv FILE.json\n";
		return 2;
	}
	try {
		Records r(argv[1]);
		std::ofstream(argv[2]) << json(r).dump(1, '\t') << '\n';
		table(r, {{"Write 64 KiB, MiB/s", {{"write_bw", 65536, 1, 1500}}},
			  {"Send 4 KiB, MiB/s", {{"send_bw", 4096, 1, 1500}}},
			  percentiles("latency p50 / p90 / p99 / p99.9 / max, us", "lat",
				      {"p50", "p90", "p99", "p99.9", "max"}),
			  percentiles("gap closes: p50 / p90 / p99 / max, us", "closing",
				      {"p50", "p90", "p99", "max"})});
		std::cout << '\n';
		table(r, {{"gaps", {paced("gaps")}},
			  percentiles("waiting when one closes: mean / p50 / p99 / max, bytes",
				      "burst", {"mean", "p50", "p99", "max"}),
			  {"still to be copied, mean", {paced("copied")}},
			  {"placed early, % of out-of-order bytes", {paced("early_share")}},
			  {"ooo_placed_fpdus", {paced("ooo_placed_fpdus")}},
			  {"ooo_placed_octets", {paced("ooo_placed_octets")}},
			  {"ooo_delivered_without_copy", {paced("ooo_delivered_without_copy")}},
			  {"ooo_replaced", {paced("ooo_replaced")}}});
		std::cout
			<< "\nLatency, gaps and counters are of Sends of 4 KiB at a fixed pace.\n";
	} catch (const std::exception &e) {
		std::cerr << "ooo_report: " << e.what() << "\n";
		return 2;
	}
}
