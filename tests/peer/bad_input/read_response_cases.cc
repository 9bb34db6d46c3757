// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Read Responses to the victim's own reads, and to reads it never asked for.
#include "../session/reads.h"

namespace peer {
namespace {

void add_right(std::vector<Case> &c)
{
	c.insert(c.end(), {
				  {"right", "RFC 5040 5.2.2", lives(),
				   [](Session &s) { answer_in_parts(s, read_len, {}); }},
				  {"right_in_parts", "RFC 5040 5.2.2", lives(),
				   [](Session &s) { answer_in_parts(s, read_len, {1, 100, 300}); }},
				  {"ddp_reserved_bits_set", "RFC 5041 4.1: not checked", lives(),
				   [](Session &s) {
					   answer_with([](Segment &g) { g.ddp_reserved = 9; })(s);
					   done(s);
				   }},
			  });
}

void add_sink(std::vector<Case> &c)
{
	const char *stag = "RFC 5041 7.1 tagged 1; RFC 5042 6.2.1",
		   *bounds = "RFC 5041 7.1 tagged 3, 4; RFC 5042 6.2.1";
	auto is_write_to = [](auto stag_of) {
		return [=](Session &s) {
			ReadRequest rr = asked(s);
			s.may_touch(*s.v.local, {sink_at, read_len});
			s.offend(read_response_segment(stag_of(s, rr), s.v.rw->base(),
						       pattern(40)));
		};
	};
	c.insert(c.end(),
		 {
			 {"sink_stag_0", stag, terminates(ddp::tagged_stag),
			  answer_with([](Segment &g) { g.stag = 0; })},
			 {"sink_stag_wrong_key", stag, terminates(ddp::tagged_stag),
			  answer_with([](Segment &g) { g.stag ^= 1; })},
			 {"sink_stag_wrong_index", stag, terminates(ddp::tagged_stag),
			  answer_with([](Segment &g) { g.stag ^= 0x20000000; })},
			 // Valid for writing, but not what the read named: the STag or its range
			 // does not fit.
			 {"sink_stag_of_another_region", stag,
			  terminates(ddp::tagged_stag, ddp::tagged_bounds),
			  is_write_to([](Session &s, const ReadRequest &) {
				  return s.v.rw->rkey();
			  })},
			 {"sink_stag_other_pd", stag,
			  terminates(ddp::tagged_stag, ddp::tagged_stream, ddp::tagged_bounds),
			  is_write_to([](Session &s, const ReadRequest &) {
				  return s.v.alien->rkey();
			  })},
			 // The victim chooses the sink's TO: if that is 0, one less wraps.
			 {"sink_to_one_less", bounds,
			  terminates(ddp::tagged_bounds, ddp::tagged_wrap),
			  answer_with([](Segment &g) { g.to--; })},
			 {"sink_to_one_more", bounds, terminates(ddp::tagged_bounds),
			  answer_with([](Segment &g) { g.to++; })},
			 {"sink_to_behind", bounds, terminates(ddp::tagged_bounds),
			  answer_with([](Segment &g) { g.to += read_len; })},
			 {"sink_to_page_below", bounds, terminates(ddp::tagged_bounds),
			  answer_with([](Segment &g) { g.to -= 4096; })},
			 {"sink_to_ffffffffffffffff", "RFC 5041 7.1 tagged 5",
			  terminates(ddp::tagged_wrap, ddp::tagged_bounds),
			  answer_with([](Segment &g) { g.to = ~uint64_t{0}; })},
			 {"write_to_the_sink_stag",
			  "RFC 5042 6.2.1: only the read's response may use it",
			  terminates(ddp::tagged_stag, rdmap::prot_access, ddp::tagged_bounds),
			  answer_with([](Segment &g) { g.opcode = op_write; })},
		 });
}

void add_length(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 tagged 4; RFC 5040 5.2.2";
	c.insert(c.end(),
		 {
			 {"one_byte_too_long", rfc, terminates(ddp::tagged_bounds),
			  answer_with([](Segment &g) { g.payload.push_back(1); })},
			 {"40000_bytes_too_long", rfc, terminates(ddp::tagged_bounds),
			  answer_with([](Segment &g) { g.payload.resize(read_len + 40000); })},
			 {"second_segment_too_long", rfc, terminates(ddp::tagged_bounds),
			  [](Session &s) { answer_in_two(s, 300, 300, read_len - 300 + 1); }},
			 {"full_but_not_last",
			  "RFC 5041 5.2: an empty last segment is not forbidden", either(),
			  [](Session &s) {
				  ReadRequest rr = asked(s);
				  s.may_touch(*s.v.local, {sink_at, read_len});
				  s.p.send(read_response_segment(rr.sink_stag, rr.sink_to,
								 pattern(read_len), false));
				  s.p.try_send(read_response_segment(rr.sink_stag,
								     rr.sink_to + read_len, {}));
			  }},
			 {"too_short", "RFC 5040 5.2.2 MAY validate; a success means all bytes",
			  ends(), answer_with([](Segment &g) { g.payload.resize(read_len - 1); })},
			 {"empty", "RFC 5040 5.2.2 MAY validate; a success means all bytes", ends(),
			  answer_with([](Segment &g) { g.payload.clear(); })},
			 {"hole_in_the_middle", "RFC 5041 5.4: all of the message", ends(),
			  [](Session &s) { answer_in_two(s, 100, 200, 200); }},
			 {"never_finished_then_fin", "RFC 5044 8 code 1", ends(),
			  [](Session &s) {
				  ReadRequest rr = asked(s);
				  s.may_touch(*s.v.local, {sink_at, read_len});
				  s.p.send(read_response_segment(rr.sink_stag, rr.sink_to,
								 pattern(100), false));
				  s.p.finish();
			  }},
		 });
}

void add_unasked(std::vector<Case> &c)
{
	// RDMAP: opcode not expected now. DDP: no such sink STag.
	const Verdict unasked = terminates(rdmap::op_opcode, ddp::tagged_stag);
	const char *rfc = "RFC 5040 5.2, figure 9; RFC 5041 7.1 tagged 1";
	c.insert(c.end(),
		 {
			 {"unasked", rfc, unasked,
			  [](Session &s) {
				  s.offend(read_response_segment(source_stag, source_to,
								 pattern(40)));
			  }},
			 {"unasked_to_a_writable_region", rfc, unasked,
			  [](Session &s) {
				  s.offend(read_response_segment(s.v.rw->rkey(), s.v.rw->base(),
								 pattern(40)));
			  }},
			 {"unasked_and_empty", rfc, unasked,
			  [](Session &s) { s.offend(read_response_segment(0, 0, {})); }},
			 {"answered_twice", rfc, unasked,
			  [](Session &s) {
				  Segment g = answer(asked(s));
				  s.p.send(g);
				  done(s);
				  s.offend(g);
			  }},
			 {"second_read_answered_first",
			  "RFC 5040 5.2.2: in the order of the requests",
			  terminates(ddp::tagged_stag, ddp::tagged_bounds),
			  [](Session &s) {
				  asked(s);
				  s.offend(answer(asked(s, read_len, sink_at + read_len)));
			  }},
			 {"ddp_version_0", "RFC 5041 7.2", terminates(ddp::tagged_version),
			  answer_with([](Segment &g) { g.dv = 0; })},
			 {"rdmap_version_3", "RFC 5040 7.2", terminates(rdmap::op_version),
			  answer_with([](Segment &g) { g.rv = 3; })},
		 });
}

INSTANTIATE_TEST_SUITE_P(read_response, Wire, rows(add_right, add_sink, add_length, add_unasked),
			 RowName());

} // namespace
} // namespace peer
