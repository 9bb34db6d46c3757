// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// FPDUs: lengths, pad, CRC, truncation.
#include "../iwarp/crc32c.h"
#include "trial.h"

namespace bad_input {
namespace {

using namespace iwarp;

constexpr size_t largest_ulpdu = 64768; // RFC 5044 3

// Octets enough to complete whatever FPDU a wrong length announces.
void filler(Trial &t, size_t n = 70000)
{
	t.p.socket.try_send(pattern(n, 5));
}

void length_off_by(Trial &t, int by)
{
	Octets ulpdu = send_segment(1, pattern(40)).encode();
	t.p.send_ulpdu(ulpdu, {.length = static_cast<uint16_t>(static_cast<int>(ulpdu.size()) + by)});
	filler(t, 2000);
}

// One octet of a good FPDU changed on its way.
void flip(Trial &t, size_t at)
{
	Octets fpdu = t.p.out.encode(write_segment(t.v.rw->rkey(), t.v.rw->base(), pattern(38)).encode());
	fpdu[at % fpdu.size()] ^= 0x10;
	t.p.socket.send(fpdu);
}

// An FPDU that is right except that its ULPDU is cut.
void short_ulpdu(Trial &t, const Segment &s, size_t len)
{
	t.p.send_ulpdu(View(s.encode()).first(len));
}

// The first octets of an FPDU, then FIN.
void cut_and_finish(Trial &t, size_t len)
{
	Octets fpdu = t.p.out.encode(send_segment(1, pattern(40)).encode());
	t.p.socket.send(View(fpdu).first(len));
	t.p.socket.finish();
}

void large_write(Trial &t, size_t ulpdu)
{
	Octets data = pattern(ulpdu - tagged_header_len);
	t.touches(*t.v.rw, {0, data.size()});
	t.p.send(write_segment(t.v.rw->rkey(), t.v.rw->base(), data));
	t.good_message();
	EXPECT_EQ(t.v.rw->copy(0, data.size()), data);
}

const Terms no_crc{.crc = false};
const Terms large{.victim = {.rw_size = 128 * 1024}};

std::vector<Case> cases()
{
	std::vector<Case> c{
		{"crc_wrong_in_send", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Trial &t) { t.offend(send_segment(1, pattern(40)), {.crc_xor = 1}); }},
		{"crc_wrong_in_write", "RFC 5044 8 code 2; 6: verify first", terminates(mpa::crc),
		 [](Trial &t) { t.offend(write_segment(t.v.rw->rkey(), t.v.rw->base(), pattern(40)), {.crc_xor = 1U << 31}); }},
		{"crc_wrong_in_zero_length_write", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Trial &t) { t.offend(write_segment(0, 0, {}), {.crc_xor = ~0U}); }},
		{"crc_wrong_in_second_segment", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Trial &t) {
			 t.touches_receive(0);
			 t.p.send(send_segment(1, pattern(40), 0, false));
			 t.p.send(send_segment(1, pattern(40), 40), {.crc_xor = 0x100});
		 }},
		{"nothing_is_delivered_after_a_crc_error", "RFC 5044 8: MUST NOT deliver more", terminates(mpa::crc),
		 [](Trial &t) {
			 Octets both = t.p.out.encode(send_segment(1, pattern(40)).encode(), {.crc_xor = 1});
			 put(both, t.p.out.encode(send_segment(1, pattern(40)).encode()));
			 t.p.socket.send(both);
		 }},
		{"crc_wrong_but_off_by_agreement", "RFC 5044 4.1: MUST NOT be checked", lives(),
		 [](Trial &t) {
			 t.p.send(send_segment(t.p.send_msn++, pattern(40)), {.crc_xor = 0xDEADBEEF});
			 t.v.completion();
			 t.touches_receive(0);
		 }, no_crc},
		{"crc_wrong_and_wanted_by_one_side", "RFC 5044 7.1.1 C", terminates(mpa::crc),
		 [](Trial &t) { t.offend(send_segment(1, pattern(40)), {.crc_xor = 4}); }, {.peer_wants_crc = false}},
		{"pad_not_zero", "RFC 5044 4.1: ignored by the receiver", lives(),
		 [](Trial &t) {
			 t.p.send(send_segment(t.p.send_msn++, pattern(41)), {.pad = 0xFF});
			 t.v.completion();
			 t.touches_receive(0);
		 }},
		{"length_zero", "no code: RFC 5041 6.2.2 only says fatal", ends(), [](Trial &t) { t.p.send_ulpdu({}); }},
		{"length_zero_announced", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Trial &t) { t.p.send_ulpdu(send_segment(1, pattern(40)).encode(), {.length = 0}); }},
		{"length_65535_announced_then_fin", "RFC 5044 8 code 1", ends(),
		 [](Trial &t) {
			 t.p.send_ulpdu(send_segment(1, pattern(40)).encode(), {.length = 65535});
			 t.p.socket.finish();
		 }},
		{"length_65535_announced_then_garbage", "RFC 5044 8 code 2, or length over 3's limit", ends(),
		 [](Trial &t) {
			 t.p.send_ulpdu(send_segment(1, pattern(40)).encode(), {.length = 65535});
			 filler(t);
		 }},
		{"length_64768", "RFC 5044 3: the largest ULPDU", lives(),
		 [](Trial &t) { large_write(t, largest_ulpdu); }, large},
		{"length_65535", "RFC 5044 3 forbids sending, not receiving", either(),
		 [](Trial &t) {
			 t.touches(*t.v.rw, {0, 65535});
			 t.p.send(write_segment(t.v.rw->rkey(), t.v.rw->base(), pattern(65535 - tagged_header_len)));
		 }, large},
		{"ones_forever", "no code", ends(), [](Trial &t) { t.p.socket.try_send(Octets(140000, 0xFF)); }},
		{"zeros_forever", "RFC 5044 8 code 2", terminates(mpa::crc), [](Trial &t) { t.p.socket.try_send(Octets(5000)); }},
		{"garbage", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Trial &t) {
			 Octets g = pattern(8000, 99);
			 g[0] = 1;
			 t.p.socket.try_send(g);
		 }},
		{"http", "RFC 5044 8 code 2", terminates(mpa::crc),
		 [](Trial &t) {
			 t.p.socket.send(octets("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"));
			 filler(t, 20000);
		 }},
		{"second_request_frame", "RFC 5044 8 code 1", ends(),
		 [](Trial &t) {
			 t.p.socket.send(StartupFrame::request(1).encode());
			 t.p.socket.finish();
		 }},
		{"urgent_octet", "no document", ends(),
		 [](Trial &t) {
			 t.p.socket.urgent(0);
			 filler(t);
		 }},
	};
	for (int by : {-8, -4, 1, 4, 8, 400})
		c.push_back({"length_off_by_" + std::string(by < 0 ? "minus_" : "") + std::to_string(abs(by)),
			     "RFC 5044 8 code 2", terminates(mpa::crc), [by](Trial &t) { length_off_by(t, by); }});
	for (size_t at = 2; at < 60; at += 3)
		c.push_back({"octet_" + std::to_string(at) + "_flipped", "RFC 5044 8 code 2", terminates(mpa::crc),
			     [at](Trial &t) { flip(t, at); }});
	for (size_t len : {1, 2, 3, 5, 6, 13})
		c.push_back({"ulpdu_of_" + std::to_string(len) + "_tagged", "no code: header cut off", ends(),
			     [len](Trial &t) { short_ulpdu(t, write_segment(t.v.rw->rkey(), t.v.rw->base(), {}), len); }});
	for (size_t len : {1, 2, 3, 6, 10, 14, 17})
		c.push_back({"ulpdu_of_" + std::to_string(len) + "_untagged", "no code: header cut off", ends(),
			     [len](Trial &t) { short_ulpdu(t, send_segment(1, {}), len); }});
	for (size_t len : {1, 2, 4, 20, 59, 63})
		c.push_back({"cut_after_" + std::to_string(len) + "_then_fin", "RFC 5044 8 code 1", ends(),
			     [len](Trial &t) { cut_and_finish(t, len); }});
	return c;
}

INSTANTIATE_TEST_SUITE_P(fpdu, Wire, testing::ValuesIn(cases()), case_name);

} // namespace
} // namespace bad_input
