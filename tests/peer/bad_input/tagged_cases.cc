// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA Write and other tagged segments: STag, tagged offset, rights, versions, opcodes.
#include "trial.h"

namespace bad_input {
namespace {

using namespace iwarp;
using victim::Region;

using RegionOf = std::unique_ptr<Region> victim::Victim::*;
using Act = std::function<void(Trial &)>;

// Write of len octets at an offset from the base of one of the victim's regions.
Act write(RegionOf region, int64_t at, size_t len, uint32_t stag_xor = 0)
{
	return [=](Trial &t) {
		Region &r = *(t.v.*region);
		t.offend(write_segment(r.rkey() ^ stag_xor, r.base() + static_cast<uint64_t>(at), pattern(len)));
	};
}

// Write that ends or begins relative to the end of the region.
Act write_near_end(int64_t at, size_t len)
{
	return [=](Trial &t) {
		t.offend(write_segment(t.v.rw->rkey(), t.v.rw->end() + static_cast<uint64_t>(at), pattern(len)));
	};
}

Act write_stag(uint32_t stag, uint64_t to, size_t len)
{
	return [=](Trial &t) { t.offend(write_segment(stag, to, pattern(len))); };
}

// A good write, changed in one place.
Act changed(std::function<void(Segment &)> change, size_t len = 40)
{
	return [=](Trial &t) {
		Segment s = write_segment(t.v.rw->rkey(), t.v.rw->base(), pattern(len));
		change(s);
		t.offend(s);
	};
}

Act placed(std::function<void(Segment &)> change)
{
	return [=](Trial &t) {
		Segment s = write_segment(t.v.rw->rkey(), t.v.rw->base(), pattern(40));
		change(s);
		t.touches(*t.v.rw, {0, 40});
		t.p.send(s);
		t.good_message();
		EXPECT_EQ(t.v.rw->copy(0, 40), pattern(40));
	};
}

const RegionOf rw = &victim::Victim::rw, ro = &victim::Victim::ro, local = &victim::Victim::local,
	       alien = &victim::Victim::alien;

// RFC 5041 7.2 has no code for missing rights: check 2 of 7.1 fails, so the STag is invalid for
// this; RFC 5040 figure 9 has "access rights violation".
const Verdict no_right = terminates(ddp::tagged_stag, rdmap::prot_access);
// TO + length wraps and is out of bounds at the same time.
const Verdict wrapped = terminates(ddp::tagged_wrap, ddp::tagged_bounds);

Act without_right(Act act)
{
	return [=](Trial &t) {
		t.good_message();
		t.connection().allow(IBV_ACCESS_REMOTE_READ);
		act(t);
	};
}

void add_stags(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 tagged 1, 7.2";
	c.insert(c.end(), {
		{"stag_0", rfc, terminates(ddp::tagged_stag), write_stag(0, 0, 40)},
		{"stag_ffffffff", rfc, terminates(ddp::tagged_stag), write_stag(~0U, 0, 40)},
		{"stag_unknown_index", rfc, terminates(ddp::tagged_stag), write(rw, 0, 40, 0x40000000)},
		{"stag_deregistered", rfc, terminates(ddp::tagged_stag), [](Trial &t) {
			 auto gone = std::make_unique<Region>(t.v.pd(), 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
			 uint32_t stag = gone->rkey();
			 uint64_t to = gone->base();
			 gone.reset();
			 t.offend(write_segment(stag, to, pattern(40)));
		 }},
		{"other_pd", "RFC 5041 8.2, 7.2; RFC 5042 6.1.1", terminates(ddp::tagged_stream), write(alien, 0, 40)},
		{"region_is_read_only", "RFC 5041 7.1 tagged 2", no_right, write(ro, 0, 40)},
		{"region_is_local", "RFC 5041 7.1 tagged 2", no_right, write(local, 0, 40)},
		{"qp_has_no_remote_write", "RFC 5041 7.1 tagged 2", no_right, without_right(write(rw, 0, 40))},
	});
	for (int bit = 0; bit < 8; bit++)
		c.push_back({"stag_key_bit_" + std::to_string(bit) + "_wrong", rfc, terminates(ddp::tagged_stag),
			     write(rw, 0, 40, 1U << bit)});
}

void add_bounds(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 tagged 3 and 4; RFC 5042 6.2.1";
	const Verdict bounds = terminates(ddp::tagged_bounds);
	c.insert(c.end(), {
		{"octet_before_base", rfc, bounds, write(rw, -1, 1)},
		{"across_base", rfc, bounds, write(rw, -1, 2)},
		{"up_to_base", rfc, bounds, write(rw, -40, 40)},
		{"page_before_base", rfc, bounds, write(rw, -4096, 40)},
		{"octet_at_end", rfc, bounds, write_near_end(0, 1)},
		{"across_end", rfc, bounds, write_near_end(-1, 2)},
		{"octet_behind_end", rfc, bounds, write_near_end(1, 1)},
		{"page_behind_end", rfc, bounds, write_near_end(4096, 40)},
		{"whole_region_and_one", rfc, bounds, write(rw, 0, 8193)},
		{"to_0", rfc, bounds, [](Trial &t) { t.offend(write_segment(t.v.rw->rkey(), 0, pattern(40))); }},
		{"to_4g_too_high", rfc, bounds, write(rw, int64_t{1} << 32, 40)},
		{"to_4g_too_low", rfc, bounds, write(rw, -(int64_t{1} << 32), 40)},
		{"to_top_bit", rfc, bounds, write(rw, INT64_MIN, 40)},
		{"to_2_64_minus_1_len_1", "RFC 5041 7.1 tagged 5", wrapped,
		 [](Trial &t) { t.offend(write_segment(t.v.rw->rkey(), ~uint64_t{0}, pattern(1))); }},
		{"to_2_64_minus_1_len_2", "RFC 5041 7.1 tagged 5", wrapped,
		 [](Trial &t) { t.offend(write_segment(t.v.rw->rkey(), ~uint64_t{0}, pattern(2))); }},
		{"to_wraps_into_the_region", "RFC 5041 7.1 tagged 5", wrapped,
		 [](Trial &t) { t.offend(write_segment(t.v.rw->rkey(), 0 - uint64_t{100}, pattern(1000))); }},
		{"second_segment_runs_out", rfc, bounds, [](Trial &t) {
			 t.touches(*t.v.rw, {8192 - 100, 100});
			 t.p.send(write_segment(t.v.rw->rkey(), t.v.rw->end() - 100, pattern(100), false));
			 t.offend(write_segment(t.v.rw->rkey(), t.v.rw->end(), pattern(4)));
		 }},
		{"last_octet", "RFC 5041 7.1: in range", lives(), [](Trial &t) {
			 t.touches(*t.v.rw, {8191, 1});
			 t.p.send(write_segment(t.v.rw->rkey(), t.v.rw->end() - 1, Octets(1, 0xA5)));
			 t.good_message();
			 EXPECT_EQ(t.v.rw->copy(8191, 1), Octets(1, 0xA5));
		 }},
		{"whole_region", "RFC 5041 7.1: in range", lives(), [](Trial &t) {
			 t.touches(*t.v.rw, {0, 8192});
			 t.p.send(write_segment(t.v.rw->rkey(), t.v.rw->base(), pattern(8192, 9)));
			 t.good_message();
			 EXPECT_EQ(t.v.rw->copy(0, 8192), pattern(8192, 9));
		 }},
	});
}

void add_zero_length(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 5.2: STag and TO MUST NOT be checked";
	c.insert(c.end(), {
		{"zero_length_stag_0", rfc, lives(), write_stag(0, 0, 0)},
		{"zero_length_stag_unknown", rfc, lives(), write(rw, 0, 0, 0x40000000)},
		{"zero_length_wrong_key", rfc, lives(), write(rw, 0, 0, 1)},
		{"zero_length_other_pd", rfc, lives(), write(alien, 0, 0)},
		{"zero_length_read_only", rfc, lives(), write(ro, 0, 0)},
		{"zero_length_to_2_64_minus_1", rfc, lives(), write_stag(~0U, ~uint64_t{0}, 0)},
		{"zero_length_no_remote_write", rfc, lives(), without_right(write(rw, 0, 0))},
		{"zero_length_ddp_version_0", "RFC 5041 5.2: the control field MUST be valid", terminates(ddp::tagged_version),
		 changed([](Segment &s) { s.dv = 0; }, 0)},
		{"zero_length_not_last", "RFC 5041 5.2: exactly one segment", either(),
		 [](Trial &t) { t.p.send(write_segment(0, 0, {}, false)); }},
	});
}

void add_control(std::vector<Case> &c)
{
	for (uint8_t v : {0, 2, 3}) {
		c.push_back({"ddp_version_" + std::to_string(v), "RFC 5041 7.2", terminates(ddp::tagged_version),
			     changed([v](Segment &s) { s.dv = v; })});
		c.push_back({"rdmap_version_" + std::to_string(v), "RFC 5040 4.8, 7.2; MPA rev 1 is not RDMAC",
			     terminates(rdmap::op_version), changed([v](Segment &s) { s.rv = v; })});
	}
	for (uint8_t op = 0; op < 16; op++)
		if (op != op_write && op != op_read_response)
			c.push_back({"opcode_" + std::to_string(op), "RFC 5040 4.8, 7.2, figure 4",
				     terminates(rdmap::op_opcode), changed([op](Segment &s) { s.opcode = op; })});
	c.insert(c.end(), {
		{"ddp_reserved_bits_set", "RFC 5041 4.1: not checked on receive", lives(),
		 placed([](Segment &s) { s.ddp_reserved = 15; })},
		{"rdmap_reserved_bits_set", "RFC 5040 4.1: ignored by the receiver", lives(),
		 placed([](Segment &s) { s.rdmap_reserved = 3; })},
		{"message_never_finished", "RFC 5041 5.3: messages in order", either(), [](Trial &t) {
			 t.touches(*t.v.rw, {0, 40});
			 t.p.send(write_segment(t.v.rw->rkey(), t.v.rw->base(), pattern(40), false));
		 }},
		{"stag_changes_in_message", "RFC 5041 4.2: same in each segment", either(), [](Trial &t) {
			 t.touches(*t.v.rw, {0, 40});
			 t.touches(*t.v.wo, {40, 40});
			 t.p.send(write_segment(t.v.rw->rkey(), t.v.rw->base(), pattern(40), false));
			 t.p.send(write_segment(t.v.wo->rkey(), t.v.wo->base() + 40, pattern(40)));
		 }},
	});
}

std::vector<Case> cases()
{
	std::vector<Case> c;
	add_stags(c);
	add_bounds(c);
	add_zero_length(c);
	add_control(c);
	return c;
}

INSTANTIATE_TEST_SUITE_P(tagged, Wire, testing::ValuesIn(cases()), case_name);

} // namespace
} // namespace bad_input
