// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Markers at every place in an FPDU, right and wrong; and the victim's own.
#include "../session/session.h"

namespace peer {
namespace {

constexpr size_t interval = 512;
constexpr size_t overhead = 4 + 2 + 4; // marker at 0, length, CRC

using Change = std::function<Marker(Marker right)>;

// Where in the second FPDU the stream's second marker falls: bytes behind its length field.
struct Place {
	const char *name;
	size_t at;
};

// Write of 45: length 0, DDP header 2..15, payload 16..60, pad 61..63, CRC 64.
constexpr Place in_write[] = {
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
constexpr Place in_send[] = {
	{"before_the_length", 0}, {"behind_the_control_bytes", 4},
	{"in_the_qn", 8},	  {"in_the_msn", 12},
	{"in_the_mo", 16},	  {"between_header_and_payload", 20},
	{"before_the_pad", 60},	  {"before_the_crc", 64},
};

constexpr size_t second_len = 68; // of the second FPDU, without its marker

// The first FPDU ends where the second's marker will be at the place wanted.
void first_fpdu(Session &s, size_t at)
{
	const Bytes data = pattern(interval - at - overhead - tagged_header_len, 3);
	s.writes(*s.v.rw, 0, data);
}

void second_fpdu(Session &s, bool tagged, const Change &change, bool right)
{
	if (tagged) {
		const Bytes data = pattern(45, 4);
		s.p.send(write_to(*s.v.rw, 1000, data), {.marker = change});
		if (right)
			s.places(*s.v.rw, 1000, data);
	} else {
		Segment g = s.segment(pattern(41, 5));
		s.p.send(g, {.marker = change});
		if (right)
			s.delivers(g.payload);
	}
}

struct Value {
	const char *name;
	Change change;
	bool right;
};

Change points_to(std::function<int(int right)> f)
{
	return [f](Marker m) { return Marker{0, static_cast<uint16_t>(f(m.fpdu_ptr))}; };
}

Change reserved_is(uint16_t r)
{
	return [r](Marker m) { return Marker{r, m.fpdu_ptr}; };
}

const std::vector<Value> &values()
{
	static const std::vector<Value> v{
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
		{"bytes_swapped", points_to([](int p) { return p ? (p & 0xFF) << 8 : 0x100; }),
		 false},
	};
	return v;
}

void add_places(std::vector<Case> &c)
{
	const char *right = "RFC 5044 4.2, 4.3", *wrong = "RFC 5044 4.3, 8 code 3";
	for (bool tagged : {true, false})
		for (const Place &place : tagged ? in_write : in_send)
			for (const Value &value : values())
				for (bool crc : {true, false}) {
					if (!crc && (value.right || !tagged))
						continue; // a few without CRC are enough
					c.push_back({std::string(tagged ? "write_" : "send_") +
							     place.name + "_" + value.name +
							     (crc ? "" : "_no_crc"),
						     value.right ? right : wrong,
						     value.right ? lives() :
								   terminates(mpa::marker),
						     [=](Session &s) {
							     first_fpdu(s, place.at);
							     second_fpdu(s, tagged, value.change,
									 value.right);
						     },
						     {.crc = crc, .markers_in = true}});
				}
}

// Several markers in one FPDU, one of them wrong. To check each is OPTIONAL (RFC 5044 8), and the
// design's "verify before place" takes the option.
void add_several(std::vector<Case> &c)
{
	constexpr size_t len = 3000;
	for (unsigned n = 0; n < 6; n++)
		for (int by : {-4, 4})
			c.push_back({"marker_" + std::to_string(n) + "_of_one_fpdu_off_by_" +
					     (by < 0 ? "minus_4" : "4"),
				     "RFC 5044 8 code 3",
				     terminates(mpa::marker),
				     [=](Session &s) {
					     auto count = std::make_shared<unsigned>(0);
					     s.p.send(write_to(*s.v.rw, 0, pattern(len)),
						      {.marker = [=](Marker m) {
							      if ((*count)++ == n)
								      m.fpdu_ptr =
									      static_cast<uint16_t>(
										      m.fpdu_ptr +
										      by);
							      return m;
						      }});
				     },
				     {.markers_in = true}});
	for (size_t n : {500UL, 504UL, 508UL, 512UL, 516UL, 1024UL, 20000UL, 64754UL})
		c.push_back({"write_of_" + std::to_string(n) + "_with_all_its_markers",
			     "RFC 5044 4.3",
			     lives(),
			     [n](Session &s) { s.writes(*s.v.rw, 0, pattern(n)); },
			     {.markers_in = true}});
}

void add_presence(std::vector<Case> &c)
{
	for (size_t n : {40, 600, 2000}) {
		// Without the first marker the length is looked for four bytes further on.
		c.push_back({"asked_for_and_left_out_in_" + std::to_string(n),
			     "RFC 5044 8 codes 2 and 3",
			     terminates(mpa::crc, mpa::marker),
			     [n](Session &s) {
				     // The victim takes the first half of the STag for a length,
				     // so it must be a possible one, which that of a region need
				     // not be.
				     s.p.send(write_segment(0x01234567, 0, pattern(n)),
					      {.omit_markers = true});
				     s.p.socket.try_send(Bytes(70000));
			     },
			     {.markers_in = true}});
		c.push_back({"not_asked_for_and_inserted_in_" + std::to_string(n),
			     "RFC 5044 7.1.1 M: MUST NOT be added", terminates(mpa::crc),
			     [n](Session &s) {
				     s.p.out = FpduEncoder({true, true});
				     s.p.send(write_to(*s.v.rw, 0, pattern(n)));
			     }});
	}
	c.push_back({"first_alone_before_the_fpdu",
		     "RFC 5044 7.1.2 rule 7",
		     lives(),
		     [](Session &s) {
			     Segment g = s.segment(pattern(90));
			     Bytes o = s.p.out.encode(g.encode());
			     s.p.socket.send(View(o).first(4));
			     wait_acknowledged(s.p.socket);
			     s.p.socket.send(View(o).subspan(4));
			     s.delivers(g.payload);
		     },
		     {.markers_in = true}});
	// A marker between two FPDUs belongs to the second: the first is complete without it.
	c.push_back({"behind_an_fpdu_is_not_waited_for",
		     "RFC 5044 4.3",
		     lives(),
		     [](Session &s) {
			     s.sends(s.segment(pattern(interval - overhead - untagged_header_len)));
		     },
		     {.markers_in = true}});
}

// The victim's markers: the peer's decoder checks each. The first Send ends so that the next has
// its marker at every multiple of four.
void add_sent(std::vector<Case> &c)
{
	for (bool crc : {true, false})
		for (size_t at = 0; at < 88; at += 4)
			c.push_back({"victims_marker_at_" + std::to_string(at) +
					     (crc ? "" : "_no_crc"),
				     "RFC 5044 4.3, 7.1.2 rule 7",
				     lives(),
				     [at](Session &s) {
					     s.message();
					     s.victim_sends(interval - at - overhead -
							    untagged_header_len);
					     s.victim_sends(second_len - 2 - untagged_header_len -
							    4 - 3);
					     s.victim_sends(1100);
					     EXPECT_GE(s.p.markers_received, 3U);
				     },
				     {.crc = crc, .markers_out = true}});
}

INSTANTIATE_TEST_SUITE_P(Marker, Wire, rows(add_places, add_several, add_presence, add_sent),
			 RowName());

} // namespace
} // namespace peer
