// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs (RFC 5044 4): length, ULPDU, pad, CRC, and optional markers every 512 bytes of the stream.
#pragma once

#include <functional>
#include <optional>

#include "bytes.h"

namespace iwarp {

struct FpduMode {
	bool crc = true;
	bool markers = false;
};

struct Marker {
	uint16_t reserved = 0;
	uint16_t fpdu_ptr = 0;
};

// The faults of one FPDU. The CRC is computed over the faulty fields, so it is correct unless
// crc_xor is set.
struct FpduFault {
	std::optional<uint16_t> length{}; // value of the ULPDU_Length field
	uint8_t pad = 0;		  // value of the pad bytes
	uint32_t crc_xor = 0;
	std::function<Marker(Marker right)> marker{}; // replaces each marker
	bool omit_markers = false;

	bool any() const { return length || pad || crc_xor || marker || omit_markers; }
};

class FpduEncoder {
public:
	explicit FpduEncoder(FpduMode mode = {}, uint32_t pos = 0) : mode_(mode), pos_(pos) {}

	// Returns the FPDU of a ULPDU at the current position, and advances the position.
	Bytes encode(View ulpdu, const FpduFault &fault = {});

	FpduMode mode() const { return mode_; }
	// Bytes since the start of Full Operation, modulo 2^32.
	uint32_t pos() const { return pos_; }
	// Advances the position by n bytes, also for bytes not built by encode().
	void advance(size_t n) { pos_ += static_cast<uint32_t>(n); }

private:
	FpduMode mode_;
	uint32_t pos_;
};

struct Fpdu {
	Bytes ulpdu;
	bool crc_ok = true;    // true when CRC is off
	bool pad_ok = true;    // all zero
	bool marker_ok = true; // every marker holds the distance to the FPDU's length field
	unsigned markers = 0;
};

class FpduDecoder {
public:
	explicit FpduDecoder(FpduMode mode = {}, uint32_t pos = 0) : mode_(mode), pos_(pos) {}

	void feed(View bytes) { put(buf_, bytes); }
	// Takes the next FPDU out of the buffer; returns nothing if it is incomplete.
	std::optional<Fpdu> next();
	// Bytes that were fed and not yet returned as FPDUs.
	size_t pending() const { return buf_.size(); }

private:
	FpduMode mode_;
	uint32_t pos_;
	Bytes buf_;
};

} // namespace iwarp
