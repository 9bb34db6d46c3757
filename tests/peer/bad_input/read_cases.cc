// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA Read Requests.
#include "trial.h"

namespace bad_input {
namespace {

using namespace iwarp;
using victim::Region;

using RegionOf = std::unique_ptr<Region> victim::Victim::*;
using Act = std::function<void(Trial &)>;

constexpr uint32_t sink_stag = 0x12345600;
constexpr uint64_t sink_to = 0x1000;

// Request for len octets at an offset from the base of one of the victim's regions.
Act read(RegionOf region, int64_t at, uint32_t len, uint32_t stag_xor = 0)
{
	return [=](Trial &t) {
		Region &r = *(t.v.*region);
		t.offend(read_request_segment(1, {sink_stag, sink_to, len, r.rkey() ^ stag_xor,
						  r.base() + static_cast<uint64_t>(at)}));
	};
}

// A good request, changed in one place.
Act changed(std::function<void(Segment &)> change)
{
	return [=](Trial &t) {
		Segment s = read_request_segment(1, {sink_stag, sink_to, 40, t.v.rw->rkey(), t.v.rw->base()});
		change(s);
		t.offend(s);
	};
}

// A request of zero octets: answered whatever the source is.
Act read_nothing(uint32_t stag, uint64_t to)
{
	return [=](Trial &t) {
		t.p.read({sink_stag, sink_to, 0, stag, to});
		std::optional<Segment> s = t.p.receive();
		ASSERT_TRUE(s) << "no Read Response";
		EXPECT_EQ(s->encode(), read_response_segment(sink_stag, sink_to, {}).encode());
	};
}

const RegionOf rw = &victim::Victim::rw, wo = &victim::Victim::wo, local = &victim::Victim::local,
	       alien = &victim::Victim::alien;

void add_source(std::vector<Case> &c)
{
	const char *stag = "RFC 5040 7.2 request 4a, figure 9";
	c.insert(c.end(), {
		{"stag_0", stag, terminates(rdmap::prot_stag), [](Trial &t) {
			 t.offend(read_request_segment(1, {sink_stag, sink_to, 40, 0, 0}));
		 }},
		{"stag_ffffffff", stag, terminates(rdmap::prot_stag), [](Trial &t) {
			 t.offend(read_request_segment(1, {sink_stag, sink_to, 40, ~0U, 0}));
		 }},
		{"stag_unknown_index", stag, terminates(rdmap::prot_stag), read(rw, 0, 40, 0x40000000)},
		{"stag_wrong_key", stag, terminates(rdmap::prot_stag), read(rw, 0, 40, 1)},
		{"other_pd", "RFC 5040 7.2 request 4b; RFC 5042 6.1.1", terminates(rdmap::prot_stream), read(alien, 0, 40)},
		{"region_is_write_only", "RFC 5040 figure 9", terminates(rdmap::prot_access), read(wo, 0, 40)},
		{"region_is_local", "RFC 5040 figure 9", terminates(rdmap::prot_access), read(local, 0, 40)},
		{"qp_has_no_remote_read", "RFC 5040 figure 9", terminates(rdmap::prot_access), [](Trial &t) {
			 t.good_message();
			 t.connection().allow(IBV_ACCESS_REMOTE_WRITE);
			 read(rw, 0, 40)(t);
		 }},
	});
}

void add_bounds(std::vector<Case> &c)
{
	const char *rfc = "RFC 5040 7.2 request 4c, 4d; RFC 5042 6.2.1";
	const Verdict bounds = terminates(rdmap::prot_bounds);
	const Verdict wrapped = terminates(rdmap::prot_wrap, rdmap::prot_bounds);
	auto to = [](uint64_t to, uint32_t len) {
		return [=](Trial &t) {
			t.offend(read_request_segment(1, {sink_stag, sink_to, len, t.v.rw->rkey(), to}));
		};
	};
	c.insert(c.end(), {
		{"octet_before_base", rfc, bounds, read(rw, -1, 1)},
		{"across_base", rfc, bounds, read(rw, -1, 2)},
		{"octet_at_end", rfc, bounds, read(rw, 8192, 1)},
		{"across_end", rfc, bounds, read(rw, 8191, 2)},
		{"octet_behind_end", rfc, bounds, read(rw, 8193, 1)},
		{"whole_region_and_one", rfc, bounds, read(rw, 0, 8193)},
		{"size_ffffffff", rfc, bounds, read(rw, 0, ~0U)},
		{"size_80000000", rfc, bounds, read(rw, 0, 1U << 31)},
		{"to_0", rfc, bounds, to(0, 40)},
		{"to_4g_too_high", rfc, bounds, read(rw, int64_t{1} << 32, 40)},
		{"to_2_64_minus_1_len_1", "RFC 5040 7.2 request 4e", wrapped, to(~uint64_t{0}, 1)},
		{"to_2_64_minus_1_len_2", "RFC 5040 7.2 request 4e", wrapped, to(~uint64_t{0}, 2)},
		{"to_2_64_minus_1_len_ffffffff", "RFC 5040 7.2 request 4e", wrapped, to(~uint64_t{0}, ~0U)},
		{"zero_length_stag_0", "RFC 5040 5.2.1: MUST NOT validate", lives(), read_nothing(0, 0)},
		{"zero_length_stag_ffffffff", "RFC 5040 5.2.1: MUST NOT validate", lives(), read_nothing(~0U, ~uint64_t{0})},
	});
}

void add_header(std::vector<Case> &c)
{
	const char *msn = "RFC 5041 7.1 untagged 5";
	auto payload_is = [](size_t len) { return changed([len](Segment &s) { s.payload.resize(len); }); };
	for (size_t len : {0, 1, 4, 27})
		c.push_back({"header_of_" + std::to_string(len), "no code: RFC 5040 4.4 wants 28 octets", ends(),
			     payload_is(len)});
	for (size_t len : {29, 60})
		c.push_back({"header_of_" + std::to_string(len), "no code: RFC 5040 4.4 wants 28 octets", ends(),
			     payload_is(len)});
	c.insert(c.end(), {
		{"not_last", "RFC 5040 5.2.1: one untagged buffer; never needs two", either(),
		 changed([](Segment &s) { s.last = false; })},
		{"mo_4", "RFC 5041 7.1 untagged 3, 4", terminates(ddp::untagged_mo, ddp::untagged_too_long),
		 changed([](Segment &s) { s.mo = 4; })},
		{"msn_0", msn, terminates(ddp::untagged_msn, ddp::untagged_no_buffer), changed([](Segment &s) { s.msn = 0; })},
		{"msn_2", msn, terminates(ddp::untagged_msn), changed([](Segment &s) { s.msn = 2; })},
		{"msn_1000", msn, terminates(ddp::untagged_msn, ddp::untagged_no_buffer),
		 changed([](Segment &s) { s.msn = 1000; })},
		{"msn_repeated", msn, terminates(ddp::untagged_msn), [](Trial &t) {
			 ReadRequest rr{sink_stag, sink_to, 40, t.v.rw->rkey(), t.v.rw->base()};
			 t.p.read(rr);
			 ASSERT_TRUE(t.p.receive());
			 t.offend(read_request_segment(1, rr));
		 }},
		{"ddp_version_2", "RFC 5041 7.2", terminates(ddp::untagged_version), changed([](Segment &s) { s.dv = 2; })},
		{"rdmap_version_2", "RFC 5040 7.2", terminates(rdmap::op_version), changed([](Segment &s) { s.rv = 2; })},
	});
}

// One more than IRD while the first is still being answered, because nobody reads.
void too_many(Trial &t, unsigned extra)
{
	const uint32_t len = static_cast<uint32_t>(t.v.rw->size());
	ReadRequest rr{sink_stag, sink_to, len, t.v.rw->rkey(), t.v.rw->base()};
	for (unsigned i = 0; i < t.setup.victim.ird + extra; i++)
		t.p.read(rr);
	// Time to fill socket buffers and to see the last request.
	std::this_thread::sleep_for(moment);
}

void add_depth(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 untagged 2, 5; RFC 5040 5.2.2; RFC 5042 6.4.3.3";
	Terms s{.rev = 2, .rcvbuf = 4096, .victim = {.ird = 2, .rw_size = 4 << 20}};
	const Verdict full = terminates(ddp::untagged_no_buffer, ddp::untagged_msn);
	c.insert(c.end(), {
		{"one_more_than_ird", rfc, full, [](Trial &t) { too_many(t, 1); }, s},
		{"a_thousand_more_than_ird", rfc, full, [](Trial &t) { too_many(t, 1000); }, s},
	});
}

std::vector<Case> cases()
{
	std::vector<Case> c;
	add_source(c);
	add_bounds(c);
	add_header(c);
	add_depth(c);
	return c;
}

INSTANTIATE_TEST_SUITE_P(read_request, Wire, testing::ValuesIn(cases()), case_name);

} // namespace
} // namespace bad_input
