/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#pragma once

#include <stdexcept>
#include <string>

namespace kwarpctl {

// Exit codes, as in iproute2.
enum Status { ok = 0, usage_error = 1, failure = 2 };

// An error that ends a command; caught in run() only.
struct Error : std::runtime_error {
	Error(Status s, const std::string &what) : std::runtime_error(what), status(s) {}
	Status status;
};

} // namespace kwarpctl
