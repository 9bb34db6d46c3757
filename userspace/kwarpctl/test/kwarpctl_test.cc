// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The whole tool except main(), on a fake /sys. Tests are named function__case.
#include "cli.h"
#include "config.h"
#include "error.h"
#include "keys.h"
#include "output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <format>
#include <fstream>
#include <sstream>
#include <linux/netlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace fs = std::filesystem;
using kwarpctl::Outcome;

// The kernel may seem to have no RDMA core, or another version: the program and libmnl call these
// functions instead of libc's.
static bool no_rdma_core = false;
static std::string kernel_release;

int socket(int domain, int type, int protocol) noexcept
{
	if (no_rdma_core && domain == AF_NETLINK && protocol == NETLINK_RDMA) {
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return static_cast<int>(syscall(SYS_socket, domain, type, protocol));
}

int uname(utsname *name) noexcept
{
	const int ret = static_cast<int>(syscall(SYS_uname, name));
	if (!kernel_release.empty())
		std::strcpy(name->release, kernel_release.c_str());
	return ret;
}

namespace {

// The kernel's devices; each that is added has a policy in the fake /sys.
struct FakeRdma : kwarpctl::Rdma {
	bool has_core() override { return core; }
	std::vector<kwarpctl::Link> links() override
	{
		std::vector<kwarpctl::Link> now = all;
		for (kwarpctl::Link &link : now)
			if (!link.netdev_index)
				link.netdev_index = netdev_index(link.netdev);
		listed();
		return now;
	}
	void add(const std::string &name, const std::string &netdev) override
	{
		if (error)
			throw std::system_error(error, std::generic_category());
		std::erase_if(all, [&](const auto &l) { return l.name == name; });
		all.push_back({3, name, netdev, true});
		added(name);
	}
	void remove(const kwarpctl::Link &link) override
	{
		removing();
		if (error)
			throw std::system_error(error, std::generic_category());
		std::erase_if(all, [&](const auto &l) { return l.name == link.name; });
		removed.push_back(link.name);
	}
	std::vector<kwarpctl::Connection> connections(const kwarpctl::Link &link) override
	{
		if (link.name != "kwarp0")
			return {};
		return {{17, "10.0.0.1:4791", "10.0.0.2:1234", "tcp", "initiator", 0},
			{18, "10.0.0.1:7000", "10.0.0.3:999", "sctp", "responder", 5}};
	}

	kwarpctl::Counters counters(const kwarpctl::Link &link) override
	{
		counting(link.name);
		if (std::ranges::find(all, link.name, &kwarpctl::Link::name) == all.end())
			throw std::system_error(EINVAL, std::generic_category());
		if (unreadable == link.name)
			throw std::system_error(EACCES, std::generic_category());
		return counted[link.name];
	}

	std::uint32_t netdev_index(const std::string &name) override
	{
		const auto found = netdevs.find(name);
		return found == netdevs.end() ? 0 : found->second;
	}

	std::string netdev_name(std::uint32_t index) override
	{
		for (const auto &[name, of] : netdevs)
			if (of == index && !name.starts_with("alias"))
				return name;
		return {};
	}

	std::vector<kwarpctl::Link> all{{1, "kwarp0", "eth0", true},
					{2, "kwarp1", "eth1", false},
					{4, "siw0", "eth0", true}};
	std::map<std::string, std::uint32_t> netdevs{
		{"lo", 1}, {"eth0", 2}, {"eth1", 3}, {"eth2", 4}, {"alias0", 2}};
	std::vector<std::string> removed;
	std::map<std::string, kwarpctl::Counters> counted;
	std::string unreadable; // device whose counters are
	// What happens after a listing, before a removal, before counters are read, and after an
	// addition.
	std::function<void()> listed = [] {}, removing = [] {};
	std::function<void(const std::string &)> counting = [](const std::string &) {},
						 added = counting;
	int error = 0;
	bool core = true;
};

class kwarpctl_test : public ::testing::Test {
protected:
	void SetUp() override
	{
		std::string dir = fs::temp_directory_path() / "kwarpctl.XXXXXX";
		ASSERT_NE(mkdtemp(dir.data()), nullptr);
		root = dir;
		add_device("kwarp1");
		add_device("kwarp0");
		fs::create_directories(device("siw0") / "ports/1");
		rdma.counted["kwarp0"] = {{"tx_fpdus", ~std::uint64_t{0}}, {"crc_err", 0}};
		rdma.counted["kwarp1"] = rdma.counted["kwarp0"];
		rdma.added = [this](const std::string &name) { add_device(name); };
		environment.rdma = &rdma;
		environment.proc = root / "proc";
		environment.clock = {[this](kwarpctl::Milliseconds wanted) {
					     time += slept ? *slept : wanted;
					     meanwhile();
				     },
				     [this] { return time; }};
		environment.print = [this](const std::string &line) { printed += line; };
	}

	void TearDown() override
	{
		fs::remove_all(root);
		no_rdma_core = false;
		kernel_release.clear();
	}

	fs::path device(const std::string &name) const { return root / "class/infiniband" / name; }
	fs::path key(const std::string &name) const { return device("kwarp0") / "kwarp" / name; }

	static void put(const fs::path &file, const std::string &text)
	{
		fs::create_directories(file.parent_path());
		std::ofstream(file) << text << '\n';
	}

	static std::string get(const fs::path &file)
	{
		std::ostringstream out;
		out << std::ifstream(file).rdbuf();
		return out.str();
	}

	void add_device(const std::string &name) const
	{
		fs::path dir = device(name) / "kwarp";
		put(dir / "fpdu", "[emss] large");
		put(dir / "p2p", "off [send] write [rtr-frame]");
		put(dir / "crc", "off [preferred] required");
		put(dir / "markers", "0");
		put(dir / "mpa_rev", "2");
		put(dir / "a_new_key", "7 of \"9\"");
	}

	void vanish(const std::string &name)
	{
		std::erase_if(rdma.all, [&](const auto &l) { return l.name == name; });
		fs::remove_all(device(name));
	}

	fs::path conf(const std::string &name) const { return root / "etc" / (name + ".conf"); }

	Outcome run(std::vector<std::string> args) const
	{
		args.insert(args.begin(),
			    {"--sysfs", root.string(), "--config-dir", (root / "etc").string()});
		return kwarpctl::run(args, environment);
	}

	fs::path root;
	FakeRdma rdma;
	kwarpctl::Environment environment;
	std::function<void()> meanwhile = [] {};
	kwarpctl::Time time;
	std::optional<kwarpctl::Milliseconds> slept; // instead of the time that was wanted
	std::string printed;
};

const std::string kwarp0_text = "kwarp0:\n"
				"    mpa_rev   2\n"
				"    crc       preferred\n"
				"    markers   off\n"
				"    p2p       send,rtr-frame\n"
				"    fpdu      emss\n"
				"    a_new_key 7 of \"9\"\n";

TEST_F(kwarpctl_test, policy_show__one_device)
{
	Outcome o = run({"policy", "show", "kwarp0"});
	EXPECT_EQ(o.status, 0);
	EXPECT_EQ(o.out, kwarp0_text);
	EXPECT_EQ(o.err, "");
}

TEST_F(kwarpctl_test, policy_show__all_kwarp_devices_sorted)
{
	for (std::vector<std::string> args :
	     {std::vector<std::string>{"policy", "show"}, {"policy"}, {"pol", "sh"}, {"p"}}) {
		Outcome o = run(args);
		EXPECT_EQ(o.status, 0);
		EXPECT_TRUE(o.out.starts_with(kwarp0_text + "kwarp1:\n"));
		EXPECT_EQ(o.out.find("siw0"), std::string::npos);
	}
}

TEST_F(kwarpctl_test, policy_show__json)
{
	EXPECT_EQ(run({"-j", "policy", "show", "kwarp0"}).out,
		  "[{\"ifname\":\"kwarp0\",\"mpa_rev\":2,\"crc\":\"preferred\",\"markers\":false,"
		  "\"p2p\":\"send,rtr-frame\",\"fpdu\":\"emss\",\"a_new_key\":\"7 of "
		  "\\\"9\\\"\"}]\n");
}

TEST_F(kwarpctl_test, policy_show__oneline)
{
	EXPECT_EQ(run({"-o", "policy", "show", "kwarp0"}).out,
		  "kwarp0: mpa_rev 2 crc preferred markers off p2p send,rtr-frame fpdu emss "
		  "a_new_key 7 of \"9\"\n");
}

TEST_F(kwarpctl_test, policy_show__no_devices)
{
	fs::remove_all(root / "class");
	EXPECT_EQ(run({"policy", "show"}).status, 0);
	EXPECT_EQ(run({"policy", "show"}).out, "");
	EXPECT_EQ(run({"--json", "policy", "show"}).out, "[]\n");
	EXPECT_EQ(run({"--json", "stats"}).out, "[]\n");
}

TEST_F(kwarpctl_test, policy_show__wrong_device)
{
	EXPECT_EQ(run({"policy", "show", "kwarp7"}).status, 2);
	EXPECT_EQ(run({"policy", "show", "kwarp7"}).err,
		  "kwarpctl: there is no RDMA device 'kwarp7'\n");
	EXPECT_EQ(run({"policy", "show", "siw0"}).status, 2);
	EXPECT_EQ(run({"policy", "show", "siw0"}).err, "kwarpctl: 'siw0' is not a kwarp device\n");
	for (const char *name : {"", ".", "..", "kwarp0/kwarp", "../infiniband/kwarp0"})
		EXPECT_EQ(run({"policy", "show", name}).status, 2) << name;
}

TEST_F(kwarpctl_test, policy_set__flag)
{
	for (const char *off : {"off", "0", "no", "false", "n", "N"}) {
		put(key("markers"), "1");
		EXPECT_EQ(run({"policy", "set", "kwarp0", "markers", off}).status, 0);
		EXPECT_EQ(get(key("markers")), "0\n") << off;
	}
	for (const char *on : {"on", "1", "yes", "true", "y", "Y"}) {
		put(key("markers"), "0");
		EXPECT_EQ(run({"policy", "set", "kwarp0", "markers", on}).status, 0);
		EXPECT_EQ(get(key("markers")), "1\n") << on;
	}
	Outcome o = run({"policy", "set", "kwarp0", "markers", "maybe"});
	EXPECT_EQ(o.status, 1);
	EXPECT_EQ(o.err, "kwarpctl: markers is on|off, not 'maybe'\n");
	EXPECT_EQ(get(key("markers")), "1\n");
}

TEST_F(kwarpctl_test, policy_set__words)
{
	EXPECT_EQ(run({"policy", "set", "kwarp0", "crc", "required"}).status, 0);
	EXPECT_EQ(get(key("crc")), "required\n");
	EXPECT_EQ(run({"policy", "set", "kwarp0", "p2p", "write,read"}).status, 0);
	EXPECT_EQ(get(key("p2p")), "write,read\n");
}

TEST_F(kwarpctl_test, policy_set__several_and_quiet)
{
	Outcome o = run({"policy", "set", "kwarp0", "mpa_rev", "1", "fpdu", "large"});
	EXPECT_EQ(o.status, 0);
	EXPECT_EQ(o.out + o.err, "");
	EXPECT_EQ(get(key("mpa_rev")), "1\n");
	EXPECT_EQ(get(key("fpdu")), "large\n");
}

TEST_F(kwarpctl_test, policy_set__a_key_of_a_newer_kernel)
{
	EXPECT_EQ(run({"policy", "set", "kwarp0", "a_new_key", "on"}).status, 0);
	EXPECT_EQ(get(key("a_new_key")), "on\n");
}

TEST_F(kwarpctl_test, policy_set__unknown_key)
{
	Outcome o = run({"policy", "set", "kwarp0", "colour", "red"});
	EXPECT_EQ(o.status, 1);
	EXPECT_EQ(o.err, "kwarpctl: 'kwarp0' has no policy 'colour'; there are:"
			 " mpa_rev crc markers p2p fpdu a_new_key\n");
	EXPECT_FALSE(fs::exists(key("colour")));
	EXPECT_EQ(run({"policy", "set", "kwarp0", "../node_guid", "1"}).status, 1);
}

TEST_F(kwarpctl_test, policy_set__kernel_refuses)
{
	// A procfs file that accepts only numbers stands for the attribute.
	fs::remove(key("mpa_rev"));
	fs::create_symlink("/proc/self/oom_score_adj", key("mpa_rev"));
	Outcome o = run({"policy", "set", "kwarp0", "mpa_rev", "nine"});
	EXPECT_EQ(o.status, 2);
	EXPECT_EQ(o.err, "kwarpctl: kwarp0: cannot set mpa_rev to 'nine': "
			 "Invalid argument (expected 0..2)\n");
}

TEST_F(kwarpctl_test, policy_set__not_permitted)
{
	// Nobody may write to this file of procfs in the initial user namespace.
	fs::remove(key("mpa_rev"));
	fs::create_symlink("/proc/self/uid_map", key("mpa_rev"));
	EXPECT_NE(run({"policy", "set", "kwarp0", "mpa_rev", "1"})
			  .err.find("(run it as root of the host, with CAP_NET_ADMIN in the user "
				    "namespace that owns the netdev's network namespace)"),
		  std::string::npos);
}

TEST_F(kwarpctl_test, policy_set__incomplete)
{
	EXPECT_EQ(run({"policy", "set"}).err, "kwarpctl: DEV is required; try 'kwarpctl help'\n");
	EXPECT_EQ(run({"policy", "set", "kwarp0"}).status, 1);
	EXPECT_EQ(run({"policy", "set", "kwarp0", "crc"}).err,
		  "kwarpctl: the VALUE of crc is missing; try 'kwarpctl help'\n");
	EXPECT_EQ(run({"policy", "set", "kwarp7", "crc", "on"}).status, 2);
}

TEST_F(kwarpctl_test, stats__one_device)
{
	for (std::vector<std::string> args :
	     {std::vector<std::string>{"stats", "kwarp0"}, {"stats", "show", "kwarp0"}}) {
		Outcome o = run(args);
		EXPECT_EQ(o.status, 0);
		EXPECT_EQ(o.out, "kwarp0:\n"
				 "    port     1\n"
				 "    crc_err  0\n"
				 "    tx_fpdus 18446744073709551615\n");
	}
	EXPECT_EQ(run({"-j", "stats", "kwarp0"}).out,
		  "[{\"ifname\":\"kwarp0\",\"port\":1,\"crc_err\":0,"
		  "\"tx_fpdus\":18446744073709551615}]\n");
}

TEST_F(kwarpctl_test, stats__device_called_like_a_prefix)
{
	add_device("sh");
	rdma.all.push_back({5, "sh", "eth2", true});
	EXPECT_TRUE(run({"stats", "sh"}).out.starts_with("sh:\n"));
	EXPECT_EQ(run({"stats", "siw0"}).status, 2);
}

// CLI11 has a syntax of its own for lists.
TEST_F(kwarpctl_test, stats__names_in_brackets)
{
	for (const char *name : {"[kwarp0]", "[]", "{}"}) {
		Outcome o = run({"stats", name});
		EXPECT_EQ(o.status, 2) << o.out;
		EXPECT_EQ(o.err, std::string("kwarpctl: there is no RDMA device '") + name + "'\n");
		add_device(name);
		rdma.all.push_back({5, name, "eth2", true});
		EXPECT_TRUE(run({"stats", name}).out.starts_with(std::string(name) + ":\n"));
	}
}

TEST_F(kwarpctl_test, policy_set__names_of_netdevs_stay_as_they_are)
{
	const std::pair<const char *, const char *> cases[] = {
		{"007", "007"}, {"7", "7"},   {"[a]", "[a]"},	 {"[a] [b]", "[a],[b]"},
		{"[]", "[]"},	{"{}", "{}"}, {"[a,b]", "[a,b]"}};
	for (const auto &[names, shown] : cases) {
		put(key("paths"), "off");
		EXPECT_EQ(run({"policy", "set", "kwarp0", "paths", names}).err, "");
		EXPECT_EQ(get(key("paths")), std::string(names) + '\n');
		EXPECT_NE(run({"-j", "policy", "show", "kwarp0"})
				  .out.find(std::format("\"paths\":\"{}\"", shown)),
			  std::string::npos);
		EXPECT_NE(run({"-o", "policy", "show", "kwarp0"})
				  .out.find(std::format(" paths {} ", shown)),
			  std::string::npos);
		EXPECT_EQ(run({"policy", "save", "kwarp0"}).err, "");
		EXPECT_NE(get(conf("kwarp0")).find(std::format("\npaths = {}\n", shown)),
			  std::string::npos);
	}
	EXPECT_EQ(run({"up", "[kwarp2]", "netdev", "[a]", "crc", "off"}).err, "");
	ASSERT_TRUE(rdma.find("[kwarp2]"));
	EXPECT_EQ(rdma.find("[kwarp2]")->netdev, "[a]");
	EXPECT_EQ(run({"up", "kwarp3", "{}"}).status, 1);
}

TEST_F(kwarpctl_test, policy_show__numbers_of_a_newer_kernel)
{
	for (const auto &[text, json] : {std::pair("7", "7"), std::pair("007", "\"007\"")}) {
		put(key("a_new_key"), text);
		EXPECT_NE(run({"-j", "policy", "show", "kwarp0"})
				  .out.find(std::string("\"a_new_key\":") + json),
			  std::string::npos);
	}
}

TEST_F(kwarpctl_test, policy_set__all)
{
	EXPECT_EQ(run({"policy", "set", "kwarp0", "p2p", "all"}).status, 0);
	EXPECT_EQ(get(key("p2p")), "1\n");
}

TEST_F(kwarpctl_test, policy_keys__forms)
{
	EXPECT_NE(run({"policy", "keys"}).out.find("0..128"), std::string::npos);
	EXPECT_NE(run({"-o", "policy", "keys"}).out.find("\nird 0..128\n"), std::string::npos);
	EXPECT_NE(run({"-j", "policy", "keys"})
			  .out.find("{\"key\":\"crc\",\"values\":\"off|preferred|required\","
				    "\"default\":\"preferred\""),
		  std::string::npos);
}

// ---- up and down ----

TEST_F(kwarpctl_test, up__words)
{
	Outcome o = run({"up", "kwarp2", "netdev", "eth2", "crc", "required", "markers", "on"});
	EXPECT_EQ(o.out + o.err, "");
	EXPECT_EQ(o.status, 0);
	ASSERT_TRUE(rdma.find("kwarp2"));
	EXPECT_EQ(rdma.find("kwarp2")->netdev, "eth2");
	EXPECT_EQ(get(device("kwarp2") / "kwarp/crc"), "required\n");
	EXPECT_EQ(get(device("kwarp2") / "kwarp/markers"), "1\n");
}

TEST_F(kwarpctl_test, up__file)
{
	put(conf("kwarp2"), "# comment\nnetdev = eth2 # here\n\n\tmpa_rev=1\r\ncrc=1\np2p = all");
	EXPECT_EQ(run({"up", "kwarp2"}).err, "");
	EXPECT_EQ(rdma.find("kwarp2")->netdev, "eth2");
	EXPECT_EQ(get(device("kwarp2") / "kwarp/mpa_rev"), "1\n");
	EXPECT_EQ(get(device("kwarp2") / "kwarp/crc"), "1\n");
	EXPECT_EQ(get(device("kwarp2") / "kwarp/p2p"), "1\n");
}

TEST_F(kwarpctl_test, up__again)
{
	const std::size_t before = rdma.all.size();
	EXPECT_EQ(run({"up", "kwarp0", "netdev", "eth0", "crc", "off"}).status, 0);
	EXPECT_EQ(rdma.all.size(), before);
	EXPECT_EQ(get(key("crc")), "off\n");
}

TEST_F(kwarpctl_test, up__elsewhere)
{
	EXPECT_EQ(run({"up", "kwarp0", "netdev", "eth2"}).err,
		  "kwarpctl: kwarp0 is on eth0, not on eth2; 'kwarpctl down kwarp0' first\n");
	EXPECT_EQ(run({"up", "siw0", "netdev", "eth0"}).err,
		  "kwarpctl: 'siw0' is not a kwarp device\n");
}

TEST_F(kwarpctl_test, up__while_the_old_device_leaves)
{
	rdma.all.push_back({5, "kwarp2", "", false});
	EXPECT_EQ(run({"up", "kwarp2", "netdev", "eth2"}).err, "");
	EXPECT_EQ(rdma.find("kwarp2")->netdev, "eth2");
}

// The netdev of the old device is gone, and another one has its name, or none.
TEST_F(kwarpctl_test, up__while_the_old_device_shows_its_old_netdev)
{
	rdma.all.push_back({5, "kwarp2", "eth2", false, 77});
	EXPECT_EQ(run({"up", "kwarp2", "netdev", "eth2"}).err, "");
	EXPECT_EQ(rdma.find("kwarp2")->netdev_index, 4u);
	rdma.all.push_back({6, "kwarp3", "gone0", false, 78});
	EXPECT_EQ(run({"up", "kwarp3", "netdev", "lo"}).err, "");
	EXPECT_EQ(rdma.find("kwarp3")->netdev, "lo");
}

TEST_F(kwarpctl_test, up__again_by_an_alternative_name)
{
	EXPECT_EQ(run({"up", "kwarp0", "netdev", "alias0", "crc", "off"}).err, "");
	EXPECT_EQ(get(key("crc")), "off\n");
	EXPECT_EQ(run({"up", "kwarp1", "netdev", "alias0"}).status, 2);
	EXPECT_EQ(run({"up", "kwarp1", "netdev", "nowhere0"}).status, 2);
}

// A service waits for a unit of systemd, which has none for an alternative name.
TEST_F(kwarpctl_test, up__file_with_an_alternative_name)
{
	const std::string why = "'alias0' is an alternative name of eth0, for which no service can "
				"wait; write eth0\n";
	put(conf("kwarp0"), "netdev = alias0");
	for (std::vector<std::string> args :
	     {std::vector<std::string>{"policy", "check", "kwarp0"}, {"up", "kwarp0"}})
		EXPECT_EQ(run(args).err, "kwarpctl: " + conf("kwarp0").string() + ": " + why);
	put(key("paths"), "off");
	put(conf("kwarp1"), "netdev = eth1\npaths = alias0");
	EXPECT_EQ(run({"policy", "check", "kwarp1"}).err,
		  "kwarpctl: " + conf("kwarp1").string() + ":2: " + why);
}

TEST_F(kwarpctl_test, up__policy_fails)
{
	EXPECT_EQ(run({"up", "kwarp2", "netdev", "eth2", "colour", "red"}).status, 1);
	EXPECT_EQ(rdma.removed, std::vector<std::string>{"kwarp2"});
	// One that was there stays.
	EXPECT_EQ(run({"up", "kwarp0", "netdev", "eth0", "colour", "red"}).status, 1);
	EXPECT_EQ(rdma.removed.size(), 1u);
}

TEST_F(kwarpctl_test, up__wrong_file)
{
	put(conf("kwarp2"), "netdev = eth2\n\ncolour = red\n");
	Outcome o = run({"up", "kwarp2"});
	EXPECT_EQ(o.status, 2);
	EXPECT_EQ(rdma.removed, std::vector<std::string>{"kwarp2"});
	EXPECT_TRUE(o.err.starts_with("kwarpctl: " + conf("kwarp2").string() +
				      ":3: 'kwarp2' has no policy 'colour'"));
	fs::remove_all(device("kwarp2"));
	// Keys of a newer kernel are known when the device is made.
	put(conf("kwarp2"), "netdev = eth2\na_new_key = 8\n");
	EXPECT_EQ(run({"policy", "check", "kwarp2"}).status, 2);
	EXPECT_EQ(run({"up", "kwarp2"}).err, "");
	EXPECT_EQ(get(device("kwarp2") / "kwarp/a_new_key"), "8\n");
}

// Services start and stop side by side, and the kernel makes the files of a device one by one.
TEST_F(kwarpctl_test, up__beside_an_unfinished_device)
{
	for (const char *unfinished : {"kwarp0", "kwarp1"}) {
		fs::remove_all(device(unfinished) / "kwarp");
		fs::create_directory(device(unfinished) / "kwarp");
	}
	put(conf("kwarp2"), "netdev = eth2\ncrc = off\n");
	EXPECT_EQ(run({"policy", "check", "kwarp2"}).err, "");
	EXPECT_EQ(run({"up", "kwarp2"}).err, "");
	fs::remove_all(device("kwarp0") / "kwarp");
	EXPECT_EQ(run({"up", "kwarp2"}).err, "");
}

// The second setting of a device that was there is refused.
TEST_F(kwarpctl_test, up__keeps_the_old_policy)
{
	EXPECT_EQ(run({"up", "kwarp0", "netdev", "eth0", "crc", "off", "colour", "red"}).status, 1);
	EXPECT_EQ(get(key("crc")), "preferred\n");
}

TEST_F(kwarpctl_test, up__signal_leaves_no_device)
{
	rdma.added = [&](const std::string &name) {
		add_device(name);
		std::raise(SIGTERM);
	};
	rdma.removing = [] { std::fputs("removing the device", stderr); };
	EXPECT_EXIT(run({"up", "kwarp7", "netdev", "eth7"}), testing::KilledBySignal(SIGTERM),
		    "^removing the device$");
}

TEST_F(kwarpctl_test, up__kernel_refuses)
{
	const std::pair<int, const char *> cases[] = {
		{ENODEV, "there is no netdev 'eth9'"},
		{EEXIST, "eth9 has a kwarp device already"},
		{ENFILE, "the name 'kwarp2' is taken"},
		{EOPNOTSUPP, "eth9 carries no IP, or is IP over InfiniBand"},
		{EBUSY, "eth9 is in policy 'paths' of another kwarp device"},
		{EPERM, "not permitted; run it as root, with CAP_NET_ADMIN in the initial user "
			"namespace"},
		{EINVAL, "the module kwarp cannot be loaded: 'modprobe kwarp' and then 'dmesg' "
			 "show why, and so may 'kwarpctl doctor'"},
		{ENOMEM, "Cannot allocate memory"},
	};
	for (const auto &[error, text] : cases) {
		rdma.error = error;
		Outcome o = run({"up", "kwarp2", "netdev", "eth9"});
		EXPECT_EQ(o.status, 2);
		EXPECT_EQ(o.err,
			  std::string("kwarpctl: cannot make kwarp2 on eth9: ") + text + '\n');
	}
	fs::create_directories(root / "module/kwarp");
	rdma.error = EINVAL;
	EXPECT_EQ(run({"up", "kwarp2", "netdev", "eth9"}).err,
		  "kwarpctl: cannot make kwarp2 on eth9: Invalid argument\n");
}

// With the real netlink.
TEST_F(kwarpctl_test, up__and_down_without_an_rdma_core)
{
	no_rdma_core = true;
	environment.rdma = nullptr;
	Outcome o = run({"up", "kwarp2", "netdev", "lo"});
	EXPECT_EQ(o.status, 2);
	EXPECT_EQ(o.err, "kwarpctl: cannot make kwarp2 on lo: the kernel has no RDMA core (module "
			 "ib_core)\n");
	o = run({"down", "kwarp2"});
	EXPECT_EQ(o.status, 0);
	EXPECT_EQ(o.err, "kwarpctl: there is no RDMA device 'kwarp2'\n");
	EXPECT_NE(run({"doctor"}).out.find("bad  this kernel has no RDMA core"), std::string::npos);
}

TEST_F(kwarpctl_test, up__misuse)
{
	EXPECT_EQ(run({"up"}).status, 1);
	EXPECT_EQ(run({"up", "kwarp2", "eth0"}).status, 1);
	EXPECT_EQ(run({"up", "kwarp2", "netdev"}).err,
		  "kwarpctl: NETDEV is missing; try 'kwarpctl help'\n");
	EXPECT_EQ(run({"up", "kwarp2", "netdev", "eth2", "crc"}).status, 1);
	EXPECT_EQ(run({"up", "kwarp2"}).err,
		  "kwarpctl: there is no " + conf("kwarp2").string() +
			  "; name its netdev: 'kwarpctl up kwarp2 netdev NETDEV'\n");
	for (const char *verb : {"apply", "check"})
		EXPECT_EQ(run({"policy", verb, "kwarp2"}).err,
			  "kwarpctl: there is no " + conf("kwarp2").string() +
				  "; 'kwarpctl policy save kwarp2' writes it for a device that "
				  "exists\n");
	for (const std::string &name :
	     {std::string("../kwarp2"), std::string(""), std::string("a/b"), std::string("50%"),
	      std::string(64, 'x')})
		for (std::vector<std::string> args :
		     {std::vector<std::string>{"up", name}, {"up", name, "netdev", "eth2"}}) {
			Outcome o = run(args);
			EXPECT_EQ(o.status, 1);
			EXPECT_EQ(o.err, "kwarpctl: '" + name +
						 "' is not a valid device name: at most 63 "
						 "characters, none of them '/' or '%'\n");
		}
	for (const std::string &name : {std::string(""), std::string("lo34567890123456")})
		EXPECT_EQ(run({"up", "kwarp2", "netdev", name}).err,
			  "kwarpctl: '" + name +
				  "' is not a valid netdev name: 1 to 15 characters\n");
	EXPECT_FALSE(rdma.find("kwarp2"));
	EXPECT_EQ(run({"up", std::string(63, 'x'), "netdev", "eth2"}).err, "");
}

TEST_F(kwarpctl_test, down__forms)
{
	EXPECT_EQ(run({"down", "kwarp0"}).status, 0);
	EXPECT_EQ(rdma.removed, std::vector<std::string>{"kwarp0"});
	// It is not there: that is what was wanted.
	Outcome again = run({"down", "kwarp0"});
	EXPECT_EQ(again.status, 0);
	EXPECT_EQ(again.err, "kwarpctl: there is no RDMA device 'kwarp0'\n");
	EXPECT_EQ(run({"down", "siw0"}).status, 2);
	EXPECT_EQ(run({"down"}).status, 1);
	rdma.error = EPERM;
	EXPECT_EQ(run({"down", "kwarp1"}).err,
		  "kwarpctl: cannot remove kwarp1: not permitted; run it as root, with "
		  "CAP_NET_ADMIN in the initial user namespace\n");
}

TEST_F(kwarpctl_test, down__of_a_device_that_vanishes)
{
	rdma.error = EINVAL;
	EXPECT_EQ(run({"down", "kwarp0"}).err,
		  "kwarpctl: cannot remove kwarp0: Invalid argument\n");
	rdma.removing = [&] { vanish("kwarp0"); };
	Outcome o = run({"down", "kwarp0"});
	EXPECT_EQ(o.status, 0);
	EXPECT_EQ(o.err, "kwarpctl: there is no RDMA device 'kwarp0'\n");
	rdma.listed = [&] { vanish("kwarp1"); };
	o = run({"down", "kwarp1"});
	EXPECT_EQ(o.status, 0);
	EXPECT_EQ(o.err, "kwarpctl: there is no RDMA device 'kwarp1'\n");
}

// ---- files ----

TEST_F(kwarpctl_test, policy_save__and_up_again)
{
	put(key("p2p"), "off [send] [write] [read] [rtr-frame]");
	EXPECT_EQ(run({"policy", "set", "kwarp0", "crc", "required"}).status, 0);
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).err, "");
	EXPECT_EQ(get(conf("kwarp0")), "netdev = eth0\ncrc = required\na_new_key = 7 of \"9\"\n");
	EXPECT_EQ(run({"down", "kwarp0"}).status, 0);
	fs::remove_all(device("kwarp0"));
	EXPECT_EQ(run({"up", "kwarp0"}).err, "");
	EXPECT_EQ(get(key("crc")), "required\n");
}

