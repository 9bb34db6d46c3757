// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "device.h"

#include "error.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <format>
#include <system_error>

#include <net/if.h>

namespace fs = std::filesystem;

namespace kwarpctl {
namespace {

constexpr std::size_t longest_device = 63; // IB_DEVICE_NAME_MAX - 1
constexpr std::size_t longest_netdev = IF_NAMESIZE - 1;

// The RDMA core does not permit root of another user namespace to make or remove devices.
std::string reason(int error)
{
	if (error == EPERM || error == EACCES)
		return "not permitted; run it as root, with CAP_NET_ADMIN in the initial user "
		       "namespace";
	return std::generic_category().message(error);
}

std::string why_not_added(const Machine &machine, const std::string &device,
			  const std::string &netdev, int error)
{
	switch (error) {
	case ENODEV:
		return std::format("there is no netdev '{}'", netdev);
	case EEXIST:
		return std::format("{} has a kwarp device already", netdev);
	case ENFILE: // returned by the RDMA core for a name in use
		return std::format("the name '{}' is taken", device);
	case EOPNOTSUPP:
		return std::format("{} carries no IP, or is IP over InfiniBand", netdev);
	case EBUSY:
		return std::format("{} is in policy 'paths' of another kwarp device", netdev);
	case EPROTONOSUPPORT:
		return "the kernel has no RDMA core (module ib_core)";
	case EINVAL:
		if (!machine.sysfs.module_is_loaded())
			return "the module kwarp cannot be loaded: 'modprobe kwarp' and then "
			       "'dmesg' show why, and so may 'kwarpctl doctor'";
		break;
	}
	return reason(error);
}

// A device that is being removed has no netdev, or still shows one that is gone, even if another
// netdev has its name by now.
bool has_netdev(const Machine &machine, const Link &link)
{
	return !link.netdev.empty() && link.netdev_index == machine.rdma.netdev_index(link.netdev);
}

// Return: true if the device was made, false if it existed. The kernel waits for a device of that
// name that is being removed.
bool ensure_device(Machine &machine, const std::string &device, const std::string &netdev)
{
	if (auto link = machine.rdma.find(device); link && has_netdev(machine, *link)) {
		machine.sysfs.require_device(device);
		if (link->netdev_index != machine.rdma.netdev_index(netdev))
			throw Error(failure,
				    std::format("{} is on {}, not on {}; 'kwarpctl down {}' first",
						device, link->netdev, netdev, device));
		return false;
	}
	try {
		machine.rdma.add(device, netdev);
	} catch (const std::system_error &error) {
		throw Error(failure, std::format("cannot make {} on {}: {}", device, netdev,
						 why_not_added(machine, device, netdev,
							       error.code().value())));
	}
	machine.see(device);
	return true;
}

// Blocks the signals that end a program, until a device has its policy: as long as ExecStart runs,
// systemd does not know of a device that it should remove.
class Uninterrupted {
public:
	Uninterrupted()
	{
		::sigemptyset(&blocked_);
		for (const int signal : {SIGHUP, SIGINT, SIGTERM})
			::sigaddset(&blocked_, signal);
		::sigprocmask(SIG_BLOCK, &blocked_, &before_);
	}
	Uninterrupted(const Uninterrupted &) = delete;
	Uninterrupted &operator=(const Uninterrupted &) = delete;
	~Uninterrupted() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

