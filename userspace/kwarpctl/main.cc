// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kwarpctl: policy and counters of kwarp devices.
#include "cli.h"
#include "error.h"

#include <cstdio>

int main(int argc, char **argv)
{
	kwarpctl::Outcome outcome = kwarpctl::run({argv + (argc > 0), argv + argc});

	std::fputs(outcome.err.c_str(), stderr);
	std::fputs(outcome.out.c_str(), stdout);
	if (std::fflush(stdout) != 0) {
		std::perror("kwarpctl: standard output");
		return kwarpctl::failure;
	}
	return outcome.status;
}
