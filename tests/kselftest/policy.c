// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The files of a device's policy: the values that they accept and refuse.
 * A value that was read can be written back.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../kselftest_harness.h"

#define DEV "kwarp-policy"
#define DIR_OF_POLICY "/sys/class/infiniband/" DEV "/kwarp/"

static int read_key(const char *key, char *text, size_t size)
{
	char path[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DIR_OF_POLICY "%s", key);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/* Return: 0 or a negative errno. */
static int write_key(const char *key, const char *text)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), DIR_OF_POLICY "%s", key);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

FIXTURE(policy)
{
	int unused;
};

FIXTURE_SETUP(policy)
{
	if (geteuid())
		SKIP(return, "the test needs root");
	if (system("modprobe -q kwarp; rdma link add " DEV " type kwarp netdev lo"))
		SKIP(return, "no device can be made");
}

FIXTURE_TEARDOWN(policy)
{
	if (system("rdma link delete " DEV))
		TH_LOG("the device cannot be removed");
}

struct range {
	const char *key;
	long initial, min, max;
};

static const struct range ranges[] = {
	{ "answer_timeout_ms", 60000, 100, 600000 },
	{ "backlog", 1024, 1, 65535 },
	{ "ird", 32, 0, 128 },
	{ "keepalive_s", 7200, 0, 32767 },
	{ "mpa_rev", 2, 0, 2 },
	{ "ord", 32, 0, 128 },
	{ "startup_timeout_ms", 10000, 100, 600000 },
};

TEST_F(policy, numbers)
{
	char text[64];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		const struct range *r = &ranges[i];

		TH_LOG("%s", r->key);
		ASSERT_EQ(0, read_key(r->key, text, sizeof(text)));
		EXPECT_EQ(r->initial, atol(text));
		snprintf(text, sizeof(text), "%ld", r->min);
		EXPECT_EQ(0, write_key(r->key, text));
		snprintf(text, sizeof(text), "%ld", r->max);
		EXPECT_EQ(0, write_key(r->key, text));
		snprintf(text, sizeof(text), "%ld", r->max + 1);
		EXPECT_EQ(-EINVAL, write_key(r->key, text));
		EXPECT_EQ(-EINVAL, write_key(r->key, "many"));
		EXPECT_EQ(-EINVAL, write_key(r->key, "\n"));
		ASSERT_EQ(0, read_key(r->key, text, sizeof(text)));
		EXPECT_EQ(r->max, atol(text));
	}
}

TEST_F(policy, words)
{
	char text[256];

	ASSERT_EQ(0, read_key("crc", text, sizeof(text)));
	EXPECT_STREQ("off [preferred] required", text);
	EXPECT_EQ(0, write_key("crc", "required"));
	ASSERT_EQ(0, read_key("crc", text, sizeof(text)));
	EXPECT_STREQ("off preferred [required]", text);
	EXPECT_EQ(-EINVAL, write_key("crc", "sometimes"));
	EXPECT_EQ(0, write_key("p2p", "read,write"));
	EXPECT_EQ(-EINVAL, write_key("p2p", "read,never"));
}

TEST_F(policy, what_is_read_can_be_written)
{
	static const char * const keys[] = { "crc", "fpdu", "llp", "p2p", "paths", "permissive" };
	char before[256], after[256];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		TH_LOG("%s", keys[i]);
		ASSERT_EQ(0, read_key(keys[i], before, sizeof(before)));
		EXPECT_EQ(0, write_key(keys[i], before));
		ASSERT_EQ(0, read_key(keys[i], after, sizeof(after)));
		EXPECT_STREQ(before, after);
	}
}

TEST_F(policy, nobody_may_not_write)
{
	ASSERT_EQ(0, seteuid(65534));
	EXPECT_EQ(-EACCES, write_key("ird", "1"));
	ASSERT_EQ(0, seteuid(0));
}

TEST_HARNESS_MAIN
