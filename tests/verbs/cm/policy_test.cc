// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The device's policy files: accepted and displayed values; existing connections keep the old
// policy.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;
using lab::Policy;

namespace {

struct policy : KwarpOnly {};

bool refuses(const std::string &name, const std::string &value)
{
	std::string before = lab::a().policy(name).value();
	std::ofstream file(lab::a().sysfs() + "/kwarp/" + name);
	return !(file << value << std::flush) && lab::a().policy(name) == before;
}

} // namespace

TEST_F(policy, file__refuses_nonsense)
{
	EXPECT_TRUE(refuses("mpa_rev", "3"));
	EXPECT_TRUE(refuses("mpa_rev", "-1"));
	for (const char *crc :
	     {"2", "on", "must", "off required", "[]", "off [", "\n", "[off] [required]"})
		EXPECT_TRUE(refuses("crc", crc)) << crc;
	EXPECT_TRUE(refuses("markers", "x"));
	EXPECT_TRUE(refuses("permissive", "2"));
	for (const char *p2p :
	     {"256", "2", "writes", "off write", "write off", "write,frame", " ", "[", "0 write"})
		EXPECT_TRUE(refuses("p2p", p2p)) << p2p;
	EXPECT_TRUE(refuses("p2p", std::string(200, ' ') + "write"));
	for (const char *fpdu : {"0", "1", "small", "emss large"})
		EXPECT_TRUE(refuses("fpdu", fpdu)) << fpdu;
	EXPECT_TRUE(refuses("ird", "100000"));
	EXPECT_TRUE(refuses("ord", "65536"));
	EXPECT_TRUE(refuses("startup_timeout_ms", "0"));
	EXPECT_TRUE(refuses("startup_timeout_ms", "4294967296"));
	EXPECT_TRUE(refuses("backlog", "0"));
	EXPECT_TRUE(refuses("backlog", "\n"));
	EXPECT_TRUE(refuses("keepalive_s", "32768"));
	EXPECT_TRUE(refuses("poll_us", "1001"));
}

TEST_F(policy, file__each)
{
	int files = 0;
	for (const auto &file : std::filesystem::directory_iterator(lab::a().sysfs() + "/kwarp")) {
		const std::string name = file.path().filename();
		SCOPED_TRACE(name);
		for (const char *value : {"\n", "-1", "4294967296", "no netdev"})
			EXPECT_TRUE(refuses(name, value)) << value;
		// takes back its own output
		const std::string shown = lab::a().policy(name).value();
		Policy same(lab::a(), name, shown);
		EXPECT_EQ(lab::a().policy(name), shown);
		files++;
	}
	EXPECT_GT(files, 0);
}

TEST_F(policy, file__keeps_what_was_written)
{
	for (const char *name : {"mpa_rev", "permissive", "markers", "ird", "ord"}) {
		Policy one(lab::a(), name, 1);
		EXPECT_EQ(lab::a().policy(name), "1") << name;
	}
	Policy timeout(lab::a(), "startup_timeout_ms", 1234);
	EXPECT_EQ(lab::a().policy("startup_timeout_ms"), "1234");
	EXPECT_NE(lab::b().policy("startup_timeout_ms"), "1234");
}

// A file shows all words, with the current ones in brackets; the output can be written back.
TEST_F(policy, file__words)
{
	struct {
		const char *name, *write, *read;
	} rows[] = {
		{"crc", "off", "[off] preferred required"},
		{"crc", "preferred\n", "off [preferred] required"},
		{"crc", "required", "off preferred [required]"},
		{"crc", "0", "[off] preferred required"},
		{"crc", "1", "off [preferred] required"},
		{"crc", "off preferred [required]", "off preferred [required]"},
		{"p2p", "off", "[off] send write read rtr-frame"},
		{"p2p", "0", "[off] send write read rtr-frame"},
		{"p2p", "1", "off [send] [write] [read] [rtr-frame]"},
		{"p2p", "write", "off send [write] read rtr-frame"},
		{"p2p", "rtr-frame, read,read\n", "off send write [read] [rtr-frame]"},
		{"p2p", "[off] send write read rtr-frame", "[off] send write read rtr-frame"},
		{"p2p", "off [send] write [read] rtr-frame\n", "off [send] write [read] rtr-frame"},
		{"fpdu", "large", "emss [large]"},
		{"fpdu", "[emss] large", "[emss] large"},
	};
	for (const auto &row : rows) {
		Policy one(lab::a(), row.name, row.write);
		EXPECT_EQ(lab::a().policy(row.name), row.read) << row.write;
	}
	// the end of the scopes above has restored the defaults
	EXPECT_EQ(lab::a().policy("crc"), "off [preferred] required");
	EXPECT_EQ(lab::a().policy("p2p"), "off [send] [write] [read] [rtr-frame]");
	EXPECT_EQ(lab::a().policy("fpdu"), "[emss] large");
	EXPECT_EQ(lab::a().policy("permissive"), "1");
}

TEST_F(policy, change__leaves_connections_alone)
{
	Pair pair;
	Policy crc(lab::a(), "crc", 0), markers(lab::b(), "markers", 1),
		rev(lab::a(), "mpa_rev", 1);
	fill(pair.client.memory().span(0, 30000), 1);
	post(pair.client.qp(),
	     write(1, {pair.client.memory().sge(0, 30000)}, pair.server.remote()));
	post(pair.client.qp(),
	     read(2, {pair.client.memory().sge(30000, 30000)}, pair.server.remote()));
	wait_ok(pair.client.scq(), 2);
	EXPECT_TRUE(filled(pair.client.memory().span(30000, 30000), 1));
}
