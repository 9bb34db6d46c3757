// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

namespace victim {

// Ends the process, with the test's name, when one takes a minute: a call that never returns is
// a failure of the kernel.
void watch_tests();

} // namespace victim
