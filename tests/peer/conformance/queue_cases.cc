// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Read Requests as untagged messages: length, MSN, MO, depth.
#include "../session/session.h"
#include "../session/traffic.h"

namespace peer {
namespace {

ReadRequest small(Session &s)
{
	return {1, 2, 40, s.v.ro->rkey(), s.v.ro->base()};
}

void expect_answers(Session &s, unsigned n, uint32_t len)
{
	for (unsigned i = 0; i < n; i++)
		EXPECT_EQ(receive_message(s.p, op_read_response).payload.size(), len);
}

std::function<void(Session &)> changed(std::function<void(Segment &)> change)
{
	return offends([](Session &s) { return read_request_segment(1, small(s)); },
		       std::move(change));
}

void add_header(std::vector<Case> &c)
{
	// 28 bytes, no more, no fewer: RFC 5040 4.4. Too short has no code; too long is longer
	// than the buffer that the queue has for a request.
	for (size_t n = 0; n < ReadRequest::len; n += 3)
		c.push_back({"request_of_" + std::to_string(n), "RFC 5040 4.4, no code", ends(),
			     changed([n](Segment &g) { g.payload.resize(n); })});
	for (size_t n : {29, 32, 56, 1000})
		c.push_back({"request_of_" + std::to_string(n),
			     "RFC 5040 4.4; RFC 5041 7.1 untagged 4",
			     terminates(ddp::untagged_too_long),
			     changed([n](Segment &g) { g.payload.resize(n); })});
	for (uint32_t mo : {1U, 4U, 27U, 28U, 0x80000000U, 0xFFFFFFFFU})
		c.push_back({"mo_" + hex(mo), "RFC 5041 7.1 untagged 3, 4",
			     mo < 28 ? terminates(ddp::untagged_mo, ddp::untagged_too_long) :
				       terminates(ddp::untagged_mo),
			     changed([mo](Segment &g) { g.mo = mo; })});
}

void add_msn(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 untagged 5; RFC 5040 5.2.1";
	for (unsigned before : {0U, 1U, 4U, 5U})
		for (uint32_t off : {1U, 3U, 4U, 5U, 0x80000000U, 0xFFFFFFFFU}) {
			bool in_range = off < depth;
			c.push_back({"msn_off_by_" + hex(off) + "_after_" + std::to_string(before),
				     rfc,
				     in_range ?
					     terminates(ddp::untagged_msn) :
					     terminates(ddp::untagged_msn, ddp::untagged_no_buffer),
				     [=](Session &s) {
					     for (unsigned i = 0; i < before; i++) {
						     s.p.read(small(s));
						     expect_answers(s, 1, 40);
					     }
					     s.offend(read_request_segment(1 + before + off,
									   small(s)));
				     },
				     {.rev = 2}});
		}
	// The queues count by themselves.
	c.push_back({"msn_is_of_its_own_queue",
		     "RFC 5041 4.3",
		     lives(),
		     [](Session &s) {
			     s.message();
			     s.message();
			     s.p.read(small(s));
			     expect_answers(s, 1, 40);
		     },
		     {.rev = 2}});
}

// IRD is 4. Nobody reads the answers, so that requests stay in the queue.
void add_depth(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 untagged 2; RFC 5040 5.2.2; RFC 6581 9.1";
	constexpr uint32_t len = 100 * 1000;
	// At once: the first answer might fit into the victim's send buffer meanwhile.
	auto ask = [](Session &s, unsigned n, uint32_t size) {
		std::vector<Segment> all;
		for (unsigned i = 0; i < n; i++)
			all.push_back(read_request_segment(s.p.read_msn++,
							   {1, 2, size, s.v.rw->rkey(),
							    s.v.rw->base()}));
		s.p.send_at_once(all);
	};
	for (unsigned n = 1; n <= depth; n++)
		c.push_back({std::to_string(n) + "_requests_at_once",
			     "RFC 6581 9.1: IRD",
			     lives(),
			     [=](Session &s) {
				     ask(s, n, len);
				     expect_answers(s, n, len);
			     },
			     {.rev = 2}});
	for (unsigned more : {1U, 2U, 100U})
		c.push_back({std::to_string(more) + "_requests_too_many",
			     rfc,
			     terminates(ddp::untagged_no_buffer, ddp::untagged_msn),
			     [=](Session &s) {
				     ask(s, depth + more, rw_size);
				     // It has read them all before the answers have room to go.
				     wait_acknowledged(s.p.connection());
			     },
			     // Room for a few packets: on s390x each takes 4 KiB and more, and
			     // SCTP's sender waits for its timers if not even two have room.
			     {.rev = 2, .rcvbuf = 16384}});
}

INSTANTIATE_TEST_SUITE_P(ReadQueue, Wire, rows(add_header, add_msn, add_depth), RowName());

} // namespace
} // namespace peer
