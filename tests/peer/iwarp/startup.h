// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// MPA startup frames: RFC 5044 7.1.1, RFC 6581 6 and 9. Every field can be made wrong.
#pragma once

#include <optional>

#include "bytes.h"

namespace iwarp {

inline constexpr std::string_view request_key = "MPA ID Req Frame";
inline constexpr std::string_view reply_key = "MPA ID Rep Frame";
// 2007 proposal 1: the printed bytes and the text differ.
inline constexpr std::string_view rtr_key = "MPA ID RtR Frame",
				  rtr_key_of_the_text = "MPA ID Rtr Frame";
inline constexpr size_t startup_header_len = 20;
inline constexpr size_t max_private_data = 512;

// RFC 6581 9: what private data begins with when S is set.
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
	bool m = false;	      // markers wanted in what the sender of the frame receives
	bool c = true;	      // CRC wanted
	bool r = false;	      // rejected (reply)
	bool s = false;	      // enhanced data follows
	uint8_t reserved = 0; // 4 bits
	uint8_t rev = 1;
	std::optional<Enhanced> enhanced;
	Bytes private_data;		   // behind the enhanced data
	std::optional<uint16_t> pd_length; // instead of the right one

	Bytes encode() const;

	// Bytes of the whole frame whose first 20 bytes are in v.
	static size_t length(View v);
	// From a whole frame; splits off the enhanced data if S is set.
	static StartupFrame decode(View v);

	static StartupFrame request(uint8_t rev, std::optional<Enhanced> e = {}, Bytes pd = {});
	static StartupFrame reply(uint8_t rev, std::optional<Enhanced> e = {}, Bytes pd = {});
	// 2007 proposal: "ready", behind the reply.
	static StartupFrame rtr(bool c = true, std::string_view key = rtr_key, Bytes pd = {});
};

} // namespace iwarp
