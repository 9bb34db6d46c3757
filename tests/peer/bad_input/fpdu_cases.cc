// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs: lengths, pad, CRC, truncation.
#include "../session/cases.h"

namespace peer {
namespace {

constexpr size_t largest_ulpdu = 64768; // RFC 5044 3

const Segment plain = send_segment(1, pattern(40));

void add_crc(Table &t)
{
	Rule(t, "RFC 5044 8 code 2", terminates(mpa::crc))
		.add("crc_wrong_in_send", wrong_send({}, 40, {.crc_xor = 1}))
		.add("crc_wrong_in_zero_length_write",
		     offends(write_segment(0, 0, {}), {.crc_xor = ~0U}))
		.add("crc_wrong_in_second_segment",
		     after_first(send_segment(1, pattern(40), 40), 40, {.crc_xor = 0x100}));
	Rule(t, "RFC 5044 8 code 2; 6: verify first", terminates(mpa::crc))
		.add("crc_wrong_in_write", wrong_write({}, {}, {.crc_xor = 1U << 31}));
	Rule(t, "RFC 5044 8: MUST NOT deliver more", terminates(mpa::crc))
		.add("nothing_is_delivered_after_a_crc_error",
		     fpdus({{plain, {.crc_xor = 1}}, {plain}}));
	Rule(t, "RFC 5044 4.1: MUST NOT be checked", lives(), {.crc = false})
		.add("crc_wrong_but_off_by_agreement", right_send({}, 40, {.crc_xor = 0xDEADBEEF}));
	Rule(t, "RFC 5044 7.1.1 C", terminates(mpa::crc), {.peer_wants_crc = false})
		.add("crc_wrong_and_wanted_by_one_side", wrong_send({}, 40, {.crc_xor = 4}));
	Rule(t, "RFC 5044 4.1: ignored by the receiver", lives())
		.add("pad_not_zero", right_send({}, 41, {.pad = 0xFF}));
	Rule flipped(t, "RFC 5044 8 code 2", terminates(mpa::crc));
	for (size_t at = 2; at < 60; at += 3)
		flipped.add(std::format("byte_{}_flipped", at), [at](Session &s) {
			Bytes fpdu = s.p.out.encode(Place{.len = 38}.write(s).encode());
			fpdu[at % fpdu.size()] ^= 0x10;
			s.p.socket.send(fpdu);
		});
}

// Sends an FPDU with another length field, and @filler bytes after it.
Act length_is(size_t length, size_t filler)
{
	return [=](Session &s) {
		s.p.send(plain, {.length = static_cast<uint16_t>(length)});
		s.p.socket.try_send(pattern(filler, 5));
	};
}

// Sends a valid FPDU whose ULPDU is only the first @len bytes of a segment.
Act short_ulpdu(const Segment &whole, size_t len)
{
	return [=](Session &s) { s.p.send_ulpdu(View(whole.encode()).first(len)); };
}

void add_lengths(Table &t)
{
	Rule crc(t, "RFC 5044 8 code 2", terminates(mpa::crc));
	crc.add("length_zero_announced", length_is(0, 0));
	for (int by : {-8, -4, 1, 4, 8, 400})
		crc.add(std::format("length_off_by_{}{}", by < 0 ? "minus_" : "", abs(by)),
			length_is(plain.encode().size() + static_cast<size_t>(by), 2000));
	Rule(t, "no code: RFC 5041 6.2.2 says only that the error is fatal", ends())
		.add("length_zero", [](Session &s) { s.p.send_ulpdu({}); });
	Rule(t, "RFC 5044 8 code 1", ends())
		.add("length_65535_announced_then_fin", then_fin(length_is(65535, 0)));
	Rule(t, "RFC 5044 8 code 2, or a length beyond the limit of 3", ends())
		.add("length_65535_announced_then_garbage", length_is(65535, 70000));
	const Terms large{.victim = Options{.rw_size = 128 * 1024}};
	Rule(t, "RFC 5044 3: the largest ULPDU", lives(), large)
		.add("length_64768",
		     then_message(right_write({.len = largest_ulpdu - tagged_header_len})));
	Rule(t, "RFC 5044 3 forbids sending, not receiving", either(), large)
		.add("length_65535", [](Session &s) {
			s.may_touch(*s.v.rw, {0, 65535});
			s.p.send(write_to(*s.v.rw, 0, pattern(65535 - tagged_header_len)));
		});
	Rule cut_off(t, "no code: header cut off", ends());
	for (size_t len : {1, 2, 3, 5, 6, 13})
		cut_off.add(std::format("ulpdu_of_{}_tagged", len),
			    short_ulpdu(write_segment(0, 0, {}), len));
	for (size_t len : {1, 2, 3, 6, 10, 14, 17})
		cut_off.add(std::format("ulpdu_of_{}_untagged", len),
			    short_ulpdu(send_segment(1, {}), len));
	Rule fin(t, "RFC 5044 8 code 1", ends());
	for (size_t len : {1, 2, 4, 20, 59, 63})
		fin.add(std::format("cut_after_{}_then_fin", len),
			then_fin(first_bytes(plain, len)));
}

// Sends these bytes, which are no FPDU, and @filler more.
Act sends_bytes(const Bytes &o, size_t filler = 0)
{
	return [=](Session &s) { s.p.socket.try_send(join({o, pattern(filler, 5)})); };
}

void add_garbage(Table &t)
{
	Bytes garbage = pattern(8000, 99);
	garbage[0] = 1;
	Rule(t, "RFC 5044 8 code 2", terminates(mpa::crc))
		.add("zeros_forever", sends_bytes(Bytes(5000)))
		.add("garbage", sends_bytes(garbage))
		.add("http",
		     sends_bytes(bytes("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), 20000));
	Rule(t, "no code", ends()).add("ones_forever", sends_bytes(Bytes(140000, 0xFF)));
	Rule(t, "RFC 5044 8 code 1", ends())
		.add("second_request_frame",
		     then_fin(sends_bytes(StartupFrame::request(1).encode())));
	Rule(t, "no RFC", ends()).add("urgent_byte", [](Session &s) {
		s.p.socket.urgent(0);
		s.p.socket.try_send(pattern(70000, 5));
	});
}

INSTANTIATE_TEST_SUITE_P(fpdu, Wire, rows(add_crc, add_lengths, add_garbage), RowName());

} // namespace
} // namespace peer
