// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

namespace victim {

// Prints a test's name and ends the process if the test takes more than five minutes, times
// KWARP_PATIENCE: a call that never returns is a failure of the kernel. The longest test takes 47 s
// with the debug kernel on a busy machine.
void watch_tests();

} // namespace victim
