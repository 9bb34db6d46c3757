// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Decodes the MPA connections of a capture, from their startup frames on.
#pragma once

#include "capture.h"

namespace wirecheck {

struct Sums {
	unsigned connections = 0, fpdus = 0, markers = 0;
	unsigned crc_bad = 0, marker_bad = 0, pad_bad = 0, header_bad = 0, incomplete = 0;
	unsigned segments = 0;	// TCP segments in Full Operation
	unsigned unaligned = 0; // TCP segments that do not begin with an FPDU
	// FPDUs and TCP segments in the direction with more bytes of each connection. With RDMA
	// Reads these are the Read Responses; several Read Requests may share a segment.
	unsigned bulk_fpdus = 0, bulk_segments = 0;

	// Whether there are FPDUs, and all of them are complete and correct.
	bool sound() const;
};

Sums decode(const std::map<Flow, Stream> &streams);

} // namespace wirecheck
