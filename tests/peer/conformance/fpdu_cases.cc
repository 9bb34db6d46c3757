// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs: every pad, lengths up to the largest and beyond, CRC in every region. Over SCTP: lengths.
#include "../session/session.h"

namespace peer {
namespace {

constexpr size_t largest_ulpdu = 64768; // RFC 5044 3

struct Mode {
	const char *name;
	Terms terms;
};

std::vector<Mode> modes()
{
	if (lab().sctp)
		return {{"sctp", {}}};
	return {{"crc", {}},
		{"crc_markers", {.markers_in = true}},
		{"no_crc", {.crc = false}},
		{"no_crc_markers", {.crc = false, .markers_in = true}}};
}

void write(Session &s, size_t len)
{
	const Bytes data = pattern(len, 77);
	s.writes(*s.v.rw, 3, data);
}

// RFC 5044 4.1: pad makes the FPDU a multiple of four bytes; any length up to the largest.
void add_lengths(std::vector<Case> &c)
{
	std::vector<size_t> lengths;
	for (size_t n = 0; n <= 9; n++)
		lengths.push_back(n);
	for (size_t n : {127UL, 511UL, 512UL, 1430UL, 1431UL, 1432UL, 1433UL, 1434UL, 1500UL,
			 4096UL, 32767UL, 60000UL})
		lengths.push_back(n);
	for (size_t n = 4; n > 0; n--)
		lengths.push_back(largest_ulpdu - tagged_header_len + 1 - n);
	for (const Mode &m : modes())
		for (size_t n : lengths)
			c.push_back({std::string("write_of_") + std::to_string(n) + "_" + m.name,
				     "RFC 5044 4.1, 3", lives(), [n](Session &s) { write(s, n); },
				     m.terms});
	for (const Mode &m : modes())
		for (size_t n : {0, 1, 2, 3, 4, 5, 6, 7})
			c.push_back({std::string("send_of_") + std::to_string(n) + "_" + m.name,
				     "RFC 5044 4.1; RFC 5040 5.3", lives(),
				     [n](Session &s) { s.message(n); }, m.terms});
}

// RFC 5044 3: EMSS and thus MULPDU are at most 64768. RFC 5044 8 lists no code for a longer one;
// code 3 speaks of a length that disagrees with where FPDUs start. Either way it is over before a
// huge one arrives, and nothing of it is placed.
void add_over(std::vector<Case> &c)
{
	for (const Mode &m : modes())
		for (uint16_t n : {64769, 64772, 65000, 65534, 65535})
			c.push_back({std::string("ulpdu_of_") + std::to_string(n) + "_" + m.name,
				     "RFC 5044 3, 8 code 3",
				     {Fate::terminates, {mpa::marker}, "length_errors"},
				     [n](Session &s) {
					     Segment g =
						     write_segment(s.v.rw->rkey(), s.v.rw->base(),
								   pattern(n - tagged_header_len));
					     s.p.socket.try_send(s.p.out.encode(g.encode()));
				     },
				     m.terms});
}

// Shorter than a DDP header. No RFC has a code: RFC 5041 6.2.2 "header has invalid fields" is
// fatal.
void add_short(std::vector<Case> &c)
{
	for (size_t n = 0; n < untagged_header_len; n++)
		c.push_back({"untagged_header_of_" + std::to_string(n), "RFC 5041 6.2.2, no code",
			     ends(), [n](Session &s) {
				     s.p.send_ulpdu(View(send_segment(1, {}).encode()).first(n));
			     }});
	for (size_t n = 1; n < tagged_header_len; n++)
		c.push_back({"tagged_header_of_" + std::to_string(n), "RFC 5041 6.2.2, no code",
			     ends(), [n](Session &s) {
				     s.p.send_ulpdu(
					     View(write_segment(0, 0, {}).encode()).first(n));
			     }});
}

// RFC 5044 4.2: pad bytes are zero on transmit and ignored on receive.
void add_pad(std::vector<Case> &c)
{
	for (size_t n : {1, 2, 3})
		for (uint8_t value : {0x01, 0x80, 0xFF})
			c.push_back({"pad_of_" + std::to_string(n) + "_is_" + hex(value),
				     "RFC 5044 4.1: pad ignored", lives(), [=](Session &s) {
					     // length, header, payload: a multiple of four less n
					     s.sends(s.segment(pattern(44 - n)), {.pad = value});
				     }});
}

// One bit of a good FPDU changed on its way. The marker's FPDU pointer is under the CRC, too: 8
// code 3 begins "in the event that the CRC is valid".
void add_flips(std::vector<Case> &c)
{
	struct Region {
		const char *name;
		size_t at;
	};
	// of a Write of 602 bytes: length 0, header 2..15, payload, pad 618..619, CRC 620
	static constexpr Region plain[] = {
		{"ddp_control", 2},    {"rdmap_control", 3},	{"stag_first", 4},
		{"stag_last", 7},      {"to_first", 8},		{"to_last", 15},
		{"payload_first", 16}, {"payload_middle", 300}, {"payload_last", 617},
		{"pad_first", 618},    {"pad_last", 619},	{"crc_first", 620},
		{"crc_second", 621},   {"crc_third", 622},	{"crc_last", 623},
	};
	// with markers at 0 and 512: four bytes more before, eight after
	static constexpr Region marked[] = {
		{"first_marker_reserved", 0},
		{"first_marker_pointer", 2},
		{"first_marker_pointer_low", 3},
		{"length_low", 5},
		{"ddp_control", 6},
		{"to_last", 19},
		{"payload_first", 20},
		{"before_marker", 511},
		{"marker_reserved_high", 512},
		{"marker_reserved_low", 513},
		{"marker_pointer_high", 514},
		{"marker_pointer_low", 515},
		{"after_marker", 516},
		{"payload_last", 625},
		{"pad", 627},
		{"crc_first", 628},
		{"crc_last", 631},
	};
	auto flip = [](size_t at, uint8_t mask) {
		return [=](Session &s) {
			Bytes o = s.p.out.encode(write_to(*s.v.rw, 0, pattern(602)).encode());
			o[at] ^= mask;
			s.p.socket.send(o);
			// Should the length be believed, there is enough of it.
			s.p.socket.try_send(Bytes(400));
		};
	};
	for (uint8_t mask : {0x01, 0x80}) {
		for (const Region &r : plain)
			c.push_back({std::string("flip_") + hex(mask) + "_in_" + r.name,
				     "RFC 5044 4.4, 8 code 2", terminates(mpa::crc),
				     flip(r.at, mask)});
		for (const Region &r : marked)
			if (!(r.at == 5 &&
			      mask == 0x80)) // another FPDU length: not a question of the CRC alone
				c.push_back({std::string("marked_flip_") + hex(mask) + "_in_" +
						     r.name,
					     "RFC 5044 4.4, 8 codes 2 and 3",
					     terminates(mpa::crc),
					     flip(r.at, mask),
					     {.markers_in = true}});
	}
	for (size_t at : {0, 1})
		c.push_back({"flip_in_length_" + std::to_string(at), "RFC 5044 8 code 2",
			     terminates(mpa::crc), [flip, at](Session &s) {
				     flip(at, at ? 0x08 : 0x01)(s);
				     s.p.socket.try_send(Bytes(2000));
			     }});
}

// RFC 5044 7.1.1 C: not in use means not looked at, whatever is there.
void add_crc_off(std::vector<Case> &c)
{
	for (uint32_t x : {1U, 0x80000000U, 0xFFFFFFFFU, 0x12345678U})
		for (bool markers : {false, true})
			c.push_back({"crc_off_and_field_xor_" + hex(x) +
					     (markers ? "_markers" : ""),
				     "RFC 5044 7.1.1 C: valid regardless of contents",
				     lives(),
				     [x](Session &s) {
					     s.sends(s.segment(pattern(600)), {.crc_xor = x});
				     },
				     {.crc = false, .markers_in = markers}});
}

// RFC 5044 8: nothing is delivered once an error has been.
void add_after(std::vector<Case> &c)
{
	c.insert(c.end(),
		 {
			 {"good_fpdu_after_a_crc_error", "RFC 5044 8: MUST NOT pass more",
			  terminates(mpa::crc),
			  [](Session &s) {
				  Bytes both = s.p.out.encode(send_segment(1, pattern(40)).encode(),
							      {.crc_xor = 1});
				  put(both, s.p.out.encode(send_segment(1, pattern(40)).encode()));
				  s.p.socket.send(both);
			  }},
			 {"good_fpdu_before_a_crc_error", "RFC 5044 8; RFC 5041 5.3",
			  terminates(mpa::crc),
			  [](Session &s) {
				  Bytes both =
					  s.p.out.encode(send_segment(1, pattern(40)).encode());
				  put(both, s.p.out.encode(send_segment(2, pattern(40)).encode(),
							   {.crc_xor = 1}));
				  s.p.socket.send(both);
				  s.delivers(pattern(40));
			  }},
			 {"crc_error_in_the_second_segment", "RFC 5044 8 code 2",
			  terminates(mpa::crc),
			  [](Session &s) {
				  s.begins(pattern(40));
				  s.p.send(send_segment(1, pattern(40), 40), {.crc_xor = 0x100});
			  }},
			 {"crc_error_and_then_fin", "RFC 5044 8 code 2", terminates(mpa::crc),
			  [](Session &s) {
				  s.p.send(send_segment(1, pattern(40)), {.crc_xor = 1});
				  s.p.socket.finish();
			  }},
		 });
}

INSTANTIATE_TEST_SUITE_P(Fpdu, Wire,
			 rows(add_lengths, add_short, of_mpa(add_over), of_mpa(add_pad),
			      of_mpa(add_flips), of_mpa(add_crc_off), of_mpa(add_after)),
			 RowName());

} // namespace
} // namespace peer
