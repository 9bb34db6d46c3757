// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Markers that the victim asked for.
#include "../session/session.h"

namespace peer {
namespace {

const Terms markers{.markers_in = true};
const Terms markers_no_crc{.crc = false, .markers_in = true};

// The first FPDU begins with a marker of value 0 and has one more inside.
void send_with(Session &s, std::function<Marker(Marker)> change)
{
	s.p.send(send_segment(s.p.send_msn++, pattern(600)), {.marker = std::move(change)});
}

void expect_delivery(Session &s)
{
	s.delivers(pattern(600));
}

// Only markers inside an FPDU.
std::function<Marker(Marker)> inside(int by)
{
	return [by](Marker m) {
		if (m.fpdu_ptr)
			m.fpdu_ptr = static_cast<uint16_t>(m.fpdu_ptr + by);
		return m;
	};
}

std::function<Marker(Marker)> inside_is(uint16_t value)
{
	return [value](Marker m) { return Marker{0, m.fpdu_ptr ? value : uint16_t{0}}; };
}

std::vector<Case> cases()
{
	const char *code3 = "RFC 5044 8 code 3";
	std::vector<Case> c{
		{"all_right", "RFC 5044 4.3", lives(),
		 [](Session &s) {
			 for (size_t n : {0, 1, 100, 500, 1000, 1024})
				 s.message(n);
		 },
		 markers},
		{"reserved_not_zero", "RFC 5044 4.2: ignored on receive", lives(),
		 [](Session &s) {
			 send_with(s, [](Marker m) { return Marker{0xFFFF, m.fpdu_ptr}; });
			 expect_delivery(s);
		 },
		 markers},
		{"low_bits_set", "RFC 5044 4.2: treated as zero", lives(),
		 [](Session &s) {
			 send_with(s, [](Marker m) {
				 return Marker{0, static_cast<uint16_t>(m.fpdu_ptr | 3)};
			 });
			 expect_delivery(s);
		 },
		 markers},
		{"first_not_zero", code3, terminates(mpa::marker),
		 [](Session &s) {
			 send_with(s, [](Marker m) {
				 return Marker{0, m.fpdu_ptr ? m.fpdu_ptr : uint16_t{4}};
			 });
		 },
		 markers},
		{"points_4_too_far", code3, terminates(mpa::marker),
		 [](Session &s) { send_with(s, inside(4)); }, markers},
		{"points_4_too_near", code3, terminates(mpa::marker),
		 [](Session &s) { send_with(s, inside(-4)); }, markers},
		{"is_zero_inside", code3, terminates(mpa::marker),
		 [](Session &s) { send_with(s, inside_is(0)); }, markers},
		{"points_before_the_stream", code3, terminates(mpa::marker),
		 [](Session &s) { send_with(s, inside_is(0xFFFC)); }, markers},
		{"points_ahead_of_the_header", code3, terminates(mpa::marker),
		 [](Session &s) { send_with(s, inside_is(0x0204)); }, markers},
		{"wrong_with_crc_off", code3, terminates(mpa::marker),
		 [](Session &s) { send_with(s, inside(8)); }, markers_no_crc},
		{"wrong_in_write", "RFC 5044 8 code 3; 6: verify first", terminates(mpa::marker),
		 [](Session &s) {
			 s.p.send(write_to(*s.v.rw, 0, pattern(600)), {.marker = inside(4)});
		 },
		 markers},
		{"left_out", "RFC 5044 8 code 2 or 3", terminates(mpa::crc, mpa::marker),
		 [](Session &s) {
			 s.p.send(send_segment(1, pattern(600)), {.omit_markers = true});
		 },
		 markers},
		{"not_asked_for", "RFC 5044 7.1.1 M: MUST NOT be added", terminates(mpa::crc),
		 [](Session &s) {
			 s.p.out = FpduEncoder({true, true});
			 s.p.send(send_segment(1, pattern(600)));
		 }},
		{"crc_wrong", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Session &s) { s.p.send(send_segment(1, pattern(600)), {.crc_xor = 1}); },
		 markers},
	};
	return c;
}

INSTANTIATE_TEST_SUITE_P(marker, Wire, testing::ValuesIn(cases()), RowName());

} // namespace
} // namespace peer
