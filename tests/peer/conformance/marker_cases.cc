// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Markers at every place in an FPDU, right and wrong; and the victim's own.
#include "../session/cases.h"

namespace peer {
namespace {

constexpr size_t interval = 512;
constexpr size_t overhead = 4 + 2 + 4; // marker at 0, length, CRC

const Terms markers{.markers_in = true};

using MarkerEdit = std::function<Marker(Marker right)>;

// Where in the second FPDU the stream's second marker falls: bytes behind its length field.
struct Spot {
	const char *name;
	size_t at;
};

// Write of 45: length 0, DDP header 2..15, payload 16..60, pad 61..63, CRC 64.
constexpr Spot in_write[] = {
	{"before_the_length", 0},
	{"behind_the_control_bytes", 4},
	{"in_the_to", 8},
	{"in_the_to_low", 12},
	{"between_header_and_payload", 16},
	{"in_the_payload", 36},
	{"before_the_pad", 60},
	{"before_the_crc", 64},
};

// Send of 41: length 0, DDP header 2..19, payload 20..60, pad 61..63, CRC 64.
constexpr Spot in_send[] = {
	{"before_the_length", 0}, {"behind_the_control_bytes", 4},
	{"in_the_qn", 8},	  {"in_the_msn", 12},
	{"in_the_mo", 16},	  {"between_header_and_payload", 20},
	{"before_the_pad", 60},	  {"before_the_crc", 64},
};

constexpr size_t second_len = 68; // of the second FPDU, without its marker

// The first FPDU ends where the second's marker will be at the place wanted.
Act two_fpdus(size_t at, bool tagged, const MarkerEdit &edit, bool right)
{
	return [=](Session &s) {
		s.writes(*s.v.rw, 0, pattern(interval - at - overhead - tagged_header_len, 3));
		const Segment g = tagged ? write_to(*s.v.rw, 1000, pattern(45, 4)) :
					   s.segment(pattern(41, 5));
		s.p.send(g, {.marker = edit});
		if (right && tagged)
			s.places(*s.v.rw, 1000, g.payload);
		else if (right)
			s.delivers(g.payload);
	};
}

struct Value {
	const char *name;
	MarkerEdit edit;
	bool right;
};

MarkerEdit points_to(std::function<int(int right)> f)
{
	return [f](Marker m) { return Marker{0, static_cast<uint16_t>(f(m.fpdu_ptr))}; };
}

MarkerEdit reserved_is(uint16_t r)
{
	return [r](Marker m) { return Marker{r, m.fpdu_ptr}; };
}

const Value values[] = {
	{"right", points_to([](int p) { return p; }), true},
	// RFC 5044 4.2: the two lowest bits of the pointer are taken as zero.
	{"low_bits_1", points_to([](int p) { return p | 1; }), true},
	{"low_bits_2", points_to([](int p) { return p | 2; }), true},
	{"low_bits_3", points_to([](int p) { return p | 3; }), true},
	// RFC 5044 4.2: the reserved half is ignored.
	{"reserved_1", reserved_is(1), true},
	{"reserved_8000", reserved_is(0x8000), true},
	{"reserved_ffff", reserved_is(0xFFFF), true},
	{"4_too_far", points_to([](int p) { return p + 4; }), false},
	{"4_too_near", points_to([](int p) { return p - 4; }), false},
	{"zero_or_four", points_to([](int p) { return p ? 0 : 4; }), false},
	{"512_too_far", points_to([](int p) { return p + 512; }), false},
	{"top_bit", points_to([](int p) { return p ^ 0x8000; }), false},
	{"fffc", points_to([](int) { return 0xFFFC; }), false},
	{"bytes_swapped", points_to([](int p) { return p ? (p & 0xFF) << 8 : 0x100; }), false},
};

void add_places(Table &t)
{
	for (bool crc : {true, false}) {
		const Terms terms{.crc = crc, .markers_in = true};
		Rule right(t, "RFC 5044 4.2, 4.3", lives(), terms);
		Rule wrong(t, "RFC 5044 4.3, 8 code 3", terminates(mpa::marker), terms);
		for (bool tagged : {true, false})
			for (const Spot &place : tagged ? in_write : in_send)
				for (const Value &v : values)
					if (crc || (!v.right && tagged)) // without, a few do
						(v.right ? right : wrong)
							.add(std::format("{}_{}_{}{}",
									 tagged ? "write" : "send",
									 place.name, v.name,
									 crc ? "" : "_no_crc"),
							     two_fpdus(place.at, tagged, v.edit,
								       v.right));
	}
}

// A Write with six markers, of which the nth is wrong.
Act nth_marker_off(unsigned n, int by)
{
	return [=](Session &s) {
		unsigned count = 0;
		wrong_write({.len = 3000}, {}, {.marker = [&](Marker m) {
				    if (count++ == n)
					    m.fpdu_ptr = static_cast<uint16_t>(m.fpdu_ptr + by);
				    return m;
			    }})(s);
	};
}

// Several markers in one FPDU, one of them wrong. To check each is OPTIONAL (RFC 5044 8), and the
// design's "verify before place" takes the option.
void add_several(Table &t)
{
	Rule wrong(t, "RFC 5044 8 code 3", terminates(mpa::marker), markers);
	for (unsigned n = 0; n < 6; n++)
		for (int by : {-4, 4})
			wrong.add(std::format("marker_{}_of_one_fpdu_off_by_{}4", n,
					      by < 0 ? "minus_" : ""),
				  nth_marker_off(n, by));
	Rule right(t, "RFC 5044 4.3", lives(), markers);
	for (uint32_t n : {500, 504, 508, 512, 516, 1024, 20000, 64754})
		right.add(std::format("write_of_{}_with_all_its_markers", n),
			  right_write({.len = n}));
}

void add_presence(Table &t)
{
	// Without the first marker the length is looked for four bytes further on.
	Rule left_out(t, "RFC 5044 8 codes 2 and 3", terminates(mpa::crc, mpa::marker), markers);
	Rule inserted(t, "RFC 5044 7.1.1 M: MUST NOT be added", terminates(mpa::crc));
	for (size_t n : {40, 600, 2000}) {
		left_out.add(std::format("asked_for_and_left_out_in_{}", n), [n](Session &s) {
			// The victim takes the first half of the STag for a length, so it must be a
			// possible one, which that of a region need not be.
			s.p.send(write_segment(0x01234567, 0, pattern(n)), {.omit_markers = true});
			s.p.socket.try_send(Bytes(70000));
		});
		inserted.add(std::format("not_asked_for_and_inserted_in_{}", n), [n](Session &s) {
			s.p.out = FpduEncoder({true, true});
			s.p.send(write_to(*s.v.rw, 0, pattern(n)));
		});
	}
	Rule(t, "RFC 5044 7.1.2 rule 7", lives(), markers)
		.add("first_alone_before_the_fpdu", [](Session &s) {
			const Segment g = s.segment(pattern(90));
			send_cut(s.p.socket, s.p.out.encode(g.encode()), 4);
			s.delivers(g.payload);
		});
	// A marker between two FPDUs belongs to the second: the first is complete without it.
	Rule(t, "RFC 5044 4.3", lives(), markers)
		.add("behind_an_fpdu_is_not_waited_for",
		     right_send({}, interval - overhead - untagged_header_len));
}

// The victim's markers: the peer's decoder checks each. The first Send ends so that the next has
// its marker at every multiple of four.
void add_sent(Table &t)
{
	for (bool crc : {true, false}) {
		Rule sent(t, "RFC 5044 4.3, 7.1.2 rule 7", lives(),
			  {.crc = crc, .markers_out = true});
		for (size_t at = 0; at < 88; at += 4)
			sent.add(std::format("victims_marker_at_{}{}", at, crc ? "" : "_no_crc"),
				 [at](Session &s) {
					 s.message();
					 s.victim_sends(interval - at - overhead -
							untagged_header_len);
					 s.victim_sends(second_len - 2 - untagged_header_len - 4 -
							3);
					 s.victim_sends(1100);
					 EXPECT_GE(s.p.markers_received, 3U);
				 });
	}
}

INSTANTIATE_TEST_SUITE_P(Marker, Wire, rows(add_places, add_several, add_presence, add_sent),
			 RowName());

} // namespace
} // namespace peer
