// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cli.h"

#include "error.h"
#include "output.h"
#include "policy.h"
#include "sysfs.h"

#include <algorithm>
#include <array>
#include <deque>
#include <format>
#include <string_view>
#include <system_error>

#ifndef KWARP_VERSION
#define KWARP_VERSION "unknown"
#endif

namespace kwarpctl {
namespace {

struct Options {
	Form form = Form::text;
	std::string sysfs = "/sys";
	bool help = false;
	bool version = false;
};

using Words = std::deque<std::string>;

std::string usage()
{
	return "Usage: kwarpctl [OPTIONS] policy [show [DEV]]\n"
	       "       kwarpctl [OPTIONS] policy set DEV KEY VALUE [KEY VALUE]...\n"
	       "       kwarpctl [OPTIONS] stats [show [DEV]]\n"
	       "       kwarpctl [OPTIONS] help\n"
	       "OPTIONS := { -j | --json | -o | --oneline | -V | --version | -h | --help |\n"
	       "             --sysfs DIR }\n"
	       "KEY VALUE :=\n" +
	       policy_help();
}

[[noreturn]] void misuse(const std::string &what)
{
	throw Error(usage_error, what + "; try 'kwarpctl help'");
}

std::string take(Words &words, std::string_view what)
{
	if (words.empty())
		misuse(std::format("{} is missing", what));
	std::string word = words.front();
	words.pop_front();
	return word;
}

void expect_end(const Words &words)
{
	if (!words.empty())
		misuse(std::format("'{}' is one word too many", words.front()));
}

// Like iproute2, accepts any prefix of a name; the first match in the list wins.
template <std::size_t N>
std::string_view match(const std::string &word, const std::array<std::string_view, N> &names,
		       std::string_view what)
{
	auto found = std::ranges::find_if(names, [&](std::string_view name) {
		return !word.empty() && name.starts_with(word);
	});
	if (found == names.end())
		misuse(std::format("'{}' is not {}", word, what));
	return *found;
}

Options parse_options(Words &words)
{
	Options options;
	while (!words.empty() && words.front().starts_with('-')) {
		std::string word = take(words, "");
		if (word == "-j" || word == "--json")
			options.form = Form::json;
		else if (word == "-o" || word == "--oneline")
			options.form = Form::oneline;
		else if (word == "-V" || word == "--version")
			options.version = true;
		else if (word == "-h" || word == "--help")
			options.help = true;
		else if (word == "--sysfs")
			options.sysfs = take(words, "the folder of --sysfs");
		else
			misuse(std::format("'{}' is not an option", word));
	}
	return options;
}

// The device named by the next word, or all of them.
std::vector<std::string> pick_devices(const Sysfs &sysfs, Words &words)
{
	if (words.empty())
		return sysfs.devices();
	std::string device = take(words, "DEV");
	expect_end(words);
	sysfs.require_device(device);
	return {device};
}

Record stats_of(const Sysfs &sysfs, const std::string &device)
{
	Record record{device, {{"port", std::uint64_t{1}}}};
	auto dir = sysfs.counters_dir(device);
	for (const std::string &name : attribute_names(dir))
		if (name != "lifespan") // the core's caching time, not a counter
			record.attributes.emplace_back(name,
						       parse_value(read_attribute(dir / name)));
	return record;
}

// A device that is removed while all of them are listed is not an error.
template <typename Read>
std::string show(const Sysfs &sysfs, Words &words, Form form, Read read)
{
	bool named = !words.empty();
	std::vector<Record> records;
	for (const std::string &device : pick_devices(sysfs, words)) {
		try {
			records.push_back(read(sysfs, device));
		} catch (const std::system_error &error) {
			if (named)
				throw Error(failure, error.what());
		}
	}
	return format(records, form);
}

void set(const Sysfs &sysfs, Words &words)
{
	std::string device = take(words, "DEV");
	sysfs.require_device(device);
	do {
		std::string key = take(words, "KEY");
		std::string value = take(words, std::format("the VALUE of {}", key));
		set_policy(sysfs, device, key, value);
	} while (!words.empty());
}

std::string do_policy(const Sysfs &sysfs, Words &words, Form form)
{
	constexpr std::array<std::string_view, 3> commands{"show", "set", "help"};
	auto command = words.empty() ? "show" :
				       match(take(words, ""), commands, "a policy command");
	if (command == "help")
		return usage();
	if (command == "set") {
		set(sysfs, words);
		return {};
	}
	return show(sysfs, words, form, policy_of);
}

std::string do_stats(const Sysfs &sysfs, Words &words, Form form)
{
	// "stats DEV" means "stats show DEV"; a device may have any other name.
	if (!words.empty() && (words.front() == "show" || words.front() == "help"))
		if (take(words, "") == "help")
			return usage();
	return show(sysfs, words, form, stats_of);
}

std::string dispatch(Words words)
{
	Options options = parse_options(words);
	if (options.version)
		return std::format("kwarpctl {}\n", KWARP_VERSION);
	if (options.help)
		return usage();
	if (words.empty())
		throw Error(usage_error, usage());

	constexpr std::array<std::string_view, 3> objects{"policy", "stats", "help"};
	auto object = match(take(words, ""), objects, "an object");
	if (object == "help")
		return usage();

	Sysfs sysfs(options.sysfs);
	return object == "policy" ? do_policy(sysfs, words, options.form) :
				    do_stats(sysfs, words, options.form);
}

} // namespace

Outcome run(const std::vector<std::string> &args)
{
	try {
		return {ok, dispatch(Words(args.begin(), args.end())), {}};
	} catch (const Error &error) {
		std::string what = error.what();
		bool whole_text = what.ends_with('\n');
		return {error.status, {}, whole_text ? what : std::format("kwarpctl: {}\n", what)};
	} catch (const std::exception &error) {
		return {failure, {}, std::format("kwarpctl: {}\n", error.what())};
	}
}

} // namespace kwarpctl
