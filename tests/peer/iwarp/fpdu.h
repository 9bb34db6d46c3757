// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs, RFC 5044 4: length, ULPDU, pad, CRC, and markers every 512 bytes of the stream.
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

// What to do wrong in one FPDU. The CRC covers the wrong fields, so it is right
// unless crc_xor says otherwise.
struct FpduFault {
	std::optional<uint16_t> length{}; // ULPDU_Length field
	uint8_t pad = 0;		  // value of the pad bytes
	uint32_t crc_xor = 0;
	std::function<Marker(Marker right)> marker{}; // replaces each marker
	bool omit_markers = false;

	bool any() const { return length || pad || crc_xor || marker || omit_markers; }
};

class FpduEncoder {
public:
	explicit FpduEncoder(FpduMode mode = {}, uint32_t pos = 0) : mode_(mode), pos_(pos) {}

	Bytes encode(View ulpdu, const FpduFault &fault = {});

	FpduMode mode() const { return mode_; }
	// Bytes since the start of Full Operation, modulo 2^32.
	uint32_t pos() const { return pos_; }
	// For bytes sent behind the encoder's back.
	void advance(size_t n) { pos_ += static_cast<uint32_t>(n); }

private:
	FpduMode mode_;
	uint32_t pos_;
};

struct Fpdu {
	Bytes ulpdu;
	bool crc_ok = true;    // true when CRC is off
	bool pad_ok = true;    // all zero
	bool marker_ok = true; // every marker points to the length field
	unsigned markers = 0;
};

class FpduDecoder {
public:
	explicit FpduDecoder(FpduMode mode = {}, uint32_t pos = 0) : mode_(mode), pos_(pos) {}

	void feed(View bytes) { put(buf_, bytes); }
	// The next whole FPDU, if it is there.
	std::optional<Fpdu> next();
	// Bytes of an incomplete FPDU.
	size_t pending() const { return buf_.size(); }

private:
	FpduMode mode_;
	uint32_t pos_;
	Bytes buf_;
};

} // namespace iwarp
