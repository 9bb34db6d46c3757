// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Terminates that the victim receives, valid and malformed. In each case its QP must enter the
// error state, and the connection must be closed.
#include "../session/cases.h"

namespace peer {
namespace {

void add_forms(Table &t)
{
	const Bytes whole = quoting_read(rdmap::prot_access).encode();
	Rule form(t, "RFC 5040 5.4, 6.2; RFC 5041 6.2.2", ends());
	auto payload = [&](std::string name, Bytes o) {
		form.add(std::move(name), offends(terminate_segment(std::move(o))));
	};
	payload("mpa_crc", Terminate{.code = mpa::crc}.encode());
	payload("local_catastrophic", Terminate{.code = {0, 0, 0}}.encode());
	payload("read_request_quoted", whole);
	payload("unknown_layer_and_type",
		Terminate{.code = {15, 15, 255}, .reserved = 0x1FFF}.encode());
	payload("trailing_bytes", join({whole, pattern(1000)}));
	for (size_t len : {0, 1, 3, 4, 5, 6, 7, 23, 24, 51})
		payload(std::format("cut_to_{}", len), slice(whole, 0, len));
	// part of a message is not delivered
	Rule(t, "RFC 5041 5.4", closes("rx_terminate")).add("not_last", [](Session &s) {
		wrong_terminate([](Segment &g) { g.last = false; })(s);
		s.p.finish();
	});
	form.add("msn_2", wrong_terminate([](Segment &g) { g.msn = 2; }));
	form.add("mo_4", wrong_terminate([](Segment &g) { g.mo = 4; }));
	const Segment plain = terminate_segment(mpa::crc);
	form.add("twice", at_once({plain, plain}));
	Rule(t, "RFC 5040 5.4: no messages after a Terminate", ends())
		.add("then_a_message", at_once({plain, send_segment(1, pattern(40))}));
}

void add_crc(Table &t)
{
	Rule(t, "RFC 5044 8 code 2", terminates(mpa::crc))
		.add("crc_wrong", offends(terminate_segment(mpa::crc), {.crc_xor = 1}));
}

INSTANTIATE_TEST_SUITE_P(terminate, Wire, rows(add_forms, of_mpa(add_crc)), RowName());

} // namespace
} // namespace peer
