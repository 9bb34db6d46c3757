// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// kwarpctl: kwarp devices, their policy, counters and connections.
#include "cli.h"
#include "error.h"

#include <cstdio>
#include <cstdlib>

namespace {

// Standard output may be closed.
bool flushed()
{
	if (std::fflush(stdout) == 0)
		return true;
	std::perror("kwarpctl: standard output");
	return false;
}

} // namespace

int main(int argc, char **argv)
{
	kwarpctl::Environment environment;
	environment.print = [](const std::string &line) {
		std::fputs(line.c_str(), stdout);
		if (!flushed())
			std::exit(kwarpctl::failure);
	};
	const kwarpctl::Outcome outcome =
		kwarpctl::run({argv + (argc > 0), argv + argc}, environment);

	std::fputs(outcome.err.c_str(), stderr);
	std::fputs(outcome.out.c_str(), stdout);
	return flushed() ? outcome.status : kwarpctl::failure;
}