TEST_F(kwarpctl_test, policy_save__keys_of_a_newer_kernel)
{
	put(conf("kwarp0"), "netdev = eth0\na_new_key = 1\n");
	EXPECT_EQ(run({"policy", "apply", "kwarp0"}).err, "");
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).err, "");
	EXPECT_NE(get(conf("kwarp0")).find("\na_new_key = 1\n"), std::string::npos);
}

// The module's parameter is the llp of new devices.
TEST_F(kwarpctl_test, policy_save__llp_of_the_module)
{
	put(root / "module/kwarp/parameters/llp", "sctp");
	put(key("llp"), "tcp tcp+sctp sctp+tcp [sctp]");
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).err, "");
	EXPECT_EQ(get(conf("kwarp0")).find("llp"), std::string::npos);
	EXPECT_EQ(run({"status", "kwarp0"}).out.find("llp"), std::string::npos);
	put(key("llp"), "[tcp] tcp+sctp sctp+tcp sctp");
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).err, "");
	EXPECT_TRUE(get(conf("kwarp0")).starts_with("netdev = eth0\nllp = tcp\n"));
	put(conf("kwarp0"), "netdev = eth0\n");
	EXPECT_EQ(run({"policy", "apply", "kwarp0"}).err, "");
	EXPECT_EQ(get(key("llp")), "sctp\n");
}

