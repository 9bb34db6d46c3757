// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What the RFCs ask of the victim's own sending, and of its Terminate, that no table of faults shows.
#include "trial.h"

namespace bad_input {
namespace {

using namespace iwarp;
using victim::lab;
using victim::Region;
using victim::Victim;

// RFC 5044 4.4: "The default configuration for a connection MUST be to use CRCs."
TEST(Conformance, crc_is_wanted_by_default)
{
	Victim v;
	StartupFrame request = StartupFrame::request(1);
	request.c = false;
	Peer responder = Peer::connect(v.address(), request, lab().peer_socket());
	EXPECT_TRUE(responder.reply.c) << "as responder";

	Socket listener = Socket::listen(Address(lab().peer_ip, 0), lab().peer_socket());
	v.connect(Address(lab().peer_ip, listener.local().port()));
	Peer initiator(listener.accept(patience));
	EXPECT_TRUE(initiator.receive_request().c) << "as initiator";
}

// RFC 5040 6.1: no more outbound reads than were negotiated.
TEST(Conformance, no_more_reads_than_ord)
{
	constexpr uint8_t ord = 2;
	constexpr unsigned reads = 5;
	constexpr uint32_t len = 100;
	Trial t(Terms{.rev = 2, .victim = {.ord = ord}});
	t.good_message();
	for (unsigned i = 0; i < reads; i++)
		t.connection().post_read(*t.v.rw, i * len, len, 0x77, i * len);
	unsigned asked = 0, answered = 0;
	std::vector<ReadRequest> open;
	while (answered < reads) {
		while (asked < reads && asked - answered < ord) {
			std::optional<Segment> s = t.p.receive();
			ASSERT_TRUE(s) << "read " << asked << " does not come";
			ASSERT_EQ(s->opcode, op_read_request);
			EXPECT_EQ(s->msn, ++asked);
			open.push_back(ReadRequest::decode(s->payload));
			EXPECT_EQ(open.back().src_to, (asked - 1) * len) << "not in order";
		}
		if (asked < reads) {
			EXPECT_FALSE(t.p.receive(moment)) << "more than ORD are outstanding";
		}
		const ReadRequest &rr = open[answered++];
		t.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(len, answered)));
		EXPECT_EQ(t.v.completion()->status, IBV_WC_SUCCESS);
		EXPECT_EQ(t.v.rw->copy((answered - 1) * len, len), pattern(len, answered));
	}
}

// RFC 5044 4.5: what is left of a segment makes no ULPDU smaller than 128 octets; a message that does not fit
// there begins in the next one.
TEST(Conformance, no_message_is_cut_into_the_rest_of_a_segment)
{
	constexpr unsigned rounds = 20, in_flight = 6;
	constexpr size_t least = 128, sizes[] = {1300, 300, 1250, 2000, 1380, 150};
	Trial t(Terms{.rev = 2});
	t.good_message();
	for (unsigned i = 0; i < rounds; i++) {
		for (size_t size : sizes)
			t.connection().post_write(*t.v.rw, 0, size, 0x77, 0);
		for (unsigned ended = 0; ended < in_flight;) {
			std::optional<Segment> s = t.p.receive();
			ASSERT_TRUE(s) << "in round " << i;
			ASSERT_EQ(s->opcode, op_write);
			if (s->last)
				ended++;
			else
				EXPECT_GE(tagged_header_len + s->payload.size(), least) << "in round " << i;
		}
		for (unsigned n = 0; n < in_flight; n++)
			ASSERT_EQ(t.v.completion()->status, IBV_WC_SUCCESS);
	}
}

// RFC 5040 5.3, 4.1: opcode and STag of a Send with Invalidate; a Send after it has none.
TEST(Conformance, send_with_invalidate_names_the_stag)
{
	constexpr uint32_t stag = 0x12345678;
	Trial t(Terms{});
	t.good_message();
	for (bool solicited : {false, true}) {
		SCOPED_TRACE(solicited);
		ibv_sge sge{t.v.rw->base(), 50, t.v.rw->lkey()};
		ibv_send_wr wr{}, *bad;
		wr.wr_id = t.v.ledger_open(0, true, 1000U + solicited);
		wr.sg_list = &sge;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_SEND_WITH_INV;
		wr.invalidate_rkey = stag;
		wr.send_flags = IBV_SEND_SIGNALED;
		if (solicited)
			wr.send_flags |= IBV_SEND_SOLICITED;
		ASSERT_EQ(ibv_post_send(t.connection().qp(), &wr, &bad), 0);
		std::optional<Segment> s = t.p.receive();
		ASSERT_TRUE(s);
		EXPECT_EQ(s->opcode, solicited ? op_send_se_inv : op_send_inv);
		EXPECT_EQ(s->inv_stag, stag);
		EXPECT_EQ(s->payload, t.v.rw->original(0, 50));
		EXPECT_EQ(t.v.completion()->status, IBV_WC_SUCCESS);
	}
	t.connection().post_send(*t.v.rw, 0, 50);
	std::optional<Segment> s = t.p.receive();
	ASSERT_TRUE(s);
	EXPECT_EQ(s->opcode, op_send);
	EXPECT_EQ(s->inv_stag, 0U);
}

