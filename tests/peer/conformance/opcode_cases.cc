// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Every opcode, tagged and untagged, on every kind of queue, with and without the Last flag;
// versions.
#include "../session/session.h"

namespace peer {
namespace {

constexpr const char *op_names[] = {
	"write",       "read_request", "read_response", "send",	 "send_inv", "send_se",
	"send_se_inv", "terminate",    "op_8",		"op_9",	 "op_10",    "op_11",
	"op_12",       "op_13",	       "op_14",		"op_15",
};

// RFC 7306 figure 2
constexpr uint8_t op_imm = 8, op_imm_se = 9, op_atomic_request = 10, op_atomic_response = 11;
constexpr uint32_t q_atomic = 3;

constexpr uint32_t queues[] = {q_send, q_read, q_terminate, 3, 4, 255, 0x80000000, 0xFFFFFFFF};

bool is_send(uint8_t op)
{
	return op >= op_send && op <= op_send_se_inv;
}

bool invalidates(uint8_t op)
{
	return op == op_send_inv || op == op_send_se_inv;
}

// RFC 5040 figure 4, RFC 7306 figure 3: the queue of an untagged opcode, if it has one.
std::optional<uint32_t> queue_of(uint8_t op)
{
	if (is_send(op))
		return q_send;
	if (op == op_read_request)
		return q_read;
	if (op == op_terminate)
		return q_terminate;
	if (op == op_imm || op == op_imm_se)
		return q_send;
	if (op == op_atomic_request)
		return q_read;
	if (op == op_atomic_response)
		return q_atomic;
	return {};
}

// A payload that is right for the opcode.
Bytes payload_of(Session &s, uint8_t op)
{
	if (op == op_read_request)
		return ReadRequest{1, 2, 40, s.v.rw->rkey(), s.v.rw->base()}.encode();
	if (op == op_terminate)
		return Terminate{.code = rdmap::op_opcode}.encode();
	return pattern(40);
}

Segment untagged(Session &s, uint8_t op, uint32_t qn, bool last)
{
	Segment g = send_segment(1, payload_of(s, op));
	g.opcode = op;
	g.qn = qn;
	g.last = last;
	if (invalidates(op))
		g.inv_stag = s.v.rw->rkey();
	return g;
}

// A Send of two segments, the first of which is g.
void send_in_two(Session &s, const Segment &g)
{
	Segment rest = g;
	rest.mo = static_cast<uint32_t>(g.payload.size());
	rest.payload = pattern(100, 2);
	rest.last = true;
	s.p.send(g);
	s.p.send(rest);
	s.p.send_msn++;
	s.delivers(join({g.payload, rest.payload}));
}

Verdict outcome_in_place(uint8_t op, bool last)
{
	// A consumer's ordinary region is not one that a peer may invalidate. Figure 9 has the code
	// twice.
	if (invalidates(op))
		return terminates(rdmap::prot_invalidate, rdmap::op_invalidate);
	// It would go on in a second segment, for which the queue's 28-byte buffer has no room.
	if (op == op_read_request && !last)
		return terminates(ddp::untagged_too_long);
	// Of RFC 7306, with 40 bytes instead of the 8, 52 and 12 that they have. tests/verbs has
	// the right ones.
	if (op == op_atomic_response || (op == op_atomic_request && !last))
		return terminates(ddp::untagged_too_long);
	if (op >= op_imm && op <= op_atomic_request)
		return {Fate::terminates, {rdmap::op_stream}, "length_errors"};
	// Nothing follows a Terminate (RFC 5040 5.4), so without the Last flag it is no less the
	// end.
	if (op == op_terminate)
		return closes("rx_terminate");
	return lives();
}

// The queue is the opcode's.
void in_place(Session &s, uint8_t op, bool last)
{
	Segment g = untagged(s, op, *queue_of(op), last);
	if (invalidates(op)) {
		s.may_touch_slot();
		if (last)
			return s.offend(g);
		s.p.send(g);
		g.mo = 40;
		g.last = true;
		return s.offend(g);
	}
	if (is_send(op)) {
		if (!last)
			return send_in_two(s, g);
		s.p.send(g);
		s.p.send_msn++;
		return s.delivers(g.payload);
	}
	if (outcome_in_place(op, last).counter == "length_errors")
		s.bed.expect_count("rdmap_operation_errors"); // the class, besides what it is about
	if (op != op_read_request || !last)
		return s.offend(g);
	s.p.send(g);
	s.p.read_msn++;
	const Segment answer = s.p.next();
	EXPECT_EQ(answer.encode(), read_response_segment(1, 2, s.v.rw->copy(0, 40)).encode());
}

void add_untagged(std::vector<Case> &c)
{
	const char *fig4 = "RFC 5040 4.3 figure 4; RFC 7306 4";
	for (uint8_t op = 0; op < 16; op++) {
		for (uint32_t qn : queues) {
			for (bool last : {true, false}) {
				std::string name = std::string("untagged_") + op_names[op] +
						   "_queue_" + hex(qn) + (last ? "" : "_not_last");
				if (queue_of(op) == qn) {
					c.push_back({name, fig4, outcome_in_place(op, last),
						     [=](Session &s) { in_place(s, op, last); }});
					continue;
				}
				// DDP's check is first (RFC 5040 7.2: the DDP layer validates its
				// fields). On a queue that is there, "unexpected opcode" is RDMAP's
				// name for it, and "invalid QN" DDP's for a queue not valid for the
				// message.
				Verdict o = qn > q_terminate ? terminates(ddp::untagged_qn) :
							       terminates(rdmap::op_opcode);
				// RFC 7306 4: queue 3 is that of atomics.
				if (qn == q_atomic)
					o = terminates(rdmap::op_opcode);
				c.push_back({name,
					     qn > q_terminate ? "RFC 5041 7.1 untagged 1" : fig4, o,
					     [=](Session &s) {
						     s.offend(untagged(s, op, qn, last));
					     }});
			}
		}
	}
}

void write_in_place(Session &s, bool last)
{
	Segment g = write_to(*s.v.rw, 100, pattern(40), last);
	s.p.send(g);
	s.places(*s.v.rw, 100, g.payload);
	if (!last) {
		s.writes(*s.v.rw, 140, pattern(60, 2));
	}
}

void add_tagged(std::vector<Case> &c)
{
	for (uint8_t op = 0; op < 16; op++) {
		for (bool last : {true, false}) {
			std::string name = std::string("tagged_") + op_names[op] +
					   (last ? "" : "_not_last");
			if (op == op_write) {
				c.push_back({name, "RFC 5040 5.1", lives(),
					     [=](Session &s) { write_in_place(s, last); }});
				continue;
			}
			// A response that nobody asked for has no valid sink, and is not expected.
			Verdict o = op == op_read_response ?
					    terminates(rdmap::op_opcode, ddp::tagged_stag) :
					    terminates(rdmap::op_opcode);
			c.push_back({name, "RFC 5040 figure 4, 7.2 (2), figure 9", o,
				     [=](Session &s) {
					     Segment g = write_to(*s.v.rw, 0, pattern(40), last);
					     g.opcode = op;
					     s.offend(g);
				     }});
		}
	}
}

// All values of both version fields; only 1 and 1 is right (RFC 5044 C.1: no mixing).
void add_versions(std::vector<Case> &c)
{
	for (bool tagged : {false, true})
		for (uint8_t dv = 0; dv < 4; dv++)
			for (uint8_t rv = 0; rv < 4; rv++) {
				if (dv == 1 && rv == 1)
					continue;
				Verdict o = dv != 1 ? terminates(tagged ? ddp::tagged_version :
									  ddp::untagged_version) :
						      terminates(rdmap::op_version);
				c.push_back({std::string(tagged ? "tagged" : "untagged") +
						     "_ddp_version_" + std::to_string(dv) +
						     "_rdmap_version_" + std::to_string(rv),
					     dv != 1 ? "RFC 5041 4.2, 7.2" :
						       "RFC 5040 4.1, figure 9",
					     o, [=](Session &s) {
						     Segment g =
							     tagged ? write_to(*s.v.rw, 0,
									       pattern(40)) :
								      send_segment(1, pattern(40));
						     g.dv = dv;
						     g.rv = rv;
						     s.offend(g);
					     }});
			}
}

// Reserved bits: RFC 5041 4.1 "not checked on receive", RFC 5040 4.1 "ignored".
void add_reserved(std::vector<Case> &c)
{
	for (uint8_t bits = 1; bits < 16; bits = static_cast<uint8_t>(bits << 1)) {
		c.push_back({"untagged_ddp_reserved_" + hex(bits), "RFC 5041 4.1", lives(),
			     [=](Session &s) {
				     Segment g = s.segment(pattern(33));
				     g.ddp_reserved = bits;
				     s.sends(g);
			     }});
		c.push_back({"tagged_ddp_reserved_" + hex(bits), "RFC 5041 4.1", lives(),
			     [=](Session &s) {
				     Segment g = write_to(*s.v.rw, 0, pattern(33));
				     g.ddp_reserved = bits;
				     s.p.send(g);
				     s.places(*s.v.rw, 0, g.payload);
			     }});
	}
	for (uint8_t bits : {1, 2})
		c.push_back({"rdmap_reserved_" + hex(bits), "RFC 5040 4.1", lives(),
			     [=](Session &s) {
				     Segment g = s.segment(pattern(33));
				     g.rdmap_reserved = bits;
				     s.sends(g);
			     }});
	c.push_back({"invalidate_stag_field_in_a_plain_send", "RFC 5040 4.1: ignored there",
		     lives(), [](Session &s) {
			     Segment g = s.segment(pattern(33));
			     g.inv_stag = s.v.rw->rkey();
			     s.sends(g);
			     s.writes(*s.v.rw, 0, pattern(10));
		     }});
}

INSTANTIATE_TEST_SUITE_P(Opcode, Wire, rows(add_untagged, add_tagged, add_versions, add_reserved),
			 RowName());

} // namespace
} // namespace peer
