/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
// The command line.
#pragma once

#include "rdma.h"
#include "status.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kwarpctl {

struct Outcome {
	int status;
	std::string out; // for standard output
	std::string err; // for standard error
};

// Interfaces that the commands use besides files; the tests replace them.
struct Environment {
	Rdma *rdma = nullptr;	    // by default the kernel's
	std::optional<Clock> clock; // by default the machine's
	std::function<void(const std::string &)>
		print; // standard output of commands that do not end by themselves
	std::filesystem::path proc = "/proc";
};

// Runs one command; @args without the program's name.
Outcome run(const std::vector<std::string> &args, const Environment &environment = {});

} // namespace kwarpctl
