// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Requirements of the RFCs on what the victim sends, Terminates included, that the tables of cases
// do not cover.
#include <format>

#include "../session/reads.h"

namespace peer {
namespace {

// RFC 5044 4.4: "The default configuration for a connection MUST be to use CRCs."
TEST(Conformance, crc_is_wanted_by_default)
{
	Session responder;
	responder.dial(request_with(1, false, false));
	EXPECT_TRUE(responder.p.reply.c) << "as responder";
	Session initiator;
	EXPECT_TRUE(initiator.attempt().request.c) << "as initiator";
}

// RFC 5040 6.1: no more outstanding Read Requests than the negotiated ORD.
TEST(Conformance, no_more_reads_than_ord)
{
	Session s(Terms{.rev = 2, .victim = Options{.ord = 2}});
	more_reads_than_ord(s, 5, 2);
	s.judge(lives());
}

// RFC 5040 5.4: there is always a buffer for a Terminate.
TEST(Conformance, terminate_needs_no_posted_receive)
{
	Session s(Terms{.victim = Options{.receives = 1}});
	s.message();
	s.p.send(terminate_segment(mpa::crc));
	s.judge(ends());
}

// RFC 5044 4.5: if the rest of a TCP segment has no room for a ULPDU of 128 bytes, a message that
// does not fit there begins in the next segment.
TEST(Conformance, no_message_is_cut_into_the_rest_of_a_segment)
{
	constexpr unsigned rounds = 20, in_flight = 6;
	constexpr size_t least = 128, sizes[] = {1300, 300, 1250, 2000, 1380, 150};
	Session s(Terms{.rev = 2});
	s.message();
	for (unsigned i = 0; i < rounds; i++) {
		for (size_t size : sizes)
			s.c().post_write(*s.v.rw, 0, size, 0x77, 0);
		for (unsigned ended = 0; ended < in_flight;) {
			const Segment g = s.p.next();
			ASSERT_EQ(g.opcode, op_write);
			if (g.last)
				ended++;
			else
				EXPECT_GE(tagged_header_len + g.payload.size(), least)
					<< "in round " << i;
		}
		for (unsigned n = 0; n < in_flight; n++)
			s.completes(IBV_WC_RDMA_WRITE);
	}
}

// RFC 5040 5.3, 4.1: opcode and STag of a Send with Invalidate. The STag is 0 in a Send after it.
TEST(Conformance, send_with_invalidate_names_the_stag)
{
	constexpr uint32_t stag = 0x12345678;
	Session s(Terms{});
	s.message();
	for (bool solicited : {false, true}) {
		SCOPED_TRACE(solicited);
		ibv_send_wr wr{};
		wr.opcode = IBV_WR_SEND_WITH_INV;
		wr.invalidate_rkey = stag;
		wr.send_flags = solicited ? IBV_SEND_SOLICITED : 0;
		s.c().post(wr, *s.v.rw, 0, 50);
		const Segment g = s.p.next();
		EXPECT_EQ(g.opcode, solicited ? op_send_se_inv : op_send_inv);
		EXPECT_EQ(g.inv_stag, stag);
		EXPECT_TRUE(same(g.payload, s.v.rw->original(0, 50)));
		s.completes(IBV_WC_SEND);
	}
	s.c().post_send(*s.v.rw, 0, 50);
	const Segment g = s.p.next();
	EXPECT_EQ(g.opcode, op_send);
	EXPECT_EQ(g.inv_stag, 0U);
}

// RFC 5040 7.1 rule 4: of two errors the Terminate reports the first, in either order.
TEST(Conformance, first_of_two_errors_is_reported)
{
	for (bool stag_first : {true, false}) {
		SCOPED_TRACE(stag_first);
		Session s(Terms{});
		const Segment stag = write_segment(s.v.rw->rkey() ^ 1, s.v.rw->base(), pattern(40));
		const Segment bounds = write_segment(s.v.rw->rkey(), s.v.rw->end(), pattern(44));
		const Segment &first = stag_first ? stag : bounds,
			      &second = stag_first ? bounds : stag;
		s.p.send_at_once({first, second});
		End e = s.p.end();
		ASSERT_TRUE(e.terminate);
		EXPECT_EQ(e.terminate->code, stag_first ? ddp::tagged_stag : ddp::tagged_bounds);
		EXPECT_EQ(e.terminate->ddp_header, first.header());
		EXPECT_EQ(e.terminate->segment_len, first.encode().size());
	}
}

// RFC 5040 7.1 rules 2, 4: also if a message before the error releases requests of the victim, one
// of which is itself wrong. They are neither sent nor reported.
TEST(Conformance, error_of_the_peer_precedes_requests_that_wait)
{
	for (bool wrong : {true, false}) {
		SCOPED_TRACE(wrong ? "the request is wrong" : "the request is right");
		Session s(Terms{});
		ibv_sge from{s.v.rw->base(), 100, s.v.rw->lkey() ^ (wrong ? 1U : 0)};
		s.c().post_pieces(IBV_WR_SEND, {from});
		const Segment first = s.segment(pattern(40));
		const Segment bad = write_segment(s.v.rw->rkey() ^ 1, s.v.rw->base(), pattern(44));
		s.p.send_at_once({first, bad});
		End e = s.p.end();
		ASSERT_TRUE(e.terminate);
		EXPECT_TRUE(e.before.empty());
		EXPECT_EQ(e.terminate->code, ddp::tagged_stag);
		EXPECT_EQ(e.terminate->ddp_header, bad.header());
		s.delivers(first.payload);
		const std::optional<ibv_wc> wc = s.v.completion(patience);
		ASSERT_TRUE(wc);
		EXPECT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR);
	}
}

// RFC 5041 5.2, 7.1: each segment is placed by its own STag and TO, also if several segments of a
// message arrive together, of which the device looks up the memory in advance.
TEST(Conformance, segments_at_once__each_by_its_own_offset)
{
	constexpr size_t len = 300;
	Session s(Terms{});
	const size_t size = s.v.rw->size();
	const size_t at[] = {0,	   len,	 2 * len,	 len,	    1500, 1800,
			     4000, 4100, size - 2 * len, size - len};
	Bytes expected = s.v.rw->copy(0, size);
	std::vector<Segment> all;
	for (size_t i = 0; i < std::size(at); i++) {
		all.push_back(write_to(*s.v.rw, static_cast<int64_t>(at[i]),
				       Bytes(len, static_cast<uint8_t>(i + 1)),
				       i + 1 == std::size(at)));
		std::ranges::fill_n(expected.begin() + static_cast<ptrdiff_t>(at[i]), len,
				    static_cast<uint8_t>(i + 1));
	}
	s.may_touch(*s.v.rw, {0, size});
	s.p.send_at_once(all);
	s.message();
	EXPECT_TRUE(same(s.v.rw->copy(0, size), expected));
}

// Also if the wrong segment does not end the message, so that nothing but TO and STag differs.
TEST(Conformance, segments_at_once__the_wrong_one_is_refused)
{
	constexpr size_t len = 300;
	struct {
		const char *name;
		RegionOf region;
		uint32_t stag_xor;
		std::optional<size_t> before_end; // where the wrong segment begins
		Code code;
	} rows[] = {
		{"wrong key", rw, 1, {}, ddp::tagged_stag},
		{"other PD", alien, 0, {}, ddp::tagged_stream},
		{"behind the end", rw, 0, 0, ddp::tagged_bounds},
		{"across the end", rw, 0, len - 1, ddp::tagged_bounds},
	};
	for (const auto &row : rows) {
		for (bool last : {true, false}) {
			SCOPED_TRACE(row.name);
			SCOPED_TRACE(last);
			Session s(Terms{});
			Region &target = *s.v.rw, &other = *(s.v.*row.region);
			const size_t at =
				row.before_end ? target.size() - *row.before_end - 3 * len : 0;
			const Bytes data = pattern(3 * len);
			const Segment wrong = write_segment(other.rkey() ^ row.stag_xor,
							    other.base() + at + 3 * len,
							    pattern(len), last);
			std::vector<Segment> all =
				cut_at(write_to(target, static_cast<int64_t>(at), data, false),
				       {len, 2 * len});
			all.push_back(wrong);
			s.may_touch(target, {static_cast<ptrdiff_t>(at), 3 * len});
			s.p.send_at_once(all);
			End e = s.p.end();
			ASSERT_TRUE(e.terminate);
			EXPECT_EQ(e.terminate->code, row.code);
			EXPECT_EQ(e.terminate->ddp_header, wrong.header());
			EXPECT_TRUE(same(target.copy(at, 3 * len), data));
		}
	}
}

// RFC 5041 5.2: STag and TO of an empty segment are not checked, so they grant nothing to the
// segment after it.
TEST(Conformance, segments_at_once__an_empty_one_grants_nothing)
{
	constexpr size_t len = 300;
	Session s(Terms{});
	Region &target = *s.v.rw;
	const uint32_t stag = target.rkey() ^ 1;
	const Segment wrong = write_segment(stag, target.base(), pattern(len), false);
	s.may_touch(target, {0, len});
	s.p.send_at_once({write_to(target, 0, Bytes(len, 7)),
			  write_segment(stag, target.base(), {}, false), wrong});
	End e = s.p.end();
	ASSERT_TRUE(e.terminate);
	EXPECT_EQ(e.terminate->code, ddp::tagged_stag);
	EXPECT_EQ(e.terminate->ddp_header, wrong.header());
	EXPECT_TRUE(same(target.copy(0, len), Bytes(len, 7)));
}

// RFC 5041 5.2: empty segments that end no message place nothing, however many there are, and the
// message goes on behind them.
TEST(Conformance, segments_at_once__empty_ones)
{
	constexpr size_t len = 100;
	const Bytes data = pattern(len);
	Session s(Terms{});
	s.message();
	const Segment write = write_to(*s.v.rw, 0, {}, false);
	s.p.send_at_once({write, write, write, write_to(*s.v.rw, 0, data)});
	s.places(*s.v.rw, 0, data);
	s.message();
	const Segment send = send_segment(3, {}, 0, false);
	s.p.send_at_once({send, send, send, send_segment(3, data)});
	s.delivers(data);
	const ReadRequest rr = asked(s, len);
	const Segment response = read_response_segment(rr.sink_stag, rr.sink_to, {}, false);
	s.p.send_at_once({response, response, response,
			  read_response_segment(rr.sink_stag, rr.sink_to, data)});
	s.completes(IBV_WC_RDMA_READ);
	EXPECT_TRUE(same(s.v.local->copy(sink_at, len), data));
	s.places(*s.v.local, sink_at, data);
}

// RFC 5041 7.1 untagged 4: the segment that exceeds the receive is refused, also in the middle of a
// message.
TEST(Conformance, segments_at_once__no_more_than_the_receive)
{
	constexpr uint32_t len = 300, segments = 4; // of a receive of 1024 bytes
	for (bool last : {true, false}) {
		SCOPED_TRACE(last);
		Session s(Terms{});
		std::vector<Segment> all;
		for (uint32_t i = 0; i < segments; i++)
			all.push_back(send_segment(1, pattern(len), i * len,
						   last && i + 1 == segments));
		s.may_touch_slot();
		s.p.send_at_once(all);
		End e = s.p.end();
		ASSERT_TRUE(e.terminate);
		EXPECT_EQ(e.terminate->code, ddp::untagged_too_long);
		EXPECT_EQ(e.terminate->ddp_header, all.back().header());
	}
}

// kwarp requires that the L flag ends a Read Response with its last byte, neither before nor
// behind.
TEST(Conformance, segments_at_once__a_read_response_ends_with_its_last_byte)
{
	constexpr uint32_t parts = 4, part = read_len / parts;
	for (uint32_t flagged : {parts - 1, parts - 2, parts}) {
		SCOPED_TRACE(flagged);
		Session s(Terms{});
		const ReadRequest rr = asked(s);
		std::vector<Segment> all;
		for (uint32_t i = 0; i < parts; i++)
			all.push_back(read_response_segment(rr.sink_stag, rr.sink_to + i * part,
							    Bytes(part, static_cast<uint8_t>(i)),
							    i == flagged));
		s.may_touch(*s.v.local, {sink_at, read_len});
		s.p.send_at_once(all);
		if (flagged == parts - 1) {
			s.completes(IBV_WC_RDMA_READ);
			for (uint32_t i = 0; i < parts; i++)
				EXPECT_TRUE(same(s.v.local->copy(sink_at + i * part, part),
						 Bytes(part, static_cast<uint8_t>(i))));
			continue;
		}
		End e = s.p.end();
		ASSERT_TRUE(e.terminate);
		EXPECT_EQ(e.terminate->code, ddp::tagged_bounds);
		EXPECT_EQ(e.terminate->ddp_header,
			  (flagged < parts ? all[flagged] : all.back()).header());
	}
}

// design.rst, invariant 6: Read Requests before an error are answered before the Terminate, also by
// a responder that has not sent an FPDU before.
TEST(Conformance, requests_before_an_error_are_answered)
{
	constexpr uint32_t reads = 3, len = 300;
	for (bool first : {true, false}) {
		SCOPED_TRACE(first);
		Session s(Terms{});
		if (!first)
			s.message();
		const Segment bad = write_segment(s.v.rw->rkey() ^ 1, s.v.rw->base(), pattern(40));
		std::vector<Segment> all;
		for (uint32_t i = 0; i < reads; i++)
			all.push_back(read_request_segment(s.p.read_msn++,
							   {i, 0, len, s.v.rw->rkey(),
							    s.v.rw->base() + i * len}));
		all.push_back(bad);
		s.p.send_at_once(all);
		End e = s.p.end();
		ASSERT_EQ(e.before.size(), reads);
		for (uint32_t i = 0; i < reads; i++) {
			EXPECT_EQ(e.before[i].opcode, op_read_response);
			EXPECT_EQ(e.before[i].stag, i);
			EXPECT_TRUE(same(e.before[i].payload, s.v.rw->original(i * len, len)));
		}
		ASSERT_TRUE(e.terminate);
		EXPECT_EQ(e.terminate->code, ddp::tagged_stag);
		EXPECT_EQ(e.terminate->ddp_header, bad.header());
	}
}

// RFC 5040 4.8: a Terminate quotes the Read Request that failed. Only this read gets the error
// status; the other outstanding reads are flushed.
TEST(Conformance, terminate_is_of_the_read_that_it_quotes)
{
	constexpr unsigned reads = 4;
	struct {
		uint32_t quoted;
		unsigned blamed;
		Code code;
		ibv_wc_status status;
	} rows[] = {
		{1, 0, rdmap::prot_access, IBV_WC_REM_ACCESS_ERR},
		{3, 2, rdmap::prot_bounds, IBV_WC_REM_ACCESS_ERR},
		{4, 3, rdmap::op_opcode, IBV_WC_REM_OP_ERR},
		// no outstanding read has this MSN: the error is the oldest one's
		{0, 0, rdmap::prot_stag, IBV_WC_REM_ACCESS_ERR},
		{5, 0, rdmap::prot_stag, IBV_WC_REM_ACCESS_ERR},
	};
	for (const auto &row : rows) {
		SCOPED_TRACE(row.quoted);
		Session s(Terms{});
		s.message();
		for (unsigned i = 0; i < reads; i++) {
			s.c().post_read(*s.v.rw, i * 100, 100, 0x77, 0);
			ASSERT_TRUE(s.p.receive());
		}
		s.p.send(terminate_segment(quoting_read(row.code, row.quoted).encode()));
		ASSERT_TRUE(s.v.settled(s.c().index()));
		unsigned n = 0;
		for (const ibv_wc &wc : s.v.history()) {
			if (!Victim::is_send(wc.wr_id) ||
			    Victim::connection_of(wc.wr_id) != s.c().index())
				continue;
			EXPECT_EQ(wc.status, n == row.blamed ? row.status : IBV_WC_WR_FLUSH_ERR)
				<< "read " << n;
			n++;
		}
		EXPECT_EQ(n, reads);
	}
}

namespace {

// RFC 5040 4.8: a read loses its right while the victim sends the response: @cut. The Read Request
// that the Terminate quotes describes the part that was not sent.
void cut_off(const std::function<void(Session &, std::unique_ptr<Region> &)> &cut, Code code)
{
	constexpr uint32_t len = 8 << 20, sink = 0x4711;
	constexpr uint64_t sink_to = 0x1000;
	// The peer's receive buffer and the victim's send buffer do not hold the whole response.
	Session s(Terms{});
	auto source = std::make_unique<Region>(s.v.pd(), len, IBV_ACCESS_REMOTE_READ);
	// A read before it is answered in full; the Terminate must quote the second one.
	s.p.read({sink + 1, 0, 100, s.v.rw->rkey(), s.v.rw->base()});
	ASSERT_TRUE(s.p.receive());
	const ReadRequest asked{sink, sink_to, len, source->rkey(), source->base()};
	s.p.read(asked);
	const Segment g = s.p.next();
	uint32_t done = static_cast<uint32_t>(g.payload.size());
	cut(s, source);

	End e = s.p.end();
	for (const Segment &b : e.before) {
		EXPECT_EQ(b.opcode, op_read_response);
		EXPECT_EQ(b.to, sink_to + done);
		EXPECT_FALSE(b.last);
		done += static_cast<uint32_t>(b.payload.size());
	}
	ASSERT_LT(done, len) << "the response was complete before that";
	ASSERT_TRUE(e.terminate);
	EXPECT_EQ(e.terminate->code, code);
	EXPECT_TRUE(e.terminate->m && e.terminate->d && e.terminate->r);
	EXPECT_EQ(e.terminate->segment_len, untagged_header_len + ReadRequest::len);
	EXPECT_EQ(e.terminate->ddp_header, read_request_segment(2, asked).header());
	const ReadRequest left{sink, sink_to + done, len - done, asked.src_stag,
			       asked.src_to + done};
	EXPECT_EQ(e.terminate->rdmap_header, left.encode());
	EXPECT_TRUE(s.v.settled(s.c().index()));
}

} // namespace

TEST(Conformance, read_cut_off_says_what_is_left)
{
	cut_off([](Session &, std::unique_ptr<Region> &source) { source.reset(); },
		rdmap::prot_stag);
}

// RFC 5042 6.4.1: a right that the consumer withdraws from its QP ends the access at once.
TEST(Conformance, read_cut_off_by_the_right_of_the_qp)
{
	cut_off([](Session &s, std::unique_ptr<Region> &) { s.c().allow(IBV_ACCESS_REMOTE_WRITE); },
		rdmap::prot_access);
}

TEST(Conformance, read_cut_off_by_the_right_of_the_region)
{
	cut_off(
		[](Session &, std::unique_ptr<Region> &source) {
			EXPECT_EQ(ibv_rereg_mr(source->mr(), IBV_REREG_MR_CHANGE_ACCESS, nullptr,
					       nullptr, 0, 0),
				  0);
		},
		rdmap::prot_access);
}

// RFC 5040 7.1 rule 1: for an error in creating a request, a Terminate without headers is sent
// instead, and nothing of the request.
TEST(Conformance, local_error_sends_a_terminate_instead)
{
	const Options roomy{.rw_size = 65536};
	struct Piece {
		RegionOf region;
		size_t at;
		uint32_t len, key_xor;
	};
	const Piece good{rw, 0, 100, 0}, long_one{rw, 0, 20000, 0};
	struct {
		const char *name;
		std::vector<Piece> pieces;
	} rows[] = {
		{"behind the end", {{rw, roomy.rw_size, 40, 0}}},
		{"long, the last byte behind the end", {{rw, roomy.rw_size - 20000, 20001, 0}}},
		{"wrong key", {{rw, 0, 40, 1}}},
		{"other PD", {{alien, 0, 40, 0}}},
		{"good piece before a wrong one", {good, {rw, 0, 40, 1}}},
		{"long piece before a wrong one", {long_one, {rw, 0, 40, 1}}},
	};
	for (ibv_wr_opcode op : {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ})
		for (const auto &row : rows) {
			SCOPED_TRACE(std::format("opcode {}, {}", int(op), row.name));
			Session s(Terms{.rev = 2, .victim = roomy});
			s.message();
			s.victim_sends(10);
			std::vector<ibv_sge> pieces;
			for (const Piece &p : row.pieces) {
				const Region &r = *(s.v.*p.region);
				pieces.push_back({r.base() + p.at, p.len, r.lkey() ^ p.key_xor});
			}
			s.c().post_pieces(op, pieces);
			const End e = s.p.end();
			EXPECT_TRUE(e.before.empty()) << "a part of the request was sent";
			ASSERT_TRUE(e.terminate);
			EXPECT_EQ(e.terminate->code, (Code{0, 0, 0}));
			EXPECT_FALSE(e.terminate->m || e.terminate->d || e.terminate->r);
			EXPECT_EQ(e.terminate->encode().size(), 4U);
			EXPECT_EQ(e.event, Event::fin);
			const std::optional<ibv_wc> wc = s.v.completion();
			ASSERT_TRUE(wc);
			EXPECT_TRUE(Victim::is_send(wc->wr_id));
			EXPECT_EQ(wc->status, IBV_WC_LOC_PROT_ERR);
		}
}

} // namespace
} // namespace peer
