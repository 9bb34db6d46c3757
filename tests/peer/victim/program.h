// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#pragma once

namespace victim {

// Runs the tests, each with a time limit (watchdog.h); returns the exit status of the program. It
// is a failure if no test was to run, because a filter of a suite that matches nothing, after a
// rename, must not pass; and if a test is skipped as "kwarp only" though both devices are to be
// kwarp's by DRIVER_A and DRIVER_B (tests/vm/lib.sh).
int run_tests();

} // namespace victim
