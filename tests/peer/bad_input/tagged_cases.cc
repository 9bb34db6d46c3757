// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA Write and other tagged segments: STag, tagged offset, rights, versions, opcodes.
#include "../session/session.h"

namespace peer {
namespace {

using RegionOf = std::unique_ptr<Region> Victim::*;

// Write of len bytes at an offset from the base of one of the victim's regions.
Act write(RegionOf region, int64_t at, size_t len, uint32_t stag_xor = 0)
{
	return [=](Session &s) {
		Region &r = *(s.v.*region);
		s.offend(write_segment(r.rkey() ^ stag_xor, r.base() + static_cast<uint64_t>(at),
				       pattern(len)));
	};
}

// Write that ends or begins relative to the end of the region.
Act write_near_end(int64_t at, size_t len)
{
	return [=](Session &s) {
		s.offend(write_segment(s.v.rw->rkey(), s.v.rw->end() + static_cast<uint64_t>(at),
				       pattern(len)));
	};
}

Act write_stag(uint32_t stag, uint64_t to, size_t len)
{
	return [=](Session &s) { s.offend(write_segment(stag, to, pattern(len))); };
}

// A good write, changed in one place.
Act changed(std::function<void(Segment &)> change, size_t len = 40)
{
	return offends([=](Session &s) { return write_to(*s.v.rw, 0, pattern(len)); },
		       std::move(change));
}

Act placed(std::function<void(Segment &)> change)
{
	return [=](Session &s) {
		Segment g = write_to(*s.v.rw, 0, pattern(40));
		change(g);
		s.p.send(g);
		s.places(*s.v.rw, 0, g.payload);
		s.message();
	};
}

const RegionOf rw = &Victim::rw, ro = &Victim::ro, local = &Victim::local, alien = &Victim::alien;

// RFC 5041 7.2 has no code for missing rights: check 2 of 7.1 fails, so the STag is invalid for
// this; RFC 5040 figure 9 has "access rights violation".
const Verdict no_right = terminates(ddp::tagged_stag, rdmap::prot_access);
// TO + length wraps and is out of bounds at the same time.
const Verdict wrapped = terminates(ddp::tagged_wrap, ddp::tagged_bounds);

Act without_right(Act act)
{
	return [=](Session &s) {
		s.message();
		s.c().allow(IBV_ACCESS_REMOTE_READ);
		act(s);
	};
}

void add_stags(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 tagged 1, 7.2";
	c.insert(c.end(),
		 {
			 {"stag_0", rfc, terminates(ddp::tagged_stag), write_stag(0, 0, 40)},
			 {"stag_ffffffff", rfc, terminates(ddp::tagged_stag),
			  write_stag(~0U, 0, 40)},
			 {"stag_unknown_index", rfc, terminates(ddp::tagged_stag),
			  write(rw, 0, 40, 0x40000000)},
			 {"stag_deregistered", rfc, terminates(ddp::tagged_stag),
			  [](Session &s) {
				  auto gone =
					  std::make_unique<Region>(s.v.pd(), 4096,
								   IBV_ACCESS_LOCAL_WRITE |
									   IBV_ACCESS_REMOTE_WRITE);
				  uint32_t stag = gone->rkey();
				  uint64_t to = gone->base();
				  gone.reset();
				  s.offend(write_segment(stag, to, pattern(40)));
			  }},
			 {"other_pd", "RFC 5041 8.2, 7.2; RFC 5042 6.1.1",
			  terminates(ddp::tagged_stream), write(alien, 0, 40)},
			 {"region_is_read_only", "RFC 5041 7.1 tagged 2", no_right,
			  write(ro, 0, 40)},
			 {"region_is_local", "RFC 5041 7.1 tagged 2", no_right,
			  write(local, 0, 40)},
			 {"qp_has_no_remote_write", "RFC 5041 7.1 tagged 2", no_right,
			  without_right(write(rw, 0, 40))},
		 });
	for (int bit = 0; bit < 8; bit++)
		c.push_back({"stag_key_bit_" + std::to_string(bit) + "_wrong", rfc,
			     terminates(ddp::tagged_stag), write(rw, 0, 40, 1U << bit)});
}

void add_bounds(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 tagged 3 and 4; RFC 5042 6.2.1";
	const Verdict bounds = terminates(ddp::tagged_bounds);
	c.insert(c.end(),
		 {
			 {"byte_before_base", rfc, bounds, write(rw, -1, 1)},
			 {"across_base", rfc, bounds, write(rw, -1, 2)},
			 {"up_to_base", rfc, bounds, write(rw, -40, 40)},
			 {"page_before_base", rfc, bounds, write(rw, -4096, 40)},
			 {"byte_at_end", rfc, bounds, write_near_end(0, 1)},
			 {"across_end", rfc, bounds, write_near_end(-1, 2)},
			 {"byte_behind_end", rfc, bounds, write_near_end(1, 1)},
			 {"page_behind_end", rfc, bounds, write_near_end(4096, 40)},
			 {"whole_region_and_one", rfc, bounds, write(rw, 0, 8193)},
			 {"to_0", rfc, bounds,
			  [](Session &s) {
				  s.offend(write_segment(s.v.rw->rkey(), 0, pattern(40)));
			  }},
			 {"to_4g_too_high", rfc, bounds, write(rw, int64_t{1} << 32, 40)},
			 {"to_4g_too_low", rfc, bounds, write(rw, -(int64_t{1} << 32), 40)},
			 {"to_top_bit", rfc, bounds, write(rw, INT64_MIN, 40)},
			 {"to_2_64_minus_1_len_1", "RFC 5041 7.1 tagged 5", wrapped,
			  [](Session &s) {
				  s.offend(write_segment(s.v.rw->rkey(), ~uint64_t{0}, pattern(1)));
			  }},
			 {"to_2_64_minus_1_len_2", "RFC 5041 7.1 tagged 5", wrapped,
			  [](Session &s) {
				  s.offend(write_segment(s.v.rw->rkey(), ~uint64_t{0}, pattern(2)));
			  }},
			 {"to_wraps_into_the_region", "RFC 5041 7.1 tagged 5", wrapped,
			  [](Session &s) {
				  s.offend(write_segment(s.v.rw->rkey(), 0 - uint64_t{100},
							 pattern(1000)));
			  }},
			 {"second_segment_runs_out", rfc, bounds,
			  [](Session &s) {
				  s.may_touch(*s.v.rw, {8192 - 100, 100});
				  s.p.send(write_segment(s.v.rw->rkey(), s.v.rw->end() - 100,
							 pattern(100), false));
				  s.offend(write_segment(s.v.rw->rkey(), s.v.rw->end(),
							 pattern(4)));
			  }},
			 {"last_byte", "RFC 5041 7.1: in range", lives(),
			  [](Session &s) {
				  s.writes(*s.v.rw, 8191, Bytes(1, 0xA5));
				  s.message();
			  }},
			 {"whole_region", "RFC 5041 7.1: in range", lives(),
			  [](Session &s) {
				  s.writes(*s.v.rw, 0, pattern(8192, 9));
				  s.message();
			  }},
		 });
}

void add_zero_length(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 5.2: STag and TO MUST NOT be checked";
	c.insert(c.end(),
		 {
			 {"zero_length_stag_0", rfc, lives(), write_stag(0, 0, 0)},
			 {"zero_length_stag_unknown", rfc, lives(), write(rw, 0, 0, 0x40000000)},
			 {"zero_length_wrong_key", rfc, lives(), write(rw, 0, 0, 1)},
			 {"zero_length_other_pd", rfc, lives(), write(alien, 0, 0)},
			 {"zero_length_read_only", rfc, lives(), write(ro, 0, 0)},
			 {"zero_length_to_2_64_minus_1", rfc, lives(),
			  write_stag(~0U, ~uint64_t{0}, 0)},
			 {"zero_length_no_remote_write", rfc, lives(),
			  without_right(write(rw, 0, 0))},
			 {"zero_length_ddp_version_0",
			  "RFC 5041 5.2: the control field MUST be valid",
			  terminates(ddp::tagged_version),
			  changed([](Segment &g) { g.dv = 0; }, 0)},
			 {"zero_length_not_last", "RFC 5041 5.2: exactly one segment", either(),
			  [](Session &s) { s.p.send(write_segment(0, 0, {}, false)); }},
		 });
}

void add_control(std::vector<Case> &c)
{
	for (uint8_t v : {0, 2, 3}) {
		c.push_back({"ddp_version_" + std::to_string(v), "RFC 5041 7.2",
			     terminates(ddp::tagged_version),
			     changed([v](Segment &g) { g.dv = v; })});
		c.push_back({"rdmap_version_" + std::to_string(v),
			     "RFC 5040 4.8, 7.2; MPA rev 1 is not RDMAC",
			     terminates(rdmap::op_version),
			     changed([v](Segment &g) { g.rv = v; })});
	}
	for (uint8_t op = 0; op < 16; op++)
		if (op != op_write && op != op_read_response)
			c.push_back({"opcode_" + std::to_string(op), "RFC 5040 4.8, 7.2, figure 4",
				     terminates(rdmap::op_opcode),
				     changed([op](Segment &g) { g.opcode = op; })});
	c.insert(c.end(),
		 {
			 {"ddp_reserved_bits_set", "RFC 5041 4.1: not checked on receive", lives(),
			  placed([](Segment &g) { g.ddp_reserved = 15; })},
			 {"rdmap_reserved_bits_set", "RFC 5040 4.1: ignored by the receiver",
			  lives(), placed([](Segment &g) { g.rdmap_reserved = 3; })},
			 {"message_never_finished", "RFC 5041 5.3: messages in order", either(),
			  [](Session &s) {
				  s.may_touch(*s.v.rw, {0, 40});
				  s.p.send(write_to(*s.v.rw, 0, pattern(40), false));
			  }},
			 {"stag_changes_in_message", "RFC 5041 4.2: same in each segment", either(),
			  [](Session &s) {
				  s.may_touch(*s.v.rw, {0, 40});
				  s.may_touch(*s.v.wo, {40, 40});
				  s.p.send(write_to(*s.v.rw, 0, pattern(40), false));
				  s.p.send(write_to(*s.v.wo, 40, pattern(40)));
			  }},
		 });
}

INSTANTIATE_TEST_SUITE_P(tagged, Wire, rows(add_stags, add_bounds, add_zero_length, add_control),
			 RowName());

} // namespace
} // namespace peer