TEST_F(kwarpctl_test, policy_save__a_name_that_looks_like_a_comment)
{
	rdma.all[0].netdev = "eth#0";
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).err,
		  "kwarpctl: a file cannot hold netdev 'eth#0'\n");
	EXPECT_FALSE(fs::exists(conf("kwarp0")));
	rdma.all[0].netdev = "eth0";
	put(key("paths"), "eth1 eth#2");
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).status, 2);
}

TEST_F(kwarpctl_test, policy_save__fails)
{
	std::ofstream(root / "etc") << "a file";
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).status, 2);
	EXPECT_EQ(run({"policy", "save", "kwarp7"}).status, 2);
	rdma.all[0].netdev.clear();
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).err, "kwarpctl: kwarp0 has no netdev\n");
}

// A service has the network namespace of process 1, which not everybody may see.
TEST_F(kwarpctl_test, policy_save__in_another_network_namespace)
{
	put(root / "proc/self/ns/net", "");
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).err, "");
	put(root / "proc/1/ns/net", "");
	Outcome o = run({"policy", "save", "kwarp0"});
	EXPECT_EQ(o.status, 0);
	EXPECT_EQ(o.err, "kwarpctl: warning: a service would use " + conf("kwarp0").string() +
				 " in the network namespace of process 1, not in this one\n");
	EXPECT_TRUE(fs::exists(conf("kwarp0")));
	fs::remove(root / "proc/1/ns/net");
	fs::create_symlink(root / "proc/self/ns/net", root / "proc/1/ns/net");
	EXPECT_EQ(run({"policy", "save", "kwarp0"}).err, "");
}

