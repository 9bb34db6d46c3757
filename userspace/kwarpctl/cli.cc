// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cli.h"

#include "config.h"
#include "doctor.h"
#include "error.h"
#include "keys.h"
#include "device.h"
#include "output.h"
#include "policy.h"
#include "sysfs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <format>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#ifndef KWARP_VERSION
#define KWARP_VERSION "unknown"
#endif

namespace fs = std::filesystem;

namespace kwarpctl {
namespace {

using Words = std::deque<std::string>;
using Json = nlohmann::ordered_json;

struct Arguments {
	bool json = false, pretty = false, oneline = false;
	std::string sysfs = "/sys", config_dir = "/etc/kwarp";
	std::optional<std::string> device;
	std::vector<std::string> words;
	double interval_s = 1;
	unsigned int count = 0;
	Target target;

	Form form() const
	{
		if (pretty)
			return Form::pretty_json;
		return json ? Form::json : oneline ? Form::oneline : Form::text;
	}
};

std::string take(Words &words, const std::string &what)
{
	if (words.empty())
		throw Error(usage_error, what + " is missing; try 'kwarpctl help'");
	std::string word = words.front();
	words.pop_front();
	return word;
}

std::vector<Setting> settings_of(Words words)
{
	std::vector<Setting> settings;
	while (!words.empty()) {
		Setting setting{take(words, "KEY"), {}, {}};
		setting.value = take(words, std::format("the VALUE of {}", setting.key));
		settings.push_back(setting);
	}
	return settings;
}

// One command, with its arguments parsed.
class Command {
public:
	Command(const Arguments &a, const Environment &e)
		: args_(a), environment_(e), own_rdma_(e.rdma ? nullptr : make_rdma()),
		  machine_{Sysfs(a.sysfs), a.config_dir, e.rdma ? *e.rdma : *own_rdma_}
	{
		if (a.device)
			machine_.see(*a.device);
	}

	Outcome up();
	Outcome down();
	Outcome status();
	Outcome policy_show() { return records(policy_of); }
	Outcome policy_set();
	Outcome policy_save();
	Outcome policy_apply();
	Outcome policy_check();
	Outcome policy_keys();
	Outcome stats();
	Outcome monitor();
	Outcome doctor();

private:
	std::vector<std::string> devices() const;
	template <typename Each>
	std::string for_each_device(Each each) const;
	template <typename Read>
	Outcome records(Read read) const;
	bool is_there(const std::string &device) const;
	bool services_are_elsewhere() const;
	Config saved(const std::string &instead) const;
	std::string how_to_save() const;
	Clock clock() const;

