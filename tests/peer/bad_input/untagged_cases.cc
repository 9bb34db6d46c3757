// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Send and other untagged segments: queue, MSN, MO, buffers, versions, opcodes.
#include "../session/session.h"

namespace peer {
namespace {

// A good Send, changed in one place.
Act changed(std::function<void(Segment &)> change, size_t len = 40)
{
	return offends([=](Session &) { return send_segment(1, pattern(len)); }, std::move(change));
}

// A first segment of 100 bytes, then one that does not follow it.
Act after_first(Segment second)
{
	return [=](Session &s) {
		s.begins(pattern(100));
		s.offend(second);
	};
}

const Terms one_receive{.victim = Options{.receives = 1}};
const Terms small_receive{.victim = Options{.receive_size = 128}};

void add_queues(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 untagged 1; RFC 5040 3.1: queues 0 to 2, RFC 7306: 3";
	for (uint32_t qn : {4U, 255U, 256U, 0x01000000U, 0x80000000U, 0xFFFFFFFFU})
		c.push_back({"queue_" + std::to_string(qn), rfc, terminates(ddp::untagged_qn),
			     changed([qn](Segment &g) { g.qn = qn; })});
	// The queue exists, but not for this opcode: RDMAP's "unexpected opcode"; DDP's "invalid
	// QN" is a possible reading of "the QN is valid".
	const Verdict mismatch = terminates(rdmap::op_opcode, ddp::untagged_qn);
	const char *fig4 = "RFC 5040 figure 4";
	c.insert(c.end(), {
				  {"queue_3", "RFC 7306 figure 2: for atomics, if at all", mismatch,
				   changed([](Segment &g) { g.qn = 3; })},
				  {"send_on_read_queue", fig4, mismatch,
				   changed([](Segment &g) { g.qn = q_read; }, ReadRequest::len)},
				  {"send_on_terminate_queue", fig4, mismatch,
				   changed([](Segment &g) { g.qn = q_terminate; }, 4)},
				  {"read_request_on_send_queue", fig4, mismatch,
				   changed([](Segment &g) { g.opcode = op_read_request; },
					   ReadRequest::len)},
				  {"read_request_on_terminate_queue", fig4, mismatch,
				   changed(
					   [](Segment &g) {
						   g.opcode = op_read_request;
						   g.qn = q_terminate;
					   },
					   ReadRequest::len)},
				  {"terminate_on_send_queue", fig4, mismatch,
				   changed([](Segment &g) { g.opcode = op_terminate; }, 4)},
				  {"terminate_on_read_queue", fig4, mismatch,
				   changed(
					   [](Segment &g) {
						   g.opcode = op_terminate;
						   g.qn = q_read;
					   },
					   4)},
			  });
}

void add_msn(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 untagged 5, 4.3: begins with 1, one more each";
	const Verdict msn = terminates(ddp::untagged_msn);
	// Beyond the last posted buffer both codes are true.
	const Verdict beyond = terminates(ddp::untagged_msn, ddp::untagged_no_buffer);
	auto is = [](uint32_t m) { return changed([m](Segment &g) { g.msn = m; }); };
	c.insert(c.end(), {
				  {"msn_0_first", rfc, beyond, is(0)},
				  {"msn_2_first", rfc, msn, is(2)},
				  {"msn_100_first", rfc, beyond, is(100)},
				  {"msn_ffffffff_first", rfc, beyond, is(~0U)},
				  {"msn_repeated", rfc, msn,
				   [](Session &s) {
					   s.message();
					   s.offend(send_segment(1, pattern(40)));
				   }},
				  {"msn_skipped", rfc, msn,
				   [](Session &s) {
					   s.message();
					   s.message();
					   s.offend(send_segment(4, pattern(40)));
				   }},
				  {"msn_changes_in_message", "RFC 5041 4.3: same in each segment",
				   terminates(ddp::untagged_msn, ddp::untagged_mo),
				   after_first(send_segment(2, pattern(100), 100))},
				  {"message_never_finished", "RFC 5041 5.4",
				   terminates(ddp::untagged_msn, ddp::untagged_mo),
				   after_first(send_segment(2, pattern(100)))},
			  });
}

void add_mo(std::vector<Case> &c)
{
	// A receiver in stream order takes segments in MO order (RFC 5041 5.3: SHOULD).
	const char *rfc = "RFC 5041 7.1 untagged 3, 5.2, 5.4: all of the message";
	const Verdict mo = terminates(ddp::untagged_mo);
	auto is = [](uint32_t m) { return changed([m](Segment &g) { g.mo = m; }); };
	c.insert(c.end(),
		 {
			 {"mo_4_first", rfc, mo, is(4)},
			 {"mo_at_buffer_end", rfc, mo, is(1024)},
			 {"mo_behind_buffer", rfc, mo, is(100000)},
			 {"mo_ffffffff", rfc, mo, is(~0U)},
			 {"mo_plus_length_wraps", rfc, mo, is(~0U - 20)},
			 {"mo_gap", rfc, mo, after_first(send_segment(1, pattern(100), 200))},
			 {"mo_gap_of_one", rfc, mo,
			  after_first(send_segment(1, pattern(100), 101))},
			 {"mo_overlap", rfc, mo, after_first(send_segment(1, pattern(100), 50))},
			 {"mo_repeated", rfc, mo, after_first(send_segment(1, pattern(100), 0))},
			 {"mo_ffffffff_second", rfc, mo,
			  after_first(send_segment(1, pattern(100), ~0U))},
		 });
}

void add_buffers(std::vector<Case> &c)
{
	const char *too_long = "RFC 5041 7.1 untagged 4; RFC 5040 5.3";
	c.insert(c.end(),
		 {
			 {"no_receive_posted", "RFC 5041 7.1 untagged 2",
			  terminates(ddp::untagged_no_buffer),
			  [](Session &s) {
				  s.message();
				  s.offend(send_segment(2, pattern(40)));
			  },
			  one_receive},
			 {"no_receive_posted_zero_length", "RFC 5040 5.3: MUST consume a buffer",
			  terminates(ddp::untagged_no_buffer),
			  [](Session &s) {
				  s.message();
				  s.offend(send_segment(2, {}));
			  },
			  one_receive},
			 {"message_one_byte_too_long", too_long, terminates(ddp::untagged_too_long),
			  [](Session &s) {
				  s.may_touch_slot();
				  s.offend(send_segment(1, pattern(1025)));
			  }},
			 {"message_of_60000", too_long, terminates(ddp::untagged_too_long),
			  [](Session &s) {
				  s.may_touch_slot();
				  s.offend(send_segment(1, pattern(60000)));
			  }},
			 {"second_segment_too_long", too_long, terminates(ddp::untagged_too_long),
			  [](Session &s) {
				  s.begins(pattern(1000));
				  s.offend(send_segment(1, pattern(25), 1000));
			  }},
			 {"second_segment_at_buffer_end", too_long,
			  terminates(ddp::untagged_too_long, ddp::untagged_mo),
			  [](Session &s) {
				  s.begins(pattern(128));
				  s.offend(send_segment(1, pattern(1), 128));
			  },
			  small_receive},
			 {"message_fills_the_buffer", "RFC 5040 5.3: less or equal", lives(),
			  [](Session &s) { s.message(1024); }},
			 {"message_of_zero", "RFC 5040 5.3: MUST consume a buffer", lives(),
			  [](Session &s) { s.message(0); }},
			 {"empty_last_segment", "RFC 5041 5.2 does not forbid it", either(),
			  [](Session &s) {
				  s.may_touch_slot();
				  s.p.send(send_segment(1, pattern(40), 0, false));
				  s.p.send(send_segment(s.p.send_msn++, {}, 40));
			  }},
		 });
}

void add_control(std::vector<Case> &c)
{
	for (uint8_t v : {0, 2, 3}) {
		c.push_back({"ddp_version_" + std::to_string(v), "RFC 5041 7.2",
			     terminates(ddp::untagged_version),
			     changed([v](Segment &g) { g.dv = v; })});
		c.push_back({"rdmap_version_" + std::to_string(v),
			     "RFC 5040 4.8, 7.2; MPA rev 1 is not RDMAC",
			     terminates(rdmap::op_version),
			     changed([v](Segment &g) { g.rv = v; })});
	}
	for (uint8_t op : {0, 2, 12, 13, 14, 15})
		c.push_back({"opcode_" + std::to_string(op), "RFC 5040 4.8, 7.2, figure 4",
			     terminates(rdmap::op_opcode),
			     changed([op](Segment &g) { g.opcode = op; })});
	// Immediate data must be 8 bytes, and is unknown without RFC 7306.
	for (uint8_t op : {8, 9})
		c.push_back({"opcode_" + std::to_string(op),
			     "RFC 5040 figure 4, or RFC 7306 6.3 without a code", ends(),
			     [op](Session &s) {
				     Segment g = send_segment(1, pattern(40));
				     g.opcode = op;
				     s.p.send(g);
			     }});
	for (uint8_t op : {10, 11})
		c.push_back({"opcode_" + std::to_string(op),
			     "RFC 5040 figure 4, RFC 7306 figure 2: not on queue 0",
			     terminates(rdmap::op_opcode, ddp::untagged_qn),
			     changed([op](Segment &g) { g.opcode = op; })});
	c.insert(c.end(),
		 {
			 {"reserved_bits_and_invalidate_stag_set",
			  "RFC 5041 4.1, RFC 5040 4.1: ignored", lives(),
			  [](Session &s) {
				  Segment g = s.segment(pattern(40));
				  g.ddp_reserved = 15;
				  g.rdmap_reserved = 3;
				  g.inv_stag = s.v.rw->rkey();
				  s.sends(g);
			  }},
			 {"opcode_changes_in_message", "RFC 5041 4.3: not required to verify",
			  either(),
			  [](Session &s) {
				  Segment second = send_segment(s.p.send_msn++, pattern(40), 40);
				  second.opcode = op_send_se;
				  s.may_touch_slot();
				  s.p.send(send_segment(1, pattern(40), 0, false));
				  s.p.send(second);
			  }},
			 {"write_between_two_segments", "RFC 5041 5.3: messages in order", either(),
			  [](Session &s) {
				  s.may_touch_slot();
				  s.may_touch(*s.v.rw, {0, 40});
				  s.p.send(send_segment(1, pattern(40), 0, false));
				  s.p.send(write_to(*s.v.rw, 0, pattern(40)));
				  s.p.send(send_segment(s.p.send_msn++, pattern(40), 40));
			  }},
			 {"read_request_between_two_segments", "RFC 5041 5.3: messages in order",
			  either(),
			  [](Session &s) {
				  s.may_touch_slot();
				  s.p.send(send_segment(1, pattern(40), 0, false));
				  s.p.read({1, 2, 40, s.v.rw->rkey(), s.v.rw->base()});
				  s.p.send(send_segment(s.p.send_msn++, pattern(40), 40));
			  }},
		 });
}

// RFC 5040 figure 9 lists code 9 under both error types.
void add_invalidate(std::vector<Case> &c)
{
	const char *rfc = "RFC 5040 5.3, 7.2 (4, 5), figure 9; RFC 5042 6.4.5";
	using rdmap::op_invalidate, rdmap::prot_invalidate, rdmap::prot_stag, rdmap::prot_stream;
	auto invalidate = [](uint8_t op, std::function<uint32_t(Session &)> stag) {
		return [=](Session &s) {
			Segment g = send_segment(1, pattern(40));
			g.opcode = op;
			g.inv_stag = stag(s);
			s.may_touch_slot();
			s.offend(g);
		};
	};
	for (uint8_t op : {op_send_inv, op_send_se_inv}) {
		std::string name = op == op_send_inv ? "invalidate_" : "se_invalidate_";
		c.insert(c.end(),
			 {
				 {name + "ordinary_region", rfc,
				  terminates(op_invalidate, prot_invalidate),
				  invalidate(op, [](Session &s) { return s.v.rw->rkey(); })},
				 {name + "local_region", rfc,
				  terminates(op_invalidate, prot_invalidate),
				  invalidate(op, [](Session &s) { return s.v.local->rkey(); })},
				 {name + "other_pd", rfc,
				  terminates(op_invalidate, prot_invalidate, prot_stream),
				  invalidate(op, [](Session &s) { return s.v.alien->rkey(); })},
				 {name + "wrong_key", rfc,
				  terminates(op_invalidate, prot_invalidate, prot_stag),
				  invalidate(op, [](Session &s) { return s.v.rw->rkey() ^ 1; })},
				 {name + "stag_0", rfc,
				  terminates(op_invalidate, prot_invalidate, prot_stag),
				  invalidate(op, [](Session &) { return 0U; })},
				 {name + "stag_ffffffff", rfc,
				  terminates(op_invalidate, prot_invalidate, prot_stag),
				  invalidate(op, [](Session &) { return ~0U; })},
			 });
	}
}

INSTANTIATE_TEST_SUITE_P(untagged, Wire,
			 rows(add_queues, add_msn, add_mo, add_buffers, add_control,
			      add_invalidate),
			 RowName());

} // namespace
} // namespace peer
