// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "plan.h"

#include <algorithm>
#include <iterator>
#include <ostream>

namespace live_fuzz {
namespace {

Policy draw_policy(Dice &d)
{
	Policy p;
	p.mpa_rev = d.chance(75) ? 2 : d.chance(80) ? 1 : 0;
	p.permissive = d.chance(80);
	p.crc = d.any({"off", "preferred", "required"});
	p.markers = d.chance(35);
	p.p2p = d.any({"off", "send write read rtr-frame", "write", "read", "send", "write read"});
	p.fpdu = d.any({"emss", "large"});
	return p;
}

// Returns the revision of the peer's startup frame: one that the policy allows, or any of 0 to 3.
// Revision 0 always has markers and CRCs, and version 0 of DDP.
uint8_t draw_rev(Dice &d, const Policy &policy, bool any)
{
	if (any)
		return static_cast<uint8_t>(d.below(4));
	if (!policy.mpa_rev || (policy.permissive && d.chance(12)))
		return 0;
	return static_cast<uint8_t>(d.from(1, policy.mpa_rev));
}

Startup draw_startup(Dice &d, Policy &policy, bool wrong)
{
	Startup s;
	s.victim_initiates = d.chance(40);
	// Only a listening victim can reject.
	s.victim_rejects = !s.victim_initiates && d.chance(4);
	s.rev = draw_rev(d, policy, wrong && d.chance(20));
	s.m = d.chance(40);
	s.c = d.chance(70);
	s.enhanced.ird = static_cast<uint16_t>(d.chance(10) ? 0x3FFF : d.below(9));
	s.enhanced.ord = static_cast<uint16_t>(d.chance(10) ? 0x3FFF : d.below(9));
	s.enhanced.a = d.chance(50);
	s.enhanced.b = d.chance(60);
	s.enhanced.c = d.chance(60);
	// A Read as RTR message needs a place within ORD.
	s.enhanced.d = d.chance(60) && s.enhanced.ord;
	if (s.enhanced.a && !s.enhanced.b && !s.enhanced.c && !s.enhanced.d)
		s.enhanced.c = true;
	// An event of iw_cm carries at most 255 bytes, so the device rejects a frame with more.
	s.private_data = d.chance(50) ? 0 : d.below(d.chance(50) ? 64 : wrong ? 500 : 256);
	s.rtr_frame = d.chance(50);
	if (!wrong)
		return s;
	s.fault = static_cast<StartupFault>(d.from(1, static_cast<uint32_t>(StartupFault::twice)));
	s.at = d.word();
	s.value = d.word();
	if (s.fault == StartupFault::silence)
		policy.startup_timeout_ms = 300;
	return s;
}

uint32_t some_len(Dice &d, uint32_t limit)
{
	switch (d.below(4)) {
	case 0:
		return d.below(std::min(limit, 16U) + 1);
	case 1:
		return d.below(std::min(limit, 600U) + 1);
	default:
		return d.below(limit + 1);
	}
}

Step draw_right(Dice &d, bool victim_may, uint32_t &sends)
{
	Step s;
	s.act = static_cast<Act>(
		d.below(static_cast<uint32_t>(victim_may ? Act::last_right : Act::read) + 1));
	// One receive is kept for the message that ends the session.
	if (s.act == Act::send && ++sends >= receives)
		s.act = Act::write;
	s.segments = d.chance(60) ? 1 : d.from(2, 5);
	s.wait = d.chance(40);
	switch (s.act) {
	case Act::send:
		s.len = some_len(d, receive_size);
		break;
	case Act::write:
		s.area = d.any({Area::rw, Area::wo});
		s.len = some_len(d, s.area == Area::rw ? 9000 : 3000);
		s.at = d.below((s.area == Area::rw ? written_half : region_size) - s.len + 1);
		break;
	case Act::read:
		s.area = d.any({Area::rw, Area::ro});
		s.len = some_len(d, s.area == Area::rw ? 9000 : 3000);
		s.at = s.area == Area::rw ?
			       written_half + d.below(rw_size - written_half - s.len + 1) :
			       d.below(region_size - s.len + 1);
		break;
	default:
		// Sends and Writes take data from the first half of the spare region; Reads place
		// data into the second.
		s.len = some_len(d, 1500);
		s.at = d.below(region_size / 2 - s.len + 1);
		if (s.act == Act::victim_read)
			s.at += region_size / 2;
	}
	return s;
}

Step draw_wrong(Dice &d, uint32_t &sends)
{
	Step s;
	if (d.chance(50)) {
		s = draw_right(d, false, sends);
		s.fault = static_cast<Fault>(d.from(1, static_cast<uint32_t>(Fault::pad)));
	} else {
		s.act = static_cast<Act>(d.from(static_cast<uint32_t>(Act::last_right) + 1,
						static_cast<uint32_t>(Act::last)));
		s.len = d.from(1, 1400);
		s.at = d.below(region_size - s.len);
		s.area = s.act == Act::write_forbidden ?
				 d.any({Area::ro, Area::local, Area::alien}) :
			 s.act == Act::read_forbidden ?
				 d.any({Area::wo, Area::local, Area::alien}) :
				 d.any({Area::rw, Area::wo});
		if (s.act == Act::read_outside)
			s.area = d.any({Area::rw, Area::ro});
	}
	s.where = d.word();
	s.value = d.word();
	return s;
}

std::vector<uint32_t> draw_chunks(Dice &d)
{
	uint32_t most = d.any({1U, 7U, 60U, 600U, 1460U, 5000U});
	std::vector<uint32_t> c(d.from(1, 6));
	for (uint32_t &n : c)
		n = d.from(1, most);
	if (d.chance(30))
		c = {UINT32_MAX};
	return c;
}

// Removes from a plan what only MPA has: revision 0, markers, CRCs, the peer-to-peer model.
void over_sctp(Plan &p)
{
	Startup &s = p.startup;
	p.sctp = true;
	p.policy.mpa_rev = std::max(p.policy.mpa_rev, 1U);
	p.policy.crc = "preferred";
	p.policy.markers = false;
	p.policy.p2p = "off";
	s.rev = std::clamp<uint8_t>(s.rev, 1, s.fault == StartupFault::none ? p.policy.mpa_rev : 2);
	s.m = s.c = s.rtr_frame = false;
	s.enhanced.a = s.enhanced.b = s.enhanced.c = s.enhanced.d = false;
}

} // namespace

bool Plan::rev_served() const
{
	return startup.rev ? startup.rev <= policy.mpa_rev : !policy.mpa_rev || policy.permissive;
}

bool Plan::starts_right() const
{
	return startup.fault == StartupFault::none && !startup.victim_rejects &&
	       (startup.victim_initiates || rev_served());
}

bool Plan::right() const
{
	return starts_right() && (ending == Ending::fin || ending == Ending::victim_disconnects) &&
	       std::all_of(steps.begin(), steps.end(), [](const Step &s) { return s.right(); });
}

Plan draw(uint64_t seed, bool sctp)
{
	Dice d(seed);
	Plan p;
	uint32_t sends = 0;
	unsigned wrong = d.chance(30) ? 0 : d.from(1, 3);
	bool startup_wrong = wrong && d.chance(20);

	p.seed = seed;
	p.policy = draw_policy(d);
	p.startup = draw_startup(d, p.policy, startup_wrong);
	// A responder sends nothing before the initiator's first FPDU (RFC 5044 7.1.2), so the
	// first step must be the peer's.
	bool victim_may = p.startup.victim_initiates;
	for (uint32_t n = d.from(1, 12); n; n--) {
		p.steps.push_back(draw_right(d, victim_may, sends));
		victim_may = true;
	}
	if (wrong && !startup_wrong)
		for (unsigned i = 0; i < wrong; i++) {
			uint32_t at = d.below(static_cast<uint32_t>(p.steps.size()) + 1);
			p.steps.insert(p.steps.begin() + at, draw_wrong(d, sends));
		}
	p.ending = wrong ? d.any({Ending::fin, Ending::reset, Ending::close,
				  Ending::victim_disconnects, Ending::fin_inside}) :
			   d.any({Ending::fin, Ending::victim_disconnects});
	p.chunks = draw_chunks(d);
	if (sctp)
		over_sctp(p);
	return p;
}

std::ostream &operator<<(std::ostream &os, const Plan &p)
{
	// clang-format off
	static constexpr const char *acts[] = {
		"send", "write", "read", "victim_send", "victim_write", "victim_read",
		"send_too_long", "send_wrong_msn", "send_wrong_mo",
		"write_forbidden", "write_no_stag", "write_outside",
		"read_forbidden", "read_no_stag", "read_outside",
		"too_many_reads", "response_unasked", "terminate",
		"short_segment", "wrong_queue", "any_segment",
	};
	// clang-format on
	static constexpr const char *faults[] = {"",	  " crc",    " marker", " length", " flip",
						 " drop", " insert", " cut",	" twice",  " pad"};
	static constexpr const char *areas[] = {"rw", "wo", "ro", "local", "alien"};
	static constexpr const char *startups[] = {
		"",	    " flip",	   " cut",     " key",	   " pd_length",
		" surplus", " early_fpdu", " garbage", " silence", " twice"};
	static constexpr const char *endings[] = {"fin", "reset", "close", "victim_disconnects",
						  "fin_inside"};
	static_assert(std::size(acts) == static_cast<size_t>(Act::last) + 1);
	static_assert(std::size(faults) == static_cast<size_t>(Fault::pad) + 1);
	static_assert(std::size(areas) == static_cast<size_t>(Area::alien) + 1);
	static_assert(std::size(startups) == static_cast<size_t>(StartupFault::twice) + 1);
	static_assert(std::size(endings) == static_cast<size_t>(Ending::fin_inside) + 1);
	const Startup &s = p.startup;

	os << (p.sctp ? "SCTP; " : "") << "policy: rev " << p.policy.mpa_rev
	   << (p.policy.permissive ? " permissive" : "") << " crc " << p.policy.crc << " markers "
	   << p.policy.markers << " p2p \"" << p.policy.p2p << "\" fpdu " << p.policy.fpdu
	   << "\nstartup: victim "
	   << (s.victim_initiates ? "initiates" :
	       s.victim_rejects	  ? "rejects" :
				    "responds")
	   << ", peer's rev " << +s.rev << " m " << s.m << " c " << s.c << " ird " << s.enhanced.ird
	   << " ord " << s.enhanced.ord << " a " << s.enhanced.a << " bcd " << s.enhanced.b
	   << s.enhanced.c << s.enhanced.d << " private data " << s.private_data
	   << (s.rtr_frame ? " rtr-frame" : "") << startups[static_cast<int>(s.fault)] << "\n";
	for (const Step &t : p.steps)
		os << "  " << acts[static_cast<int>(t.act)] << " "
		   << areas[static_cast<int>(t.area)] << " at " << t.at << " len " << t.len
		   << " segments " << t.segments << (t.wait ? " wait" : "")
		   << faults[static_cast<int>(t.fault)] << "\n";
	os << "ending: " << endings[static_cast<int>(p.ending)] << "; chunks";
	for (uint32_t c : p.chunks)
		os << " " << c;
	return os << "\n";
}

} // namespace live_fuzz
