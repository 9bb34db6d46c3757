// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Read Responses to the victim's reads, and without a read.
#include "session.h"

namespace conformance {
namespace {

using namespace iwarp;

constexpr uint32_t source_stag = 0x77777700;
constexpr uint64_t source_to = 0x4000;
constexpr size_t read_len = 400;
constexpr size_t sink_at = 64;

ReadRequest next_request(Session &s)
{
	std::optional<Segment> g = s.p.receive();
	if (!g || g->opcode != op_read_request || g->payload.size() != ReadRequest::len)
		throw std::runtime_error("the victim sends no Read Request");
	EXPECT_TRUE(g->last && !g->tagged);
	EXPECT_EQ(g->qn, q_read);
	EXPECT_EQ(g->msn, s.p.read_msn++);
	EXPECT_EQ(g->mo, 0U);
	return ReadRequest::decode(g->payload);
}

// Makes the victim read n octets into its local region; what it asks for. A responder may send
// only after the first FPDU (RFC 5044 7.1.2 rule 4).
ReadRequest asked(Session &s, size_t n = read_len, size_t at = sink_at)
{
	if (s.p.send_msn == 1)
		s.message();
	s.c().post_read(*s.v.local, at, n, source_stag, source_to);
	ReadRequest rr = next_request(s);
	EXPECT_EQ(rr.size, n);
	EXPECT_EQ(rr.src_stag, source_stag);
	EXPECT_EQ(rr.src_to, source_to);
	return rr;
}

Segment answer(const ReadRequest &rr)
{
	return read_response_segment(rr.sink_stag, rr.sink_to, pattern(rr.size));
}

void done(Session &s, size_t n = read_len, size_t at = sink_at)
{
	s.completes(IBV_WC_RDMA_READ);
	s.places(*s.v.local, static_cast<ptrdiff_t>(at), pattern(n));
}

// In segments that begin where told.
void in_parts(Session &s, size_t n, std::vector<size_t> cuts)
{
	ReadRequest rr = asked(s, n);
	const Octets all = pattern(n);
	cuts.push_back(n);
	size_t at = 0;
	for (size_t cut : cuts) {
		Octets part(all.begin() + static_cast<ptrdiff_t>(at), all.begin() + static_cast<ptrdiff_t>(cut));
		s.p.send(read_response_segment(rr.sink_stag, rr.sink_to + at, part, cut == n));
		at = cut;
	}
	done(s, n);
}

// A response that is right except for one change; what it says may be placed before it is seen.
std::function<void(Session &)> changed(std::function<void(Segment &)> change)
{
	return [=](Session &s) {
		Segment g = answer(asked(s));
		change(g);
		s.may_touch(*s.v.local, {sink_at, read_len});
		s.offend(g);
	};
}

void add_right(std::vector<Case> &c)
{
	const char *rfc = "RFC 5040 5.2.2; RFC 5041 5.2";
	for (size_t n : {0, 1, 3, 4, 400, 1433, 1434, 5000, 8000})
		c.push_back({"of_" + std::to_string(n), rfc, lives(), [n](Session &s) {
				     s.p.send(answer(asked(s, n)));
				     done(s, n);
			     }});
	for (size_t cut : {1, 2, 3, 4, 100, 396, 399})
		c.push_back({"cut_at_" + std::to_string(cut), rfc, lives(), [cut](Session &s) { in_parts(s, read_len, {cut}); }});
	c.push_back({"octet_by_octet", rfc, lives(), [](Session &s) {
			     std::vector<size_t> cuts;
			     for (size_t i = 1; i < read_len; i++)
				     cuts.push_back(i);
			     in_parts(s, read_len, cuts);
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
		c.push_back({"sink_stag_bit_" + std::to_string(bit), stag, terminates(ddp::tagged_stag),
			     changed([bit](Segment &g) { g.stag ^= 1U << bit; })});
	for (uint32_t v : {0U, 0xFFFFFFFFU})
		c.push_back({"sink_stag_" + hex(v), stag, terminates(ddp::tagged_stag), changed([v](Segment &g) { g.stag = v; })});
	// Valid for writing, but not what the read named.
	c.push_back({"sink_stag_of_a_writable_region", stag, terminates(ddp::tagged_stag), [](Session &s) {
			     asked(s);
			     s.offend(read_response_segment(s.v.rw->rkey(), s.v.rw->base(), pattern(40)));
		     }});
	for (int64_t by : {1, 4, 399, 400, 401, 4096, -4096, -1})
		c.push_back({"sink_to_off_by_" + std::string(by < 0 ? "minus_" : "") + std::to_string(std::abs(by)), bounds,
			     // The victim chooses the sink's TO: below zero wraps.
			     by < 0 ? terminates(ddp::tagged_bounds, ddp::tagged_wrap) : terminates(ddp::tagged_bounds),
			     changed([by](Segment &g) { g.to += static_cast<uint64_t>(by); })});
	c.push_back({"sink_to_wraps", "RFC 5041 7.1 tagged 5", terminates(ddp::tagged_wrap, ddp::tagged_bounds),
		     changed([](Segment &g) { g.to = ~uint64_t{0} - 10; })});
	c.push_back({"write_to_the_sink_stag", "RFC 5040 5.2.2: it is the read's alone", terminates(ddp::tagged_stag),
		     changed([](Segment &g) { g.opcode = op_write; })});
}

void add_length(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 tagged 4; RFC 5040 5.2.2";
	for (size_t more : {1, 4, 1000, 40000})
		c.push_back({std::to_string(more) + "_octets_too_long", rfc, terminates(ddp::tagged_bounds),
			     changed([more](Segment &g) { g.payload.resize(read_len + more); })});
	c.push_back({"second_segment_too_long", rfc, terminates(ddp::tagged_bounds), [](Session &s) {
			     ReadRequest rr = asked(s);
			     s.may_touch(*s.v.local, {sink_at, read_len});
			     s.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(300), false));
			     s.offend(read_response_segment(rr.sink_stag, rr.sink_to + 300, pattern(101)));
		     }});
	// Success would mean that all octets asked for are there. RFC 5040 5.2.2: the sink MAY check.
	for (size_t n : {0, 1, 399})
		c.push_back({"last_after_" + std::to_string(n), "RFC 5040 5.2.2, no code", ends(),
			     changed([n](Segment &g) { g.payload.resize(n); })});
	struct Gap {
		const char *name;
		uint64_t to;
	};
	for (const Gap &q : {Gap{"hole", 200}, {"overlap", 50}, {"repeated", 0}})
		c.push_back({std::string("second_segment_") + q.name, "RFC 5041 5.4: all of the message, no code", ends(),
			     [q](Session &s) {
				     ReadRequest rr = asked(s);
				     s.may_touch(*s.v.local, {sink_at, read_len});
				     s.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(100), false));
				     s.offend(read_response_segment(rr.sink_stag, rr.sink_to + q.to, pattern(200)));
			     }});
}

void add_unasked(std::vector<Case> &c)
{
	// Not expected (RDMAP), or no such sink (DDP).
	const Outcome unasked = terminates(rdmap::op_opcode, ddp::tagged_stag);
	const char *rfc = "RFC 5040 figure 9; RFC 5041 7.1 tagged 1";
	c.push_back({"unasked", rfc, unasked,
		     [](Session &s) { s.offend(read_response_segment(source_stag, source_to, pattern(40))); }});
	c.push_back({"unasked_to_a_writable_region", rfc, unasked,
		     [](Session &s) { s.offend(read_response_segment(s.v.rw->rkey(), s.v.rw->base(), pattern(40))); }});
	c.push_back({"unasked_and_empty", "RFC 5040 figure 9", terminates(rdmap::op_opcode),
		     [](Session &s) { s.offend(read_response_segment(0, 0, {})); }});
	c.push_back({"twice", rfc, unasked, [](Session &s) {
			     Segment g = answer(asked(s));
			     s.p.send(g);
			     done(s);
			     s.offend(g);
		     }});
	c.push_back({"of_the_second_read_first", "RFC 5040 5.5: in order", terminates(ddp::tagged_stag), [](Session &s) {
			     asked(s);
			     s.offend(answer(asked(s, 100, 1000)));
		     }});
	c.push_back({"ddp_version_0", "RFC 5041 7.2", terminates(ddp::tagged_version), changed([](Segment &g) { g.dv = 0; })});
	c.push_back({"rdmap_version_0", "RFC 5040 figure 9", terminates(rdmap::op_version), changed([](Segment &g) { g.rv = 0; })});
	c.push_back({"crc_wrong", "RFC 5044 8 code 2", terminates(mpa::crc), [](Session &s) {
			     s.p.send(answer(asked(s)), {.crc_xor = 1});
		     }});
}

// RFC 6581 9.1: no more reads are outstanding than the ORD agreed on, 4.
void add_depth(std::vector<Case> &c)
{
	for (unsigned more : {1U, 3U})
		c.push_back({std::to_string(depth + more) + "_reads_with_ord_4", "RFC 6581 9.1", lives(), [more](Session &s) {
				     const unsigned all = depth + more;
				     constexpr size_t len = 100;
				     s.message();
				     for (unsigned i = 0; i < all; i++)
					     s.c().post_read(*s.v.local, i * len, len, source_stag, source_to);
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
			     }, {.rev = 2}});
}

std::vector<Case> cases()
{
	std::vector<Case> c;
	add_right(c);
	add_sink(c);
	add_length(c);
	add_unasked(c);
	add_depth(c);
	return c;
}

INSTANTIATE_TEST_SUITE_P(ReadResponse, Wire, testing::ValuesIn(cases()), RowName());

} // namespace
} // namespace conformance
