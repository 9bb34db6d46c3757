// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Untagged segments on queue 0: MSN, MO, receives, invalidation.
#include "../session/session.h"

namespace peer {
namespace {

constexpr uint8_t sends[] = {op_send, op_send_se, op_send_inv, op_send_se_inv};
constexpr const char *names[] = {"send", "send_se", "send_inv", "send_se_inv"};

// RFC 5041 7.1 untagged 5: the range runs from the first to the last receive available. In it, a
// stream in order leaves only the next one; beyond it, there is no buffer, either.
Verdict outcome_of_msn(uint32_t ahead, unsigned available)
{
	return ahead < available ? terminates(ddp::untagged_msn) :
				   terminates(ddp::untagged_msn, ddp::untagged_no_buffer);
}

void add_msn(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 untagged 5; 4.3: from 1, one more each";
	for (unsigned before : {0U, 1U, 3U})
		for (uint32_t off :
		     {1U, 2U, 3U, 4U, 5U, 100U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFEU, 0xFFFFFFFFU})
			c.push_back({"msn_off_by_" + hex(off) + "_after_" + std::to_string(before),
				     rfc, outcome_of_msn(off, receives - before), [=](Session &s) {
					     for (unsigned i = 0; i < before; i++)
						     s.message();
					     s.offend(send_segment(1 + before + off, pattern(40)));
				     }});
	for (bool zero : {false, true})
		c.push_back({std::string("msn_repeated") + (zero ? "_zero_length" : ""), rfc,
			     terminates(ddp::untagged_msn), [=](Session &s) {
				     s.message();
				     s.offend(send_segment(1, pattern(zero ? 0 : 40)));
			     }});
	c.push_back({"msn_changes_within_a_message", "RFC 5041 4.3: the same in each segment",
		     terminates(ddp::untagged_msn), [](Session &s) {
			     s.begins(pattern(100));
			     s.offend(send_segment(2, pattern(100), 100));
		     }});
	c.push_back({"next_message_before_the_last_segment", "RFC 5041 5.4",
		     terminates(ddp::untagged_msn), [](Session &s) {
			     s.begins(pattern(100));
			     s.offend(send_segment(2, pattern(100), 0));
		     }});
}

// A first segment of 100 bytes, placed; then the one that is wrong.
Act second(uint32_t mo, size_t len, bool last = true)
{
	return [=](Session &s) {
		s.begins(pattern(100));
		s.offend(send_segment(1, pattern(len, 2), mo, last));
	};
}

void add_mo(std::vector<Case> &c)
{
	// In stream order the next offset is the only one that leads to "all segments placed" (RFC
	// 5041 5.4).
	const char *rfc = "RFC 5041 7.1 untagged 3, 5.2, 5.4";
	const Verdict mo = terminates(ddp::untagged_mo);
	for (uint32_t at : {1U, 4U, 2047U, 2048U, 2049U, 100000U, 0x7FFFFFFFU, 0x80000000U,
			    0xFFFFFFD8U, 0xFFFFFFFFU})
		c.push_back({"first_mo_" + hex(at), rfc, mo,
			     [at](Session &s) { s.offend(send_segment(1, pattern(40), at)); }});
	struct Second {
		const char *name;
		uint32_t mo;
	};
	for (const Second &q : {Second{"repeated", 0},
				{"overlap_by_99", 1},
				{"overlap_by_one", 99},
				{"gap_of_one", 101},
				{"gap", 500},
				{"at_the_end", 2048},
				{"behind_the_end", 2049},
				{"ffffffff", 0xFFFFFFFF},
				{"wraps_onto_itself", 0xFFFFFFE0}})
		for (bool last : {true, false})
			c.push_back({std::string("second_mo_") + q.name + (last ? "" : "_not_last"),
				     rfc,
				     // Check 4 fails, too.
				     q.mo == receive_size ?
					     terminates(ddp::untagged_mo, ddp::untagged_too_long) :
					     mo,
				     second(q.mo, 100, last)});
	// Right to the end, in segments of every size around the boundaries.
	for (size_t first : {0UL, 1UL, 3UL, 4UL, 1023UL, 2047UL, 2048UL})
		c.push_back({"two_segments_cut_at_" + std::to_string(first), "RFC 5041 5.2",
			     lives(), [first](Session &s) {
				     const Segment all = s.segment(pattern(receive_size, 9));
				     s.p.send(cut_at(all, {first}));
				     s.delivers(all.payload);
			     }});
	c.push_back({"message_of_2048_segments", "RFC 5041 5.2", lives(), [](Session &s) {
			     const Segment all = s.segment(pattern(receive_size, 9));
			     s.p.send_at_once(cut_every(all, 1));
			     s.delivers(all.payload);
		     }});
}

void add_receives(std::vector<Case> &c)
{
	const char *none = "RFC 5041 7.1 untagged 2; RFC 5040 5.3: a zero-length message takes "
			   "one, too",
		   *size = "RFC 5041 7.1 untagged 4; RFC 5040 5.3";
	for (size_t n : {0, 1, 40, 2048})
		c.push_back({"no_receive_for_" + std::to_string(n), none,
			     terminates(ddp::untagged_no_buffer), [n](Session &s) {
				     for (unsigned i = 0; i < receives; i++)
					     s.message();
				     s.offend(send_segment(receives + 1, pattern(n)));
			     }});
	for (size_t n : {2049UL, 2050UL, 4096UL, 8192UL, 60000UL, 64750UL})
		c.push_back({"message_of_" + std::to_string(n) + "_for_2048", size,
			     terminates(ddp::untagged_too_long),
			     [n](Session &s) { s.offend(send_segment(1, pattern(n))); }});
	for (size_t n : {1949, 1950, 5000})
		c.push_back({"second_segment_of_" + std::to_string(n) + "_for_1948", size,
			     terminates(ddp::untagged_too_long), second(100, n)});
	for (size_t n : {0UL, 1UL, 2UL, 2047UL, 2048UL})
		for (unsigned op = 0; op < 2; op++)
			c.push_back({std::string(names[op]) + "_of_" + std::to_string(n),
				     "RFC 5040 5.3", lives(), [=](Session &s) {
					     Segment g = s.segment(pattern(n, 8));
					     g.opcode = sends[op];
					     s.sends(g);
				     }});
	c.push_back({"all_receives_used", "RFC 5040 5.3", lives(), [](Session &s) {
			     for (unsigned i = 0; i + 1 < receives; i++)
				     s.message(i * 500);
		     }});
}

void add_invalidate(std::vector<Case> &c)
{
	const char *rfc = "RFC 5040 5.3, 7.2 (4) and (5), figure 9";
	struct Target {
		const char *name;
		std::function<uint32_t(Session &)> stag;
		Verdict verdict;
	};
	// Figure 9 has "cannot be invalidated" as protection and as operation error.
	const Verdict cannot = terminates(rdmap::prot_invalidate, rdmap::op_invalidate);
	const Verdict invalid =
		terminates(rdmap::prot_invalidate, rdmap::op_invalidate, rdmap::prot_stag);
	const Verdict foreign =
		terminates(rdmap::prot_invalidate, rdmap::op_invalidate, rdmap::prot_stream);
	const std::vector<Target> targets{
		{"ordinary_region", [](Session &s) { return s.v.rw->rkey(); }, cannot},
		{"local_region", [](Session &s) { return s.v.local->rkey(); }, cannot},
		{"read_only_region", [](Session &s) { return s.v.ro->rkey(); }, cannot},
		{"region_of_another_pd", [](Session &s) { return s.v.alien->rkey(); }, foreign},
		{"wrong_key", [](Session &s) { return s.v.rw->rkey() ^ 1; }, invalid},
		{"wrong_index", [](Session &s) { return s.v.rw->rkey() ^ 0x40000000; }, invalid},
		{"stag_0", [](Session &) { return 0U; }, invalid},
		{"stag_ffffffff", [](Session &) { return ~0U; }, invalid},
	};
	for (unsigned op = 2; op < 4; op++)
		for (const Target &t : targets)
			for (size_t n : {0, 40})
				c.push_back({std::string(names[op]) + "_" + t.name +
						     (n ? "" : "_zero_length"),
					     rfc, t.verdict, [=](Session &s) {
						     Segment g = send_segment(1, pattern(n));
						     g.opcode = sends[op];
						     g.inv_stag = t.stag(s);
						     s.may_touch_slot();
						     s.offend(g);
					     }});
}

INSTANTIATE_TEST_SUITE_P(Untagged, Wire, rows(add_msn, add_mo, add_receives, add_invalidate),
			 RowName());

} // namespace
} // namespace peer
