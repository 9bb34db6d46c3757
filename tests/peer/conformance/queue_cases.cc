// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Read Requests as untagged messages: length, MSN, MO, number outstanding.
#include "../session/cases.h"

namespace peer {
namespace {

const Place small{.region = ro};
const Terms rev_2{.rev = 2};

Act reads(unsigned n, const Act &then)
{
	return [=](Session &s) {
		for (unsigned i = 0; i < n; i++)
			right_read(small)(s);
		then(s);
	};
}

void add_header(Table &t)
{
	auto length_is = [](size_t n) {
		return wrong_read(small, [n](Segment &g) { g.payload.resize(n); });
	};
	// A Read Request has exactly 28 bytes (RFC 5040 4.4). No RFC has a code for a shorter one;
	// a longer one exceeds the buffers of its queue.
	Rule too_short(t, "RFC 5040 4.4, no code", ends());
	for (size_t n = 0; n < ReadRequest::len; n += 3)
		too_short.add(std::format("request_of_{}", n), length_is(n));
	Rule too_long(t, "RFC 5040 4.4; RFC 5041 7.1 untagged 4",
		      terminates(ddp::untagged_too_long));
	for (size_t n : {29, 32, 56, 1000})
		too_long.add(std::format("request_of_{}", n), length_is(n));
	for (uint32_t mo : {1U, 4U, 27U, 28U, 0x80000000U, 0xFFFFFFFFU})
		Rule(t, "RFC 5041 7.1 untagged 3, 4",
		     mo < ReadRequest::len ? terminates(ddp::untagged_mo, ddp::untagged_too_long) :
					     terminates(ddp::untagged_mo))
			.add(std::format("mo_{:x}", mo),
			     wrong_read(small, [mo](Segment &g) { g.mo = mo; }));
}

void add_msn(Table &t)
{
	Rule(t, "RFC 5041 5.4: the Send before it is not delivered", terminates(rdmap::op_opcode))
		.add("inside_a_send", [](Session &s) {
			s.begins(pattern(100));
			s.offend(small.read(s));
		});
	for (unsigned before : {0U, 1U, 4U, 5U})
		for (uint32_t off : {1U, 3U, 4U, 5U, 0x80000000U, 0xFFFFFFFFU})
			Rule(t, "RFC 5041 7.1 untagged 5; RFC 5040 5.2.1",
			     off < depth ? terminates(ddp::untagged_msn) :
					   terminates(ddp::untagged_msn, ddp::untagged_no_buffer),
			     rev_2)
				.add(std::format("msn_off_by_{:x}_after_{}", off, before),
				     reads(before,
					   wrong_read(small, [off](Segment &g) { g.msn += off; })));
	// Each queue has its own MSN.
	Rule(t, "RFC 5041 4.3", lives(), rev_2)
		.add("msn_is_of_its_own_queue", after_messages(2, right_read(small)));
}

// IRD is 4. The peer receives no Read Response before it has sent all requests, in one call: the
// response to the first does not free its place in the victim's queue before the last arrives.
void add_depth(Table &t)
{
	Rule right(t, "RFC 6581 9.1: IRD", lives(), rev_2);
	for (unsigned n = 1; n <= depth; n++)
		right.add(std::format("{}_requests_at_once", n), [n](Session &s) {
			constexpr uint32_t len = 100 * 1000;
			read_at_once(s, n, len);
			for (unsigned i = 0; i < n; i++)
				EXPECT_EQ(s.receives(op_read_response).payload.size(), len);
		});
	Rule too_many(t, "RFC 5041 7.1 untagged 2; RFC 5040 5.2.2; RFC 6581 9.1",
		      terminates(ddp::untagged_no_buffer, ddp::untagged_msn), rev_2);
	for (unsigned more : {1U, 2U, 100U})
		too_many.add(std::format("{}_requests_too_many", more), reads_beyond_ird(more));
}

INSTANTIATE_TEST_SUITE_P(ReadQueue, Wire, rows(add_header, add_msn, add_depth), RowName());

} // namespace
} // namespace peer
