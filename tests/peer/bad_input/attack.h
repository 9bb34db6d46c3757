// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A hostile program, which corrupts the rings that it shares with the kernel. It is a separate
// process, because the driver guarantees nothing to a program that does this.
#pragma once

#include <string>
#include <vector>

namespace peer {

// The main() of the hostile program. Returns 0 if all objects could be created and destroyed, and
// no attack found a fault.
int attack_main(const std::vector<std::string> &args);

// Starts the hostile program with these arguments of attack_main(). Returns its pid. When it
// corrupts rings for the first time, it writes a byte to the descriptor, which is closed here.
int start_attack(const std::vector<std::string> &args, int started = -1);

} // namespace peer
