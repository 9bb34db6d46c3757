// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA Read Requests.
#include "../session/cases.h"

namespace peer {
namespace {

constexpr uint32_t size = 8192; // of each region
constexpr uint64_t top = ~uint64_t{0};

void add_source(Table &t)
{
	Rule(t, "RFC 5040 7.2 request 4a, figure 9", terminates(rdmap::prot_stag))
		.add("stag_0", wrong_read({.stag = 0, .to = 0}))
		.add("stag_ffffffff", wrong_read({.stag = ~0U, .to = 0}))
		.add("stag_unknown_index", wrong_read({.stag_xor = 0x40000000}))
		.add("stag_wrong_key", wrong_read({.stag_xor = 1}));
	Rule(t, "RFC 5040 7.2 request 4b; RFC 5042 6.1.1", terminates(rdmap::prot_stream))
		.add("other_pd", wrong_read({.region = alien}));
	Rule(t, "RFC 5040 figure 9", terminates(rdmap::prot_access))
		.add("region_is_write_only", wrong_read({.region = wo}))
		.add("region_is_local", wrong_read({.region = local}))
		.add("qp_has_no_remote_read", with_access(IBV_ACCESS_REMOTE_WRITE, wrong_read()));
}

void add_bounds(Table &t)
{
	Rule(t, "RFC 5040 7.2 request 4c, 4d; RFC 5042 6.2.1", terminates(rdmap::prot_bounds))
		.add("byte_before_base", wrong_read({.at = -1, .len = 1}))
		.add("across_base", wrong_read({.at = -1, .len = 2}))
		.add("byte_at_end", wrong_read({.at = size, .len = 1}))
		.add("across_end", wrong_read({.at = size - 1, .len = 2}))
		.add("byte_behind_end", wrong_read({.at = size + 1, .len = 1}))
		.add("whole_region_and_one", wrong_read({.len = size + 1}))
		.add("size_ffffffff", wrong_read({.len = ~0U}))
		.add("size_80000000", wrong_read({.len = 1U << 31}))
		.add("to_0", wrong_read({.to = 0}))
		.add("to_4g_too_high", wrong_read({.at = int64_t{1} << 32}));
	Rule(t, "RFC 5040 7.2 request 4e", terminates(rdmap::prot_wrap, rdmap::prot_bounds))
		.add("to_2_64_minus_1_len_1", wrong_read({.len = 1, .to = top}))
		.add("to_2_64_minus_1_len_2", wrong_read({.len = 2, .to = top}))
		.add("to_2_64_minus_1_len_ffffffff", wrong_read({.len = ~0U, .to = top}));
	Rule(t, "RFC 5040 5.2.1: MUST NOT validate", lives())
		.add("zero_length_stag_0", right_read({.len = 0, .stag = 0, .to = 0}))
		.add("zero_length_stag_ffffffff", right_read({.len = 0, .stag = ~0U, .to = top}));
}

void add_header(Table &t)
{
	Rule length(t, "no code: RFC 5040 4.4 requires 28 bytes", ends());
	for (size_t len : {0, 1, 4, 27, 29, 60})
		length.add(std::format("header_of_{}", len),
			   wrong_read({}, [len](Segment &g) { g.payload.resize(len); }));
	Rule(t, "RFC 5040 5.2.1: one untagged buffer, so one segment", either())
		.add("not_last", wrong_read({}, [](Segment &g) { g.last = false; }));
	Rule(t, "RFC 5041 7.1 untagged 3, 4", terminates(ddp::untagged_mo, ddp::untagged_too_long))
		.add("mo_4", wrong_read({}, [](Segment &g) { g.mo = 4; }));
	const char *rfc = "RFC 5041 7.1 untagged 5";
	Rule(t, rfc, terminates(ddp::untagged_msn, ddp::untagged_no_buffer))
		.add("msn_0", wrong_read({}, [](Segment &g) { g.msn = 0; }))
		.add("msn_1000", wrong_read({}, [](Segment &g) { g.msn = 1000; }));
	Rule msn(t, rfc, terminates(ddp::untagged_msn));
	msn.add("msn_2", wrong_read({}, [](Segment &g) { g.msn = 2; }));
	msn.add("msn_repeated", [](Session &s) {
		const Segment g = Place{}.read(s);
		s.p.send(g);
		ASSERT_TRUE(s.p.receive());
		s.offend(g);
	});
	Rule(t, "RFC 5041 7.2", terminates(ddp::untagged_version))
		.add("ddp_version_2", wrong_read({}, [](Segment &g) { g.dv = 2; }));
	Rule(t, "RFC 5040 7.2", terminates(rdmap::op_version))
		.add("rdmap_version_2", wrong_read({}, [](Segment &g) { g.rv = 2; }));
}

void add_depth(Table &t)
{
	Rule(t, "RFC 5041 7.1 untagged 2, 5; RFC 5040 5.2.2; RFC 5042 6.4.3.3",
	     terminates(ddp::untagged_no_buffer, ddp::untagged_msn),
	     {.rev = 2, .victim = Options{.ird = 2, .rw_size = 4 << 20}})
		.add("one_more_than_ird", reads_beyond_ird(1))
		.add("a_thousand_more_than_ird", reads_beyond_ird(1000));
	Rule(t, "RFC 5041 7.1 untagged 2, 5; RFC 5040 5.2.2",
	     terminates(ddp::untagged_no_buffer, ddp::untagged_msn),
	     {.rev = 2, .victim = Options{.ird = 0}})
		.add("one_with_ird_0", reads_beyond_ird(1));
}

INSTANTIATE_TEST_SUITE_P(read_request, Wire, rows(add_source, add_bounds, add_header, add_depth),
			 RowName());

} // namespace
} // namespace peer
