// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Every opcode, tagged and untagged, on every kind of queue, with and without the Last flag;
// versions and reserved bits.
#include "../session/cases.h"

namespace peer {
namespace {

constexpr uint32_t queues[] = {q_send, q_read, q_terminate, 3, 4, 255, 0x80000000, 0xFFFFFFFF};

bool is_send(uint8_t op)
{
	return op >= op_send && op <= op_send_se_inv;
}

bool invalidates(uint8_t op)
{
	return op == op_send_inv || op == op_send_se_inv;
}

// Returns the queue of an untagged opcode, if it has one: RFC 5040 figure 4, RFC 7306 figure 3.
std::optional<uint32_t> queue_of(uint8_t op)
{
	if (is_send(op) || op == op_imm || op == op_imm_se)
		return q_send;
	if (op == op_read_request || op == op_atomic_request)
		return q_read;
	if (op == op_terminate)
		return q_terminate;
	if (op == op_atomic_response)
		return q_atomic;
	return {};
}

// Returns a correct payload for an opcode of RFC 5040, and 40 bytes for any other one.
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

// Sends a message of two segments, the first of which is g, and checks that it is delivered.
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
	// A peer must not invalidate an ordinary memory region. Figure 9 has this error twice: as
	// protection and as operation error.
	if (invalidates(op))
		return terminates(rdmap::prot_invalidate, rdmap::op_invalidate);
	// Without the Last flag, a Read Request is longer than the 28-byte buffers of its queue.
	if (op == op_read_request && !last)
		return terminates(ddp::untagged_too_long);
	// The messages of RFC 7306 have 40 bytes here instead of 8 (immediate data), 52 (atomic
	// request) and 12 (atomic response). The groups Atomic* and tests/verbs cover correct ones.
	if (op == op_atomic_response || (op == op_atomic_request && !last))
		return terminates(ddp::untagged_too_long);
	if (op >= op_imm && op <= op_atomic_request)
		return {Fate::terminates, {rdmap::op_stream}, "length_errors"};
	// A Terminate is the last message (RFC 5040 5.4), even without the Last flag.
	if (op == op_terminate)
		return closes("rx_terminate");
	return lives();
}

// Sends the opcode on its own queue and checks the effect of a legal message.
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
		s.p.send_msn++;
		return s.sends(g);
	}
	if (op != op_read_request || !last)
		return s.offend(g);
	right_read()(s);
}

void add_untagged(Table &t)
{
	const char *fig4 = "RFC 5040 4.3 figure 4; RFC 7306 4";
	// DDP checks its fields first (RFC 5040 7.2). A queue that does not exist is DDP's error
	// "invalid QN". An existing queue that is not the opcode's is RDMAP's error "unexpected
	// opcode".
	Rule opcode(t, fig4, terminates(rdmap::op_opcode));
	Rule queue(t, "RFC 5041 7.1 untagged 1", terminates(ddp::untagged_qn));
	// RFC 7306 4: queue 3 exists, for atomic responses.
	Rule atomic(t, "RFC 5041 7.1 untagged 1", terminates(rdmap::op_opcode));
	for (uint8_t op = 0; op < 16; op++)
		for (uint32_t qn : queues)
			for (bool last : {true, false}) {
				const std::string name = std::format("untagged_{}_queue_{:x}{}",
								     op_names[op], qn,
								     last ? "" : "_not_last");
				if (queue_of(op) == qn) {
					Rule(t, fig4, outcome_in_place(op, last))
						.add(name,
						     [=](Session &s) { in_place(s, op, last); });
					continue;
				}
				const Rule &rule = qn <= q_terminate ? opcode :
						   qn == q_atomic    ? atomic :
								       queue;
				rule.add(name,
					 [=](Session &s) { s.offend(untagged(s, op, qn, last)); });
			}
}

void add_tagged(Table &t)
{
	Rule write(t, "RFC 5040 5.1", lives());
	write.add("tagged_write", right_write({.at = 100}));
	write.add("tagged_write_not_last", [](Session &s) {
		right_write({.at = 100}, [](Segment &g) { g.last = false; })(s);
		s.writes(*s.v.rw, 140, pattern(60, 2));
	});
	const char *fig4 = "RFC 5040 figure 4, 7.2 (2), figure 9";
	Rule opcode(t, fig4, terminates(rdmap::op_opcode));
	// A Read Response without a Read Request has an invalid sink STag (DDP) and an unexpected
	// opcode (RDMAP).
	Rule response(t, fig4, terminates(rdmap::op_opcode, ddp::tagged_stag));
	for (uint8_t op = 1; op < 16; op++)
		for (bool last : {true, false})
			(op == op_read_response ? response : opcode)
				.add(std::format("tagged_{}{}", op_names[op],
						 last ? "" : "_not_last"),
				     wrong_write({}, [=](Segment &g) {
					     g.opcode = op;
					     g.last = last;
				     }));
}

// All values of both version fields. Only version 1 of both is correct (RFC 5044 C.1).
void add_versions(Table &t)
{
	for (uint8_t dv = 0; dv < 4; dv++)
		for (uint8_t rv = 0; rv < 4; rv++) {
			if (dv == 1 && rv == 1)
				continue;
			const bool ddp = dv != 1;
			const char *rfc = ddp ? "RFC 5041 4.2, 7.2" : "RFC 5040 4.1, figure 9";
			const std::string name =
				std::format("_ddp_version_{}_rdmap_version_{}", dv, rv);
			auto edit = [=](Segment &g) {
				g.dv = dv;
				g.rv = rv;
			};
			Rule(t, rfc, terminates(ddp ? ddp::tagged_version : rdmap::op_version))
				.add("tagged" + name, wrong_write({}, edit));
			Rule(t, rfc, terminates(ddp ? ddp::untagged_version : rdmap::op_version))
				.add("untagged" + name, wrong_send(edit));
		}
}

// Reserved bits: RFC 5041 4.1 "not checked on receive", RFC 5040 4.1 "ignored".
void add_reserved(Table &t)
{
	Rule ddp(t, "RFC 5041 4.1", lives()), rdmap(t, "RFC 5040 4.1", lives());
	for (uint8_t bits : {1, 2, 4, 8}) {
		auto edit = [bits](Segment &g) { g.ddp_reserved = bits; };
		ddp.add(std::format("untagged_ddp_reserved_{:x}", bits), right_send(edit, 33));
		ddp.add(std::format("tagged_ddp_reserved_{:x}", bits),
			right_write({.len = 33}, edit));
	}
	for (uint8_t bits : {1, 2})
		rdmap.add(std::format("rdmap_reserved_{:x}", bits),
			  right_send([bits](Segment &g) { g.rdmap_reserved = bits; }, 33));
	Rule(t, "RFC 5040 4.1: ignored in a plain Send", lives())
		.add("invalidate_stag_field_in_a_plain_send", [](Session &s) {
			Segment g = s.segment(pattern(33));
			g.inv_stag = s.v.rw->rkey();
			s.sends(g);
			s.writes(*s.v.rw, 0, pattern(10));
		});
}

INSTANTIATE_TEST_SUITE_P(Opcode, Wire, rows(add_untagged, add_tagged, add_versions, add_reserved),
			 RowName());

} // namespace
} // namespace peer
