// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "reads.h"

namespace peer {

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

// A responder may send only after the first FPDU (RFC 5044 7.1.2 rule 4).
ReadRequest asked(Session &s, size_t n, size_t at)
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

void done(Session &s, size_t n, size_t at)
{
	s.completes(IBV_WC_RDMA_READ);
	s.places(*s.v.local, static_cast<ptrdiff_t>(at), pattern(n));
}

Act answer_in_parts(const std::vector<size_t> &cuts, size_t n)
{
	return [=](Session &s) {
		s.p.send(cut_at(answer(asked(s, n)), cuts));
		done(s, n);
	};
}

Act answer_with(const Edit &change)
{
	return [=](Session &s) {
		Segment g = answer(asked(s));
		change(g);
		s.may_touch(*s.v.local, {sink_at, read_len});
		s.offend(g);
	};
}

Act answer_of(size_t n)
{
	return answer_with([n](Segment &g) { g.payload.resize(n); });
}

Act answer_in_two(size_t first, size_t at, size_t second)
{
	return [=](Session &s) {
		const ReadRequest rr = asked(s);
		s.may_touch(*s.v.local, {sink_at, read_len});
		s.p.send(read_response_segment(rr.sink_stag, rr.sink_to, pattern(first), false));
		s.offend(read_response_segment(rr.sink_stag, rr.sink_to + at, pattern(second)));
	};
}

Act answer_twice()
{
	return [](Session &s) {
		const Segment g = answer(asked(s));
		s.p.send(g);
		done(s);
		s.offend(g);
	};
}

Act response_into_rw()
{
	return [](Session &s) {
		s.offend(read_response_segment(s.v.rw->rkey(), s.v.rw->base(), pattern(40)));
	};
}

void more_reads_than_ord(Session &s, unsigned reads, unsigned ord)
{
	constexpr size_t len = 100;
	s.message();
	for (unsigned i = 0; i < reads; i++)
		s.c().post_read(*s.v.local, i * len, len, source_stag, source_to + i);
	std::vector<ReadRequest> asked;
	auto next = [&] {
		asked.push_back(next_request(s));
		EXPECT_EQ(asked.back().src_to, source_to + asked.size() - 1) << "not in order";
	};
	for (unsigned i = 0; i < ord; i++)
		next();
	for (unsigned i = 0; i < reads; i++) {
		if (asked.size() < reads) {
			EXPECT_FALSE(s.p.receive(Millis{30})) << "more Read Requests than ORD";
			ASSERT_EQ(s.p.last_event, Event::quiet);
		}
		s.p.send(answer(asked[i]));
		done(s, len, i * len);
		if (asked.size() < reads)
			next();
	}
}

} // namespace peer
