// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Terminates that the victim receives: every layer, type and code, every form.
#include "../session/session.h"

namespace peer {
namespace {

// RFC 5040 5.4: the receiver passes nothing more and sends none itself. No code is an answer to it.
const char *rfc = "RFC 5040 4.8, 5.4, 6.2.2";

Verdict received()
{
	return closes("rx_terminate");
}

// RFC 5040 figure 9, RFC 5041 7.2, RFC 5044 8, RFC 6581 8; and what no document defines.
const std::vector<Code> &codes()
{
	static const std::vector<Code> c{
		{0, 0, 0},    {0, 0, 0x55}, {0, 1, 0},	  {0, 1, 1},	  {0, 1, 2}, {0, 1, 3},
		{0, 1, 4},    {0, 1, 9},    {0, 1, 0xFF}, {0, 2, 5},	  {0, 2, 6}, {0, 2, 7},
		{0, 2, 8},    {0, 2, 9},    {0, 2, 0xFF}, {1, 0, 0},	  {1, 1, 0}, {1, 1, 1},
		{1, 1, 2},    {1, 1, 3},    {1, 1, 4},	  {1, 2, 1},	  {1, 2, 2}, {1, 2, 3},
		{1, 2, 4},    {1, 2, 5},    {1, 2, 6},	  {1, 3, 0},	  {2, 0, 1}, {2, 0, 2},
		{2, 0, 3},    {2, 0, 4},    {2, 0, 5},	  {2, 0, 6},	  {2, 0, 7}, {0, 3, 0},
		{0, 1, 0x0A}, {2, 1, 1},    {3, 0, 0},	  {15, 15, 0xFF},
	};
	return c;
}

struct Form {
	const char *name;
	bool m, d, r;
	bool tagged; // the header quoted
};

// RFC 5040 figure 7: the length stands there if M or D is set.
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
	Terminate t{.code = code, .m = f.m, .d = f.d, .r = f.r};
	t.segment_len = 46;
	if (f.d)
		t.ddp_header =
			(f.tagged ? write_segment(1, 2, {}) : read_request_segment(1, {})).header();
	if (f.r)
		t.rdmap_header = ReadRequest{}.encode();
	return t;
}

Case payload(std::string name, Bytes o)
{
	return {std::move(name), rfc, received(),
		[o](Session &s) { s.p.send(terminate_segment(o)); }};
}

void add_codes(std::vector<Case> &c)
{
	for (const Code &code : codes())
		for (const Form &f : forms)
			c.push_back(payload("layer_" + std::to_string(code.layer) + "_type_" +
						    std::to_string(code.etype) + "_code_" +
						    hex(code.code) + "_" + f.name,
					    make(code, f).encode()));
}

void add_lengths(std::vector<Case> &c)
{
	const Bytes whole = make(rdmap::prot_access, forms[4]).encode();
	for (size_t n = 0; n < whole.size(); n++)
		c.push_back(payload("cut_to_" + std::to_string(n), slice(whole, 0, n)));
	for (size_t n : {1, 4, 100, 1400, 60000})
		c.push_back(payload(std::to_string(n) + "_bytes_too_long",
				    join({whole, pattern(n)})));
	for (uint16_t bits : {1, 0x1000, 0x1FFF}) {
		Terminate t = make(mpa::crc, forms[0]);
		t.reserved = bits;
		c.push_back(payload("reserved_" + hex(bits), t.encode()));
	}
}

Segment plain()
{
	return terminate_segment(mpa::crc);
}

void add_order(std::vector<Case> &c)
{
	auto with = [&](std::string name, const char *why, Verdict o,
			std::function<void(Session &)> act) {
		c.push_back({std::move(name), why, std::move(o), std::move(act)});
	};
	with("after_data", "RFC 5041 5.3: what was sent before is delivered", received(),
	     [](Session &s) {
		     s.message();
		     s.p.send(plain());
	     });
	with("in_one_segment_with_data_before", "RFC 5041 5.3", received(), [](Session &s) {
		Segment g = s.segment(pattern(50));
		s.p.send_at_once({g, plain()});
		s.delivers(g.payload);
	});
	with("in_one_segment_with_data_behind", "RFC 5040 5.4: the last message", received(),
	     [](Session &s) { s.p.send_at_once({plain(), send_segment(1, pattern(50))}); });
	with("then_a_write", "RFC 5040 5.4", received(),
	     [](Session &s) { s.p.send_at_once({plain(), write_to(*s.v.rw, 0, pattern(50))}); });
	with("second_one", "RFC 5040 5.4", received(),
	     [](Session &s) { s.p.send_at_once({plain(), plain()}); });
	with("within_a_message", "RFC 5041 5.4: the message is never delivered", received(),
	     [](Session &s) {
		     s.begins(pattern(50));
		     s.p.send(plain());
	     });
	with("then_fin", rfc, received(), [](Session &s) {
		s.p.send(plain());
		s.p.finish();
	});
	with("with_sends_waiting", "RFC 5040 5.4: they are flushed", received(), [](Session &s) {
		for (int i = 0; i < 5; i++)
			s.c().post_send(*s.v.spare, 0, 4000); // waits for the first FPDU
		s.p.send(plain());
	});
	with("with_a_read_outstanding", "RFC 5040 5.4", received(), [](Session &s) {
		s.message();
		s.c().post_read(*s.v.local, 0, 100, 1, 2);
		const Segment g = s.p.next();
		Terminate t{.code = rdmap::prot_stag, .m = true, .d = true, .r = true};
		t.segment_len = static_cast<uint16_t>(g.encode().size());
		t.ddp_header = g.header();
		t.rdmap_header = g.payload;
		s.p.send(terminate_segment(t.encode()));
	});
	with("while_the_victim_answers_a_read", "RFC 5040 5.4", received(), [](Session &s) {
		s.p.read({1, 2, rw_size, s.v.rw->rkey(), s.v.rw->base()});
		ASSERT_TRUE(s.p.receive());
		s.p.send(plain());
	});
}

Act changed(std::function<void(Segment &)> change)
{
	return offends([](Session &) { return plain(); }, std::move(change));
}

// It is an untagged message like others, with queue 2's own MSN (RFC 5040 3.1; RFC 5041 7.1).
void add_header(std::vector<Case> &c)
{
	const char *untagged = "RFC 5041 7.1 untagged 3, 5";
	for (uint32_t msn : {0U, 2U, 3U, 0x80000000U, 0xFFFFFFFFU})
		c.push_back({"msn_" + hex(msn), untagged,
			     terminates(ddp::untagged_msn, ddp::untagged_no_buffer),
			     changed([msn](Segment &g) { g.msn = msn; })});
	for (uint32_t mo : {1U, 4U, 1000U, 0x80000000U, 0xFFFFFFFFU})
		c.push_back({"mo_" + hex(mo), untagged,
			     terminates(ddp::untagged_mo, ddp::untagged_too_long),
			     changed([mo](Segment &g) { g.mo = mo; })});
	c.push_back({"ddp_version_0", "RFC 5041 7.2", terminates(ddp::untagged_version),
		     changed([](Segment &g) { g.dv = 0; })});
}

void add_fpdu(std::vector<Case> &c)
{
	c.push_back({"then_a_crc_error", "RFC 5040 5.4", received(), [](Session &s) {
			     s.p.socket.send(join({s.p.out.encode(plain().encode()),
						   s.p.out.encode(plain().encode(),
								  {.crc_xor = 1})}));
		     }});
	c.push_back({"crc_wrong", "RFC 5044 8 code 2", terminates(mpa::crc),
		     [](Session &s) { s.p.send(plain(), {.crc_xor = 1}); }});
	c.push_back({"marker_wrong",
		     "RFC 5044 8 code 3",
		     terminates(mpa::marker),
		     [](Session &s) {
			     s.p.send(plain(), {.marker = [](Marker) { return Marker{0, 8}; }});
		     },
		     {.markers_in = true}});
}

INSTANTIATE_TEST_SUITE_P(Terminate, Wire,
			 rows(add_codes, add_lengths, add_order, add_header, of_mpa(add_fpdu)),
			 RowName());

} // namespace
} // namespace peer
