// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "doctor.h"

#include "counters.h"
#include "error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <format>
#include <fstream>
#include <memory>
#include <optional>
#include <system_error>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <link.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace kwarpctl {
namespace {

using enum Finding::Kind;
using Findings = std::vector<Finding>;

constexpr std::pair first_kernel{6, 12}, last_kernel{7, 2}; // those of dkms.conf
constexpr int connect_limit_ms = 3000;
constexpr int module_waits = 20;
constexpr Milliseconds module_wait{100};
constexpr rlim_t small_memlock = 64 * 1024 * 1024;

utsname kernel()
{
	utsname name{};
	uname(&name);
	return name;
}

std::pair<int, int> kernel_version()
{
	std::pair version{0, 0};
	std::sscanf(kernel().release, "%d.%d", &version.first, &version.second);
	return version;
}

std::string supported_kernels()
{
	return std::format("{}.{} to {}.{}", first_kernel.first, first_kernel.second,
			   last_kernel.first, last_kernel.second);
}

void look_at_kernel(Findings &all)
{
	const std::string release = kernel().release;
	if (kernel_version() < first_kernel)
		all.push_back({bad, std::format("kernel {}: kwarp needs {}.{} or newer", release,
						first_kernel.first, first_kernel.second)});
	else if (kernel_version() > last_kernel)
		all.push_back({note, std::format("kernel {}: this version of kwarp is for {}",
						 release, supported_kernels())});
	else
		all.push_back({good, std::format("kernel {}", release)});
}

bool is_installed(const std::string &module)
{
	std::ifstream list("/lib/modules/" + std::string(kernel().release) + "/modules.dep");
	for (std::string line; std::getline(list, line);)
		if (line.substr(0, line.find(':')).find("/" + module + ".ko") != line.npos)
			return true;
	return false;
}

bool is_locked_down()
{
	std::ifstream file("/sys/kernel/security/lockdown");
	std::string text;
	std::getline(file, text);
	return !text.empty() && text.find("[none]") == text.npos;
}

std::string how_to_install()
{
	if (kernel_version() < first_kernel || kernel_version() > last_kernel)
		return std::format("DKMS builds it for kernels {} only: boot one of these, or "
				   "install another version of kwarp",
				   supported_kernels());
	return "install this kernel's headers and the package kwarp-dkms, which 'make deb' in a "
	       "checkout makes, or run 'make install' there; 'dkms status kwarp' lists the builds";
}

void look_at_modules(Findings &all, const Machine &machine, const Wait &wait)
{
	const bool is_loaded = machine.sysfs.module_is_loaded();
	if (!is_loaded && !machine.rdma.has_core()) {
		all.push_back({bad, "this kernel has no RDMA core (module ib_core): boot one with "
				    "CONFIG_INFINIBAND, which kernels for clouds may lack, and "
				    "install all modules of it"});
		return;
	}
	if (is_loaded)
		all.push_back({good, "module kwarp is loaded"});
	else if (!is_installed("kwarp"))
		all.push_back({bad, "module kwarp is not installed for this kernel: " +
					    how_to_install()});
	else if (is_locked_down())
		all.push_back({note,
			       "module kwarp is not loaded, and this kernel loads signed modules "
			       "only (Secure Boot): enroll the key that signed it, see kwarp(7)"});
	else
		all.push_back({note, "module kwarp is not loaded; 'kwarpctl up' loads it. If that "
				     "fails, 'modprobe kwarp' and then 'dmesg' show why"});
	// Check for the classes of these modules, because the modules may be built in. udev loads
	// them shortly after the first device is made.
	static constexpr std::array<std::pair<const char *, const char *>, 2> needed{
		{{"ib_uverbs", "infiniband_verbs"}, {"rdma_ucm", "misc/rdma_cm"}}};
	const bool device_is_there = !machine.sysfs.devices().empty();
	for (const auto &[module, path] : needed) {
		for (int i = 0; i < module_waits && device_is_there; i++) {
			if (machine.sysfs.has_class(path))
				break;
			wait(module_wait);
		}
		if (!machine.sysfs.has_class(path))
			all.push_back(
				{device_is_there ? bad : note,
				 std::format("module {} is not loaded, and programs need it: "
					     "'modprobe {}', or install rdma-core, which loads "
					     "it with the first device",
					     module, module)});
	}
}

// The folder of libibverbs; its sub-folder libibverbs has the providers.
std::optional<fs::path> library_folder()
{
	const std::unique_ptr<void, int (*)(void *)> library(dlopen("libibverbs.so.1",
								    RTLD_LAZY | RTLD_LOCAL),
							     [](void *p) {
								     return p ? dlclose(p) : 0;
							     });
	link_map *map = nullptr;
	if (!library || dlinfo(library.get(), RTLD_DI_LINKMAP, &map) || !map->l_name)
		return std::nullopt;
	return fs::path(map->l_name).parent_path();
}

// The ABI in the file name of a provider, "34" in libNAME-rdmav34.so; empty for other files.
std::string abi_of(const fs::path &library)
{
	const std::string name = library.filename();
	const auto at = name.find("-rdmav");
	return at == name.npos ? "" : name.substr(at + 6, name.rfind(".so") - at - 6);
}

void look_at_provider(Findings &all)
{
	const auto folder = library_folder();
	if (!folder) {
		all.push_back({bad, "libibverbs is not installed: install libibverbs1"});
		return;
	}
	std::string ours, others;
	std::error_code none;
	for (const auto &entry : fs::directory_iterator(*folder / "libibverbs", none)) {
		const std::string abi = abi_of(entry.path());
		(entry.path().filename().string().starts_with("libkwarp-") ? ours : others) = abi;
	}
	if (ours.empty())
		all.push_back({bad, "libibverbs has no provider for kwarp: install the package "
				    "kwarp-ibverbs-provider, which 'make deb' in a checkout makes, "
				    "or run 'make install' there"});
	else if (!others.empty() && ours != others)
		all.push_back({bad,
			       std::format("the provider for kwarp needs private ABI {} of "
					   "libibverbs, but the installed one has {}: install the "
					   "kwarp-ibverbs-provider that was built for it",
					   ours, others)});
	else if (!fs::exists("/etc/libibverbs.d/kwarp.driver", none))
		all.push_back({bad,
			       "/etc/libibverbs.d/kwarp.driver is missing: libibverbs does not "
			       "load the provider"});
	else
		all.push_back({good, std::format("provider for libibverbs, ABI {}", ours)});
}

void look_at_limits(Findings &all)
{
	rlimit limit{};
	if (!getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur < small_memlock && geteuid())
		all.push_back({note, std::format("this user may lock {} KiB of memory: raise "
						 "memlock in /etc/security/limits.conf for larger "
						 "memory regions",
						 limit.rlim_cur / 1024)});
}

// The name in the list is the label of an IPv4 address: the netdev's name, with ":" and a text or
// without.
bool has_address(const std::string &netdev)
{
	ifaddrs *list = nullptr;
	if (getifaddrs(&list))
		return false;
	bool found = false;
	for (const ifaddrs *a = list; a; a = a->ifa_next) {
		const std::string_view name = a->ifa_name;
		found |= name.substr(0, name.find(':')) == netdev && a->ifa_addr &&
			 (a->ifa_addr->sa_family == AF_INET || a->ifa_addr->sa_family == AF_INET6);
	}
	freeifaddrs(list);
	return found;
}

void look_at_link(Findings &all, const std::string &device, const std::optional<Link> &link)
{
	if (!link || link->netdev.empty())
		all.push_back({note, std::format("{} has no netdev in this network namespace: it "
						 "serves another one",
						 device)});
	else if (!has_address(link->netdev))
		all.push_back({bad, std::format("{}: {} has no address: 'ip addr add'", device,
						link->netdev)});
	else if (!link->active)
		all.push_back({bad,
			       std::format("{}: {} is down, or has no carrier: 'ip link set {} "
					   "up', and check the cable",
					   device, link->netdev, link->netdev)});
	else
		all.push_back({good, std::format("{} on {}, active", device, link->netdev)});
}

void look_at_counters(Findings &all, const Machine &machine, const std::string &device)
{
	for (const auto &[name, n] : machine.counters(device))
		if (n && !failure_of(name).empty())
			all.push_back({note, std::format("{}: {} = {}: {}", device, name, n,
							 failure_of(name))});
}

struct CloseFd {
	explicit CloseFd(int n) : fd(n) {}
	CloseFd(const CloseFd &) = delete;
	CloseFd &operator=(const CloseFd &) = delete;
	~CloseFd()
	{
		if (fd >= 0)
			close(fd);
	}
	const int fd;
};

// Return: 0, or the errno of connect().
int try_connect(const addrinfo &to)
{
	const CloseFd s(socket(to.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	if (s.fd < 0)
		return errno;
	if (!connect(s.fd, to.ai_addr, to.ai_addrlen))
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	pollfd p{s.fd, POLLOUT, 0};
	if (poll(&p, 1, connect_limit_ms) <= 0)
		return ETIMEDOUT;
	int error = 0;
	socklen_t length = sizeof(error);
	getsockopt(s.fd, SOL_SOCKET, SO_ERROR, &error, &length);
	return error;
}

Finding judge(const std::string &where, int error)
{
	switch (error) {
	case 0:
		return {good, std::format("{} accepts TCP connections", where)};
	case ECONNREFUSED:
		return {bad,
			std::format("{} refuses: no program listens on that port there ('ss -tln' "
				    "shows listeners of rdma_cm, too, unless policy llp is sctp), "
				    "or a firewall rejects it",
				    where)};
	case ETIMEDOUT:
		return {bad, std::format("{} does not answer: a firewall, or no such host", where)};
	case EHOSTUNREACH:
	case ENETUNREACH:
		return {bad, std::format("{} cannot be reached: check 'ip route get', 'ip neigh', "
					 "and whether a firewall rejects it",
					 where)};
	default:
		return {bad, std::format("{}: {}", where, std::generic_category().message(error))};
	}
}

std::string name_of(const addrinfo &address)
{
	std::array<char, NI_MAXHOST> host{};
	std::array<char, NI_MAXSERV> port{};
	getnameinfo(address.ai_addr, address.ai_addrlen, host.data(), host.size(), port.data(),
		    port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
	return std::format("{}{}{} port {}", address.ai_family == AF_INET6 ? "[" : "", host.data(),
			   address.ai_family == AF_INET6 ? "]" : "", port.data());
}

} // namespace

Findings examine(Machine &machine, const Wait &wait)
{
	Findings all;
	look_at_kernel(all);
	look_at_modules(all, machine, wait);
	look_at_provider(all);
	look_at_limits(all);
	if (machine.sysfs.devices().empty())
		all.push_back({note,
			       "there is no kwarp device: 'kwarpctl up kwarp0 netdev NETDEV'"});
	return all;
}

Findings examine(Machine &machine, const std::string &device)
{
	Findings all;
	look_at_link(all, device, machine.rdma.find(device));
	look_at_counters(all, machine, device);
	return all;
}

Findings examine(const Target &target)
{
	addrinfo hints{}, *list = nullptr;
	hints.ai_socktype = SOCK_STREAM;
	if (const int ret = getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &list))
		return {{bad, std::format("{} port {}: {}", target.host, target.port,
					  gai_strerror(ret))}};
	Findings all;
	for (const addrinfo *a = list; a; a = a->ai_next)
		all.push_back(judge(name_of(*a), try_connect(*a)));
	freeaddrinfo(list);
	return all;
}

} // namespace kwarpctl
