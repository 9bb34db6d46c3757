// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Untagged segments on queue 0: MSN, MO, receives, invalidation.
#include "../session/cases.h"

namespace peer {
namespace {

// RFC 5041 7.1 untagged 5: MSNs are in range from the first to the last available receive. Within
// the range only the next MSN is correct, because the stream is in order. Beyond the range there is
// no buffer either, so either code is correct.
Verdict outcome_of_msn(uint32_t ahead, unsigned available)
{
	return ahead < available ? terminates(ddp::untagged_msn) :
				   terminates(ddp::untagged_msn, ddp::untagged_no_buffer);
}

void add_msn(Table &t)
{
	const char *rfc = "RFC 5041 7.1 untagged 5; 4.3: MSNs are 1, 2, ...";
	for (unsigned before : {0U, 1U, 3U})
		for (uint32_t off :
		     {1U, 2U, 3U, 4U, 5U, 100U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFEU, 0xFFFFFFFFU})
			Rule(t, rfc, outcome_of_msn(off, receives - before))
				.add(std::format("msn_off_by_{:x}_after_{}", off, before),
				     after_messages(before, offends(send_segment(1 + before + off,
										 pattern(40)))));
	const Verdict msn = terminates(ddp::untagged_msn);
	Rule(t, rfc, msn)
		.add("msn_repeated", after_messages(1, wrong_send()))
		.add("msn_repeated_zero_length", after_messages(1, wrong_send({}, 0)));
	Rule(t, "RFC 5041 4.3: the same in each segment", msn)
		.add("msn_changes_within_a_message",
		     after_first(send_segment(2, pattern(100), 100)));
	Rule(t, "RFC 5041 5.4", msn)
		.add("next_message_before_the_last_segment",
		     after_first(send_segment(2, pattern(100), 0)));
}

void add_mo(Table &t)
{
	// Because the stream is in order, only the next MO can lead to "all segments placed" (RFC
	// 5041 5.4).
	const char *rfc = "RFC 5041 7.1 untagged 3, 5.2, 5.4";
	Rule wrong(t, rfc, terminates(ddp::untagged_mo));
	// Check 4 (message too long) fails, too.
	Rule at_the_end(t, rfc, terminates(ddp::untagged_mo, ddp::untagged_too_long));
	for (uint32_t at : {1U, 4U, 2047U, 2048U, 2049U, 100000U, 0x7FFFFFFFU, 0x80000000U,
			    0xFFFFFFD8U, 0xFFFFFFFFU})
		wrong.add(std::format("first_mo_{:x}", at),
			  offends(send_segment(1, pattern(40), at)));
	struct Second {
		const char *name;
		uint32_t mo;
	};
	for (const Second &q : {Second{"repeated", 0},
				{"overlap_by_99", 1},
				{"overlap_by_one", 99},
				{"gap_of_one", 101},
				{"gap", 500},
				{"at_the_end", receive_size},
				{"behind_the_end", 2049},
				{"ffffffff", 0xFFFFFFFF},
				{"wraps_onto_itself", 0xFFFFFFE0}})
		for (bool last : {true, false})
			(q.mo == receive_size ? at_the_end : wrong)
				.add(std::format("second_mo_{}{}", q.name, last ? "" : "_not_last"),
				     after_first(send_segment(1, pattern(100, 2), q.mo, last)));
	// Correct messages that fill the receive, cut near its ends and in the middle.
	auto whole = [](const std::function<void(Session &, const Segment &)> &send) {
		return [=](Session &s) {
			const Segment all = s.segment(pattern(receive_size, 9));
			send(s, all);
			s.delivers(all.payload);
		};
	};
	Rule right(t, "RFC 5041 5.2", lives());
	for (size_t first : {0UL, 1UL, 3UL, 4UL, 1023UL, 2047UL, 2048UL})
		right.add(std::format("two_segments_cut_at_{}", first),
			  whole([first](Session &s, const Segment &all) {
				  s.p.send(cut_at(all, {first}));
			  }));
	right.add("message_of_2048_segments", whole([](Session &s, const Segment &all) {
			  s.p.send_at_once(cut_every(all, 1));
		  }));
}

void add_receives(Table &t)
{
	const char *size = "RFC 5041 7.1 untagged 4; RFC 5040 5.3";
	Rule none(t, "RFC 5041 7.1 untagged 2; RFC 5040 5.3: a zero-length message takes one, too",
		  terminates(ddp::untagged_no_buffer));
	for (size_t n : {0, 1, 40, 2048})
		none.add(std::format("no_receive_for_{}", n),
			 after_messages(receives, offends(send_segment(receives + 1, pattern(n)))));
	Rule too_long(t, size, terminates(ddp::untagged_too_long));
	for (size_t n : {2049UL, 2050UL, 4096UL, 8192UL, 60000UL, 64750UL})
		too_long.add(std::format("message_of_{}_for_2048", n), wrong_send({}, n));
	for (size_t n : {1949, 1950, 5000})
		too_long.add(std::format("second_segment_of_{}_for_1948", n),
			     after_first(send_segment(1, pattern(n, 2), 100)));
	Rule right(t, "RFC 5040 5.3", lives());
	for (size_t n : {0UL, 1UL, 2UL, 2047UL, 2048UL})
		for (uint8_t op : {op_send, op_send_se})
			right.add(std::format("{}_of_{}", op_names[op], n),
				  right_send([op](Segment &g) { g.opcode = op; }, n));
	right.add("all_receives_used", [](Session &s) {
		for (unsigned i = 0; i + 1 < receives; i++)
			s.message(i * 500);
	});
}

void add_invalidate(Table &t)
{
	using rdmap::op_invalidate, rdmap::prot_invalidate, rdmap::prot_stag, rdmap::prot_stream;
	struct Target {
		const char *name;
		Place place;
		Verdict verdict;
	};
	// Figure 9 has "cannot be invalidated" as protection and as operation error.
	const Verdict cannot = terminates(prot_invalidate, op_invalidate);
	const Verdict invalid = terminates(prot_invalidate, op_invalidate, prot_stag);
	const std::vector<Target> targets{
		{"ordinary_region", {}, cannot},
		{"local_region", {.region = local}, cannot},
		{"read_only_region", {.region = ro}, cannot},
		{"region_of_another_pd",
		 {.region = alien},
		 terminates(prot_invalidate, op_invalidate, prot_stream)},
		{"wrong_key", {.stag_xor = 1}, invalid},
		{"wrong_index", {.stag_xor = 0x40000000}, invalid},
		{"stag_0", {.stag = 0}, invalid},
		{"stag_ffffffff", {.stag = ~0U}, invalid},
	};
	for (uint8_t op : {op_send_inv, op_send_se_inv})
		for (const Target &q : targets)
			Rule(t, "RFC 5040 5.3, 7.2 (4) and (5), figure 9", q.verdict)
				.add(std::format("{}_{}_zero_length", op_names[op], q.name),
				     invalidates(op, q.place, 0))
				.add(std::format("{}_{}", op_names[op], q.name),
				     invalidates(op, q.place));
}

INSTANTIATE_TEST_SUITE_P(Untagged, Wire, rows(add_msn, add_mo, add_receives, add_invalidate),
			 RowName());

} // namespace
} // namespace peer
