// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs: lengths, pad, CRC, truncation.
#include "../iwarp/crc32c.h"
#include "../session/session.h"

namespace peer {
namespace {

constexpr size_t largest_ulpdu = 64768; // RFC 5044 3

// Bytes enough to complete whatever FPDU a wrong length announces.
void filler(Session &s, size_t n = 70000)
{
	s.p.socket.try_send(pattern(n, 5));
}

void length_off_by(Session &s, int by)
{
	Bytes ulpdu = send_segment(1, pattern(40)).encode();
	s.p.send_ulpdu(ulpdu,
		       {.length = static_cast<uint16_t>(static_cast<int>(ulpdu.size()) + by)});
	filler(s, 2000);
}

// One byte of a good FPDU changed on its way.
void flip(Session &s, size_t at)
{
	Bytes fpdu = s.p.out.encode(write_to(*s.v.rw, 0, pattern(38)).encode());
	fpdu[at % fpdu.size()] ^= 0x10;
	s.p.socket.send(fpdu);
}

// An FPDU that is right except that its ULPDU is cut.
void short_ulpdu(Session &s, const Segment &g, size_t len)
{
	s.p.send_ulpdu(View(g.encode()).first(len));
}

// The first bytes of an FPDU, then FIN.
void cut_and_finish(Session &s, size_t len)
{
	Bytes fpdu = s.p.out.encode(send_segment(1, pattern(40)).encode());
	s.p.socket.send(View(fpdu).first(len));
	s.p.socket.finish();
}

void large_write(Session &s, size_t ulpdu)
{
	s.writes(*s.v.rw, 0, pattern(ulpdu - tagged_header_len));
	s.message();
}

const Terms no_crc{.crc = false};
const Terms large{.victim = Options{.rw_size = 128 * 1024}};

std::vector<Case> cases()
{
	std::vector<Case> c{
		{"crc_wrong_in_send", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Session &s) { s.offend(send_segment(1, pattern(40)), {.crc_xor = 1}); }},
		{"crc_wrong_in_write", "RFC 5044 8 code 2; 6: verify first", terminates(mpa::crc),
		 [](Session &s) {
			 s.offend(write_to(*s.v.rw, 0, pattern(40)), {.crc_xor = 1U << 31});
		 }},
		{"crc_wrong_in_zero_length_write", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Session &s) { s.offend(write_segment(0, 0, {}), {.crc_xor = ~0U}); }},
		{"crc_wrong_in_second_segment", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Session &s) {
			 s.may_touch_slot();
			 s.p.send(send_segment(1, pattern(40), 0, false));
			 s.p.send(send_segment(1, pattern(40), 40), {.crc_xor = 0x100});
		 }},
		{"nothing_is_delivered_after_a_crc_error", "RFC 5044 8: MUST NOT deliver more",
		 terminates(mpa::crc),
		 [](Session &s) {
			 Bytes both = s.p.out.encode(send_segment(1, pattern(40)).encode(),
						     {.crc_xor = 1});
			 put(both, s.p.out.encode(send_segment(1, pattern(40)).encode()));
			 s.p.socket.send(both);
		 }},
		{"crc_wrong_but_off_by_agreement", "RFC 5044 4.1: MUST NOT be checked", lives(),
		 [](Session &s) { s.sends(s.segment(pattern(40)), {.crc_xor = 0xDEADBEEF}); },
		 no_crc},
		{"crc_wrong_and_wanted_by_one_side",
		 "RFC 5044 7.1.1 C",
		 terminates(mpa::crc),
		 [](Session &s) { s.offend(send_segment(1, pattern(40)), {.crc_xor = 4}); },
		 {.peer_wants_crc = false}},
		{"pad_not_zero", "RFC 5044 4.1: ignored by the receiver", lives(),
		 [](Session &s) { s.sends(s.segment(pattern(41)), {.pad = 0xFF}); }},
		{"length_zero", "no code: RFC 5041 6.2.2 only says fatal", ends(),
		 [](Session &s) { s.p.send_ulpdu({}); }},
		{"length_zero_announced", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Session &s) {
			 s.p.send_ulpdu(send_segment(1, pattern(40)).encode(), {.length = 0});
		 }},
		{"length_65535_announced_then_fin", "RFC 5044 8 code 1", ends(),
		 [](Session &s) {
			 s.p.send_ulpdu(send_segment(1, pattern(40)).encode(), {.length = 65535});
			 s.p.socket.finish();
		 }},
		{"length_65535_announced_then_garbage",
		 "RFC 5044 8 code 2, or length over 3's limit", ends(),
		 [](Session &s) {
			 s.p.send_ulpdu(send_segment(1, pattern(40)).encode(), {.length = 65535});
			 filler(s);
		 }},
		{"length_64768", "RFC 5044 3: the largest ULPDU", lives(),
		 [](Session &s) { large_write(s, largest_ulpdu); }, large},
		{"length_65535", "RFC 5044 3 forbids sending, not receiving", either(),
		 [](Session &s) {
			 s.may_touch(*s.v.rw, {0, 65535});
			 s.p.send(write_to(*s.v.rw, 0, pattern(65535 - tagged_header_len)));
		 },
		 large},
		{"ones_forever", "no code", ends(),
		 [](Session &s) { s.p.socket.try_send(Bytes(140000, 0xFF)); }},
		{"zeros_forever", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Session &s) { s.p.socket.try_send(Bytes(5000)); }},
		{"garbage", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Session &s) {
			 Bytes g = pattern(8000, 99);
			 g[0] = 1;
			 s.p.socket.try_send(g);
		 }},
		{"http", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Session &s) {
			 s.p.socket.send(bytes("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"));
			 filler(s, 20000);
		 }},
		{"second_request_frame", "RFC 5044 8 code 1", ends(),
		 [](Session &s) {
			 s.p.socket.send(StartupFrame::request(1).encode());
			 s.p.socket.finish();
		 }},
		{"urgent_byte", "no document", ends(),
		 [](Session &s) {
			 s.p.socket.urgent(0);
			 filler(s);
		 }},
	};
	for (int by : {-8, -4, 1, 4, 8, 400})
		c.push_back({"length_off_by_" + std::string(by < 0 ? "minus_" : "") +
				     std::to_string(abs(by)),
			     "RFC 5044 8 code 2", terminates(mpa::crc),
			     [by](Session &s) { length_off_by(s, by); }});
	for (size_t at = 2; at < 60; at += 3)
		c.push_back({"byte_" + std::to_string(at) + "_flipped", "RFC 5044 8 code 2",
			     terminates(mpa::crc), [at](Session &s) { flip(s, at); }});
	for (size_t len : {1, 2, 3, 5, 6, 13})
		c.push_back({"ulpdu_of_" + std::to_string(len) + "_tagged",
			     "no code: header cut off", ends(),
			     [len](Session &s) { short_ulpdu(s, write_to(*s.v.rw, 0, {}), len); }});
	for (size_t len : {1, 2, 3, 6, 10, 14, 17})
		c.push_back({"ulpdu_of_" + std::to_string(len) + "_untagged",
			     "no code: header cut off", ends(),
			     [len](Session &s) { short_ulpdu(s, send_segment(1, {}), len); }});
	for (size_t len : {1, 2, 4, 20, 59, 63})
		c.push_back({"cut_after_" + std::to_string(len) + "_then_fin", "RFC 5044 8 code 1",
			     ends(), [len](Session &s) { cut_and_finish(s, len); }});
	return c;
}

INSTANTIATE_TEST_SUITE_P(fpdu, Wire, testing::ValuesIn(cases()), RowName());

} // namespace
} // namespace peer
