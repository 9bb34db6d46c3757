// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// wire_check FILE.pcap: decodes every MPA connection in a capture from its startup frames on, also
// FPDUs with markers that share or span TCP segments, which tshark cannot decode. Prints the sums
// as lines "word number". Exit status: 0 if there are FPDUs and all are correct, 1 if not, 2 on
// errors.
#include <iostream>

#include "decode.h"

namespace {

int check(const std::string &file)
{
	const wirecheck::Sums sums = wirecheck::decode(wirecheck::read_capture(file));
	std::cout << "connections " << sums.connections << "\nfpdus " << sums.fpdus << "\nmarkers "
		  << sums.markers << "\ncrc_bad " << sums.crc_bad << "\nmarker_bad "
		  << sums.marker_bad << "\npad_bad " << sums.pad_bad << "\nheader_bad "
		  << sums.header_bad << "\nincomplete " << sums.incomplete << "\nsegments "
		  << sums.segments << "\nunaligned " << sums.unaligned << "\nbulk_fpdus "
		  << sums.bulk_fpdus << "\nbulk_segments " << sums.bulk_segments << "\n";
	return !sums.sound();
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::cerr << "usage: wire_check FILE.pcap\n";
		return 2;
	}
	try {
		return check(argv[1]);
	} catch (const std::exception &e) {
		std::cerr << "wire_check: " << e.what() << "\n";
		return 2;
	}
}
