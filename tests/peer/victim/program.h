// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

namespace victim {

// Runs the tests, each with a time limit (watchdog.h); returns the exit status of the program. It
// is a failure if no test was to run, because a filter of a suite that matches nothing, after a
// rename, must not pass; if a test is skipped as "kwarp only" though both devices are to be
// kwarp's by DRIVER_A and DRIVER_B (tests/vm/lib.sh); and if a test is skipped in the debug kernel
// because "the kernel has no" feature. Tests for which that kernel lacks a feature, too, give their
// reason in other words.
int run_tests();

} // namespace victim
