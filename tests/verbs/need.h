// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// For small programs without GoogleTest: a call that fails is reported and ends the program.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

[[noreturn]] inline void fail(const char *what)
{
	printf("failed: %s: %s\n", what, strerror(errno));
	exit(1);
}

template <class T>
T *need(T *p, const char *what)
{
	if (!p)
		fail(what);
	return p;
}

inline void need(int ret, const char *what)
{
	if (ret)
		fail(what);
}
