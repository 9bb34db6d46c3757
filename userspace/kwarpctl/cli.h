/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// The command line.
#pragma once

#include "rdma.h"
#include "status.h"

#include <functional>
#include <string>
#include <vector>

namespace kwarpctl {

struct Outcome {
	int status;
	std::string out; // for standard output
	std::string err; // for standard error
};

// What the commands need beside files; the tests have their own.
struct Environment {
	Rdma *rdma = nullptr; // the kernel's
	Wait wait;	      // sleeps
	std::function<void(const std::string &)>
		print; // of commands that go on; to standard output
};

// Runs one command; @args without the program's name.
Outcome run(const std::vector<std::string> &args, const Environment &environment = {});

} // namespace kwarpctl
