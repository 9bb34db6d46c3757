// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA startup frames (RFC 5044 7.1.1, RFC 6581 6 and 9). The caller may choose any value for each
// field.
#pragma once

#include <optional>

#include "bytes.h"

namespace iwarp {

inline constexpr std::string_view request_key = "MPA ID Req Frame";
inline constexpr std::string_view reply_key = "MPA ID Rep Frame";
// 2007 proposal 1 spells this key "RtR" in its byte values, and "Rtr" in its text.
inline constexpr std::string_view rtr_key = "MPA ID RtR Frame",
				  rtr_key_of_the_text = "MPA ID Rtr Frame";
inline constexpr size_t startup_header_len = 20;
inline constexpr size_t max_private_data = 512;

// Enhanced data (RFC 6581 9): the first four bytes of the private data if S is set.
struct Enhanced {
	uint16_t ird = 1; // 14 bits
	uint16_t ord = 1; // 14 bits
	bool a = false;	  // peer-to-peer model
	bool b = false;	  // zero-length Send as RTR
	bool c = false;	  // zero-length RDMA Write as RTR
	bool d = false;	  // zero-length RDMA Read as RTR

	Bytes encode() const;
	static Enhanced decode(View v); // at least 4 bytes
};

struct StartupFrame {
	Bytes key;
	bool m = false;	      // requests markers in the direction that the sender receives
	bool c = true;	      // requests CRCs
	bool r = false;	      // rejected (reply)
	bool s = false;	      // enhanced data follows; 2007 proposal: an Rtr frame follows
	uint8_t reserved = 0; // 4 bits
	uint8_t rev = 1;
	std::optional<Enhanced> enhanced;
	Bytes private_data;		   // without the enhanced data
	std::optional<uint16_t> pd_length; // PD_Length field; nothing: encode() computes it

	Bytes encode() const;

	// Returns the length in bytes of the frame whose first 20 bytes are in v.
	static size_t length(View v);
	// Decodes a complete frame; separates the enhanced data from private_data if S is set.
	static StartupFrame decode(View v);

	static StartupFrame request(uint8_t rev, std::optional<Enhanced> e = {}, Bytes pd = {});
	static StartupFrame reply(uint8_t rev, std::optional<Enhanced> e = {}, Bytes pd = {});
	// The Rtr frame (2007 proposal), which the initiator sends after the reply.
	static StartupFrame rtr(bool c = true, std::string_view key = rtr_key, Bytes pd = {});
};

} // namespace iwarp
