// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "kernel_log.h"

#include <cerrno>
#include <fcntl.h>
#include <regex>
#include <stdexcept>
#include <unistd.h>

namespace live_fuzz {

KernelLog::KernelLog() : fd_(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC))
{
	if (fd_ < 0)
		throw std::runtime_error("cannot read /dev/kmsg");
	lseek(fd_, 0, SEEK_END);
}

KernelLog::~KernelLog()
{
	close(fd_);
}

std::string KernelLog::complaints()
{
	static const std::regex bad(
		"WARNING:|BUG:|KASAN|UBSAN|Oops|Call Trace|refcount_t|possible circular|INFO: "
		"(task|rcu)|"
		"soft lockup|general protection|scheduling while atomic|unreferenced object");
	std::string all;
	char record[8192];

	// Each read returns one record; EPIPE: records were overwritten before they were read.
	for (;;) {
		ssize_t n = read(fd_, record, sizeof(record) - 1);
		if (n < 0 && errno == EPIPE)
			continue;
		if (n <= 0)
			return all;
		std::string s(record, static_cast<size_t>(n));
		if (std::regex_search(s, bad))
			all += s.substr(s.find(';') + 1);
	}
}

} // namespace live_fuzz
