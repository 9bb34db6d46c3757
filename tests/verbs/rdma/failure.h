// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Thrown by a test's set-up when it cannot continue; GoogleTest reports it.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace rdma {

struct Failure : std::runtime_error {
	using std::runtime_error::runtime_error;
	Failure(const std::string &what, int error)
		: std::runtime_error(what + ": " + strerror(error))
	{
	}
};

// An awaited event or completion did not come. Not a Failure, with which tests of errors count:
// what a failed call leaves undone must not be waited for.
struct Timeout : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// For calls that return 0, or -1 with errno, or the error itself.
inline void check(int ret, const char *what)
{
	if (ret)
		throw Failure(what, ret > 0 ? ret : errno);
}

template <class T>
T *check(T *pointer, const char *what)
{
	if (!pointer)
		throw Failure(what, errno);
	return pointer;
}

} // namespace rdma
