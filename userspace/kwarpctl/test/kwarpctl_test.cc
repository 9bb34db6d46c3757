// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The whole tool except main(), on a fake /sys. Tests are named function__case.
#include "cli.h"
#include "output.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdlib.h>
#include <unistd.h>

namespace fs = std::filesystem;
using kwarpctl::Outcome;

namespace {

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
	}

	void TearDown() override { fs::remove_all(root); }

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
		fs::path counters = device(name) / "ports/1/hw_counters";
		put(counters / "tx_fpdus", "18446744073709551615");
		put(counters / "crc_err", "0");
		put(counters / "lifespan", "10");
	}

	Outcome run(std::vector<std::string> args) const
	{
		args.insert(args.begin(), {"--sysfs", root.string()});
		return kwarpctl::run(args);
	}

	fs::path root;
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
			 "Invalid argument (expected 0|1|2)\n");
}

TEST_F(kwarpctl_test, policy_set__incomplete)
{
	EXPECT_EQ(run({"policy", "set"}).err, "kwarpctl: DEV is missing; try 'kwarpctl help'\n");
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
	EXPECT_TRUE(run({"stats", "sh"}).out.starts_with("sh:\n"));
	EXPECT_EQ(run({"stats", "siw0"}).status, 2);
}

TEST_F(kwarpctl_test, stats__unreadable_counter)
{
	fs::path counter = device("kwarp0") / "ports/1/hw_counters/crc_err";
	fs::remove(counter);
	fs::create_symlink("/proc/self/mem", counter); // reads fail with EIO
	EXPECT_EQ(run({"stats", "kwarp0"}).status, 2);
	Outcome all = run({"stats"});
	EXPECT_EQ(all.status, 0);
	EXPECT_TRUE(all.out.starts_with("kwarp1:\n"));
}

TEST_F(kwarpctl_test, run__help_and_version)
{
	for (const char *word : {"help", "-h", "--help", "h"})
		EXPECT_TRUE(run({word}).out.starts_with("Usage: kwarpctl ")) << word;
	EXPECT_TRUE(run({"policy", "help"}).out.starts_with("Usage: "));
	EXPECT_TRUE(run({"stats", "help"}).out.starts_with("Usage: "));
	EXPECT_TRUE(run({"-V"}).out.starts_with("kwarpctl "));
}

TEST_F(kwarpctl_test, run__misuse)
{
	EXPECT_EQ(run({}).status, 1);
	EXPECT_TRUE(run({}).err.starts_with("Usage: "));
	EXPECT_EQ(run({"-x"}).err, "kwarpctl: '-x' is not an option; try 'kwarpctl help'\n");
	EXPECT_EQ(run({"policies"}).err,
		  "kwarpctl: 'policies' is not an object; try 'kwarpctl help'\n");
	EXPECT_EQ(run({""}).status, 1);
	EXPECT_EQ(run({"policy", "drop"}).status, 1);
	EXPECT_EQ(run({"policy", "show", "kwarp0", "crc"}).err,
		  "kwarpctl: 'crc' is one word too many; try 'kwarpctl help'\n");
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
	std::vector<kwarpctl::Record> records{{"d\"", {{"k", std::string("a\\\n")}}}};
	EXPECT_EQ(kwarpctl::format(records, kwarpctl::Form::json),
		  "[{\"ifname\":\"d\\\"\",\"k\":\"a\\\\\\u000a\"}]\n");
}

} // namespace
