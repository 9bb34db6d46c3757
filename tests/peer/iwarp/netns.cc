// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "netns.h"

#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <system_error>
#include <unistd.h>

namespace iwarp {
namespace {

[[noreturn]] void fail(const std::string &what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

NetnsScope::NetnsScope(const std::string &path)
{
	if (path.empty())
		return;
	home_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home_ < 0)
		fail("cannot open the thread's network namespace");
	int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET)) {
		int saved = errno;
		if (fd >= 0)
			close(fd);
		close(home_);
		errno = saved;
		fail(path);
	}
	close(fd);
}

NetnsScope::~NetnsScope()
{
	if (home_ < 0)
		return;
	if (setns(home_, CLONE_NEWNET))
		abort(); // all later code would run in the wrong namespace
	close(home_);
}

} // namespace iwarp
