// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

namespace victim {

// Ends the process, with the test's name, when one takes five minutes: a call that never returns is
// a failure of the kernel. One that does takes 47 seconds in the debug kernel, on a machine with
// other work.
void watch_tests();

} // namespace victim