// RFC 5040 7.1 rule 4: two errors at once, and the first is told, whichever it is.
TEST(Conformance, first_of_two_errors_is_told)
{
	for (bool stag_first : {true, false}) {
		SCOPED_TRACE(stag_first);
		Trial t(Terms{});
		const Segment stag = write_segment(t.v.rw->rkey() ^ 1, t.v.rw->base(), pattern(40));
		const Segment bounds = write_segment(t.v.rw->rkey(), t.v.rw->end(), pattern(44));
		const Segment &first = stag_first ? stag : bounds, &second = stag_first ? bounds : stag;
		Octets both = t.p.out.encode(first.encode());
		put(both, t.p.out.encode(second.encode()));
		t.p.socket.send(both);
		End e = t.p.end();
		ASSERT_TRUE(e.terminate);
		EXPECT_EQ(e.terminate->code, stag_first ? ddp::tagged_stag : ddp::tagged_bounds);
		EXPECT_EQ(e.terminate->ddp_header, first.header());
		EXPECT_EQ(e.terminate->segment_len, first.encode().size());
	}
}

// design.rst, invariant 6: what is delivered before an error is answered before the Terminate that tells of it,
// also by a responder that has been silent until then.
TEST(Conformance, requests_before_an_error_are_answered)
{
	constexpr uint32_t reads = 3, len = 300;
	for (bool first : {true, false}) {
		SCOPED_TRACE(first);
		Trial t(Terms{});
		if (!first)
			t.good_message();
		const Segment bad = write_segment(t.v.rw->rkey() ^ 1, t.v.rw->base(), pattern(40));
		Octets all;
		for (uint32_t i = 0; i < reads; i++)
			put(all, t.p.out.encode(read_request_segment(t.p.read_msn++, {i, 0, len, t.v.rw->rkey(),
										       t.v.rw->base() + i * len}).encode()));
		put(all, t.p.out.encode(bad.encode()));
		t.p.socket.send(all);
		End e = t.p.end();
		ASSERT_EQ(e.before.size(), reads);
		for (uint32_t i = 0; i < reads; i++) {
			EXPECT_EQ(e.before[i].opcode, op_read_response);
			EXPECT_EQ(e.before[i].stag, i);
			EXPECT_EQ(e.before[i].payload, t.v.rw->original(i * len, len));
		}
		ASSERT_TRUE(e.terminate);
		EXPECT_EQ(e.terminate->code, ddp::tagged_stag);
		EXPECT_EQ(e.terminate->ddp_header, bad.header());
	}
}

// RFC 5040 4.8: a Terminate quotes the read that is wrong; those before it need not be answered.
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
		// none of ours: then the oldest
		{0, 0, rdmap::prot_stag, IBV_WC_REM_ACCESS_ERR},
		{5, 0, rdmap::prot_stag, IBV_WC_REM_ACCESS_ERR},
	};
	for (const auto &row : rows) {
		SCOPED_TRACE(row.quoted);
		Trial t(Terms{});
		t.good_message();
		for (unsigned i = 0; i < reads; i++) {
			t.connection().post_read(*t.v.rw, i * 100, 100, 0x77, 0);
			ASSERT_TRUE(t.p.receive());
		}
		t.p.send(terminate_segment(Terminate{.code = row.code, .m = true, .d = true, .r = true, .segment_len = 46,
						     .ddp_header = read_request_segment(row.quoted, {}).header(),
						     .rdmap_header = ReadRequest{}.encode()}.encode()));
		ASSERT_TRUE(t.v.settled(0));
		unsigned n = 0;
		for (const ibv_wc &wc : t.v.history()) {
			if (!Victim::is_send(wc.wr_id))
				continue;
			EXPECT_EQ(wc.status, n == row.blamed ? row.status : IBV_WC_WR_FLUSH_ERR) << "read " << n;
			n++;
		}
		EXPECT_EQ(n, reads);
	}
}

// RFC 5040 4.8: the source of a read goes while it is answered. The Terminate says what is left.
TEST(Conformance, read_cut_off_says_what_is_left)
{
	constexpr uint32_t len = 8 << 20, sink = 0x4711;
	constexpr uint64_t sink_to = 0x1000;
	// Little room at the peer, so that the victim cannot be done with it.
	Trial t(Terms{.rcvbuf = 4096});
	auto source = std::make_unique<Region>(t.v.pd(), len, IBV_ACCESS_REMOTE_READ);
	// Another read before it is answered in full: MSN and header are of the second.
	t.p.read({sink + 1, 0, 100, t.v.rw->rkey(), t.v.rw->base()});
	ASSERT_TRUE(t.p.receive());
	const ReadRequest asked{sink, sink_to, len, source->rkey(), source->base()};
	t.p.read(asked);
	std::optional<Segment> s = t.p.receive();
	ASSERT_TRUE(s);
	uint32_t done = static_cast<uint32_t>(s->payload.size());
	source.reset();

	End e = t.p.end();
	for (const Segment &b : e.before) {
		EXPECT_EQ(b.opcode, op_read_response);
		EXPECT_EQ(b.to, sink_to + done);
		EXPECT_FALSE(b.last);
		done += static_cast<uint32_t>(b.payload.size());
	}
	ASSERT_LT(done, len) << "all was sent before the region went";
	ASSERT_TRUE(e.terminate);
	EXPECT_EQ(e.terminate->code, rdmap::prot_stag);
	EXPECT_TRUE(e.terminate->m && e.terminate->d && e.terminate->r);
	EXPECT_EQ(e.terminate->segment_len, untagged_header_len + ReadRequest::len);
	EXPECT_EQ(e.terminate->ddp_header, read_request_segment(2, asked).header());
	const ReadRequest left{sink, sink_to + done, len - done, asked.src_stag, asked.src_to + done};
	EXPECT_EQ(e.terminate->rdmap_header, left.encode());
	EXPECT_TRUE(t.v.settled(0));
}

} // namespace
} // namespace bad_input
