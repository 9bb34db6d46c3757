// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Read Responses to the victim's reads, and Read Responses without a read.
#include <numeric>

#include "../session/reads.h"

namespace peer {
namespace {

// The first segment of a response, without payload.
Segment empty_response()
{
	Segment g = read_response_segment(0, 0, {});
	g.last = false;
	return g;
}

void add_right(Table &t)
{
	Rule right(t, "RFC 5040 5.2.2; RFC 5041 5.2", lives());
	for (size_t n : {0, 1, 3, 4, 400, 1433, 1434, 5000, 8000})
		right.add(std::format("of_{}", n), answer_in_parts({}, n));
	for (size_t cut : {1, 2, 3, 4, 100, 396, 399})
		right.add(std::format("cut_at_{}", cut), answer_in_parts({cut}));
	std::vector<size_t> all(read_len - 1);
	std::iota(all.begin(), all.end(), 1);
	right.add("byte_by_byte", answer_in_parts(all));
	Rule(t, "RFC 5041 5.2: STag and TO of an empty segment are not checked", lives())
		.add("after_an_empty_segment", [](Session &s) {
			const ReadRequest rr = asked(s);
			s.p.send(empty_response());
			s.p.send(answer(rr));
			done(s);
		});
	Rule(t, "RFC 5040 5.5", lives()).add("of_two_reads_in_order", [](Session &s) {
		const ReadRequest first = asked(s), second = asked(s, 100, 1000);
		s.p.send(answer(first));
		s.p.send(answer(second));
		done(s);
		done(s, 100, 1000);
	});
	Rule(t, "RFC 5041 5.3", lives()).add("between_the_segments_of_a_send", [](Session &s) {
		const ReadRequest rr = asked(s);
		const Segment send = s.segment(pattern(80));
		const std::vector<Segment> halves = cut_at(send, {40});
		s.p.send(halves[0]);
		s.p.send(answer(rr));
		s.p.send(halves[1]);
		done(s);
		s.delivers(send.payload);
	});
}

void add_sink(Table &t)
{
	Rule stag(t, "RFC 5041 7.1 tagged 1", terminates(ddp::tagged_stag));
	for (int bit : {0, 7, 8, 30})
		stag.add(std::format("sink_stag_bit_{}", bit),
			 answer_with([bit](Segment &g) { g.stag ^= 1U << bit; }));
	for (uint32_t v : {0U, 0xFFFFFFFFU})
		stag.add(std::format("sink_stag_{:x}", v),
			 answer_with([v](Segment &g) { g.stag = v; }));
	// The STag permits remote write, but is not the sink STag of the Read Request.
	stag.add("sink_stag_of_a_writable_region", [](Session &s) {
		asked(s);
		response_into_rw()(s);
	});
	// Only the empty segment itself has no checks, not those that continue it.
	stag.add("sink_stag_of_an_empty_segment", [](Session &s) {
		asked(s);
		s.p.send_at_once({empty_response(), read_response_segment(0, 0, pattern(40))});
	});
	const char *bounds = "RFC 5041 7.1 tagged 3, 4";
	auto off_by = [](int64_t by) {
		return answer_with([by](Segment &g) { g.to += static_cast<uint64_t>(by); });
	};
	Rule above(t, bounds, terminates(ddp::tagged_bounds));
	for (int64_t by : {1, 4, 399, 400, 401, 4096})
		above.add(std::format("sink_to_off_by_{}", by), off_by(by));
	// The victim chooses the sink's TO. If it is small, a lower TO wraps below zero.
	Rule below(t, bounds, terminates(ddp::tagged_bounds, ddp::tagged_wrap));
	for (int64_t by : {4096, 1})
		below.add(std::format("sink_to_off_by_minus_{}", by), off_by(-by));
	Rule(t, "RFC 5041 7.1 tagged 5", terminates(ddp::tagged_wrap, ddp::tagged_bounds))
		.add("sink_to_wraps", answer_with([](Segment &g) { g.to = ~uint64_t{0} - 10; }));
	Rule(t, "RFC 5040 5.2.2: the sink STag is for Read Responses only",
	     terminates(ddp::tagged_stag))
		.add("write_to_the_sink_stag",
		     answer_with([](Segment &g) { g.opcode = op_write; }));
}

void add_length(Table &t)
{
	Rule too_long(t, "RFC 5041 7.1 tagged 4; RFC 5040 5.2.2", terminates(ddp::tagged_bounds));
	for (size_t more : {1, 4, 1000, 40000})
		too_long.add(std::format("{}_bytes_too_long", more), answer_of(read_len + more));
	too_long.add("second_segment_too_long", answer_in_two(300, 300, 101));
	// A read must not complete with success unless all its bytes have arrived. RFC 5040 5.2.2:
	// the sink MAY check the length.
	Rule too_short(t, "RFC 5040 5.2.2, no code", ends());
	for (size_t n : {0, 1, 399})
		too_short.add(std::format("last_after_{}", n), answer_of(n));
	Rule(t, "RFC 5041 5.4: all segments placed, no code", ends())
		.add("second_segment_hole", answer_in_two(100, 200, 200))
		.add("second_segment_overlap", answer_in_two(100, 50, 200))
		.add("second_segment_repeated", answer_in_two(100, 0, 200));
}

void add_unasked(Table &t)
{
	// An unexpected opcode (RDMAP) or an invalid sink STag (DDP).
	Rule(t, "RFC 5040 figure 9; RFC 5041 7.1 tagged 1",
	     terminates(rdmap::op_opcode, ddp::tagged_stag))
		.add("unasked", offends(read_response_segment(source_stag, source_to, pattern(40))))
		.add("unasked_to_a_writable_region", response_into_rw())
		.add("twice", answer_twice());
	Rule(t, "RFC 5040 figure 9", terminates(rdmap::op_opcode))
		.add("unasked_and_empty", offends(read_response_segment(0, 0, {})));
	Rule(t, "RFC 5040 5.5: in order", terminates(ddp::tagged_stag))
		.add("of_the_second_read_first", [](Session &s) {
			asked(s);
			s.offend(answer(asked(s, 100, 1000)));
		});
	Rule(t, "RFC 5041 7.2", terminates(ddp::tagged_version))
		.add("ddp_version_0", answer_with([](Segment &g) { g.dv = 0; }));
	Rule(t, "RFC 5040 figure 9", terminates(rdmap::op_version))
		.add("rdmap_version_0", answer_with([](Segment &g) { g.rv = 0; }));
}

void add_crc(Table &t)
{
	Rule(t, "RFC 5044 8 code 2", terminates(mpa::crc)).add("crc_wrong", [](Session &s) {
		s.p.send(answer(asked(s)), {.crc_xor = 1});
	});
}

// RFC 6581 9.1: at most as many Read Requests are outstanding as the negotiated ORD, here 4.
void add_depth(Table &t)
{
	Rule ord(t, "RFC 6581 9.1", lives(), {.rev = 2});
	for (unsigned all : {depth + 1U, depth + 3U})
		ord.add(std::format("{}_reads_with_ord_4", all),
			[all](Session &s) { more_reads_than_ord(s, all, depth); });
}

INSTANTIATE_TEST_SUITE_P(ReadResponse, Wire,
			 rows(add_right, add_sink, add_length, add_unasked, add_depth,
			      of_mpa(add_crc)),
			 RowName());

} // namespace
} // namespace peer
