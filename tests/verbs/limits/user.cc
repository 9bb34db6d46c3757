// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "user.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdma/failure.h"

namespace limits {

void become_nobody()
{
	rdma::check(setgroups(0, nullptr), "setgroups");
	rdma::check(setgid(nobody), "setgid");
	rdma::check(setuid(nobody), "setuid");
}

static void attempt(const std::function<void()> &what)
{
	try {
		what();
	} catch (const std::exception &e) {
		ADD_FAILURE() << e.what();
	}
}

void as_nobody(const std::function<void()> &what, const std::function<void()> &before)
{
	in_child([&] {
		before();
		become_nobody();
		what();
	});
}

void in_child(const std::function<void()> &what)
{
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		attempt(what);
		fflush(stdout);
		_exit(testing::Test::HasFailure());
	}
	int status = -1;
	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0) << "the process failed, see above";
}

void set_memlock(size_t bytes)
{
	rlimit limit{bytes, bytes};
	rdma::check(setrlimit(RLIMIT_MEMLOCK, &limit), "setrlimit");
}

size_t pinned()
{
	std::ifstream status("/proc/self/status");
	for (std::string line; std::getline(status, line);)
		if (line.starts_with("VmPin:"))
			return std::stoul(line.substr(6)) * 1024;
	throw rdma::Failure("no VmPin");
}

} // namespace limits
