// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// DDP segments with their RDMAP control byte (RFC 5041 4, RFC 5040 4.1), and the headers of
// requests and responses. The caller may choose any value for each field.
#pragma once

#include <optional>

#include "bytes.h"

namespace iwarp {

enum Opcode : uint8_t { // RFC 5040 figure 4, RFC 7306 figure 2
	op_write = 0,
	op_read_request = 1,
	op_read_response = 2,
	op_send = 3,
	op_send_inv = 4,
	op_send_se = 5,
	op_send_se_inv = 6,
	op_terminate = 7,
	op_imm = 8,
	op_imm_se = 9,
	op_atomic_request = 10,
	op_atomic_response = 11,
};

enum Queue : uint32_t { // RFC 5040 3.1, RFC 7306 5.2
	q_send = 0,
	q_read = 1,
	q_terminate = 2,
	q_atomic = 3,
};

inline constexpr size_t tagged_header_len = 14;
inline constexpr size_t untagged_header_len = 18;

struct Segment {
	bool tagged = false;
	bool last = true;
	uint8_t ddp_reserved = 0;   // 4 bits
	uint8_t dv = 1;		    // 2 bits
	uint8_t rv = 1;		    // 2 bits
	uint8_t rdmap_reserved = 0; // 2 bits
	uint8_t opcode = op_send;   // 4 bits
	// tagged
	uint32_t stag = 0;
	uint64_t to = 0;
	// untagged
	uint32_t inv_stag = 0;
	uint32_t qn = 0;
	uint32_t msn = 1;
	uint32_t mo = 0;

	Bytes payload{};

	Bytes header() const;
	Bytes encode() const { return join({header(), payload}); }
	// Returns nothing if v is shorter than its header.
	static std::optional<Segment> decode(View v);
};

// RFC 5040 4.4
struct ReadRequest {
	uint32_t sink_stag = 0;
	uint64_t sink_to = 0;
	uint32_t size = 0;
	uint32_t src_stag = 0;
	uint64_t src_to = 0;

	static constexpr size_t len = 28;
	Bytes encode() const;
	static ReadRequest decode(View v); // v: at least len bytes
};

enum AtomicOp : uint32_t { // RFC 7306 figure 5
	fetch_add = 0,
	cmp_swap = 2,
};

// RFC 7306 figure 4
struct AtomicRequest {
	uint32_t op = fetch_add; // 28 reserved bits and the operation code
	uint32_t id = 0;
	uint32_t stag = 0;
	uint64_t to = 0;
	uint64_t data = 0;
	uint64_t mask = 0;
	uint64_t compare = 0;
	uint64_t compare_mask = ~uint64_t{0};

	static constexpr size_t len = 52;
	Bytes encode() const;
	static AtomicRequest decode(View v); // v: at least len bytes
};

// RFC 7306 figure 6
struct AtomicResponse {
	uint32_t id = 0;
	uint64_t original = 0;

	static constexpr size_t len = 12;
	Bytes encode() const;
	static AtomicResponse decode(View v); // v: at least len bytes
};

Segment write_segment(uint32_t stag, uint64_t to, Bytes payload, bool last = true);
Segment send_segment(uint32_t msn, Bytes payload, uint32_t mo = 0, bool last = true);
Segment read_request_segment(uint32_t msn, const ReadRequest &rr);
Segment atomic_request_segment(uint32_t msn, const AtomicRequest &a);
Segment atomic_response_segment(uint32_t msn, const AtomicResponse &a);
Segment read_response_segment(uint32_t stag, uint64_t to, Bytes payload, bool last = true);

// Splits a message into segments. Offsets are those of the second segment and all later ones, in
// bytes of the payload.
std::vector<Segment> cut_at(const Segment &message, const std::vector<size_t> &offsets);
// Splits a message into segments with at most this number of bytes of payload.
std::vector<Segment> cut_every(const Segment &message, size_t most);

} // namespace iwarp