// Keys that the file does not name get their defaults.
TEST_F(kwarpctl_test, policy_apply__the_whole_file)
{
	put(key("markers"), "1");
	put(conf("kwarp0"), "netdev = eth0\nfpdu = large\n");
	EXPECT_EQ(run({"policy", "apply", "kwarp0"}).err, "");
	EXPECT_EQ(get(key("fpdu")), "large\n");
	EXPECT_EQ(get(key("markers")), "0\n");
	EXPECT_EQ(get(key("mpa_rev")), "2\n");
	EXPECT_EQ(get(key("a_new_key")), "7 of \"9\"\n");
	EXPECT_EQ(run({"policy", "apply", "kwarp7"}).status, 2);
}

TEST_F(kwarpctl_test, policy_apply__all_or_nothing)
{
	put(key("paths"), "off");
	put(conf("kwarp0"), "netdev = eth0\ncrc = off\npaths = eth1,nosuch\n");
	EXPECT_EQ(run({"policy", "apply", "kwarp0"}).err,
		  "kwarpctl: " + conf("kwarp0").string() + ":3: there is no netdev 'nosuch'\n");
	EXPECT_EQ(get(key("crc")), "off [preferred] required\n");
	// A procfs file that accepts only numbers stands for an attribute.
	fs::remove(key("a_new_key"));
	fs::create_symlink("/proc/self/oom_score_adj", key("a_new_key"));
	put(conf("kwarp0"), "netdev = eth0\ncrc = off\na_new_key = nine\n");
	Outcome o = run({"policy", "apply", "kwarp0"});
	EXPECT_EQ(o.status, 2);
	EXPECT_EQ(o.err, "kwarpctl: " + conf("kwarp0").string() +
				 ":3: kwarp0: cannot set a_new_key to 'nine': Invalid argument\n");
	EXPECT_EQ(get(key("crc")), "preferred\n");
}

