// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Read Responses to the victim's reads, and without a read.
#include "../session/reads.h"

namespace peer {
namespace {

void add_right(std::vector<Case> &c)
{
	const char *rfc = "RFC 5040 5.2.2; RFC 5041 5.2";
	for (size_t n : {0, 1, 3, 4, 400, 1433, 1434, 5000, 8000})
		c.push_back({"of_" + std::to_string(n), rfc, lives(), [n](Session &s) {
				     s.p.send(answer(asked(s, n)));
				     done(s, n);
			     }});
	for (size_t cut : {1, 2, 3, 4, 100, 396, 399})
		c.push_back({"cut_at_" + std::to_string(cut), rfc, lives(),
			     [cut](Session &s) { answer_in_parts(s, read_len, {cut}); }});
	c.push_back({"byte_by_byte", rfc, lives(), [](Session &s) {
			     std::vector<size_t> cuts;
			     for (size_t i = 1; i < read_len; i++)
				     cuts.push_back(i);
			     answer_in_parts(s, read_len, cuts);
		     }});
	c.push_back({"of_two_reads_in_order", "RFC 5040 5.5", lives(), [](Session &s) {
			     ReadRequest first = asked(s);
			     ReadRequest second = asked(s, 100, 1000);
			     s.p.send(answer(first));
			     s.p.send(answer(second));
			     done(s);
			     done(s, 100, 1000);
		     }});
	c.push_back({"between_the_segments_of_a_send", "RFC 5041 5.3", lives(), [](Session &s) {
			     ReadRequest rr = asked(s);
			     uint32_t msn = s.p.send_msn++;
			     s.p.send(send_segment(msn, pattern(40), 0, false));
			     s.p.send(answer(rr));
			     s.p.send(send_segment(msn, pattern(40, 2), 40));
			     done(s);
			     s.delivers(join({pattern(40), pattern(40, 2)}));
		     }});
}

void add_sink(std::vector<Case> &c)
{
	const char *stag = "RFC 5041 7.1 tagged 1", *bounds = "RFC 5041 7.1 tagged 3, 4";
	for (int bit : {0, 7, 8, 30})
		c.push_back({"sink_stag_bit_" + std::to_string(bit), stag,
			     terminates(ddp::tagged_stag),
			     answer_with([bit](Segment &g) { g.stag ^= 1U << bit; })});
	for (uint32_t v : {0U, 0xFFFFFFFFU})
		c.push_back({"sink_stag_" + hex(v), stag, terminates(ddp::tagged_stag),
			     answer_with([v](Segment &g) { g.stag = v; })});
	// Valid for writing, but not what the read named.
	c.push_back({"sink_stag_of_a_writable_region", stag, terminates(ddp::tagged_stag),
		     [](Session &s) {
			     asked(s);
			     s.offend(read_response_segment(s.v.rw->rkey(), s.v.rw->base(),
							    pattern(40)));
		     }});
	for (int64_t by : {1, 4, 399, 400, 401, 4096, -4096, -1})
		c.push_back({"sink_to_off_by_" + std::string(by < 0 ? "minus_" : "") +
				     std::to_string(std::abs(by)),
			     bounds,
			     // The victim chooses the sink's TO: below zero wraps.
			     by < 0 ? terminates(ddp::tagged_bounds, ddp::tagged_wrap) :
				      terminates(ddp::tagged_bounds),
			     answer_with([by](Segment &g) { g.to += static_cast<uint64_t>(by); })});
	c.push_back({"sink_to_wraps", "RFC 5041 7.1 tagged 5",
		     terminates(ddp::tagged_wrap, ddp::tagged_bounds),
		     answer_with([](Segment &g) { g.to = ~uint64_t{0} - 10; })});
	c.push_back({"write_to_the_sink_stag", "RFC 5040 5.2.2: it is the read's alone",
		     terminates(ddp::tagged_stag),
		     answer_with([](Segment &g) { g.opcode = op_write; })});
}

void add_length(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 tagged 4; RFC 5040 5.2.2";
	for (size_t more : {1, 4, 1000, 40000})
		c.push_back({std::to_string(more) + "_bytes_too_long", rfc,
			     terminates(ddp::tagged_bounds), answer_with([more](Segment &g) {
				     g.payload.resize(read_len + more);
			     })});
	c.push_back({"second_segment_too_long", rfc, terminates(ddp::tagged_bounds),
		     [](Session &s) { answer_in_two(s, 300, 300, 101); }});
	// Success would mean that all bytes asked for are there. RFC 5040 5.2.2: the sink MAY
	// check.
	for (size_t n : {0, 1, 399})
		c.push_back({"last_after_" + std::to_string(n), "RFC 5040 5.2.2, no code", ends(),
			     answer_with([n](Segment &g) { g.payload.resize(n); })});
	struct Gap {
		const char *name;
		uint64_t to;
	};
	for (const Gap &q : {Gap{"hole", 200}, {"overlap", 50}, {"repeated", 0}})
		c.push_back({std::string("second_segment_") + q.name,
			     "RFC 5041 5.4: all of the message, no code", ends(),
			     [q](Session &s) { answer_in_two(s, 100, q.to, 200); }});
}

void add_unasked(std::vector<Case> &c)
{
	// Not expected (RDMAP), or no such sink (DDP).
	const Verdict unasked = terminates(rdmap::op_opcode, ddp::tagged_stag);
	const char *rfc = "RFC 5040 figure 9; RFC 5041 7.1 tagged 1";
	c.push_back({"unasked", rfc, unasked, [](Session &s) {
			     s.offend(read_response_segment(source_stag, source_to, pattern(40)));
		     }});
	c.push_back({"unasked_to_a_writable_region", rfc, unasked, [](Session &s) {
			     s.offend(read_response_segment(s.v.rw->rkey(), s.v.rw->base(),
							    pattern(40)));
		     }});
	c.push_back({"unasked_and_empty", "RFC 5040 figure 9", terminates(rdmap::op_opcode),
		     [](Session &s) { s.offend(read_response_segment(0, 0, {})); }});
	c.push_back({"twice", rfc, unasked, [](Session &s) {
			     Segment g = answer(asked(s));
			     s.p.send(g);
			     done(s);
			     s.offend(g);
		     }});
	c.push_back({"of_the_second_read_first", "RFC 5040 5.5: in order",
		     terminates(ddp::tagged_stag), [](Session &s) {
			     asked(s);
			     s.offend(answer(asked(s, 100, 1000)));
		     }});
	c.push_back({"ddp_version_0", "RFC 5041 7.2", terminates(ddp::tagged_version),
		     answer_with([](Segment &g) { g.dv = 0; })});
	c.push_back({"rdmap_version_0", "RFC 5040 figure 9", terminates(rdmap::op_version),
		     answer_with([](Segment &g) { g.rv = 0; })});
}

void add_crc(std::vector<Case> &c)
{
	c.push_back({"crc_wrong", "RFC 5044 8 code 2", terminates(mpa::crc),
		     [](Session &s) { s.p.send(answer(asked(s)), {.crc_xor = 1}); }});
}

// RFC 6581 9.1: no more reads are outstanding than the ORD agreed on, 4.
void add_depth(std::vector<Case> &c)
{
	for (unsigned more : {1U, 3U})
		c.push_back({std::to_string(depth + more) + "_reads_with_ord_4",
			     "RFC 6581 9.1",
			     lives(),
			     [more](Session &s) {
				     const unsigned all = depth + more;
				     constexpr size_t len = 100;
				     s.message();
				     for (unsigned i = 0; i < all; i++)
					     s.c().post_read(*s.v.local, i * len, len, source_stag,
							     source_to);
				     std::vector<ReadRequest> asked;
				     for (unsigned i = 0; i < depth; i++)
					     asked.push_back(next_request(s));
				     EXPECT_FALSE(s.p.receive(Millis{30})) << "more reads than ORD";
				     ASSERT_EQ(s.p.last_event, Event::quiet);
				     for (unsigned i = 0; i < all; i++) {
					     s.p.send(answer(asked[i]));
					     done(s, len, i * len);
					     if (i < more)
						     asked.push_back(next_request(s));
				     }
			     },
			     {.rev = 2}});
}

INSTANTIATE_TEST_SUITE_P(ReadResponse, Wire,
			 rows(add_right, add_sink, add_length, add_unasked, add_depth,
			      of_mpa(add_crc)),
			 RowName());

} // namespace
} // namespace peer
