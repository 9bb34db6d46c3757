// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Terminates that the victim receives, well formed and not: it must take its QP to error and close.
#include "../session/session.h"

namespace peer {
namespace {

const char *rfc = "RFC 5040 5.4, 6.2; RFC 5041 6.2.2";

Case payload(const std::string &name, Bytes o)
{
	return {name, rfc, ends(), [o](Session &s) { s.p.send(terminate_segment(o)); }};
}

Segment plain(Session &)
{
	return terminate_segment(mpa::crc);
}

void add_forms(std::vector<Case> &c)
{
	const Terminate full{.code = rdmap::prot_access,
			     .m = true,
			     .d = true,
			     .r = true,
			     .segment_len = 46,
			     .ddp_header = read_request_segment(1, {}).header(),
			     .rdmap_header = ReadRequest{}.encode()};
	const Bytes whole = full.encode();
	c = {
		payload("mpa_crc", Terminate{.code = mpa::crc}.encode()),
		payload("local_catastrophic", Terminate{.code = {0, 0, 0}}.encode()),
		payload("read_request_quoted", whole),
		payload("unknown_layer_and_type",
			Terminate{.code = {15, 15, 255}, .reserved = 0x1FFF}.encode()),
		payload("trailing_bytes", join({whole, pattern(1000)})),
	};
	for (size_t len : {0, 1, 3, 4, 5, 6, 7, 23, 24, 51})
		c.push_back(payload("cut_to_" + std::to_string(len), slice(whole, 0, len)));
	c.insert(c.end(),
		 {
			 {"not_last", rfc, ends(),
			  [](Session &s) {
				  Segment g = terminate_segment(mpa::crc);
				  g.last = false;
				  s.p.send(g);
				  s.p.finish();
			  }},
			 {"msn_2", rfc, ends(), offends(plain, [](Segment &g) { g.msn = 2; })},
			 {"mo_4", rfc, ends(), offends(plain, [](Segment &g) { g.mo = 4; })},
			 {"twice", rfc, ends(),
			  [](Session &s) { s.p.send_at_once({plain(s), plain(s)}); }},
			 {"then_a_message", "RFC 5040 5.4: no more messages", ends(),
			  [](Session &s) {
				  s.p.send_at_once({plain(s), send_segment(1, pattern(40))});
			  }},
		 });
}

void add_crc(std::vector<Case> &c)
{
	c.push_back({"crc_wrong", "RFC 5044 8 code 2", terminates(mpa::crc),
		     [](Session &s) { s.p.send(terminate_segment(mpa::crc), {.crc_xor = 1}); }});
}

INSTANTIATE_TEST_SUITE_P(terminate, Wire, rows(add_forms, of_mpa(add_crc)), RowName());

} // namespace
} // namespace peer
