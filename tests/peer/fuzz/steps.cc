// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Full Operation: segments of the peer and work requests of the victim.
#include <algorithm>
#include <system_error>

#include "session.h"

namespace live_fuzz {

using namespace iwarp;
using victim::Region;

namespace {

constexpr size_t reads_at_once = 3; // fewer than the victim's IRD

bool tagged_opcode(uint8_t opcode)
{
	return opcode == op_write || opcode == op_read_response;
}

} // namespace

Region &Session::region(Area a)
{
	const std::unique_ptr<Region> *all[] = {&v_->rw, &v_->wo, &v_->ro, &v_->local, &v_->alien};
	return **all[static_cast<size_t>(a)];
}

void Session::perform(const Step &s, Dice dice)
{
	if (!s.right()) {
		// From now on the victim may end the connection at any time.
		right_ = false;
		loose_ |= s.act == Act::any_segment ||
			  (s.fault != Fault::none && (plan_.sctp || !p_->out.mode().crc));
	}
	if (s.act <= Act::last_right)
		right(s, dice);
	else
		wrong(s, dice);
	if (right_ && s.wait)
		settle();
	else
		while (!gone_ && pump(Millis{0}))
			;
}

void Session::right(const Step &s, Dice &dice)
{
	Bytes data = dice.bytes(s.len);
	Region &r = region(s.area);

	switch (s.act) {
	case Act::send:
		to_receive_.push_back(data);
		message(send_segment(p_->send_msn++, data), s, dice);
		break;
	case Act::write:
		allowed_[&r].push_back({s.at, s.len});
		std::copy(data.begin(), data.end(), image_[&r].begin() + s.at);
		message(write_to(r, s.at, data), s, dice);
		break;
	case Act::read: {
		if (right_ && reads_.size() >= reads_at_once)
			settle();
		Read rd{next_sink_++, dice.two_words() >> 1, r.copy(s.at, s.len), {}};
		Step whole = s;
		whole.segments = 1;
		ReadRequest rr{rd.stag, rd.to, s.len, r.rkey(), r.base() + s.at};
		reads_.push_back(rd);
		message(read_request_segment(p_->read_msn++, rr), whole, dice);
		break;
	}
	default:
		post(s);
	}
}

void Session::post(const Step &s)
{
	Region &from = *v_->spare;

	if (!c_)
		return;
	// A peer whose IRD is 0 receives no Read Requests.
	const std::optional<Enhanced> &e = plan_.startup.victim_initiates ? p_->reply.enhanced :
									    p_->request.enhanced;
	if (s.act == Act::victim_read && e && e->ird == 0)
		return;
	try {
		if (s.act == Act::victim_send) {
			incoming_.emplace_back(op_send, from.copy(s.at, s.len));
			c_->post_send(from, s.at, s.len);
		} else if (s.act == Act::victim_write) {
			incoming_.emplace_back(op_write, from.copy(s.at, s.len));
			c_->post_write(from, s.at, s.len, 0xABCD, 0x10000);
		} else {
			allowed_[&from].push_back({s.at, s.len});
			// If two reads overlap in their sink, the second one's data stay only if
			// the second begins after the first has completed.
			if (right_)
				settle();
			c_->post_read(from, s.at, s.len, 0xEE, s.at);
		}
		posted_++;
	} catch (const std::system_error &e) {
		post_failed_ = true;
		if (right_)
			fault(std::string("posting fails: ") + e.what());
	}
}

// Sends a message in segments of random lengths. The fault of the step is in one of them.
void Session::message(const Segment &whole, const Step &s, Dice &dice)
{
	std::vector<size_t> cuts;

	for (uint32_t i = 1; i < s.segments; i++)
		cuts.push_back(dice.below(static_cast<uint32_t>(whole.payload.size()) + 1));
	std::sort(cuts.begin(), cuts.end());
	const std::vector<Segment> parts = cut_at(whole, cuts);
	for (size_t i = 0; i < parts.size(); i++)
		emit(parts[i], s, s.where % parts.size() == i);
}

void Session::spoil(Bytes &o, const Step &s) const
{
	size_t at = s.where / 7 % o.size();

	switch (s.fault) {
	case Fault::flip:
		o[at] ^= static_cast<uint8_t>(1 << s.value % 8);
		break;
	case Fault::drop:
		o.erase(o.begin() + static_cast<ptrdiff_t>(at));
		break;
	case Fault::insert:
		o.insert(o.begin() + static_cast<ptrdiff_t>(at), static_cast<uint8_t>(s.value));
		break;
	case Fault::cut:
		o.resize(at);
		break;
	case Fault::twice:
		put(o, Bytes(o));
		break;
	default:
		break;
	}
}

void Session::emit_message(const Bytes &segment, const Step &step, bool faulty)
{
	uint16_t ssn = p_->association->ssn++;
	sctp::Message m;

	if (faulty && step.fault == Fault::crc)
		m.ppid = step.value | 1;
	if (faulty && step.fault == Fault::marker)
		m.unordered = false;
	if (faulty && step.fault == Fault::length)
		ssn = static_cast<uint16_t>(ssn + (step.value | 1));
	if (faulty && step.fault == Fault::pad)
		ssn = static_cast<uint16_t>(ssn - 1);
	put16(m.data, ssn);
	put(m.data, segment);
	if (faulty)
		spoil(m.data, step);
	// SCTP cannot send empty messages.
	if (!m.data.empty())
		send(m);
}

void Session::emit(const Segment &segment, const Step &step, bool faulty)
{
	Segment s = segment;
	FpduFault f;

	if (plan_.sctp)
		return emit_message(step.act == Act::short_segment ? s.payload : s.encode(), step,
				    faulty);
	if (version_0()) {
		s.dv ^= 1;
		s.rv ^= 1;
	}
	if (faulty && step.fault == Fault::crc)
		f.crc_xor = step.value | 1;
	if (faulty && step.fault == Fault::length)
		f.length = static_cast<uint16_t>(step.value);
	if (faulty && step.fault == Fault::pad)
		f.pad = static_cast<uint8_t>(step.value);
	if (faulty && step.fault == Fault::marker)
		f.marker = [&](Marker m) {
			return Marker{m.reserved, static_cast<uint16_t>(m.fpdu_ptr ^ step.value)};
		};
	Bytes o = p_->out.encode(step.act == Act::short_segment ? s.payload : s.encode(), f);
	if (faulty)
		spoil(o, step);
	send(o);
}

ReadRequest Session::wrong_read(const Step &s)
{
	Region &r = region(s.area);
	ReadRequest rr{next_sink_++, 0, s.len, r.rkey(), r.base() + s.at};

	if (s.act == Act::read_no_stag)
		rr.src_stag ^= 1 + s.value % 255;
	if (s.act == Act::read_outside)
		rr.src_to = s.value & 1 ? r.end() - s.len / 2 :
			    s.value & 2 ? r.base() - 1 - s.len / 2 :
					  s.value;
	return rr;
}

Segment Session::wrong_segment(const Step &s, Dice &dice)
{
	Region &r = region(s.area);
	Bytes data = dice.bytes(s.len);
	Segment w = write_to(r, s.at, data), m = send_segment(p_->send_msn, data);

	switch (s.act) {
	case Act::send_too_long:
		return send_segment(p_->send_msn, dice.bytes(receive_size + s.len));
	case Act::send_wrong_msn:
		m.msn += s.value | 1;
		return m;
	case Act::send_wrong_mo:
		m.mo = s.value | 1;
		return m;
	case Act::write_forbidden:
		return w;
	case Act::write_no_stag:
		w.stag ^= 1 + s.value % 255;
		return w;
	case Act::write_outside:
		w.to = s.value & 1 ? r.end() - s.len / 2 :
		       s.value & 2 ? r.base() - 1 - s.len / 2 :
				     s.value;
		return w;
	case Act::response_unasked:
		return read_response_segment(s.value, s.where, data, dice.chance(80));
	case Act::terminate: {
		Terminate t;
		t.code = {static_cast<uint8_t>(s.value & 3), static_cast<uint8_t>(s.value >> 2 & 3),
			  static_cast<uint8_t>(s.value >> 4)};
		t.m = s.where & 1;
		t.d = s.where & 2;
		t.r = s.where & 4;
		t.ddp_header = dice.bytes(dice.below(20));
		t.rdmap_header = dice.bytes(dice.below(40));
		return terminate_segment(t.encode());
	}
	case Act::short_segment:
		m.payload.resize(std::min<size_t>(m.payload.size(), s.value % 18));
		return m;
	case Act::wrong_queue:
		m.qn = 1 + s.value % 5;
		return m;
	default:
		break;
	}
	// any_segment: random fields, each of them correct with some probability.
	Segment any = dice.chance(50) ? w : m;
	any.opcode = dice.chance(50) ? any.opcode : static_cast<uint8_t>(dice.below(16));
	any.tagged = dice.chance(80) ? tagged_opcode(any.opcode) : dice.chance(50);
	any.last = dice.chance(70);
	any.dv = static_cast<uint8_t>(dice.chance(80) ? 1 : dice.below(4));
	any.rv = static_cast<uint8_t>(dice.chance(80) ? 1 : dice.below(4));
	any.ddp_reserved = static_cast<uint8_t>(dice.below(16));
	any.rdmap_reserved = static_cast<uint8_t>(dice.below(4));
	any.qn = dice.chance(70) ? any.qn : dice.below(5);
	any.msn = dice.chance(70) ? p_->send_msn : dice.word();
	any.inv_stag =
		dice.chance(50) ?
			region(dice.any({Area::rw, Area::wo, Area::ro, Area::local})).rkey() :
			dice.word();
	return any;
}

void Session::wrong(const Step &s, Dice &dice)
{
	switch (s.act) {
	case Act::read_forbidden:
	case Act::read_no_stag:
	case Act::read_outside:
		emit(read_request_segment(p_->read_msn, wrong_read(s)), s, false);
		break;
	case Act::too_many_reads:
		for (unsigned i = 0; i < 40 && !gone_; i++)
			emit(read_request_segment(p_->read_msn++, {next_sink_++, 0, 4000,
								   v_->rw->rkey(), v_->rw->base()}),
			     s, false);
		break;
	default:
		emit(wrong_segment(s, dice), s, false);
	}
}

} // namespace live_fuzz
