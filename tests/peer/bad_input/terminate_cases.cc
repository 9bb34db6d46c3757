// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Terminates that the victim receives, well formed and not: it must take its QP to error and close.
#include "trial.h"

namespace bad_input {
namespace {

using namespace iwarp;

const char *rfc = "RFC 5040 5.4, 6.2; RFC 5041 6.2.2";

Case payload(const std::string &name, Octets o)
{
	return {name, rfc, ends(), [o](Trial &t) { t.p.send(terminate_segment(o)); }};
}

std::vector<Case> cases()
{
	const Terminate full{.code = rdmap::prot_access, .m = true, .d = true, .r = true, .segment_len = 46,
			     .ddp_header = read_request_segment(1, {}).header(), .rdmap_header = ReadRequest{}.encode()};
	const Octets whole = full.encode();
	std::vector<Case> c{
		payload("mpa_crc", Terminate{.code = mpa::crc}.encode()),
		payload("local_catastrophic", Terminate{.code = {0, 0, 0}}.encode()),
		payload("read_request_quoted", whole),
		payload("unknown_layer_and_type", Terminate{.code = {15, 15, 255}, .reserved = 0x1FFF}.encode()),
		payload("trailing_octets", join({whole, pattern(1000)})),
	};
	for (size_t len : {0, 1, 3, 4, 5, 6, 7, 23, 24, 51})
		c.push_back(payload("cut_to_" + std::to_string(len), {whole.begin(), whole.begin() + static_cast<ptrdiff_t>(len)}));
	c.insert(c.end(), {
		{"not_last", rfc, ends(), [](Trial &t) {
			 Segment s = terminate_segment(Terminate{.code = mpa::crc}.encode());
			 s.last = false;
			 t.p.send(s);
			 t.p.socket.finish();
		 }},
		{"msn_2", rfc, ends(), [](Trial &t) {
			 Segment s = terminate_segment(Terminate{.code = mpa::crc}.encode());
			 s.msn = 2;
			 t.p.send(s);
		 }},
		{"mo_4", rfc, ends(), [](Trial &t) {
			 Segment s = terminate_segment(Terminate{.code = mpa::crc}.encode());
			 s.mo = 4;
			 t.p.send(s);
		 }},
		{"twice", rfc, ends(), [](Trial &t) {
			 Octets one = terminate_segment(Terminate{.code = mpa::crc}.encode()).encode();
			 t.p.socket.send(join({t.p.out.encode(one), t.p.out.encode(one)}));
		 }},
		{"then_a_message", "RFC 5040 5.4: no more messages", ends(), [](Trial &t) {
			 Octets one = t.p.out.encode(terminate_segment(Terminate{.code = mpa::crc}.encode()).encode());
			 t.p.socket.send(join({one, t.p.out.encode(send_segment(1, pattern(40)).encode())}));
		 }},
		{"crc_wrong", "RFC 5044 8 code 2", terminates(mpa::crc), [](Trial &t) {
			 t.p.send(terminate_segment(Terminate{.code = mpa::crc}.encode()), {.crc_xor = 1});
		 }},
	});
	return c;
}

INSTANTIATE_TEST_SUITE_P(terminate, Wire, testing::ValuesIn(cases()), case_name);

} // namespace
} // namespace bad_input
