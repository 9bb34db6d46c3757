// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

#include <chrono>

namespace victim {

// Prints a test's name and ends the process if the test takes more than five minutes, times
// KWARP_PATIENCE: a call that never returns is a failure of the kernel. Nearly all tests take less
// than a minute with the debug kernel on a busy machine.
void watch_tests();

// Gives the running test this time from now on, times KWARP_PATIENCE.
void may_take(std::chrono::seconds time);

} // namespace victim
