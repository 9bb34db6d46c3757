// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The Terminate message (RFC 5040 4.8), and the error codes of all layers.
#pragma once

#include <compare>
#include <iosfwd>
#include <optional>

#include "bytes.h"
#include "segment.h"

namespace iwarp {

// Layer, error type and error code of a Terminate.
struct Code {
	uint8_t layer = 0;
	uint8_t etype = 0;
	uint8_t code = 0;
	auto operator<=>(const Code &) const = default;
};

std::ostream &operator<<(std::ostream &os, const Code &c);

namespace rdmap { // RFC 5040 figure 9
inline constexpr Code prot_stag{0, 1, 0x00};
inline constexpr Code prot_bounds{0, 1, 0x01};
inline constexpr Code prot_access{0, 1, 0x02};
inline constexpr Code prot_stream{0, 1, 0x03};
inline constexpr Code prot_wrap{0, 1, 0x04};
inline constexpr Code prot_invalidate{0, 1, 0x09};
inline constexpr Code op_version{0, 2, 0x05};
inline constexpr Code op_opcode{0, 2, 0x06};
inline constexpr Code op_stream{0, 2, 0x07};
inline constexpr Code op_invalidate{0, 2, 0x09};
} // namespace rdmap

namespace ddp { // RFC 5041 7.2
inline constexpr Code tagged_stag{1, 1, 0x00};
inline constexpr Code tagged_bounds{1, 1, 0x01};
inline constexpr Code tagged_stream{1, 1, 0x02};
inline constexpr Code tagged_wrap{1, 1, 0x03};
inline constexpr Code tagged_version{1, 1, 0x04};
inline constexpr Code untagged_qn{1, 2, 0x01};
inline constexpr Code untagged_no_buffer{1, 2, 0x02};
inline constexpr Code untagged_msn{1, 2, 0x03};
inline constexpr Code untagged_mo{1, 2, 0x04};
inline constexpr Code untagged_too_long{1, 2, 0x05};
inline constexpr Code untagged_version{1, 2, 0x06};
} // namespace ddp

namespace mpa { // RFC 5044 8, RFC 6581 8
inline constexpr Code closed{2, 0, 1};
inline constexpr Code crc{2, 0, 2};
inline constexpr Code marker{2, 0, 3};
inline constexpr Code startup{2, 0, 4};
inline constexpr Code local_catastrophic{2, 0, 5};
inline constexpr Code insufficient_ird{2, 0, 6};
inline constexpr Code no_rtr{2, 0, 7};
} // namespace mpa

struct Terminate {
	Code code;
	bool m = false;	       // DDP Segment Length valid
	bool d = false;	       // DDP header included
	bool r = false;	       // RDMAP header included
	uint16_t reserved = 0; // 13 bits
	uint16_t segment_len = 0;
	Bytes ddp_header{};
	Bytes rdmap_header{};

	Bytes encode() const;
	// Returns nothing if the payload is shorter than its header control bits require.
	static std::optional<Terminate> decode(View payload);
};

// Returns a Terminate with all optional fields: they quote a Read Request with this MSN.
Terminate quoting_read(const Code &code, uint32_t msn = 1);

Segment terminate_segment(Bytes payload);
Segment terminate_segment(const Code &code); // without headers

} // namespace iwarp
