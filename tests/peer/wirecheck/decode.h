// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The MPA connections among the streams of a capture, decoded from their startup frames on.
#pragma once

#include "capture.h"

namespace wirecheck {

struct Sums {
	unsigned connections = 0, fpdus = 0, markers = 0;
	unsigned crc_bad = 0, marker_bad = 0, pad_bad = 0, header_bad = 0, incomplete = 0;
	unsigned segments = 0;	// of Full Operation
	unsigned unaligned = 0; // that do not begin with an FPDU
	// Of these, what goes in the direction of a connection in which there are more bytes: RDMA
	// Reads' data comes from the responder, and the requests share segments as they like.
	unsigned bulk_fpdus = 0, bulk_segments = 0;

	bool sound() const;
};

Sums decode(const std::map<Flow, Stream> &streams);

} // namespace wirecheck
