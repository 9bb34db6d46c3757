// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Connections of a process that forks: they belong to the parent.
#include <gtest/gtest.h>

#include <functional>
#include <sys/wait.h>
#include <unistd.h>

#include "lab/host.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

void expect_works(Pair &pair, unsigned int seed)
{
	fill(pair.client.memory().span(0, 9000), seed);
	post(pair.client.qp(), write(1, {pair.client.memory().sge(0, 9000)}, pair.server.remote()));
	post(pair.client.qp(),
	     read(2, {pair.client.memory().sge(20000, 9000)}, pair.server.remote()));
	wait_ok(pair.client.scq(), 2);
	EXPECT_TRUE(filled(pair.client.memory().span(20000, 9000), seed));
}

// Runs the function in a child that exits without cleaning up; returns the exit status.
int in_child(const std::function<int()> &what)
{
	pid_t child = fork();
	if (!child)
		_exit(what());
	int status = -1;
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST(process, fork__child_ends)
{
	Pair pair;
	expect_works(pair, 1);
	EXPECT_EQ(in_child([] { return 0; }), 0);
	expect_works(pair, 2);
}

TEST(process, fork__child_executes)
{
	Pair pair;
	EXPECT_EQ(in_child([] { return execl("/bin/true", "true", nullptr); }), 0);
	expect_works(pair, 1);
}

TEST(process, fork__child_closes_what_it_inherited)
{
	Pair pair;
	EXPECT_EQ(in_child([] {
			  for (int fd = 3; fd < 256; fd++)
				  close(fd);
			  return 0;
		  }),
		  0);
	expect_works(pair, 1);
}

TEST(process, fork__while_work_is_in_flight)
{
	Pair pair;
	fill(pair.server.memory().span(0, 60000), 1);
	for (int i = 0; i < 20; i++)
		post(pair.client.qp(),
		     read(i, {pair.client.memory().sge(0, 60000)}, pair.server.remote()));
	EXPECT_EQ(in_child([] { return 0; }), 0);
	wait_ok(pair.client.scq(), 20);
	EXPECT_EQ(pair.client.state(), IBV_QPS_RTS);
}
