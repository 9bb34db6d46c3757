// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A deliberately naive model of MPA framing, written sentence by sentence from RFC 5044: it handles
// one byte at a time, is slow, and shares no code with the module.
#pragma once

#include "code.h"

namespace model {

// The remainder of the division that RFC 3720 12.1 describes, bit by bit, without a table and
// without a reflected register.
u32 crc(const Bytes &o);

// The FPDU at stream position pos.
Bytes encode(u32 pos, const Bytes &ulpdu, bool markers, bool with_crc);

// The number of bytes of an FPDU, found by counting them.
u32 length(u32 pos, u32 ulpdu_len, bool markers);

enum class Verdict { ok, crc, marker };

struct Decoded {
	Verdict verdict;
	Bytes ulpdu;
};

// Decodes a whole FPDU; its length field is assumed to be right.
Decoded decode(u32 pos, const Bytes &fpdu, bool markers, bool with_crc);

} // namespace model

// A part of the stream in pieces of memory, each in its own heap block, so that ASan detects reads
// outside.
class Pieces {
public:
	// Cut at the given offsets; equal offsets make empty pieces.
	Pieces(const Bytes &o, std::vector<size_t> cuts = {});
	// Cut at random into pieces of up to longest bytes.
	static Pieces random(const Bytes &o, size_t longest);

	struct Walker {
		kwarp_reader r; // first, so that a reader is its walker
		const Pieces *pieces;
		size_t index;
		unsigned int loads;
	};
	Walker walk() const;
	size_t count() const { return list.size(); }

private:
	static bool next(kwarp_reader *r);

	std::vector<Bytes> list;
};
