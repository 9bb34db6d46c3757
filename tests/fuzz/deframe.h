// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The whole deframer: a stream arrives in segments of any size, and is read as kernel/rdmap/rx.c
// does, by the functions it uses (kernel/llp/mpa/cursor.c, kernel/proto/mpa_fpdu.c). The model
// predicts what happens, and after which byte.
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
