// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA Writes and other tagged segments: STag, TO, access rights, versions, opcodes.
#include "../session/cases.h"

namespace peer {
namespace {

constexpr uint32_t size = 8192; // of each region
constexpr uint64_t top = ~uint64_t{0};

void add_stags(Table &t)
{
	Rule stag(t, "RFC 5041 7.1 tagged 1, 7.2", terminates(ddp::tagged_stag));
	stag.add("stag_0", wrong_write({.stag = 0, .to = 0}));
	stag.add("stag_ffffffff", wrong_write({.stag = ~0U, .to = 0}));
	stag.add("stag_unknown_index", wrong_write({.stag_xor = 0x40000000}));
	for (int bit = 0; bit < 8; bit++)
		stag.add(std::format("stag_key_bit_{}_wrong", bit),
			 wrong_write({.stag_xor = 1U << bit}));
	stag.add("stag_deregistered", wrong_write_to_deregistered());
	Rule(t, "RFC 5041 8.2, 7.2; RFC 5042 6.1.1", terminates(ddp::tagged_stream))
		.add("other_pd", wrong_write({.region = alien}));
	// RFC 5041 7.2 has no code for missing access rights. Check 2 of 7.1 fails, which fits an
	// invalid STag; RFC 5040 figure 9 has "access rights violation".
	Rule(t, "RFC 5041 7.1 tagged 2",
	     terminates(ddp::tagged_stag, rdmap::prot_access).counted_as("access_errors"))
		.add("region_is_read_only", wrong_write({.region = ro}))
		.add("region_is_local", wrong_write({.region = local}))
		.add("qp_has_no_remote_write", with_access(IBV_ACCESS_REMOTE_READ, wrong_write()));
}

void add_bounds(Table &t)
{
	const char *rfc = "RFC 5041 7.1 tagged 3 and 4; RFC 5042 6.2.1";
	Rule bounds(t, rfc, terminates(ddp::tagged_bounds));
	bounds.add("byte_before_base", wrong_write({.at = -1, .len = 1}));
	bounds.add("across_base", wrong_write({.at = -1, .len = 2}));
	bounds.add("up_to_base", wrong_write({.at = -40, .len = 40}));
	bounds.add("page_before_base", wrong_write({.at = -4096}));
	bounds.add("byte_at_end", wrong_write({.at = size, .len = 1}));
	bounds.add("across_end", wrong_write({.at = size - 1, .len = 2}));
	bounds.add("byte_behind_end", wrong_write({.at = size + 1, .len = 1}));
	bounds.add("page_behind_end", wrong_write({.at = size + 4096}));
	bounds.add("whole_region_and_one", wrong_write({.at = 0, .len = size + 1}));
	bounds.add("to_0", wrong_write({.to = 0}));
	bounds.add("to_4g_too_high", wrong_write({.at = int64_t{1} << 32}));
	bounds.add("to_4g_too_low", wrong_write({.at = -(int64_t{1} << 32)}));
	bounds.add("to_top_bit", wrong_write({.at = INT64_MIN}));
	bounds.add("second_segment_runs_out", [](Session &s) {
		s.may_touch(*s.v.rw, {size - 100, 100});
		s.p.send(write_to(*s.v.rw, size - 100, pattern(100), false));
		s.offend(write_to(*s.v.rw, size, pattern(4)));
	});
	// TO + length wraps, and is also out of bounds; either code is correct.
	Rule(t, "RFC 5041 7.1 tagged 5", terminates(ddp::tagged_wrap, ddp::tagged_bounds))
		.add("to_2_64_minus_1_len_1", wrong_write({.len = 1, .to = top}))
		.add("to_2_64_minus_1_len_2", wrong_write({.len = 2, .to = top}))
		.add("to_wraps_into_the_region", wrong_write({.len = 1000, .to = top - 99}));
	Rule(t, "RFC 5041 7.1: in range", lives())
		.add("last_byte", then_message(right_write({.at = size - 1, .len = 1})))
		.add("whole_region", then_message(right_write({.len = size})));
}

void add_zero_length(Table &t)
{
	Rule(t, "RFC 5041 5.2: STag and TO MUST NOT be checked", lives())
		.add("zero_length_stag_0", right_write({.len = 0, .stag = 0, .to = 0}))
		.add("zero_length_stag_unknown", right_write({.len = 0, .stag_xor = 0x40000000}))
		.add("zero_length_wrong_key", right_write({.len = 0, .stag_xor = 1}))
		.add("zero_length_other_pd", right_write({.region = alien, .len = 0}))
		.add("zero_length_read_only", right_write({.region = ro, .len = 0}))
		.add("zero_length_to_2_64_minus_1", right_write({.len = 0, .stag = ~0U, .to = top}))
		.add("zero_length_no_remote_write",
		     with_access(IBV_ACCESS_REMOTE_READ, right_write({.len = 0})));
	Rule(t, "RFC 5041 5.2: the control field MUST be valid", terminates(ddp::tagged_version))
		.add("zero_length_ddp_version_0",
		     wrong_write({.len = 0}, [](Segment &g) { g.dv = 0; }));
	Rule(t, "RFC 5041 5.2: exactly one segment", either())
		.add("zero_length_not_last", offends(write_segment(0, 0, {}, false)));
}

void add_control(Table &t)
{
	Rule ddp_version(t, "RFC 5041 7.2", terminates(ddp::tagged_version));
	Rule rdmap_version(t, "RFC 5040 4.8, 7.2; version 0 is for MPA revision 0 only",
			   terminates(rdmap::op_version));
	for (uint8_t v : {0, 2, 3}) {
		ddp_version.add(std::format("ddp_version_{}", v),
				wrong_write({}, [v](Segment &g) { g.dv = v; }));
		rdmap_version.add(std::format("rdmap_version_{}", v),
				  wrong_write({}, [v](Segment &g) { g.rv = v; }));
	}
	Rule opcode(t, "RFC 5040 4.8, 7.2, figure 4", terminates(rdmap::op_opcode));
	for (uint8_t op = 0; op < 16; op++)
		if (op != op_write && op != op_read_response)
			opcode.add(std::format("opcode_{}", op),
				   wrong_write({}, [op](Segment &g) { g.opcode = op; }));
	Rule(t, "RFC 5041 4.1: not checked on receive", lives())
		.add("ddp_reserved_bits_set",
		     then_message(right_write({}, [](Segment &g) { g.ddp_reserved = 15; })));
	Rule(t, "RFC 5040 4.1: ignored by the receiver", lives())
		.add("rdmap_reserved_bits_set",
		     then_message(right_write({}, [](Segment &g) { g.rdmap_reserved = 3; })));
	Rule(t, "RFC 5041 5.3: messages are in order", either())
		.add("message_never_finished", [](Session &s) {
			s.may_touch(*s.v.rw, {0, 40});
			s.p.send(write_to(*s.v.rw, 0, pattern(40), false));
		});
	Rule(t, "RFC 5041 4.2: one STag in all segments of a message", either())
		.add("stag_changes_in_message", [](Session &s) {
			s.may_touch(*s.v.rw, {0, 40});
			s.may_touch(*s.v.wo, {40, 40});
			s.p.send(write_to(*s.v.rw, 0, pattern(40), false));
			s.p.send(write_to(*s.v.wo, 40, pattern(40)));
		});
}

INSTANTIATE_TEST_SUITE_P(tagged, Wire, rows(add_stags, add_bounds, add_zero_length, add_control),
			 RowName());

} // namespace
} // namespace peer