// The kernel takes a leading zero for octal.
TEST_F(kwarpctl_test, policy_apply__numbers_are_decimal)
{
	put(key("rendezvous_port"), "0");
	put(conf("kwarp0"), "netdev = eth0\nrendezvous_port = 07600\n");
	EXPECT_EQ(run({"policy", "apply", "kwarp0"}).err, "");
	EXPECT_EQ(get(key("rendezvous_port")), "7600\n");
	EXPECT_EQ(run({"policy", "set", "kwarp0", "rendezvous_port", "010"}).err, "");
	EXPECT_EQ(get(key("rendezvous_port")), "10\n");
}

TEST_F(kwarpctl_test, policy_check__names_file_and_line)
{
	const std::pair<const char *, const char *> cases[] = {
		{"netdev = eth0\ncrc", ":2: expected 'key = value'"},
		{"netdev = eth0\n= 1", ":2: expected 'key = value'"},
		{"netdev = eth0\ncrc =", ":2: expected 'key = value'"},
		{"netdev = eth0\n\ncrc = maybe", ":3: crc is off|preferred|required, not 'maybe'"},
		{"ird = 129\nnetdev = eth0", ":1: ird is 0..128, not '129'"},
		{"ird = -1\nnetdev = eth0", ":1: ird is 0..128, not '-1'"},
		{"ird = 1x\nnetdev = eth0", ":1: ird is 0..128, not '1x'"},
		{"markers = 2\nnetdev = eth0", ":1: markers is on|off, not '2'"},
		{"p2p = send,tell\nnetdev = eth0",
		 ":1: p2p is off|all|any of send|write|read|rtr-frame, not 'send,tell'"},
		{"netdev = eth0\npaths = lo,eth1,eth2,eth0",
		 ":2: paths is off|NETDEV[,NETDEV[,NETDEV]], not 'lo,eth1,eth2,eth0'"},
		{"netdev = eth0\npaths = ,", ":2: paths is off|NETDEV[,NETDEV[,NETDEV]], not ','"},
		{"netdev = eth0\ncrc = off\ncrc = off", ":3: crc is set twice"},
		{"netdev = eth0\nnetdev = eth1", ":2: netdev is set twice"},
		{"crc = off", ": there is no line 'netdev = NAME'"},
		{"", ": there is no line 'netdev = NAME'"},
		{"netdev = eth9", ": there is no netdev 'eth9'"},
		{"netdev = eth0\ncolour = red", ":2: there is no policy 'colour'"},
	};
	put(key("ird"), "32");
	for (const auto &[text, error] : cases) {
		put(conf("kwarp0"), text);
		Outcome o = run({"policy", "check", "kwarp0"});
		EXPECT_EQ(o.status, 2) << text;
		EXPECT_EQ(o.err, "kwarpctl: " + conf("kwarp0").string() + error + '\n');
	}
	put(conf("kwarp5"), "netdev = eth0\ncolour = red");
	EXPECT_EQ(run({"policy", "check", "kwarp5"}).status, 2) << "without the device";
	put(conf("kwarp0"), "netdev = eth0\np2p = send write\nird = 128\na_new_key = 1");
	EXPECT_EQ(run({"policy", "check", "kwarp0"}).err, "");
}

