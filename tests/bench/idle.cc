// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// idle COUNT: bytes of memory per idle connected queue pair, the mean over COUNT connections
// between host A and host B.
#include <iostream>

#include "rdma/crowd.h"

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::cerr << "usage: idle COUNT\n";
		return 2;
	}
	try {
		std::cout << static_cast<long>(rdma::idle_cost(std::stoul(argv[1]))) << std::endl;
	} catch (const std::exception &e) {
		std::cerr << "idle: " << e.what() << "\n";
		return 1;
	}
}