	const Arguments &args_;
	const Environment &environment_;
	std::unique_ptr<Rdma> own_rdma_;
	Machine machine_;
};

// The device on the command line, or all devices.
std::vector<std::string> Command::devices() const
{
	if (!args_.device) {
		for (const Link &link : machine_.rdma.links())
			machine_.see(link.name);
		return machine_.sysfs.devices();
	}
	machine_.sysfs.require_device(*args_.device);
	return {*args_.device};
}

Clock Command::clock() const
{
	if (environment_.clock)
		return *environment_.clock;
	return {[](Milliseconds time) { std::this_thread::sleep_for(time); },
		[] { return std::chrono::steady_clock::now(); }};
}

// Throws the error of a device on the command line. Of all devices, those that are removed
// meanwhile are skipped, and the errors of others are returned, for standard error.
template <typename Each>
std::string Command::for_each_device(Each each) const
{
	std::string errors;
	for (const std::string &device : devices()) {
		try {
			each(device);
		} catch (const std::exception &error) {
			if (args_.device)
				throw;
			if (is_there(device))
				errors += std::format("kwarpctl: {}: {}\n", device, error.what());
		}
	}
	return errors;
}

// After an error of a device. Without an answer the error stands.
bool Command::is_there(const std::string &device) const
{
	try {
		return machine_.has(device);
	} catch (const std::exception &) {
		return true;
	}
}

// Whether services make devices in another network namespace. Without the right to know, no.
bool Command::services_are_elsewhere() const
{
	std::error_code unknown;
	const bool same = fs::equivalent(environment_.proc / "self/ns/net",
					 environment_.proc / "1/ns/net", unknown);
	return !same && !unknown;
}

template <typename Read>
Outcome Command::records(Read read) const
{
	std::vector<Record> all;
	const std::string errors = for_each_device([&](const std::string &device) {
		all.push_back(read(machine_.sysfs, device));
	});
	return {errors.empty() ? ok : failure, format(all, args_.form()), errors};
}

// The device's file; @instead says what to do if there is none.
Config Command::saved(const std::string &instead) const
{
	const fs::path file = machine_.config_file(*args_.device);
	std::error_code none;
	if (!fs::exists(file, none) && !none)
		throw Error(failure, std::format("there is no {}; {}", file.string(), instead));
	return read_config(file);
}

std::string Command::how_to_save() const
{
	return std::format("'kwarpctl policy save {}' writes it for a device that exists",
			   *args_.device);
}

Outcome Command::up()
{
	Words words(args_.words.begin(), args_.words.end());
	Config config;
	if (words.empty()) {
		config = saved(std::format("name its netdev: 'kwarpctl up {} netdev NETDEV'",
					   *args_.device));
		check_netdevs(machine_, *args_.device, config);
	} else if (take(words, "") == "netdev") {
		config.netdev = take(words, "NETDEV");
		config.settings = settings_of(words);
	} else {
		throw Error(usage_error, "expected 'netdev NETDEV' after the device; try "
					 "'kwarpctl help'");
	}
	kwarpctl::up(machine_, *args_.device, config);
	return {ok, {}, {}};
}

Outcome Command::down()
{
	if (kwarpctl::down(machine_, *args_.device))
		return {ok, {}, {}};
	return {ok, {}, std::format("kwarpctl: there is no RDMA device '{}'\n", *args_.device)};
}

Outcome Command::status()
{
	std::string text;
	Json all = Json::array();
	std::map<std::string, Sample> before;
	std::string errors = for_each_device([&](const std::string &device) {
		before[device] = sample(machine_, device, clock());
	});
	if (!before.empty())
		clock().wait(rates_time);
	errors += for_each_device([&](const std::string &device) {
		const auto first = before.find(device);
		if (first == before.end())
			return;
		const DeviceStatus status = status_of(machine_, device, first->second, clock());
		text += to_text(status);
		all.push_back(to_json(status));
	});
	return {errors.empty() ? ok : failure,
		is_json(args_.form()) ? format(all, args_.form()) : text, errors};
}

Outcome Command::policy_set()
{
	Words words(args_.words.begin(), args_.words.end());
	machine_.sysfs.require_device(*args_.device);
	const std::vector<Setting> settings = settings_of(words);
	for (const Setting &setting : settings)
		set_policy(machine_.sysfs, *args_.device, setting.key, setting.value);
	return {ok, {}, {}};
}

Outcome Command::policy_save()
{
	save_policy(machine_, *args_.device);
	if (!services_are_elsewhere())
		return {ok, {}, {}};
	return {ok,
		{},
		std::format("kwarpctl: warning: a service would use {} in the network namespace of "
			    "process 1, not in this one\n",
			    machine_.config_file(*args_.device).string())};
}

Outcome Command::policy_apply()
{
	apply_policy(machine_, *args_.device, saved(how_to_save()));
	return {ok, {}, {}};
}

Outcome Command::policy_check()
{
	check_config(machine_, *args_.device, saved(how_to_save()));
	return {ok, {}, {}};
}

Outcome Command::policy_keys()
{
	if (!is_json(args_.form()) && args_.form() != Form::oneline)
		return {ok, key_table(), {}};
	Json all = Json::array();
	std::string names;
	for (const Key &key : all_keys()) {
		all.push_back({{"key", key.name},
			       {"values", values_of(key)},
			       {"default", key.initial},
			       {"meaning", key.meaning}});
		names += std::format("{} {}\n", key.name, values_of(key));
	}
	return {ok, is_json(args_.form()) ? format(all, args_.form()) : names, {}};
}

Outcome Command::stats()
{
	return records([this](const Sysfs &, const std::string &device) {
		Record record{device, {{"port", std::uint64_t{1}}}};
		for (const auto &[name, n] : machine_.counters(device))
			record.attributes.emplace_back(name, n);
		return record;
	});
}

Outcome Command::monitor()
{
	// CLI11 takes what is not a number for one in the range.
	if (!std::isfinite(args_.interval_s))
		throw Error(usage_error, "--interval: not a number");
	const Milliseconds interval(static_cast<long>(args_.interval_s * 1000));
	if (devices().empty())
		throw Error(failure, "there is no kwarp device");
	// A device has no line until its counters have been read twice.
	std::map<std::string, Sample> before;
	for (unsigned int i = 0; !args_.count || i <= args_.count; i++) {
		if (i)
			clock().wait(interval);
		std::map<std::string, Sample> now;
		const std::string errors = for_each_device([&](const std::string &device) {
			const Sample &newest = now[device] = sample(machine_, device, clock());
			if (const auto old = before.find(device); old != before.end())
				environment_.print(monitor_line(device, rates(old->second, newest),
								args_.form()));
		});
		if (!errors.empty())
			return {failure, {}, errors};
		before = std::move(now);
	}
	return {ok, {}, {}};
}

Outcome Command::doctor()
{
	if (args_.device)
		machine_.sysfs.require_device(*args_.device);
	std::vector<Finding> all = examine(machine_, clock().wait);
	const std::string errors = for_each_device([&](const std::string &device) {
		std::ranges::move(examine(machine_, device), std::back_inserter(all));
	});
	if (!args_.target.host.empty())
		std::ranges::move(examine(args_.target), std::back_inserter(all));
	std::string text;
	Json json = Json::array();
	bool healthy = errors.empty();
	for (const Finding &finding : all) {
		static constexpr const char *words[] = {"ok", "note", "bad"};
		const char *word = words[static_cast<int>(finding.kind)];
		text += std::format("{:<5}{}\n", word, finding.what);
		json.push_back({{"result", word}, {"text", finding.what}});
		healthy &= finding.kind != Finding::Kind::bad;
	}
	return {healthy ? ok : failure, is_json(args_.form()) ? format(json, args_.form()) : text,
		errors};
}

using Run = Outcome (Command::*)();

// The grammar of the command line; parse() sets the function to run.
class Grammar {
public:
	explicit Grammar(Arguments &args);

