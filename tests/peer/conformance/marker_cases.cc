// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Markers at every place in an FPDU, correct and wrong; and the markers that the victim sends.
#include "../session/cases.h"

namespace peer {
namespace {

constexpr size_t interval = 512;
constexpr size_t overhead = 4 + 2 + 4; // marker at 0, length, CRC

const Terms markers{.markers_in = true};

using MarkerEdit = std::function<Marker(Marker right)>;

// The place of the stream's second marker in the second FPDU, in bytes from the beginning of its
// length field.
struct Spot {
	const char *name;
	size_t at;
};

// Offsets in a Write of 45 bytes: length 0, DDP header 2..15, payload 16..60, pad 61..63, CRC 64.
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

// Offsets in a Send of 41 bytes: length 0, DDP header 2..19, payload 20..60, pad 61..63, CRC 64.
constexpr Spot in_send[] = {
	{"before_the_length", 0}, {"behind_the_control_bytes", 4},
	{"in_the_qn", 8},	  {"in_the_msn", 12},
	{"in_the_mo", 16},	  {"between_header_and_payload", 20},
	{"before_the_pad", 60},	  {"before_the_crc", 64},
};

constexpr size_t second_len = 68; // of the second FPDU, without its marker

// Sends two FPDUs. The length of the first one puts the marker of the second one at this offset in
// the second one. If right is set, the edited marker is legal, and the second FPDU must be placed
// or delivered.
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
	// RFC 5044 4.2: the receiver treats the two lowest bits of the pointer as zero.
	{"low_bits_1", points_to([](int p) { return p | 1; }), true},
	{"low_bits_2", points_to([](int p) { return p | 2; }), true},
	{"low_bits_3", points_to([](int p) { return p | 3; }), true},
	// RFC 5044 4.2: the receiver ignores the reserved half.
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
					if (crc || (!v.right && tagged)) // fewer without CRC
						(v.right ? right : wrong)
							.add(std::format("{}_{}_{}{}",
									 tagged ? "write" : "send",
									 place.name, v.name,
									 crc ? "" : "_no_crc"),
							     two_fpdus(place.at, tagged, v.edit,
								       v.right));
	}
}

// Sends a Write with six markers. The pointer of marker n, from 0, is wrong by this many bytes.
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

// Several markers in one FPDU, one of them wrong. RFC 5044 8 makes the check of each marker
// OPTIONAL; the driver checks all of them before it places data.
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
	// If the first marker is missing, the victim reads the length four bytes too late.
	Rule left_out(t, "RFC 5044 8 codes 2 and 3", terminates(mpa::crc, mpa::marker), markers);
	Rule inserted(t, "RFC 5044 7.1.1 M: MUST NOT be added", terminates(mpa::crc));
	for (size_t n : {40, 600, 2000}) {
		left_out.add(std::format("asked_for_and_left_out_in_{}", n), [n](Session &s) {
			// The victim reads the first half of the STag as the length. This STag has
			// a legal length there; the STag of a region need not.
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
	// A marker between two FPDUs belongs to the second one. The victim must deliver the first
	// one without waiting for the marker.
	Rule(t, "RFC 5044 4.3", lives(), markers)
		.add("behind_an_fpdu_is_not_waited_for",
		     right_send({}, interval - overhead - untagged_header_len));
}

// The markers that the victim sends: the peer's decoder checks each. The length of the first Send
// puts the marker of the next one at every multiple of four.
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
