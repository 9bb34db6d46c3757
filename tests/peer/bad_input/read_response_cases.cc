// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Read Responses to the victim's own reads, and to reads it never asked for.
#include "trial.h"

namespace bad_input {
namespace {

using namespace iwarp;
using Act = std::function<void(Trial &)>;

constexpr uint32_t source_stag = 0x77777700;
constexpr uint64_t source_to = 0x4000;
constexpr uint32_t read_len = 400;
constexpr size_t sink_at = 64;

// Makes the victim read into its local region; returns what it asks.
ReadRequest asked(Trial &t)
{
	// A responder may send after the first FPDU only (RFC 5044 7.1.2 rule 4).
	t.good_message();
	t.connection().post_read(*t.v.local, sink_at, read_len, source_stag, source_to);
	std::optional<Segment> s = t.p.receive();
	if (!s || s->opcode != op_read_request || s->payload.size() != ReadRequest::len)
		throw std::runtime_error("the victim sends no Read Request");
	ReadRequest rr = ReadRequest::decode(s->payload);
	EXPECT_EQ(rr.size, read_len);
	EXPECT_EQ(rr.src_stag, source_stag);
	EXPECT_EQ(rr.src_to, source_to);
	return rr;
}

void expect_read_done(Trial &t)
{
	std::optional<ibv_wc> wc = t.v.completion();
	ASSERT_TRUE(wc);
	EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc->opcode, IBV_WC_RDMA_READ);
	EXPECT_EQ(t.v.local->copy(sink_at, read_len), pattern(read_len));
}

// A response that is right except for one change.
Act answer(std::function<void(Segment &)> change)
{
	return [=](Trial &t) {
		ReadRequest rr = asked(t);
		Segment s = read_response_segment(rr.sink_stag, rr.sink_to, pattern(read_len));
		t.touches(*t.v.local, {sink_at, read_len});
		change(s);
		t.offend(s);
	};
}

void answer_in_parts(Trial &t, const std::vector<size_t> &parts)
{
	ReadRequest rr = asked(t);
	Octets all = pattern(read_len);
	t.touches(*t.v.local, {sink_at, read_len});
	size_t at = 0;
	for (size_t n : parts) {
		Octets part(all.begin() + static_cast<ptrdiff_t>(at), all.begin() + static_cast<ptrdiff_t>(at + n));
		t.p.send(read_response_segment(rr.sink_stag, rr.sink_to + at, part, at + n == read_len));
		at += n;
	}
	expect_read_done(t);
}

void add_right(std::vector<Case> &c)
{
	c.insert(c.end(), {
		{"right", "RFC 5040 5.2.2", lives(), [](Trial &t) { answer_in_parts(t, {400}); }},
		{"right_in_parts", "RFC 5040 5.2.2", lives(), [](Trial &t) { answer_in_parts(t, {1, 99, 200, 100}); }},
		{"ddp_reserved_bits_set", "RFC 5041 4.1: not checked", lives(), [](Trial &t) {
			 answer([](Segment &s) { s.ddp_reserved = 9; })(t);
			 expect_read_done(t);
		 }},
	});
}

void add_sink(std::vector<Case> &c)
{
	const char *stag = "RFC 5041 7.1 tagged 1; RFC 5042 6.2.1", *bounds = "RFC 5041 7.1 tagged 3, 4; RFC 5042 6.2.1";
	auto is_write_to = [](auto stag_of) {
		return [=](Trial &t) {
			ReadRequest rr = asked(t);
			t.touches(*t.v.local, {sink_at, read_len});
			t.offend(read_response_segment(stag_of(t, rr), t.v.rw->base(), pattern(40)));
		};
	};
	c.insert(c.end(), {
		{"sink_stag_0", stag, terminates(ddp::tagged_stag), answer([](Segment &s) { s.stag = 0; })},
		{"sink_stag_wrong_key", stag, terminates(ddp::tagged_stag), answer([](Segment &s) { s.stag ^= 1; })},
		{"sink_stag_wrong_index", stag, terminates(ddp::tagged_stag), answer([](Segment &s) { s.stag ^= 0x20000000; })},
		// Valid for writing, but not what the read named: the STag or its range does not fit.
		{"sink_stag_of_another_region", stag, terminates(ddp::tagged_stag, ddp::tagged_bounds),
		 is_write_to([](Trial &t, const ReadRequest &) { return t.v.rw->rkey(); })},
		{"sink_stag_other_pd", stag, terminates(ddp::tagged_stag, ddp::tagged_stream, ddp::tagged_bounds),
		 is_write_to([](Trial &t, const ReadRequest &) { return t.v.alien->rkey(); })},
		// The victim chooses the sink's TO: if that is 0, one less wraps.
		{"sink_to_one_less", bounds, terminates(ddp::tagged_bounds, ddp::tagged_wrap), answer([](Segment &s) { s.to--; })},
		{"sink_to_one_more", bounds, terminates(ddp::tagged_bounds), answer([](Segment &s) { s.to++; })},
		{"sink_to_behind", bounds, terminates(ddp::tagged_bounds), answer([](Segment &s) { s.to += read_len; })},
		{"sink_to_page_below", bounds, terminates(ddp::tagged_bounds), answer([](Segment &s) { s.to -= 4096; })},
		{"sink_to_ffffffffffffffff", "RFC 5041 7.1 tagged 5", terminates(ddp::tagged_wrap, ddp::tagged_bounds),
		 answer([](Segment &s) { s.to = ~uint64_t{0}; })},
		{"write_to_the_sink_stag", "RFC 5042 6.2.1: only the read's response may use it",
		 terminates(ddp::tagged_stag, rdmap::prot_access, ddp::tagged_bounds),
		 answer([](Segment &s) { s.opcode = op_write; })},
	});
}

void add_length(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 tagged 4; RFC 5040 5.2.2";
	c.insert(c.end(), {
		{"one_octet_too_long", rfc, terminates(ddp::tagged_bounds), answer([](Segment &s) { s.payload.push_back(1); })},
		{"40000_octets_too_long", rfc, terminates(ddp::tagged_bounds),
		 answer([](Segment &s) { s.payload.resize(read_len + 40000); })},
		{"second_segment_too_long", rfc, terminates(ddp::tagged_bounds), [](Trial &t) {
			 ReadRequest rr = asked(t);
			 t.touches(*t.v.local, {sink_at, read_len});
			 t.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(300), false));
			 t.offend(read_response_segment(rr.sink_stag, rr.sink_to + 300, pattern(read_len - 300 + 1)));
		 }},
		{"full_but_not_last", "RFC 5041 5.2: an empty last segment is not forbidden", either(), [](Trial &t) {
			 ReadRequest rr = asked(t);
			 t.touches(*t.v.local, {sink_at, read_len});
			 t.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(read_len), false));
			 t.p.socket.try_send(t.p.out.encode(
				 read_response_segment(rr.sink_stag, rr.sink_to + read_len, {}).encode()));
		 }},
		{"too_short", "RFC 5040 5.2.2 MAY validate; a success means all octets", ends(),
		 answer([](Segment &s) { s.payload.resize(read_len - 1); })},
		{"empty", "RFC 5040 5.2.2 MAY validate; a success means all octets", ends(),
		 answer([](Segment &s) { s.payload.clear(); })},
		{"hole_in_the_middle", "RFC 5041 5.4: all of the message", ends(), [](Trial &t) {
			 ReadRequest rr = asked(t);
			 t.touches(*t.v.local, {sink_at, read_len});
			 t.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(100), false));
			 t.offend(read_response_segment(rr.sink_stag, rr.sink_to + 200, pattern(200)));
		 }},
		{"never_finished_then_fin", "RFC 5044 8 code 1", ends(), [](Trial &t) {
			 ReadRequest rr = asked(t);
			 t.touches(*t.v.local, {sink_at, read_len});
			 t.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(100), false));
			 t.p.socket.finish();
		 }},
	});
}