	// Whether such a signal has arrived.
	bool asked_to_end() const
	{
		sigset_t pending;
		::sigpending(&pending);
		return ::sigandset(&pending, &pending, &blocked_) == 0 &&
		       !::sigisemptyset(&pending);
	}

private:
	sigset_t blocked_, before_;
};

bool is_listed(const Machine &machine, const Link &link)
{
	const auto now = machine.rdma.find(link.name);
	return now && now->index == link.index;
}

// The RDMA core refuses '%', and a name in sysfs cannot have a slash.
void require_device_name(const std::string &name)
{
	if (!is_plain_name(name) || name.size() > longest_device || name.find('%') != name.npos)
		throw Error(usage_error, std::format("'{}' is not a valid device name: at most {} "
						     "characters, none of them '/' or '%'",
						     name, longest_device));
}

// The RDMA core would cut a longer name, and take another netdev.
void require_netdev_name(const std::string &name)
{
	if (name.empty() || name.size() > longest_netdev)
		throw Error(usage_error,
			    std::format("'{}' is not a valid netdev name: 1 to {} characters", name,
					longest_netdev));
}

void set_one(const Sysfs &sysfs, const std::string &device, const Setting &setting)
{
	try {
		set_policy(sysfs, device, setting.key, setting.value);
	} catch (const Error &error) {
		if (setting.where.empty())
			throw;
		throw Error(failure, std::format("{}: {}", setting.where, error.what()));
	}
}

// Sets back what has changed, each key even if another one is refused: policy paths may have the
// name of a netdev that is gone. Return: the errors, each after "; then ".
std::string restore(const Sysfs &sysfs, const Record &old)
{
	std::string errors;
	const auto note = [&](const std::exception &error) {
		errors += std::format("; then {}", error.what());
	};
	Record now;
	try {
		now = policy_of(sysfs, old.device);
	} catch (const std::exception &error) {
		note(error);
		return errors;
	}
	for (const auto &attribute : old.attributes) {
		if (std::ranges::find(now.attributes, attribute) != now.attributes.end())
			continue;
		try {
			set_policy(sysfs, old.device, attribute.first, to_text(attribute.second));
		} catch (const std::exception &error) {
			note(error);
		}
	}
	return errors;
}

// Sets all keys. If one is refused, all get their old values again; that one, too, because the
// kernel closes a rendezvous_port before it opens another.
void set_all(Machine &machine, const std::string &device, const std::vector<Setting> &settings)
{
	const Record old = policy_of(machine.sysfs, device);
	try {
		for (const Setting &setting : settings)
			set_one(machine.sysfs, device, setting);
	} catch (const Error &error) {
		throw Error(error.status, error.what() + restore(machine.sysfs, old));
	}
}

} // namespace

fs::path Machine::config_file(const std::string &device) const
{
	require_device_name(device);
	return config_dir / (device + ".conf");
}

void Machine::see(const std::string &device) const
{
	if (!sysfs.shows(device) && rdma.find(device))
		sysfs.mount();
}

bool Machine::has(const std::string &device) const
{
	return sysfs.has_device(device) && rdma.find(device);
}

Counters Machine::counters(const std::string &device) const
{
	sysfs.require_device(device);
	const auto link = rdma.find(device);
	if (!link)
		throw Error(failure, std::format("there is no RDMA device '{}'", device));
	return rdma.counters(*link);
}

void up(Machine &machine, const std::string &device, const Config &config)
{
	require_device_name(device);
	require_netdev_name(config.netdev);
	const Uninterrupted uninterrupted;
	const bool made = ensure_device(machine, device, config.netdev);
	try {
		set_all(machine, device, config.settings);
		if (made && uninterrupted.asked_to_end())
			throw Error(failure, "ended by a signal");
	} catch (...) {
		if (made)
			down(machine, device);
		throw;
	}
}

bool down(Machine &machine, const std::string &device)
{
	const auto link = machine.rdma.find(device);
	if (!link)
		return false;
	try {
		machine.sysfs.require_device(device);
		machine.rdma.remove(*link);
		return true;
	} catch (const std::system_error &error) {
		// The kernel returns EINVAL if the device is gone.
		if (is_listed(machine, *link))
			throw Error(failure, std::format("cannot remove {}: {}", device,
							 reason(error.code().value())));
	} catch (const Error &) {
		if (is_listed(machine, *link))
			throw;
	}
	return false;
}

void apply_policy(Machine &machine, const std::string &device, const Config &config)
{
	machine.sysfs.require_device(device);
	check_config(machine, device, config);
	std::vector<Setting> settings = config.settings;
	const Record now = policy_of(machine.sysfs, device);
	for (const auto &[name, value] : now.attributes) {
		const Key *key = find_key(name);
		if (!key || names(config, name))
			continue;
		if (const auto initial = default_of(machine.sysfs, *key); to_text(value) != initial)
			settings.push_back({name, initial, {}});
	}
	set_all(machine, device, settings);
}

void save_policy(Machine &machine, const std::string &device)
{
	machine.sysfs.require_device(device);
	const auto link = machine.rdma.find(device);
	if (!link || link->netdev.empty())
		throw Error(failure, std::format("{} has no netdev", device));
	Config config{link->netdev, {}};
	for (const auto &[name, value] : policy_of(machine.sysfs, device).attributes) {
		const Key *key = find_key(name);
		if (!key || to_text(value) != default_of(machine.sysfs, *key))
			config.settings.push_back({name, to_text(value), {}});
	}
	write_config(machine.config_file(device), config);
}

void check_netdevs(Machine &machine, const std::string &device, const Config &config)
{
	const auto require_netdev = [&](const std::string &where, const std::string &name) {
		const std::uint32_t index = machine.rdma.netdev_index(name);
		const std::string own = index ? machine.rdma.netdev_name(index) : "";
		if (own.empty())
			throw Error(failure,
				    std::format("{}: there is no netdev '{}'", where, name));
		// systemd has no unit for an alternative name.
		if (own != name)
			throw Error(failure, std::format("{}: '{}' is an alternative name of {}, "
							 "for which no service can wait; write {}",
							 where, name, own, own));
	};
	require_netdev(machine.config_file(device).string(), config.netdev);
	for (const Setting &setting : config.settings) {
		const Key *key = find_key(setting.key);
		if (key && key->kind == Key::Kind::netdevs)
			for (const std::string &name : netdevs_in(setting.value))
				require_netdev(setting.where, name);
	}
}

void check_config(Machine &machine, const std::string &device, const Config &config)
{
	check_netdevs(machine, device, config);
	// Other devices are no help: one of them may just be made or removed.
	const bool there = machine.sysfs.has_device(device);
	for (const Setting &setting : config.settings)
		if (there ? !has_key(machine.sysfs, device, setting.key) : !find_key(setting.key))
			throw Error(failure, std::format("{}: there is no policy '{}'",
							 setting.where, setting.key));
}

} // namespace kwarpctl
