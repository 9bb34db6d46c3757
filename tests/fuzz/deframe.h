// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The whole deframer: a stream arrives in segments of any size, and is read as kernel/rx/engine.c
// does, by the functions it uses (kernel/rx/stream.c, kernel/proto/mpa_fpdu.c). What happens, and
// after which octet, is what the model says.
#pragma once

#include "deframer_model.h"
#include "fuzz.h"

struct Framing {
	u32 pos; // of the stream's first octet
	bool markers;
	bool crc;

	explicit Framing(Input &in);
};

// Feeds the stream to both; returns what happened.
std::vector<model::Event> deframe(const Framing &framing, const Octets &stream, const Octets &cuts);