TEST(parse_config, hostile_bytes)
{
	for (std::string text : {std::string(100000, 'x'), std::string(100000, '\n'),
				 std::string("netdev = \0\xff\n", 12), std::string("\0=\0", 3)}) {
		try {
			kwarpctl::parse_config(text, "f");
		} catch (const kwarpctl::Error &) {
		}
	}
}

TEST(parse_config, every_default_is_a_value)
{
	for (const kwarpctl::Key &key : kwarpctl::all_keys())
		EXPECT_NO_THROW(kwarpctl::checked_value(key, std::string(key.initial))) << key.name;
}

// ---- netlink ----

// A header, and as payload an errno.
std::vector<char> last_message(std::uint16_t type, int error, std::uint16_t flags = 0)
{
	nlmsghdr header{};
	header.nlmsg_len = NLMSG_LENGTH(sizeof(error));
	header.nlmsg_type = type;
	header.nlmsg_flags = flags;
	header.nlmsg_seq = 1;
	std::vector<char> out(NLMSG_SPACE(sizeof(error)));
	std::memcpy(out.data(), &header, sizeof(header));
	std::memcpy(out.data() + NLMSG_HDRLEN, &error, sizeof(error));
	return out;
}

int error_of(const std::vector<char> &part)
{
	try {
		EXPECT_FALSE(kwarpctl::read_part(part, 1, 0, {}));
		return 0;
	} catch (const std::system_error &error) {
		return error.code().value();
	}
}

TEST(read_part, end_of_a_dump)
{
	EXPECT_EQ(error_of(last_message(NLMSG_DONE, 0)), 0);
	EXPECT_EQ(error_of(last_message(NLMSG_DONE, -EACCES)), EACCES);
	EXPECT_EQ(error_of(last_message(NLMSG_DONE, 0, NLM_F_DUMP_INTR)), EINTR);
	EXPECT_EQ(error_of(last_message(NLMSG_ERROR, 0)), 0);
	EXPECT_EQ(error_of(last_message(NLMSG_ERROR, -EACCES)), EACCES);
	EXPECT_TRUE(kwarpctl::read_part(last_message(NLMSG_MIN_TYPE, 0, NLM_F_MULTI), 1, 0, {}));
}

// ---- status, monitor, doctor ----

