// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Private data in streaming mode, as draft-culley-iwarp-mpa-03 13.3 suggests: one message of each
// side before MPA starts. The draft's format is not available; this format is private
// (Documentation/attach.rst):
//
//	bytes 0-7	key, "KWARP PD"
//	byte 8		flags: 0x80 rejected (in an answer); other bits zero
//	byte 9		version, zero
//	bytes 10-11	length of the data, big-endian
//	then		the data
#pragma once

#include <cstdint>
#include <string>

namespace example {

constexpr size_t private_data_header = 12;
constexpr size_t private_data_max = 4096 - private_data_header; // limit of a streaming message

struct PrivateData {
	std::string data;
	bool rejected = false;

	// Throws std::length_error.
	std::string encode() const;
};

// Reads exactly one message from a connected socket; later bytes, such as MPA's
// first ones, stay in the socket. Throws std::runtime_error.
PrivateData receive_private_data(int fd);
void send_all(int fd, const std::string &bytes);

} // namespace example
