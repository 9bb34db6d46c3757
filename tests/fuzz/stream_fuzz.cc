// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A stream of valid FPDUs of any length with a few faults, since the CRC would reject random bytes
// at once. Some faults are FPDUs with a right CRC over wrong markers or a wrong length.
#include "../unit/model.h"
#include "deframe.h"

namespace {

enum Fault { none, flip, flip_under_crc, length_under_crc, marker_under_crc, cut, insert, repeat };

constexpr size_t longest_stream = 4 * 1024;

u32 some_length(Input &in)
{
	u8 kind = in.byte();

	switch (kind % 4) {
	case 0:
		return kind / 4;
	case 1:
		return 470 + kind / 4; // up to a marker and beyond
	case 2:
		return in.half() % 2000;
	default:
		return kind == 0xff ? in.half() % (KWARP_ULPDU_MAX + 1) : in.half() % 2500;
	}
}

void flip_byte(Bytes &o, Input &in)
{
	o[in.half() % o.size()] ^= static_cast<u8>(in.byte() | !in.more());
}

// Recomputes the CRC.
void seal(Bytes &o)
{
	u32 sum = model::crc(slice(o, 0, o.size() - 4));

	for (size_t i = 0; i < 4; i++)
		o[o.size() - 4 + i] = static_cast<u8>(sum >> 8 * i);
}

Fault some_fault(Input &in)
{
	u8 kind = in.byte();

	return kind < 0xa0 ? none : static_cast<Fault>(kind & 7);
}

// One FPDU at stream position pos, with or without a fault.
Bytes some_fpdu(Input &in, const Framing &framing, u32 pos, Bytes &ulpdu, bool &faulty)
{
	ulpdu = filling(some_length(in), in.byte());
	Bytes o = model::encode(pos, ulpdu, framing.markers, framing.crc);
	Fault fault = some_fault(in);
	u32 to_marker = (0U - pos) % 512;

	faulty |= fault != none;
	switch (fault) {
	case flip_under_crc:
		flip_byte(o, in);
		seal(o);
		break;
	case length_under_crc:
		o[to_marker ? in.flag() : 4 + in.flag()] = in.byte();
		seal(o);
		break;
	case marker_under_crc:
		if (to_marker + 4 < o.size())
			o[to_marker + in.below(4)] ^= in.byte();
		seal(o);
		break;
	case flip:
		flip_byte(o, in);
		break;
	case cut:
		o.resize(in.half() % o.size());
		break;
	case insert:
		o.insert(o.begin() + in.half() % o.size(), in.byte());
		break;
	case repeat:
		o = o + o;
		break;
	case none:
		break;
	}
	return o;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *p, size_t n)
{
	Input in(p, n);
	Framing framing(in);
	Bytes cuts = in.take(in.below(8)), stream;
	std::vector<Bytes> ulpdus;
	bool faulty = false;

	while (in.more() && stream.size() < longest_stream) {
		ulpdus.emplace_back();
		stream = stream + some_fpdu(in, framing,
					    framing.pos + static_cast<u32>(stream.size()),
					    ulpdus.back(), faulty);
	}
	std::vector<model::Event> events = deframe(framing, stream, cuts);
	if (faulty)
		return 0;
	// Without faults, all FPDUs arrive.
	require(events.size() == ulpdus.size());
	for (size_t i = 0; i < events.size(); i++)
		require(events[i].kind == model::Event::fpdu && events[i].ulpdu == ulpdus[i]);
	return 0;
}