TEST_F(kwarpctl_test, status__text)
{
	rdma.counted["kwarp0"] = {{"rx_octets", 1000}, {"crc_errors", 3}};
	meanwhile = [&] { rdma.counted["kwarp0"]["rx_octets"] = 263144; };
	Outcome o = run({"status", "kwarp0"});
	EXPECT_EQ(o.err, "");
	EXPECT_EQ(o.out, "kwarp0: on eth0, active\n"
			 "  policy: p2p send,rtr-frame\n"
			 "  rates: rx 1.0 MiB/s, tx 0 B/s\n"
			 "  connections: 2\n"
			 "    10.0.0.1:4791 -> 10.0.0.2:1234  tcp  qp 17\n"
			 "    10.0.0.1:7000 <- 10.0.0.3:999  sctp  qp 18  5 retransmits\n"
			 "  failures: crc_errors 3\n");
	Outcome all = run({"status"});
	EXPECT_NE(all.out.find("kwarp1: on eth1, down\n"), std::string::npos);
	EXPECT_EQ(run({"status", "kwarp7"}).status, 2);
}

TEST_F(kwarpctl_test, status__waits_once_for_all_devices)
{
	int waits = 0;
	meanwhile = [&] { waits++; };
	EXPECT_EQ(run({"status"}).status, 0);
	EXPECT_EQ(waits, 1);
}

TEST_F(kwarpctl_test, status__json)
{
	Outcome o = run({"-j", "status", "kwarp0"});
	EXPECT_EQ(o.out,
		  "[{\"ifname\":\"kwarp0\",\"netdev\":\"eth0\",\"active\":true,"
		  "\"policy\":{\"p2p\":\"send,rtr-frame\"},"
		  "\"rates\":{\"rx_bytes_per_s\":0,\"tx_bytes_per_s\":0,\"rx_fpdus_per_s\":0,"
		  "\"tx_fpdus_per_s\":0},\"connections\":["
		  "{\"qpn\":17,\"local\":\"10.0.0.1:4791\",\"remote\":\"10.0.0.2:1234\","
		  "\"llp\":\"tcp\",\"role\":\"initiator\",\"retransmits\":0},"
		  "{\"qpn\":18,\"local\":\"10.0.0.1:7000\",\"remote\":\"10.0.0.3:999\","
		  "\"llp\":\"sctp\",\"role\":\"responder\",\"retransmits\":5}],"
		  "\"failures\":{}}]\n");
	EXPECT_TRUE(run({"-p", "status", "kwarp0"}).out.starts_with("[\n    {\n"));
}

TEST_F(kwarpctl_test, monitor__lines)
{
	kwarpctl::Counters &counters = rdma.counted["kwarp0"];
	counters["tx_octets"] = 0;
	meanwhile = [&] {
		counters["tx_octets"] += 4096;
		counters["startup_timeouts"] = 2;
	};
	Outcome o = run({"monitor", "kwarp0", "--interval", "2", "--count", "2"});
	EXPECT_EQ(o.err, "");
	EXPECT_NE(printed.find(" kwarp0: rx 0 B/s (0 FPDUs/s), tx 2.0 KiB/s (0 FPDUs/s); "
			       "startup_timeouts 2\n"),
		  std::string::npos)
		<< printed;
	EXPECT_EQ(std::ranges::count(printed, '\n'), 2);
	printed.clear();
	EXPECT_EQ(run({"-j", "monitor", "-c", "1"}).status, 0);
	EXPECT_EQ(std::ranges::count(printed, '\n'), 2) << "both devices";
	EXPECT_NE(printed.find("\"ifname\":\"kwarp0\",\"rx_bytes_per_s\":0,"
			       "\"tx_bytes_per_s\":4096"),
		  std::string::npos)
		<< printed;
}

// The program was stopped, or had to wait for a processor.
TEST_F(kwarpctl_test, monitor__late)
{
	slept = std::chrono::seconds(60);
	rdma.counted["kwarp0"]["tx_octets"] = 0;
	meanwhile = [&] { rdma.counted["kwarp0"]["tx_octets"] += 60 << 20; };
	EXPECT_EQ(run({"monitor", "kwarp0", "--count", "1"}).err, "");
	EXPECT_NE(printed.find("tx 1.0 MiB/s"), std::string::npos) << printed;
	EXPECT_NE(run({"status", "kwarp0"}).out.find("tx 1.0 MiB/s"), std::string::npos);
}

TEST_F(kwarpctl_test, monitor__ends)
{
	for (const char *interval : {"0", "inf", "nan", "-nan"})
		EXPECT_EQ(run({"monitor", "-c", "1", "-i", interval}).status, 1) << interval;
	EXPECT_EQ(run({"monitor", "-c", "-1"}).status, 1);
	meanwhile = [&] { fs::remove_all(device("kwarp0")); };
	EXPECT_EQ(run({"monitor", "kwarp0"}).err, "kwarpctl: there is no RDMA device 'kwarp0'\n");
	fs::remove_all(root / "class/infiniband");
	EXPECT_EQ(run({"monitor"}).err, "kwarpctl: there is no kwarp device\n");
}

TEST_F(kwarpctl_test, monitor__lists_the_devices_again)
{
	int round = 0;
	meanwhile = [&] {
		if (round++ == 0) {
			add_device("kwarp2");
			rdma.all.push_back({5, "kwarp2", "eth2", true});
			rdma.counted["kwarp2"]["tx_octets"] = 1 << 30;
			vanish("kwarp0");
		}
	};
	Outcome o = run({"monitor", "-c", "2"});
	EXPECT_EQ(o.err, "");
	EXPECT_EQ(o.status, 0);
	EXPECT_EQ(printed.find("kwarp0"), std::string::npos) << printed;
	EXPECT_NE(printed.find("kwarp2: rx 0 B/s (0 FPDUs/s), tx 0 B/s"), std::string::npos)
		<< printed;
	EXPECT_EQ(std::ranges::count(printed, '\n'), 3) << printed;
}

TEST_F(kwarpctl_test, monitor__a_name_that_is_not_utf_8)
{
	add_device("\xff");
	rdma.all.push_back({5, "\xff", "eth2", true});
	EXPECT_EQ(run({"-j", "monitor", "\xff", "-c", "1"}).err, "");
	EXPECT_NE(printed.find("\"ifname\":\"\xef\xbf\xbd\""), std::string::npos) << printed;
}

const std::vector<std::vector<std::string>> commands_for_all{
	{"stats"}, {"status"}, {"monitor", "-c", "1"}, {"doctor"}};

TEST_F(kwarpctl_test, all_devices__one_vanishes)
{
	for (const std::vector<std::string> &args : commands_for_all) {
		rdma.counting = [this](const std::string &name) {
			if (name == "kwarp0")
				vanish(name);
		};
		printed.clear();
		Outcome o = run(args);
		EXPECT_EQ(o.err, "") << args[0];
		EXPECT_EQ((o.out + printed).find("kwarp0"), std::string::npos) << o.out;
		EXPECT_NE((o.out + printed).find("kwarp1"), std::string::npos) << args[0];
		add_device("kwarp0");
		rdma.all.push_back({1, "kwarp0", "eth0", true});
	}
}