	void parse(std::vector<std::string> words);
	// The help of the parsed command, or of the whole program.
	std::string help() const { return app_.help(); }
	Run chosen() const { return chosen_; }

private:
	CLI::App *command(CLI::App *under, const std::string &name, const std::string &what,
			  Run run);
	CLI::Option *device(CLI::App *command, bool required);
	CLI::Option *words(CLI::App *command, const std::string &name, const std::string &what);
	void expand(std::vector<std::string> &words) const;

	Arguments &args_;
	CLI::App app_{"kwarpctl: kwarp devices, their policy, counters and connections",
		      "kwarpctl"};
	Run chosen_ = nullptr;
};

CLI::App *Grammar::command(CLI::App *under, const std::string &name, const std::string &what,
			   Run run)
{
	CLI::App *sub = under->add_subcommand(name, what);
	sub->final_callback([this, run] {
		if (!chosen_)
			chosen_ = run;
	});
	return sub;
}

CLI::Option *Grammar::device(CLI::App *command, bool required)
{
	return command->add_option("DEV", args_.device, "name of a kwarp device")
		->required(required);
}

// The names and values of a command. Where CLI11 permits more words than it expects, it splits a
// word in brackets, which a name may be. The variable would have no word for "{}".
CLI::Option *Grammar::words(CLI::App *command, const std::string &name, const std::string &what)
{
	constexpr int most_words = 1000;
	CLI::Option *option = command->add_option(name, args_.words, what)
				      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
				      ->expected(most_words, -1)
				      ->allow_extra_args(false);
	command->parse_complete_callback([this, option] { args_.words = option->results(); });
	return option;
}

Grammar::Grammar(Arguments &args) : args_(args)
{
	app_.add_flag("-j,--json", args.json, "print JSON");
	app_.add_flag("-p,--pretty", args.pretty, "print JSON with line breaks");
	app_.add_flag("-o,--oneline", args.oneline, "print one line per device");
	app_.add_option("--sysfs", args.sysfs, "use DIR instead of /sys")->type_name("DIR");
	app_.add_option("--config-dir", args.config_dir, "use DIR instead of /etc/kwarp")
		->type_name("DIR");
	app_.set_version_flag("-V,--version", std::string("kwarpctl ") + KWARP_VERSION);
	app_.require_subcommand(1);

	CLI::App *up =
		command(&app_, "up",
			"make a device on a netdev, or from /etc/kwarp/DEV.conf, and set its "
			"policy",
			&Command::up);
	device(up, true);
	words(up, "SETTINGS", "netdev NETDEV [KEY VALUE]...");
	device(command(&app_, "down", "remove a device", &Command::down), true);
	device(command(&app_, "status", "show device, netdev, connections, and changed policy",
		       &Command::status),
	       false);

	CLI::App *policy =
		command(&app_, "policy", "what a device offers and accepts", &Command::policy_show);
	policy->require_subcommand(0, 1);
	device(command(policy, "show", "show the policy; the default", &Command::policy_show),
	       false);
	CLI::App *set = command(policy, "set", "change the policy", &Command::policy_set);
	device(set, true);
	words(set, "SETTINGS", "KEY VALUE [KEY VALUE]...")->required();
	device(command(policy, "save", "write the policy to /etc/kwarp/DEV.conf",
		       &Command::policy_save),
	       true);
	device(command(policy, "apply", "set the policy from /etc/kwarp/DEV.conf",
		       &Command::policy_apply),
	       true);
	device(command(policy, "check", "check /etc/kwarp/DEV.conf", &Command::policy_check), true);
	command(policy, "keys", "list the keys, their values and defaults", &Command::policy_keys);

	CLI::App *stats = command(&app_, "stats", "show counters", &Command::stats);
	words(stats, "DEV", "[show] and the name of a device");

	CLI::App *monitor = command(&app_, "monitor", "show rates and failures at intervals",
				    &Command::monitor);
	device(monitor, false);
	monitor->add_option("-i,--interval", args.interval_s, "seconds between lines")
		->check(CLI::Range(0.1, 3600.0));
	monitor->add_option("-c,--count", args.count, "lines per device; 0: no limit");

	CLI::App *doctor = command(&app_, "doctor",
				   "check this machine, and explain failed connections",
				   &Command::doctor);
	device(doctor, false);
	auto *peer =
		doctor->add_option("--peer", args.target.host, "also try to connect to this host");
	doctor->add_option("--port", args.target.port, "port of this host")->needs(peer);
	peer->needs("--port");
	for (CLI::App *level : {&app_, policy})
		level->add_subcommand("help", "show this help")->callback([] {
			throw CLI::CallForAllHelp();
		});
}

// Accepts any prefix of a command's name, like iproute2; the first match in the list is used.
void Grammar::expand(std::vector<std::string> &words) const
{
	const CLI::App *level = &app_;
	for (std::size_t i = 0; i < words.size() && level->get_name() != "stats"; i++) {
		if (words[i].starts_with('-') || words[i].empty()) {
			i += words[i] == "--sysfs" || words[i] == "--config-dir";
			continue;
		}
		const auto commands = level->get_subcommands([](const CLI::App *) { return true; });
		const auto found = std::ranges::find_if(commands, [&](const CLI::App *c) {
			return c->get_name().starts_with(words[i]);
		});
		if (found == commands.end())
			return;
		words[i] = (*found)->get_name();
		level = *found;
	}
}

void Grammar::parse(std::vector<std::string> words)
{
	expand(words);
	std::ranges::reverse(words);
	app_.parse(words);
	if (!app_.got_subcommand("stats"))
		return;
	// Here "help" and "show" are not names of devices.
	if (!args_.words.empty() && args_.words.front() == "help")
		throw CLI::CallForAllHelp();
	if (!args_.words.empty() && args_.words.front() == "show")
		args_.words.erase(args_.words.begin());
	if (args_.words.size() > 1)
		throw Error(usage_error,
			    std::format("unexpected argument '{}'", args_.words.back()));
	if (!args_.words.empty())
		args_.device = args_.words.front();
}

std::string whole_help()
{
	Arguments unused;
	return Grammar(unused).help() + "\nPolicy:\n" + key_table();
}

} // namespace

Outcome run(const std::vector<std::string> &args, const Environment &environment)
{
	Arguments arguments;
	Grammar grammar(arguments);
	try {
		if (args.empty())
			return {usage_error, {}, whole_help()};
		grammar.parse(args);
		return (Command(arguments, environment).*grammar.chosen())();
	} catch (const CLI::CallForAllHelp &) {
		return {ok, whole_help(), {}};
	} catch (const CLI::CallForHelp &) {
		return {ok, grammar.help(), {}};
	} catch (const CLI::CallForVersion &version) {
		return {ok, std::string(version.what()) + '\n', {}};
	} catch (const CLI::ParseError &error) {
		return {usage_error,
			{},
			std::format("kwarpctl: {}; try 'kwarpctl help'\n", error.what())};
	} catch (const Error &error) {
		return {error.status, {}, std::format("kwarpctl: {}\n", error.what())};
	} catch (const std::exception &error) {
		return {failure, {}, std::format("kwarpctl: {}\n", error.what())};
	}
}

} // namespace kwarpctl
