// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Immediate Data of the peer (RFC 7306 6, 8).
#include "../session/cases.h"

namespace peer {
namespace {

constexpr size_t imm_len = 8;
const Terms rev_2{.rev = 2};

Segment immediate(uint8_t opcode, const Edit &change)
{
	Segment g = send_segment(1, pattern(imm_len));
	g.opcode = opcode;
	if (change)
		change(g);
	return g;
}

void add_wrong(Table &t)
{
	for (uint8_t op : {op_imm, op_imm_se}) {
		auto named = [op](const char *name) {
			return std::format("{}{}", op == op_imm ? "" : "se_", name);
		};
		auto wrong = [op](const Edit &change) { return offends(immediate(op, change)); };
		// RFC 7306 6.3: one segment of 8 bytes. No text has a code for another length.
		const Verdict length{Fate::terminates, {rdmap::op_stream}, "length_errors"};
		Rule(t, "RFC 7306 6.3", length, rev_2)
			.add(named("not_last"), wrong([](Segment &g) { g.last = false; }))
			.add(named("7_bytes"), wrong([](Segment &g) { g.payload.resize(7); }))
			.add(named("9_bytes"), wrong([](Segment &g) { g.payload.resize(9); }))
			.add(named("empty"), wrong([](Segment &g) { g.payload.clear(); }));
		Rule(t, "RFC 5041 7.1 untagged 3", terminates(ddp::untagged_mo), rev_2)
			.add(named("mo_8"), wrong([](Segment &g) { g.mo = imm_len; }));
		Rule(t, "RFC 5041 5.4: the Send has no end", terminates(ddp::untagged_mo), rev_2)
			.add(named("inside_a_send"), [op](Session &s) {
				s.begins(pattern(100));
				s.offend(immediate(op, {}));
			});
		Rule(t, "RFC 5041 7.1 untagged 5", terminates(ddp::untagged_msn), rev_2)
			.add(named("msn_2"), wrong([](Segment &g) { g.msn = 2; }));
		Rule(t, "RFC 5041 7.1 untagged 2",
		     terminates(ddp::untagged_no_buffer, ddp::untagged_msn), rev_2)
			.add(named("no_receive"), [op](Session &s) {
				for (unsigned i = 0; i < receives; i++)
					s.message();
				s.offend(immediate(op, [](Segment &g) { g.msn = receives + 1; }));
			});
	}
}

INSTANTIATE_TEST_SUITE_P(Immediate, Wire, rows(add_wrong), RowName());

} // namespace
} // namespace peer
