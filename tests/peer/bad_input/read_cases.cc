// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// RDMA Read Requests.
#include "../session/session.h"

namespace peer {
namespace {

using RegionOf = std::unique_ptr<Region> Victim::*;

constexpr uint32_t sink_stag = 0x12345600;
constexpr uint64_t sink_to = 0x1000;

// Request for len bytes at an offset from the base of one of the victim's regions.
Act read(RegionOf region, int64_t at, uint32_t len, uint32_t stag_xor = 0)
{
	return [=](Session &s) {
		Region &r = *(s.v.*region);
		s.offend(read_request_segment(1, {sink_stag, sink_to, len, r.rkey() ^ stag_xor,
						  r.base() + static_cast<uint64_t>(at)}));
	};
}

// A good request, changed in one place.
Act changed(std::function<void(Segment &)> change)
{
	return offends(
		[](Session &s) {
			return read_request_segment(1, {sink_stag, sink_to, 40, s.v.rw->rkey(),
							s.v.rw->base()});
		},
		std::move(change));
}

// A request of zero bytes: answered whatever the source is.
Act read_nothing(uint32_t stag, uint64_t to)
{
	return [=](Session &s) {
		s.p.read({sink_stag, sink_to, 0, stag, to});
		const Segment g = s.p.next();
		EXPECT_EQ(g.encode(), read_response_segment(sink_stag, sink_to, {}).encode());
	};
}

const RegionOf rw = &Victim::rw, wo = &Victim::wo, local = &Victim::local, alien = &Victim::alien;

void add_source(std::vector<Case> &c)
{
	const char *stag = "RFC 5040 7.2 request 4a, figure 9";
	c.insert(c.end(),
		 {
			 {"stag_0", stag, terminates(rdmap::prot_stag),
			  [](Session &s) {
				  s.offend(read_request_segment(1, {sink_stag, sink_to, 40, 0, 0}));
			  }},
			 {"stag_ffffffff", stag, terminates(rdmap::prot_stag),
			  [](Session &s) {
				  s.offend(read_request_segment(1,
								{sink_stag, sink_to, 40, ~0U, 0}));
			  }},
			 {"stag_unknown_index", stag, terminates(rdmap::prot_stag),
			  read(rw, 0, 40, 0x40000000)},
			 {"stag_wrong_key", stag, terminates(rdmap::prot_stag), read(rw, 0, 40, 1)},
			 {"other_pd", "RFC 5040 7.2 request 4b; RFC 5042 6.1.1",
			  terminates(rdmap::prot_stream), read(alien, 0, 40)},
			 {"region_is_write_only", "RFC 5040 figure 9",
			  terminates(rdmap::prot_access), read(wo, 0, 40)},
			 {"region_is_local", "RFC 5040 figure 9", terminates(rdmap::prot_access),
			  read(local, 0, 40)},
			 {"qp_has_no_remote_read", "RFC 5040 figure 9",
			  terminates(rdmap::prot_access),
			  [](Session &s) {
				  s.message();
				  s.c().allow(IBV_ACCESS_REMOTE_WRITE);
				  read(rw, 0, 40)(s);
			  }},
		 });
}

void add_bounds(std::vector<Case> &c)
{
	const char *rfc = "RFC 5040 7.2 request 4c, 4d; RFC 5042 6.2.1";
	const Verdict bounds = terminates(rdmap::prot_bounds);
	const Verdict wrapped = terminates(rdmap::prot_wrap, rdmap::prot_bounds);
	auto to = [](uint64_t to, uint32_t len) {
		return [=](Session &s) {
			s.offend(read_request_segment(1, {sink_stag, sink_to, len, s.v.rw->rkey(),
							  to}));
		};
	};
	c.insert(c.end(), {
				  {"byte_before_base", rfc, bounds, read(rw, -1, 1)},
				  {"across_base", rfc, bounds, read(rw, -1, 2)},
				  {"byte_at_end", rfc, bounds, read(rw, 8192, 1)},
				  {"across_end", rfc, bounds, read(rw, 8191, 2)},
				  {"byte_behind_end", rfc, bounds, read(rw, 8193, 1)},
				  {"whole_region_and_one", rfc, bounds, read(rw, 0, 8193)},
				  {"size_ffffffff", rfc, bounds, read(rw, 0, ~0U)},
				  {"size_80000000", rfc, bounds, read(rw, 0, 1U << 31)},
				  {"to_0", rfc, bounds, to(0, 40)},
				  {"to_4g_too_high", rfc, bounds, read(rw, int64_t{1} << 32, 40)},
				  {"to_2_64_minus_1_len_1", "RFC 5040 7.2 request 4e", wrapped,
				   to(~uint64_t{0}, 1)},
				  {"to_2_64_minus_1_len_2", "RFC 5040 7.2 request 4e", wrapped,
				   to(~uint64_t{0}, 2)},
				  {"to_2_64_minus_1_len_ffffffff", "RFC 5040 7.2 request 4e",
				   wrapped, to(~uint64_t{0}, ~0U)},
				  {"zero_length_stag_0", "RFC 5040 5.2.1: MUST NOT validate",
				   lives(), read_nothing(0, 0)},
				  {"zero_length_stag_ffffffff", "RFC 5040 5.2.1: MUST NOT validate",
				   lives(), read_nothing(~0U, ~uint64_t{0})},
			  });
}

void add_header(std::vector<Case> &c)
{
	const char *msn = "RFC 5041 7.1 untagged 5";
	auto payload_is = [](size_t len) {
		return changed([len](Segment &g) { g.payload.resize(len); });
	};
	for (size_t len : {0, 1, 4, 27})
		c.push_back({"header_of_" + std::to_string(len),
			     "no code: RFC 5040 4.4 wants 28 bytes", ends(), payload_is(len)});
	for (size_t len : {29, 60})
		c.push_back({"header_of_" + std::to_string(len),
			     "no code: RFC 5040 4.4 wants 28 bytes", ends(), payload_is(len)});
	c.insert(c.end(),
		 {
			 {"not_last", "RFC 5040 5.2.1: one untagged buffer; never needs two",
			  either(), changed([](Segment &g) { g.last = false; })},
			 {"mo_4", "RFC 5041 7.1 untagged 3, 4",
			  terminates(ddp::untagged_mo, ddp::untagged_too_long),
			  changed([](Segment &g) { g.mo = 4; })},
			 {"msn_0", msn, terminates(ddp::untagged_msn, ddp::untagged_no_buffer),
			  changed([](Segment &g) { g.msn = 0; })},
			 {"msn_2", msn, terminates(ddp::untagged_msn),
			  changed([](Segment &g) { g.msn = 2; })},
			 {"msn_1000", msn, terminates(ddp::untagged_msn, ddp::untagged_no_buffer),
			  changed([](Segment &g) { g.msn = 1000; })},
			 {"msn_repeated", msn, terminates(ddp::untagged_msn),
			  [](Session &s) {
				  ReadRequest rr{sink_stag, sink_to, 40, s.v.rw->rkey(),
						 s.v.rw->base()};
				  s.p.read(rr);
				  ASSERT_TRUE(s.p.receive());
				  s.offend(read_request_segment(1, rr));
			  }},
			 {"ddp_version_2", "RFC 5041 7.2", terminates(ddp::untagged_version),
			  changed([](Segment &g) { g.dv = 2; })},
			 {"rdmap_version_2", "RFC 5040 7.2", terminates(rdmap::op_version),
			  changed([](Segment &g) { g.rv = 2; })},
		 });
}

// One more than IRD while the first is still being answered, because nobody reads.
void too_many(Session &s, unsigned extra)
{
	const uint32_t len = static_cast<uint32_t>(s.v.rw->size());
	ReadRequest rr{sink_stag, sink_to, len, s.v.rw->rkey(), s.v.rw->base()};
	auto counted = [] { return lab().device.counter("ddp_untagged_errors"); };
	const std::optional<uint64_t> before = counted();
	for (unsigned i = 0; i < s.v.options().ird + extra; i++)
		s.p.read(rr);
	// Until socket buffers are full and the last request is seen.
	if (before)
		ASSERT_TRUE(eventually([&] { return counted() > before; })) << "not noticed";
	else
		std::this_thread::sleep_for(moment);
}

void add_depth(std::vector<Case> &c)
{
	const char *rfc = "RFC 5041 7.1 untagged 2, 5; RFC 5040 5.2.2; RFC 5042 6.4.3.3";
	Terms terms{.rev = 2, .rcvbuf = 4096, .victim = Options{.ird = 2, .rw_size = 4 << 20}};
	const Verdict full = terminates(ddp::untagged_no_buffer, ddp::untagged_msn);
	c.insert(c.end(), {
				  {"one_more_than_ird", rfc, full,
				   [](Session &s) { too_many(s, 1); }, terms},
				  {"a_thousand_more_than_ird", rfc, full,
				   [](Session &s) { too_many(s, 1000); }, terms},
			  });
}

INSTANTIATE_TEST_SUITE_P(read_request, Wire, rows(add_source, add_bounds, add_header, add_depth),
			 RowName());

} // namespace
} // namespace peer
