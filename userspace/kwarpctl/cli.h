/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// The command line.
#pragma once

#include <string>
#include <vector>

namespace kwarpctl {

struct Outcome {
	int status;
	std::string out; // for standard output
	std::string err; // for standard error
};

// Runs one command; @args without the program's name.
Outcome run(const std::vector<std::string> &args);

} // namespace kwarpctl
