// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cases.h"

namespace peer {
namespace {

Segment edited(Segment s, const Edit &change)
{
	if (change)
		change(s);
	return s;
}

} // namespace

uint32_t Place::stag_in(const Session &s) const
{
	return stag.value_or((s.v.*region)->rkey() ^ stag_xor);
}

uint64_t Place::to_in(const Session &s) const
{
	return to.value_or((s.v.*region)->base() + static_cast<uint64_t>(at));
}

Segment Place::write(const Session &s) const
{
	return write_segment(stag_in(s), to_in(s), pattern(len));
}

Segment Place::read(Session &s) const
{
	return read_request_segment(s.p.read_msn++,
				    {sink_stag, sink_to, len, stag_in(s), to_in(s)});
}

Act offends(const Segment &wrong, const FpduFault &fault)
{
	return [=](Session &s) { s.offend(wrong, fault); };
}

Act wrong_send(const Edit &change, size_t len, const FpduFault &fault)
{
	return [=](Session &s) { s.offend(edited(send_segment(1, pattern(len)), change), fault); };
}

Act wrong_write(const Place &where, const Edit &change, const FpduFault &fault)
{
	return [=](Session &s) { s.offend(edited(where.write(s), change), fault); };
}

Act wrong_read(const Place &where, const Edit &change)
{
	return [=](Session &s) { s.offend(edited(where.read(s), change)); };
}

Act wrong_terminate(const Edit &change)
{
	return offends(edited(terminate_segment(mpa::crc), change));
}

Act wrong_write_to_deregistered()
{
	return [](Session &s) {
		auto gone =
			std::make_unique<Region>(s.v.pd(), 4096,
						 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		const Segment g = write_to(*gone, 0, pattern(40));
		gone.reset();
		s.offend(g);
	};
}

Act at_once(const std::vector<Segment> &all)
{
	return [=](Session &s) { s.p.send_at_once(all); };
}

Act fpdus(const std::vector<FaultyFpdu> &all)
{
	return [=](Session &s) {
		Bytes o;
		for (const FaultyFpdu &f : all)
			put(o, s.p.out.encode(f.segment.encode(), f.fault));
		s.p.socket.send(o);
	};
}

Act first_bytes(const Segment &whole, size_t n)
{
	return [=](Session &s) { s.p.socket.send(View(s.p.out.encode(whole.encode())).first(n)); };
}

Act after_messages(unsigned n, const Act &act)
{
	return [=](Session &s) {
		for (unsigned i = 0; i < n; i++)
			s.message();
		act(s);
	};
}

Act after_first(const Segment &second, size_t first, const FpduFault &fault)
{
	return [=](Session &s) {
		s.begins(pattern(first));
		s.offend(second, fault);
	};
}

Act with_access(int access, const Act &act)
{
	return after_messages(1, [=](Session &s) {
		s.c().allow(access);
		act(s);
	});
}

Act invalidates(uint8_t opcode, const Place &where, size_t len)
{
	return [=](Session &s) {
		Segment g = send_segment(1, pattern(len));
		g.opcode = opcode;
		g.inv_stag = where.stag_in(s);
		s.may_touch_slot();
		s.offend(g);
	};
}

Act right_send(const Edit &change, size_t len, const FpduFault &fault)
{
	return [=](Session &s) { s.sends(edited(s.segment(pattern(len)), change), fault); };
}

Act right_write(const Place &where, const Edit &change)
{
	return [=](Session &s) {
		const Segment g = edited(where.write(s), change);
		s.p.send(g);
		if (where.len)
			s.places(*(s.v.*where.region), where.at, g.payload);
	};
}

Act right_read(const Place &where)
{
	return [=](Session &s) {
		s.p.send(where.read(s));
		const Segment answer = s.receives(op_read_response);
		EXPECT_EQ(answer.stag, sink_stag);
		EXPECT_EQ(answer.to, sink_to);
		const size_t at = where.len ? static_cast<size_t>(where.at) : 0;
		EXPECT_TRUE(same(answer.payload, (s.v.*where.region)->copy(at, where.len)));
	};
}

void read_at_once(Session &s, unsigned n, uint32_t len)
{
	std::vector<Segment> requests;
	for (unsigned i = 0; i < n; i++)
		requests.push_back(Place{.len = len}.read(s));
	s.p.send_at_once(requests);
}

Act reads_beyond_ird(unsigned extra)
{
	return [extra](Session &s) {
		// One call: a slow peer would still be sending when the device, after the error and
		// its wait for the peer's FIN, resets the connection.
		read_at_once(s, s.v.options().ird + extra, static_cast<uint32_t>(s.v.rw->size()));
		ASSERT_TRUE(eventually([&] { return s.bed.any_error(); }))
			<< "the Read Request beyond IRD raises no error";
	};
}

Act then_message(const Act &act)
{
	return [=](Session &s) {
		act(s);
		s.message();
	};
}

Act then_fin(const Act &act)
{
	return [=](Session &s) {
		act(s);
		s.p.finish();
	};
}

} // namespace peer