TEST_F(kwarpctl_test, all_devices__one_is_unreadable)
{
	rdma.unreadable = "kwarp0";
	for (std::vector<std::string> args : commands_for_all) {
		Outcome o = run(args);
		EXPECT_EQ(o.status, 2) << args[0];
		EXPECT_EQ(o.err, "kwarpctl: kwarp0: Permission denied\n") << args[0];
		EXPECT_EQ(o.out.find("kwarp1") == std::string::npos, args[0] == "monitor");
		args.push_back("kwarp0");
		EXPECT_EQ(run(args).status, 2);
		EXPECT_EQ(run(args).err, "kwarpctl: Permission denied\n") << args[0];
	}
	EXPECT_TRUE(run({"-j", "stats"}).out.starts_with("[{\"ifname\":\"kwarp1\""));
}

TEST_F(kwarpctl_test, doctor__explains_counters)
{
	rdma.counted["kwarp0"]["startup_crc_errors"] = 4;
	rdma.all[0].netdev = "nowhere0";
	Outcome o = run({"doctor", "kwarp0"});
	EXPECT_NE(o.out.find("note kwarp0: startup_crc_errors = 4: the peer declined CRCs"),
		  std::string::npos)
		<< o.out;
	EXPECT_NE(o.out.find("bad  kwarp0: nowhere0 has no address"), std::string::npos) << o.out;
	EXPECT_EQ(o.status, 2);
	EXPECT_TRUE(run({"-j", "doctor"}).out.starts_with("[{\"result\":\""));
	rdma.all[0].netdev = "lo";
	o = run({"doctor", "kwarp0"});
	EXPECT_NE(o.out.find("ok   kwarp0 on lo, active"), std::string::npos) << o.out;
}

TEST_F(kwarpctl_test, doctor__kernels)
{
	const std::string bad_module = "bad  module kwarp is not installed for this kernel: ";
	const std::string dkms = bad_module +
				 "DKMS builds it for kernels 6.12 to 7.2 only: boot one of these";
	const std::tuple<const char *, const char *, std::string> cases[] = {
		{"6.11.9-none", "bad  kernel 6.11.9-none: kwarp needs 6.12 or newer\n", dkms},
		{"6.12.0-none", "ok   kernel 6.12.0-none\n", bad_module + "install this"},
		{"7.2.99-none", "ok   kernel 7.2.99-none\n", bad_module + "install this"},
		{"7.3.0-none", "note kernel 7.3.0-none: this version of kwarp is for 6.12 to 7.2\n",
		 dkms},
		{"none", "bad  kernel none: kwarp needs 6.12 or newer\n", dkms},
	};
	for (const auto &[release, kernel, module] : cases) {
		kernel_release = release;
		Outcome o = run({"doctor"});
		EXPECT_EQ(o.status, 2);
		EXPECT_NE(o.out.find(kernel), std::string::npos) << o.out;
		EXPECT_NE(o.out.find(module), std::string::npos) << o.out;
	}
	fs::create_directories(root / "module/kwarp");
	kernel_release = "7.3.0-none";
	EXPECT_NE(run({"doctor"}).out.find("ok   module kwarp is loaded"), std::string::npos);
}

TEST_F(kwarpctl_test, doctor__no_rdma_core)
{
	rdma.core = false;
	kernel_release = "6.12.0-none";
	Outcome o = run({"doctor"});
	EXPECT_EQ(o.status, 2);
	EXPECT_NE(o.out.find("bad  this kernel has no RDMA core (module ib_core)"),
		  std::string::npos)
		<< o.out;
	EXPECT_EQ(o.out.find("kwarp-dkms"), std::string::npos) << o.out;
	EXPECT_EQ(o.out.find("ib_uverbs"), std::string::npos) << o.out;
}

// A device in a container is none of the host's business.
TEST_F(kwarpctl_test, doctor__device_of_another_namespace)
{
	rdma.all[0].netdev = "";
	Outcome o = run({"doctor", "kwarp0"});
	EXPECT_NE(o.out.find("note kwarp0 has no netdev in this network namespace"),
		  std::string::npos)
		<< o.out;
}

TEST_F(kwarpctl_test, doctor__peer)
{
	Outcome refused = run({"doctor", "--peer", "127.0.0.1", "--port", "1"});
	EXPECT_NE(refused.out.find("bad  127.0.0.1 port 1 refuses"), std::string::npos)
		<< refused.out;
	EXPECT_EQ(run({"doctor", "--peer", "127.0.0.1"}).status, 1);
	EXPECT_EQ(run({"doctor", "--peer", "no..such..host", "--port", "x"}).status, 2);
}

TEST_F(kwarpctl_test, run__help_and_version)
{
	for (const char *word : {"help", "-h", "--help", "h"}) {
		EXPECT_NE(run({word}).out.find("Usage: kwarpctl "), std::string::npos) << word;
		EXPECT_EQ(run({word}).status, 0) << word;
	}
	EXPECT_NE(run({"policy", "help"}).out.find("Usage: "), std::string::npos);
	EXPECT_NE(run({"stats", "help"}).out.find("Usage: "), std::string::npos);
	EXPECT_TRUE(run({"-V"}).out.starts_with("kwarpctl "));
}

TEST_F(kwarpctl_test, run__misuse)
{
	EXPECT_EQ(kwarpctl::run({}).status, 1);
	EXPECT_NE(kwarpctl::run({}).err.find("Usage: "), std::string::npos);
	for (std::vector<std::string> args :
	     std::vector<std::vector<std::string>>{{},
						   {"-x"},
						   {"policies"},
						   {""},
						   {"policy", "drop"},
						   {"status", "-x"},
						   {"policy", "show", "kwarp0", "crc"},
						   {"stats", "show", "kwarp0", "crc"}}) {
		Outcome o = run(args);
		EXPECT_EQ(o.status, 1) << (args.empty() ? "" : args[0]);
		EXPECT_TRUE(o.err.starts_with("kwarpctl: ")) << o.err;
		EXPECT_EQ(o.out, "");
	}
	EXPECT_EQ(kwarpctl::run({"--sysfs"}).status, 1);
}

TEST(parse_value, numbers_and_text)
{
	using kwarpctl::Value;
	EXPECT_EQ(kwarpctl::parse_value("0"), Value(std::uint64_t{0}));
	EXPECT_EQ(kwarpctl::parse_value("18446744073709551616"), Value("18446744073709551616"));
	EXPECT_EQ(kwarpctl::parse_value("-1"), Value("-1"));
	EXPECT_EQ(kwarpctl::parse_value("1 2"), Value("1 2"));
	EXPECT_EQ(kwarpctl::parse_value(""), Value(""));
}

TEST(format, json_escapes)
{
	std::vector<kwarpctl::Record> records{{"d\"", {{"k", std::string("a\\\n\xff")}}}};
	EXPECT_EQ(kwarpctl::format(records, kwarpctl::Form::json),
		  "[{\"ifname\":\"d\\\"\",\"k\":\"a\\\\\\n\xef\xbf\xbd\"}]\n");
}

} // namespace
