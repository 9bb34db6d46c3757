// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Runs a target once on each file of the named folders, on other machines, where there is no
// libFuzzer.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "../unit/code.h"

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n);

int main(int argc, char **argv)
{
	unsigned int runs = 0;
	for (int i = 1; i < argc; i++) {
		for (const auto &entry : std::filesystem::directory_iterator(argv[i])) {
			std::ifstream in(entry.path(), std::ios::binary);
			const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
			const std::vector<u8> input(bytes.begin(), bytes.end());
			LLVMFuzzerTestOneInput(input.data(), input.size());
			runs++;
		}
	}
	std::printf("%u inputs\n", runs);
	return runs ? 0 : 1;
}
