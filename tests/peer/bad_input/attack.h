// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A hostile program: what it does to the rings it shares with the kernel. It runs as a
// process of its own, since nothing is promised to it.
#pragma once

#include <string>
#include <vector>

namespace peer {

// main() of the hostile program. Return: 0 if all could be done and undone.
int attack_main(const std::vector<std::string> &args);

// Starts it. Return: pid.
int start_attack(const std::vector<std::string> &args);

} // namespace peer
