// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Markers in the stream that the victim receives, as its M requested.
#include "../session/cases.h"

namespace peer {
namespace {

using MarkerEdit = std::function<Marker(Marker)>;

const Terms markers{.markers_in = true};

// Changes FPDUPTR by @by in markers inside an FPDU. The first FPDU of a connection, with a message
// of 600 bytes, begins with a marker whose FPDUPTR is 0, and contains a second one.
MarkerEdit inside(int by)
{
	return [by](Marker m) {
		if (m.fpdu_ptr)
			m.fpdu_ptr = static_cast<uint16_t>(m.fpdu_ptr + by);
		return m;
	};
}

MarkerEdit inside_is(uint16_t value)
{
	return [value](Marker m) { return Marker{0, m.fpdu_ptr ? value : uint16_t{0}}; };
}

Act wrong(const MarkerEdit &edit)
{
	return wrong_send({}, 600, {.marker = edit});
}

void add_ignored(Table &t)
{
	Rule(t, "RFC 5044 4.3", lives(), markers).add("all_right", [](Session &s) {
		for (size_t n : {0, 1, 100, 500, 1000, 1024})
			s.message(n);
	});
	auto accepted = [](const MarkerEdit &edit) {
		return right_send({}, 600, {.marker = edit});
	};
	Rule(t, "RFC 5044 4.2: ignored on receive", lives(), markers)
		.add("reserved_not_zero",
		     accepted([](Marker m) { return Marker{0xFFFF, m.fpdu_ptr}; }));
	Rule(t, "RFC 5044 4.2: treated as zero", lives(), markers)
		.add("low_bits_set", accepted([](Marker m) {
			     m.fpdu_ptr |= 3;
			     return m;
		     }));
}

void add_wrong(Table &t)
{
	const char *code3 = "RFC 5044 8 code 3";
	Rule(t, code3, terminates(mpa::marker), markers)
		.add("first_not_zero", wrong([](Marker m) {
			     return Marker{0, m.fpdu_ptr ? m.fpdu_ptr : uint16_t{4}};
		     }))
		.add("points_4_too_far", wrong(inside(4)))
		.add("points_4_too_near", wrong(inside(-4)))
		.add("is_zero_inside", wrong(inside_is(0)))
		.add("points_before_the_stream", wrong(inside_is(0xFFFC)))
		.add("points_ahead_of_the_header", wrong(inside_is(0x0204)));
	Rule(t, code3, terminates(mpa::marker), {.crc = false, .markers_in = true})
		.add("wrong_with_crc_off", wrong(inside(8)));
	Rule(t, "RFC 5044 8 code 3; 6: verify first", terminates(mpa::marker), markers)
		.add("wrong_in_write", wrong_write({.len = 600}, {}, {.marker = inside(4)}));
	Rule(t, "RFC 5044 8 code 2 or 3", terminates(mpa::crc, mpa::marker), markers)
		.add("left_out", wrong_send({}, 600, {.omit_markers = true}));
	Rule(t, "RFC 5044 7.1.1 M: MUST NOT be added", terminates(mpa::crc))
		.add("not_asked_for", [](Session &s) {
			s.p.out = FpduEncoder({true, true});
			s.p.send(send_segment(1, pattern(600)));
		});
	Rule(t, "RFC 5044 8 code 2", terminates(mpa::crc), markers)
		.add("crc_wrong", wrong_send({}, 600, {.crc_xor = 1}));
}

INSTANTIATE_TEST_SUITE_P(marker, Wire, rows(add_ignored, add_wrong), RowName());

} // namespace
} // namespace peer
