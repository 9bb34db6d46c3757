// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The complete deframer: a stream arrives in segments of any size, and is read as in
// kernel/llp/mpa/rx.c, with the same functions (kernel/llp/mpa/cursor.c, kernel/proto/mpa_fpdu.c).
// The model predicts each event, and after which byte it occurs.
#pragma once

#include "deframer_model.h"
#include "fuzz.h"

struct Framing {
	u32 pos; // of the stream's first byte
	bool markers;
	bool crc;

	explicit Framing(Input &in);
};

// Feeds the stream to both; returns the events.
std::vector<model::Event> deframe(const Framing &framing, const Bytes &stream, const Bytes &cuts);