void add_unasked(std::vector<Case> &c)
{
	// RDMAP: opcode not expected now. DDP: no such sink STag.
	const Verdict unasked = terminates(rdmap::op_opcode, ddp::tagged_stag);
	const char *rfc = "RFC 5040 5.2, figure 9; RFC 5041 7.1 tagged 1";
	c.insert(c.end(), {
		{"unasked", rfc, unasked,
		 [](Trial &t) { t.offend(read_response_segment(source_stag, source_to, pattern(40))); }},
		{"unasked_to_a_writable_region", rfc, unasked,
		 [](Trial &t) { t.offend(read_response_segment(t.v.rw->rkey(), t.v.rw->base(), pattern(40))); }},
		{"unasked_and_empty", rfc, unasked, [](Trial &t) { t.offend(read_response_segment(0, 0, {})); }},
		{"answered_twice", rfc, unasked, [](Trial &t) {
			 ReadRequest rr = asked(t);
			 t.touches(*t.v.local, {sink_at, read_len});
			 Segment s = read_response_segment(rr.sink_stag, rr.sink_to, pattern(read_len));
			 t.p.send(s);
			 expect_read_done(t);
			 t.expect_read();
			 t.offend(s);
		 }},
		{"second_read_answered_first", "RFC 5040 5.2.2: in the order of the requests",
		 terminates(ddp::tagged_stag, ddp::tagged_bounds), [](Trial &t) {
			 asked(t);
			 t.connection().post_read(*t.v.local, sink_at + read_len, read_len, source_stag, source_to);
			 std::optional<Segment> second = t.p.receive();
			 ASSERT_TRUE(second);
			 ReadRequest rr = ReadRequest::decode(second->payload);
			 t.offend(read_response_segment(rr.sink_stag, rr.sink_to, pattern(read_len)));
		 }},
		{"ddp_version_0", "RFC 5041 7.2", terminates(ddp::tagged_version), answer([](Segment &s) { s.dv = 0; })},
		{"rdmap_version_3", "RFC 5040 7.2", terminates(rdmap::op_version), answer([](Segment &s) { s.rv = 3; })},
	});
}

std::vector<Case> cases()
{
	std::vector<Case> c;
	add_right(c);
	add_sink(c);
	add_length(c);
	add_unasked(c);
	return c;
}

INSTANTIATE_TEST_SUITE_P(read_response, Wire, testing::ValuesIn(cases()), case_name);

} // namespace
} // namespace bad_input
