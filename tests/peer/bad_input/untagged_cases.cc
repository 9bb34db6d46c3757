// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Sends and other untagged segments: queue, MSN, MO, buffers, versions, opcodes.
#include "../session/cases.h"

namespace peer {
namespace {

constexpr uint32_t size = 1024; // of a receive

void add_queues(Table &t)
{
	Rule queue(t, "RFC 5041 7.1 untagged 1; RFC 5040 3.1: queues 0 to 2, RFC 7306: 3",
		   terminates(ddp::untagged_qn));
	for (uint32_t qn : {4U, 255U, 256U, 0x01000000U, 0x80000000U, 0xFFFFFFFFU})
		queue.add(std::format("queue_{}", qn), wrong_send([qn](Segment &g) { g.qn = qn; }));
	// The queue exists, but not for this opcode. This is RDMAP's "unexpected opcode"; DDP's
	// check "the QN is valid" can also be read to fail, with "invalid QN".
	const Verdict mismatch = terminates(rdmap::op_opcode, ddp::untagged_qn);
	Rule(t, "RFC 7306 figure 2: queue 3 is for atomics only", mismatch)
		.add("queue_3", wrong_send([](Segment &g) { g.qn = 3; }));
	Rule fig4(t, "RFC 5040 figure 4", mismatch);
	struct Mismatch {
		const char *name;
		uint8_t opcode;
		uint32_t qn;
		size_t len;
	};
	for (const Mismatch &m :
	     {Mismatch{"send_on_read_queue", op_send, q_read, ReadRequest::len},
	      {"send_on_terminate_queue", op_send, q_terminate, 4},
	      {"read_request_on_send_queue", op_read_request, q_send, ReadRequest::len},
	      {"read_request_on_terminate_queue", op_read_request, q_terminate, ReadRequest::len},
	      {"terminate_on_send_queue", op_terminate, q_send, 4},
	      {"terminate_on_read_queue", op_terminate, q_read, 4}})
		fig4.add(m.name, wrong_send(
					 [m](Segment &g) {
						 g.opcode = m.opcode;
						 g.qn = m.qn;
					 },
					 m.len));
}

void add_msn(Table &t)
{
	const char *rfc = "RFC 5041 7.1 untagged 5, 4.3: MSNs are 1, 2, 3, ...";
	Rule(t, rfc, terminates(ddp::untagged_msn))
		.add("msn_2_first", offends(send_segment(2, pattern(40))))
		.add("msn_repeated", after_messages(1, wrong_send()))
		.add("msn_skipped", after_messages(2, offends(send_segment(4, pattern(40)))));
	// For an MSN beyond the last posted receive both codes are correct.
	Rule(t, rfc, terminates(ddp::untagged_msn, ddp::untagged_no_buffer))
		.add("msn_0_first", offends(send_segment(0, pattern(40))))
		.add("msn_100_first", offends(send_segment(100, pattern(40))))
		.add("msn_ffffffff_first", offends(send_segment(~0U, pattern(40))));
	const Verdict either_field = terminates(ddp::untagged_msn, ddp::untagged_mo);
	Rule(t, "RFC 5041 4.3: one MSN in all segments of a message", either_field)
		.add("msn_changes_in_message", after_first(send_segment(2, pattern(100), 100)));
	Rule(t, "RFC 5041 5.4", either_field)
		.add("message_never_finished", after_first(send_segment(2, pattern(100))));
}

void add_mo(Table &t)
{
	// A receiver that processes the stream in order expects segments in the order of MO (RFC
	// 5041 5.3: SHOULD).
	Rule mo(t, "RFC 5041 7.1 untagged 3, 5.2, 5.4: no gap in a message",
		terminates(ddp::untagged_mo));
	struct Offset {
		const char *name;
		uint32_t mo;
	};
	for (const Offset &o : {Offset{"mo_4_first", 4},
				{"mo_at_buffer_end", size},
				{"mo_behind_buffer", 100000},
				{"mo_ffffffff", ~0U},
				{"mo_plus_length_wraps", ~0U - 20}})
		mo.add(o.name, offends(send_segment(1, pattern(40), o.mo)));
	for (const Offset &o : {Offset{"mo_gap", 200},
				{"mo_gap_of_one", 101},
				{"mo_overlap", 50},
				{"mo_repeated", 0},
				{"mo_ffffffff_second", ~0U}})
		mo.add(o.name, after_first(send_segment(1, pattern(100), o.mo)));
}

Act too_long(size_t len)
{
	return [len](Session &s) {
		s.may_touch_slot();
		s.offend(send_segment(1, pattern(len)));
	};
}

void add_buffers(Table &t)
{
	const Terms one_receive{.victim = Options{.receives = 1}};
	const Terms small_receive{.victim = Options{.receive_size = 128}};
	const Verdict no_buffer = terminates(ddp::untagged_no_buffer);
	Rule(t, "RFC 5041 7.1 untagged 2", no_buffer, one_receive)
		.add("no_receive_posted", after_messages(1, offends(send_segment(2, pattern(40)))));
	Rule(t, "RFC 5040 5.3: MUST consume a buffer", no_buffer, one_receive)
		.add("no_receive_posted_zero_length",
		     after_messages(1, offends(send_segment(2, {}))));
	const char *rfc = "RFC 5041 7.1 untagged 4; RFC 5040 5.3";
	Rule(t, rfc, terminates(ddp::untagged_too_long))
		.add("message_one_byte_too_long", too_long(size + 1))
		.add("message_of_60000", too_long(60000))
		.add("second_segment_too_long",
		     after_first(send_segment(1, pattern(25), 1000), 1000));
	Rule(t, rfc, terminates(ddp::untagged_too_long, ddp::untagged_mo), small_receive)
		.add("second_segment_at_buffer_end",
		     after_first(send_segment(1, pattern(1), 128), 128));
	Rule(t, "RFC 5040 5.3: length <= buffer", lives())
		.add("message_fills_the_buffer", [](Session &s) { s.message(size); });
	Rule(t, "RFC 5040 5.3: MUST consume a buffer", lives())
		.add("message_of_zero", [](Session &s) { s.message(0); });
	Rule(t, "RFC 5041 5.2 does not forbid an empty last segment", either())
		.add("empty_last_segment", [](Session &s) {
			s.may_touch_slot();
			s.p.send(send_segment(1, pattern(40), 0, false));
			s.p.send(send_segment(s.p.send_msn++, {}, 40));
		});
}

void add_control(Table &t)
{
	Rule ddp_version(t, "RFC 5041 7.2", terminates(ddp::untagged_version));
	Rule rdmap_version(t, "RFC 5040 4.8, 7.2; version 0 is for MPA revision 0 only",
			   terminates(rdmap::op_version));
	for (uint8_t v : {0, 2, 3}) {
		ddp_version.add(std::format("ddp_version_{}", v),
				wrong_send([v](Segment &g) { g.dv = v; }));
		rdmap_version.add(std::format("rdmap_version_{}", v),
				  wrong_send([v](Segment &g) { g.rv = v; }));
	}
	auto opcodes = [&](const Rule &rule, std::initializer_list<uint8_t> all) {
		for (uint8_t op : all)
			rule.add(std::format("opcode_{}", op),
				 wrong_send([op](Segment &g) { g.opcode = op; }));
	};
	opcodes({t, "RFC 5040 4.8, 7.2, figure 4", terminates(rdmap::op_opcode)},
		{0, 2, 12, 13, 14, 15});
	// Immediate Data (RFC 7306) must be 8 bytes; without RFC 7306 the opcode is invalid.
	opcodes({t, "RFC 5040 figure 4, or RFC 7306 6.3 without a code", ends()}, {8, 9});
	opcodes({t, "RFC 5040 figure 4, RFC 7306 figure 2: not on queue 0",
		 terminates(rdmap::op_opcode, ddp::untagged_qn)},
		{10, 11});
	Rule(t, "RFC 5041 4.1, RFC 5040 4.1: ignored", lives())
		.add("reserved_bits_and_invalidate_stag_set", [](Session &s) {
			Segment g = s.segment(pattern(40));
			g.ddp_reserved = 15;
			g.rdmap_reserved = 3;
			g.inv_stag = s.v.rw->rkey();
			s.sends(g);
		});
}

// Sends a Send in two segments, and runs @between after the first one.
Act in_two(const Act &between, uint8_t second_opcode = op_send)
{
	return [=](Session &s) {
		Segment second = send_segment(s.p.send_msn++, pattern(40), 40);
		second.opcode = second_opcode;
		s.may_touch_slot();
		s.p.send(send_segment(1, pattern(40), 0, false));
		if (between)
			between(s);
		s.p.send(second);
	};
}

void add_order(Table &t)
{
	Rule(t, "RFC 5041 4.3: not required to verify", either())
		.add("opcode_changes_in_message", in_two({}, op_send_se));
	Rule order(t, "RFC 5041 5.3: messages are in order", either());
	order.add("write_between_two_segments", in_two([](Session &s) {
			  s.may_touch(*s.v.rw, {0, 40});
			  s.p.send(write_to(*s.v.rw, 0, pattern(40)));
		  }));
	order.add("read_request_between_two_segments",
		  in_two([](Session &s) { s.p.send(Place{}.read(s)); }));
}

// RFC 5040 figure 9 lists code 9 under both error types.
void add_invalidate(Table &t)
{
	using rdmap::op_invalidate, rdmap::prot_invalidate, rdmap::prot_stag, rdmap::prot_stream;
	const char *rfc = "RFC 5040 5.3, 7.2 (4, 5), figure 9; RFC 5042 6.4.5";
	for (uint8_t op : {op_send_inv, op_send_se_inv}) {
		const std::string prefix = op == op_send_inv ? "invalidate_" : "se_invalidate_";
		auto add = [&](const char *name, const Verdict &verdict, const Place &place) {
			Rule(t, rfc, verdict).add(prefix + name, invalidates(op, place));
		};
		const Verdict no_region = terminates(op_invalidate, prot_invalidate, prot_stag);
		add("ordinary_region", terminates(op_invalidate, prot_invalidate), {});
		add("local_region", terminates(op_invalidate, prot_invalidate), {.region = local});
		add("other_pd", terminates(op_invalidate, prot_invalidate, prot_stream),
		    {.region = alien});
		add("wrong_key", no_region, {.stag_xor = 1});
		add("stag_0", no_region, {.stag = 0});
		add("stag_ffffffff", no_region, {.stag = ~0U});
	}
}

INSTANTIATE_TEST_SUITE_P(untagged, Wire,
			 rows(add_queues, add_msn, add_mo, add_buffers, add_control, add_order,
			      add_invalidate),
			 RowName());

} // namespace
} // namespace peer
