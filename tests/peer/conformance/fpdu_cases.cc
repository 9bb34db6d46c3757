// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs: every pad, lengths up to the largest and beyond, wrong CRCs in every part. Over SCTP:
// lengths only.
#include "../session/cases.h"

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

// RFC 5044 4.1: the pad makes the FPDU a multiple of four bytes. Any length up to the largest is
// legal.
void add_lengths(Table &t)
{
	std::vector<uint32_t> lengths{127,  511,  512,	1430, 1431,  1432,
				      1433, 1434, 1500, 4096, 32767, 60000};
	for (uint32_t n = 0; n <= 9; n++)
		lengths.push_back(n);
	for (uint32_t n = 0; n < 4; n++)
		lengths.push_back(largest_ulpdu - tagged_header_len - n);
	for (const Mode &m : modes()) {
		Rule write(t, "RFC 5044 4.1, 3", lives(), m.terms);
		for (uint32_t n : lengths)
			write.add(std::format("write_of_{}_{}", n, m.name),
				  right_write({.at = 3, .len = n}));
		Rule send(t, "RFC 5044 4.1; RFC 5040 5.3", lives(), m.terms);
		for (size_t n = 0; n < 8; n++)
			send.add(std::format("send_of_{}_{}", n, m.name),
				 [n](Session &s) { s.message(n); });
	}
}

// RFC 5044 3: the MULPDU is at most 64768 bytes. RFC 5044 8 has no code for a longer ULPDU. The
// nearest is code 3, for a length field that disagrees with the FPDU boundaries. The victim must
// place nothing of the ULPDU.
void add_over(Table &t)
{
	for (const Mode &m : modes()) {
		Rule over(t, "RFC 5044 3, 8 code 3",
			  {Fate::terminates, {mpa::marker}, "length_errors"}, m.terms);
		for (uint32_t n : {64769, 64772, 65000, 65534, 65535})
			over.add(std::format("ulpdu_of_{}_{}", n, m.name),
				 wrong_write({.len = n - uint32_t{tagged_header_len}}));
	}
}

// A ULPDU shorter than a DDP header. No RFC has a code, but by RFC 5041 6.2.2 "header has invalid
// fields" is a fatal error.
void add_short(Table &t)
{
	Rule rule(t, "RFC 5041 6.2.2, no code", ends());
	auto header_of = [](const Segment &g, size_t n) {
		return [=](Session &s) { s.p.send_ulpdu(View(g.encode()).first(n)); };
	};
	for (size_t n = 0; n < untagged_header_len; n++)
		rule.add(std::format("untagged_header_of_{}", n),
			 header_of(send_segment(1, {}), n));
	for (size_t n = 1; n < tagged_header_len; n++)
		rule.add(std::format("tagged_header_of_{}", n),
			 header_of(write_segment(0, 0, {}), n));
}

// RFC 5044 4.1: pad bytes are zero on transmit and ignored on receive.
void add_pad(Table &t)
{
	Rule ignored(t, "RFC 5044 4.1: pad ignored", lives());
	for (size_t n : {1, 2, 3})
		for (uint8_t value : {0x01, 0x80, 0xFF})
			// The payload ends n bytes before a multiple of four.
			ignored.add(std::format("pad_of_{}_is_{:x}", n, value),
				    right_send({}, 44 - n, {.pad = value}));
}

struct Part {
	const char *name;
	size_t at;
};

// Offsets in the FPDU of a Write of 602 bytes: length 0, header 2..15, payload 16..617, pad
// 618..619, CRC 620..623.
constexpr Part plain[] = {
	{"ddp_control", 2},    {"rdmap_control", 3}, {"stag_first", 4},	    {"stag_last", 7},
	{"to_first", 8},       {"to_last", 15},	     {"payload_first", 16}, {"payload_middle", 300},
	{"payload_last", 617}, {"pad_first", 618},   {"pad_last", 619},	    {"crc_first", 620},
	{"crc_second", 621},   {"crc_third", 622},   {"crc_last", 623},
};

