// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Terminates that the victim receives: every defined layer, error type and code, with every
// combination of headers.
#include "../session/cases.h"

namespace peer {
namespace {

// RFC 5040 5.4: the receiver of a Terminate delivers nothing more and sends no Terminate.
const Verdict received = closes("rx_terminate");
const char *rfc = "RFC 5040 4.8, 5.4, 6.2.2";

// The codes of RFC 5040 figure 9, RFC 5041 7.2, RFC 5044 8 and RFC 6581 8, and undefined ones.
constexpr Code codes[] = {
	{0, 0, 0},    {0, 0, 0x55}, {0, 1, 0}, {0, 1, 1}, {0, 1, 2},	  {0, 1, 3}, {0, 1, 4},
	{0, 1, 9},    {0, 1, 0xFF}, {0, 2, 5}, {0, 2, 6}, {0, 2, 7},	  {0, 2, 8}, {0, 2, 9},
	{0, 2, 0xFF}, {1, 0, 0},    {1, 1, 0}, {1, 1, 1}, {1, 1, 2},	  {1, 1, 3}, {1, 1, 4},
	{1, 2, 1},    {1, 2, 2},    {1, 2, 3}, {1, 2, 4}, {1, 2, 5},	  {1, 2, 6}, {1, 3, 0},
	{2, 0, 1},    {2, 0, 2},    {2, 0, 3}, {2, 0, 4}, {2, 0, 5},	  {2, 0, 6}, {2, 0, 7},
	{0, 3, 0},    {0, 1, 0x0A}, {2, 1, 1}, {3, 0, 0}, {15, 15, 0xFF},
};

struct Form {
	const char *name;
	bool m, d, r;
	bool tagged; // the quoted DDP header is tagged
};

// RFC 5040 figure 7. The segment length is present if M or D is set.
constexpr Form forms[] = {
	{"bare", false, false, false, false},
	{"length", true, false, false, false},
	{"untagged_header", true, true, false, false},
	{"tagged_header", true, true, false, true},
	{"read_request", true, true, true, false},
	{"header_without_length_bit", false, true, false, false},
};

Terminate make(const Code &code, const Form &f)
{
	Terminate t = quoting_read(code);
	t.m = f.m;
	t.d = f.d;
	t.r = f.r;
	if (f.tagged)
		t.ddp_header = write_segment(1, 2, {}).header();
	if (!f.d)
		t.ddp_header.clear();
	if (!f.r)
		t.rdmap_header.clear();
	return t;
}

void add_payloads(Table &t)
{
	Rule rule(t, rfc, received);
	auto payload = [&](std::string name, const Bytes &o) {
		rule.add(std::move(name), offends(terminate_segment(o)));
	};
	for (const Code &c : codes)
		for (const Form &f : forms)
			payload(std::format("layer_{}_type_{}_code_{:x}_{}", c.layer, c.etype,
					    c.code, f.name),
				make(c, f).encode());
	const Bytes whole = quoting_read(rdmap::prot_access).encode();
	for (size_t n = 0; n < whole.size(); n++)
		payload(std::format("cut_to_{}", n), slice(whole, 0, n));
	for (size_t n : {1, 4, 100, 1400, 60000})
		payload(std::format("{}_bytes_too_long", n), join({whole, pattern(n)}));
	for (uint16_t bits : {1, 0x1000, 0x1FFF})
		payload(std::format("reserved_{:x}", bits),
			Terminate{.code = mpa::crc, .reserved = bits}.encode());
}

const Segment plain = terminate_segment(mpa::crc);

// Posts a read, which the peer refuses by a Terminate that quotes the Read Request.
void refuse_read(Session &s)
{
	s.message();
	s.c().post_read(*s.v.local, 0, 100, 1, 2);
	const Segment g = s.p.next();
	Terminate t = quoting_read(rdmap::prot_stag);
	t.ddp_header = g.header();
	t.rdmap_header = g.payload;
	s.p.send(terminate_segment(t.encode()));
}

void add_order(Table &t)
{
	const Segment send = send_segment(1, pattern(50));
	Rule(t, "RFC 5041 5.3: what was sent before is delivered", received)
		.add("after_data", after_messages(1, offends(plain)));
	Rule(t, "RFC 5041 5.3", received).add("in_one_segment_with_data_before", [=](Session &s) {
		s.p.send_at_once({send, plain});
		s.delivers(send.payload);
	});
	Rule(t, "RFC 5040 5.4: the last message", received)
		.add("in_one_segment_with_data_behind", at_once({plain, send}));
	Rule last(t, "RFC 5040 5.4", received);
	last.add("then_a_write",
		 [](Session &s) { s.p.send_at_once({plain, write_to(*s.v.rw, 0, pattern(50))}); });
	last.add("second_one", at_once({plain, plain}));
	Rule(t, "RFC 5041 5.4: the message is never delivered", received)
		.add("within_a_message", after_first(plain, 50));
	Rule(t, rfc, received).add("then_fin", then_fin(offends(plain)));
	Rule(t, "RFC 5040 5.4: Sends are flushed", received)
		.add("with_sends_waiting", [](Session &s) {
			for (int i = 0; i < 5; i++)
				s.c().post_send(*s.v.spare, 0, 4000); // not before the first FPDU
			s.p.send(plain);
		});
	last.add("with_a_read_outstanding", refuse_read);
	last.add("while_the_victim_answers_a_read", [](Session &s) {
		s.p.send(Place{.len = rw_size}.read(s));
		ASSERT_TRUE(s.p.receive());
		s.p.send(plain);
	});
}

// A Terminate is an untagged message with the MSN of queue 2 (RFC 5040 3.1; RFC 5041 7.1).
void add_header(Table &t)
{
	const char *untagged = "RFC 5041 7.1 untagged 3, 5";
	Rule msns(t, untagged, terminates(ddp::untagged_msn, ddp::untagged_no_buffer));
	for (uint32_t msn : {0U, 2U, 3U, 0x80000000U, 0xFFFFFFFFU})
		msns.add(std::format("msn_{:x}", msn),
			 wrong_terminate([msn](Segment &g) { g.msn = msn; }));
	Rule offsets(t, untagged, terminates(ddp::untagged_mo, ddp::untagged_too_long));
	for (uint32_t mo : {1U, 4U, 1000U, 0x80000000U, 0xFFFFFFFFU})
		offsets.add(std::format("mo_{:x}", mo),
			    wrong_terminate([mo](Segment &g) { g.mo = mo; }));
	Rule(t, "RFC 5041 7.2", terminates(ddp::untagged_version))
		.add("ddp_version_0", wrong_terminate([](Segment &g) { g.dv = 0; }));
}

void add_fpdu(Table &t)
{
	Rule(t, "RFC 5040 5.4", received)
		.add("then_a_crc_error", fpdus({{plain}, {plain, {.crc_xor = 1}}}));
	Rule(t, "RFC 5044 8 code 2", terminates(mpa::crc))
		.add("crc_wrong", offends(plain, {.crc_xor = 1}));
	Rule(t, "RFC 5044 8 code 3", terminates(mpa::marker), {.markers_in = true})
		.add("marker_wrong",
		     offends(plain, {.marker = [](Marker) { return Marker{0, 8}; }}));
}

INSTANTIATE_TEST_SUITE_P(Terminate, Wire,
			 rows(add_payloads, add_order, add_header, of_mpa(add_fpdu)), RowName());

} // namespace
} // namespace peer
