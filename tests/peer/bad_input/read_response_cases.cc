// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Read Responses to the victim's reads, and Read Responses without a Read Request.
#include "../session/reads.h"

namespace peer {
namespace {

void add_right(Table &t)
{
	Rule(t, "RFC 5040 5.2.2", lives())
		.add("right", answer_in_parts({}))
		.add("right_in_parts", answer_in_parts({1, 100, 300}));
	Rule(t, "RFC 5041 4.1: not checked", lives()).add("ddp_reserved_bits_set", [](Session &s) {
		answer_with([](Segment &g) { g.ddp_reserved = 9; })(s);
		done(s);
	});
}

// Answers a read with a response to @region instead of the read's sink.
Act answer_into(RegionOf region)
{
	return [=](Session &s) {
		asked(s);
		s.may_touch(*s.v.local, {sink_at, read_len});
		s.offend(read_response_segment(Place{.region = region}.stag_in(s), s.v.rw->base(),
					       pattern(40)));
	};
}

void add_sink(Table &t)
{
	const char *stag = "RFC 5041 7.1 tagged 1; RFC 5042 6.2.1",
		   *bounds = "RFC 5041 7.1 tagged 3, 4; RFC 5042 6.2.1";
	Rule(t, stag, terminates(ddp::tagged_stag))
		.add("sink_stag_0", answer_with([](Segment &g) { g.stag = 0; }))
		.add("sink_stag_wrong_key", answer_with([](Segment &g) { g.stag ^= 1; }))
		.add("sink_stag_wrong_index",
		     answer_with([](Segment &g) { g.stag ^= 0x20000000; }));
	// The region permits remote writes, but is not the read's sink. Either code describes this.
	Rule(t, stag, terminates(ddp::tagged_stag, ddp::tagged_bounds))
		.add("sink_stag_of_another_region", answer_into(rw));
	Rule(t, stag, terminates(ddp::tagged_stag, ddp::tagged_stream, ddp::tagged_bounds))
		.add("sink_stag_other_pd", answer_into(alien));
	// The victim chooses the sink's TO, which may be 0, so that TO - 1 wraps.
	Rule(t, bounds, terminates(ddp::tagged_bounds, ddp::tagged_wrap))
		.add("sink_to_one_less", answer_with([](Segment &g) { g.to--; }));
	Rule(t, bounds, terminates(ddp::tagged_bounds))
		.add("sink_to_one_more", answer_with([](Segment &g) { g.to++; }))
		.add("sink_to_behind", answer_with([](Segment &g) { g.to += read_len; }))
		.add("sink_to_page_below", answer_with([](Segment &g) { g.to -= 4096; }));
	Rule(t, "RFC 5041 7.1 tagged 5", terminates(ddp::tagged_wrap, ddp::tagged_bounds))
		.add("sink_to_ffffffffffffffff", answer_with([](Segment &g) { g.to = ~0ULL; }));
	Rule(t, "RFC 5042 6.2.1: only the read's response may use it",
	     terminates(ddp::tagged_stag, rdmap::prot_access, ddp::tagged_bounds))
		.add("write_to_the_sink_stag",
		     answer_with([](Segment &g) { g.opcode = op_write; }));
}

void add_length(Table &t)
{
	Rule(t, "RFC 5041 7.1 tagged 4; RFC 5040 5.2.2", terminates(ddp::tagged_bounds))
		.add("one_byte_too_long", answer_of(read_len + 1))
		.add("40000_bytes_too_long", answer_of(read_len + 40000))
		.add("second_segment_too_long", answer_in_two(300, 300, read_len - 300 + 1));
	Rule(t, "RFC 5041 5.2: an empty last segment is not forbidden", either())
		.add("full_but_not_last", answer_in_two(read_len, read_len, 0));
	Rule(t, "RFC 5040 5.2.2: MAY validate; no success without all bytes", ends())
		.add("too_short", answer_of(read_len - 1))
		.add("empty", answer_of(0));
	Rule(t, "RFC 5041 5.4: complete only with all of the message", ends())
		.add("hole_in_the_middle", answer_in_two(100, 200, 200));
	Rule(t, "RFC 5044 8 code 1", ends()).add("never_finished_then_fin", [](Session &s) {
		const ReadRequest rr = asked(s);
		s.may_touch(*s.v.local, {sink_at, read_len});
		s.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(100), false));
		s.p.finish();
	});
}

void add_unasked(Table &t)
{
	// Errors of two layers apply: RDMAP's unexpected opcode, and DDP's invalid STag.
	Rule(t, "RFC 5040 5.2, figure 9; RFC 5041 7.1 tagged 1",
	     terminates(rdmap::op_opcode, ddp::tagged_stag))
		.add("unasked", offends(read_response_segment(source_stag, source_to, pattern(40))))
		.add("unasked_to_a_writable_region", response_into_rw())
		.add("unasked_and_empty", offends(read_response_segment(0, 0, {})))
		.add("answered_twice", answer_twice());
	Rule(t, "RFC 5040 5.2.2: in the order of the requests",
	     terminates(ddp::tagged_stag, ddp::tagged_bounds))
		.add("second_read_answered_first", [](Session &s) {
			asked(s);
			s.offend(answer(asked(s, read_len, sink_at + read_len)));
		});
	Rule(t, "RFC 5041 7.2", terminates(ddp::tagged_version))
		.add("ddp_version_0", answer_with([](Segment &g) { g.dv = 0; }));
	Rule(t, "RFC 5040 7.2", terminates(rdmap::op_version))
		.add("rdmap_version_3", answer_with([](Segment &g) { g.rv = 3; }));
}

INSTANTIATE_TEST_SUITE_P(read_response, Wire, rows(add_right, add_sink, add_length, add_unasked),
			 RowName());

} // namespace
} // namespace peer