// Offsets in the same FPDU with markers at 0 and 512: a field is four bytes further on before the
// second marker, and eight bytes behind it.
constexpr Part marked[] = {
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

// Sends the FPDU with one bit changed, then a number of zero bytes (behind): a victim that trusts a
// changed length has enough bytes for a whole FPDU.
Act flip(size_t at, uint8_t mask, size_t behind = 400)
{
	return [=](Session &s) {
		Bytes o = s.p.out.encode(Place{.len = 602}.write(s).encode());
		o[at] ^= mask;
		s.p.socket.send(o);
		s.p.socket.try_send(Bytes(behind));
	};
}

// One bit of a correct FPDU changed in transit. The CRC covers markers, too, so a changed marker is
// a CRC error: RFC 5044 8 code 3 begins "in the event that the CRC is valid".
void add_flips(Table &t)
{
	Rule crc(t, "RFC 5044 4.4, 8 code 2", terminates(mpa::crc));
	Rule crc_marked(t, "RFC 5044 4.4, 8 codes 2 and 3", terminates(mpa::crc),
			{.markers_in = true});
	for (uint8_t mask : {0x01, 0x80}) {
		for (const Part &p : plain)
			crc.add(std::format("flip_{:x}_in_{}", mask, p.name), flip(p.at, mask));
		for (const Part &p : marked)
			if (p.at != 5 || mask != 0x80) // enlarges the FPDU
				crc_marked.add(std::format("marked_flip_{:x}_in_{}", mask, p.name),
					       flip(p.at, mask));
	}
	Rule(t, "RFC 5044 8 code 2", terminates(mpa::crc))
		.add("flip_in_length_0", flip(0, 0x01, 2400))
		.add("flip_in_length_1", flip(1, 0x08, 2400));
}

// RFC 5044 7.1.1 C: if CRCs are not in use, the receiver ignores the CRC field.
void add_crc_off(Table &t)
{
	for (bool markers : {false, true})
		for (uint32_t x : {1U, 0x80000000U, 0xFFFFFFFFU, 0x12345678U})
			Rule(t, "RFC 5044 7.1.1 C: valid regardless of contents", lives(),
			     {.crc = false, .markers_in = markers})
				.add(std::format("crc_off_and_field_xor_{:x}{}", x,
						 markers ? "_markers" : ""),
				     right_send({}, 600, {.crc_xor = x}));
}

// RFC 5044 8: after an error MPA delivers nothing more.
void add_after(Table &t)
{
	const Verdict crc = terminates(mpa::crc);
	const Segment first = send_segment(1, pattern(40)), second = send_segment(2, pattern(40));
	Rule(t, "RFC 5044 8: MUST NOT deliver more", crc)
		.add("good_fpdu_after_a_crc_error", fpdus({{first, {.crc_xor = 1}}, {first}}));
	Rule(t, "RFC 5044 8; RFC 5041 5.3", crc)
		.add("good_fpdu_before_a_crc_error", [=](Session &s) {
			fpdus({{first}, {second, {.crc_xor = 1}}})(s);
			s.delivers(first.payload);
		});
	Rule(t, "RFC 5044 8 code 2", crc)
		.add("crc_error_in_the_second_segment",
		     after_first(send_segment(1, pattern(40), 40), 40, {.crc_xor = 0x100}))
		.add("crc_error_and_then_fin", then_fin(wrong_send({}, 40, {.crc_xor = 1})));
}

INSTANTIATE_TEST_SUITE_P(Fpdu, Wire,
			 rows(add_lengths, add_short, of_mpa(add_over), of_mpa(add_pad),
			      of_mpa(add_flips), of_mpa(add_crc_off), of_mpa(add_after)),
			 RowName());

} // namespace
} // namespace peer
