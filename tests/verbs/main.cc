// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Verbs and rdma_cm between the two hosts of tests/vm/lib.sh. Prints TAP.
#include <csignal>

#include "../peer/victim/program.h"
#include "lab/tap.h"

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	testing::InitGoogleTest(&argc, argv);
	testing::TestEventListeners &listeners = testing::UnitTest::GetInstance()->listeners();
	delete listeners.Release(listeners.default_result_printer());
	listeners.Append(new lab::TapPrinter);
	return victim::run_tests();
}
