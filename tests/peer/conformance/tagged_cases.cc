// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// STag, TO, bounds and access rights: RDMA Write and Read Request.
#include "../session/cases.h"

namespace peer {
namespace {

constexpr uint64_t top = ~uint64_t{0};

// DDP has no code for a missing access right: check 2 of RFC 5041 7.1 fails, which is reported as
// an invalid STag. RFC 5040 figure 9 has a code, but by figure 10 only for Read Requests and
// invalidation.
const Verdict no_write = terminates(ddp::tagged_stag).counted_as("access_errors"),
	      no_read = terminates(rdmap::prot_access);
const Verdict bad_stag_w = terminates(ddp::tagged_stag), bad_stag_r = terminates(rdmap::prot_stag);
const Verdict bounds_w = terminates(ddp::tagged_bounds), bounds_r = terminates(rdmap::prot_bounds);
// A TO range that wraps is out of bounds, too. The RFCs do not say which error to report.
const Verdict wrap_w = terminates(ddp::tagged_wrap, ddp::tagged_bounds),
	      wrap_r = terminates(rdmap::prot_wrap, rdmap::prot_bounds);

struct Target {
	std::string name;
	Place place;
	Verdict write; // RFC 5041 7.2, tagged
	Verdict read;  // RFC 5040 figure 9, protection
};

// Adds places at and around the beginning and the end of a region, with only one access right each.
void add_edges(std::vector<Target> &t)
{
	constexpr int64_t size = region_size, g4 = int64_t{1} << 32;
	struct Edge {
		const char *name;
		int64_t at;
		uint32_t len;
		bool inside = false;
	};
	for (const Edge &e : {Edge{"first_byte", 0, 1, true},
			      {"last_byte", size - 1, 1, true},
			      {"whole_region", 0, size, true},
			      {"up_to_the_end", size - 100, 100, true},
			      {"byte_before", -1, 1},
			      {"across_the_base", -1, 2},
			      {"up_to_the_base", -40, 40},
			      {"page_before", -4096, 40},
			      {"byte_at_the_end", size, 1},
			      {"across_the_end", size - 1, 2},
			      {"byte_behind_the_end", size + 1, 1},
			      {"page_behind", size + 4096, 40},
			      {"one_byte_too_many", 0, size + 1},
			      {"4g_too_high", g4, 40},
			      {"4g_too_low", -g4, 40}}) {
		// Outside the region there are two errors: the access right is missing, too.
		const Verdict w = e.inside ? no_write :
					     terminates(ddp::tagged_stag, ddp::tagged_bounds)
						     .counted_as("access_errors"),
			      r = e.inside ? no_read :
					     terminates(rdmap::prot_access, rdmap::prot_bounds);
		t.push_back({std::string(e.name) + "_write_only", Place{wo, e.at, e.len},
			     e.inside ? lives() : bounds_w, r});
		t.push_back({std::string(e.name) + "_read_only", Place{ro, e.at, e.len}, w,
			     e.inside ? lives() : bounds_r});
	}
}

std::vector<Target> targets()
{
	std::vector<Target> t{
		{"wrong_index", {.stag_xor = 0x40000000}, bad_stag_w, bad_stag_r},
		{"other_pd",
		 {.region = alien},
		 terminates(ddp::tagged_stream),
		 terminates(rdmap::prot_stream)},
		{"local_region", {.region = local}, no_write, no_read},
		{"read_only_region", {.region = ro}, no_write, lives()},
		{"write_only_region", {.region = wo}, lives(), no_read},
		{"to_0", {.to = 0}, bounds_w, bounds_r},
		{"to_top_bit", {.to = uint64_t{1} << 63}, bounds_w, bounds_r},
		{"last_byte_of_the_space", {.len = 1, .to = top}, wrap_w, wrap_r},
		{"wraps_by_one", {.len = 2, .to = top}, wrap_w, wrap_r},
		{"wraps_in_the_middle", {.len = 1000, .to = top - 499}, wrap_w, wrap_r},
	};
	for (int bit = 0; bit < 8; bit++)
		t.push_back({std::format("key_bit_{}", bit),
			     {.stag_xor = 1U << bit},
			     bad_stag_w,
			     bad_stag_r});
	for (uint32_t stag : {0U, 1U, 0xFFU, 0x80000000U, 0xFFFFFFFFU})
		t.push_back(
			{std::format("stag_{:x}", stag), {.stag = stag}, bad_stag_w, bad_stag_r});
	add_edges(t);
	return t;
}

Act if_right(const Verdict &verdict, const Act &right, const Act &wrong)
{
	return verdict.fate == Fate::lives ? right : wrong;
}

// Returns the place with length 0: the STag and TO of a segment without payload are not checked,
// because no data are placed.
Place empty(Place p)
{
	p.len = 0;
	return p;
}

void add_write_targets(Table &t)
{
	for (const Target &q : targets()) {
		Rule(t, "RFC 5041 7.1 tagged, 7.2", q.write)
			.add(q.name, if_right(q.write, right_write(q.place), wrong_write(q.place)));
		Rule(t, "RFC 5041 5.2: MUST NOT be checked", lives())
			.add("zero_length_" + q.name, right_write(empty(q.place)));
	}
	// The access right is missing in the QP, not in the region.
	Rule(t, "RFC 5041 7.1 tagged 2", no_write)
		.add("qp_without_remote_write", with_access(IBV_ACCESS_REMOTE_READ, wrong_write()));
	Rule(t, "RFC 5041 7.1 tagged 1", bad_stag_w)
		.add("deregistered", wrong_write_to_deregistered());
}

// Sends a message of two segments, the second of which is wrong. The first one stays placed.
Act second_is_wrong(const Place &second)
{
	return [=](Session &s) {
		right_write({.at = rw_size - 100, .len = 100},
			    [](Segment &g) { g.last = false; })(s);
		wrong_write(second)(s);
	};
}

void add_second(Table &t)
{
	Rule(t, "RFC 5041 7.1 tagged 4", bounds_w)
		.add("second_segment_runs_out", second_is_wrong({.at = rw_size, .len = 1}));
	Rule(t, "RFC 5041 7.1 tagged 1", bad_stag_w)
		.add("second_segment_has_a_wrong_key", second_is_wrong({.len = 1, .stag_xor = 1}));
	Rule(t, "RFC 5041 7.1 tagged 5", wrap_w)
		.add("second_segment_wraps", second_is_wrong({.len = 10, .to = top}));
	// The data sink need not verify that the segments of a tagged message are contiguous (RFC
	// 5041 5.2).
	Rule(t, "RFC 5041 5.2: each segment is placed at its TO", lives())
		.add("second_segment_overlaps", [](Session &s) {
			const Bytes first = pattern(100, 1), second = pattern(100, 2);
			s.p.send(write_to(*s.v.rw, 0, first, false));
			s.p.send(write_to(*s.v.rw, 50, second));
			s.places(*s.v.rw, 0, join({View(first).first(50), second}));
		});
	Rule(t, "RFC 5041 5.3 lets placement be in any order", lives())
		.add("between_two_segments_of_a_send", [](Session &s) {
			const Segment send = s.segment(pattern(80));
			const std::vector<Segment> halves = cut_at(send, {40});
			s.p.send(halves[0]);
			s.writes(*s.v.rw, 0, pattern(40));
			s.p.send(halves[1]);
			s.delivers(send.payload);
		});
}

void add_read_targets(Table &t)
{
	for (const Target &q : targets()) {
		Rule(t, "RFC 5040 7.2 request 4, figure 9", q.read)
			.add(q.name, if_right(q.read, right_read(q.place), wrong_read(q.place)));
		Rule(t, "RFC 5040 5.2.1, 7.2 request 4", lives())
			.add("zero_length_" + q.name, right_read(empty(q.place)));
	}
	Rule(t, "RFC 5040 figure 9", no_read)
		.add("qp_without_remote_read", with_access(IBV_ACCESS_REMOTE_WRITE, wrong_read()));
	Rule(t, "RFC 5040 7.2 request 4a", bad_stag_r).add("deregistered", [](Session &s) {
		auto gone = std::make_unique<Region>(s.v.pd(), 4096, IBV_ACCESS_REMOTE_READ);
		const Place place{.stag = gone->rkey(), .to = gone->base()};
		gone.reset();
		wrong_read(place)(s);
	});
}

void add_sizes(Table &t)
{
	Rule too_many(t, "RFC 5040 7.2 request 4d", bounds_r);
	for (uint32_t len : {uint32_t{region_size + 2}, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFFU})
		too_many.add(std::format("size_{:x}", len), wrong_read({.region = ro, .len = len}));
	Rule right(t, "RFC 5040 5.2.2", lives());
	for (uint32_t len : {1U, 3U, 4U, 1433U, 1434U, 1435U, 8191U})
		right.add(std::format("answer_of_{}", len),
			  right_read({.region = ro, .at = 1, .len = len}));
}

INSTANTIATE_TEST_SUITE_P(Write, Wire, rows(add_write_targets, add_second), RowName());
INSTANTIATE_TEST_SUITE_P(ReadRequest, Wire, rows(add_read_targets, add_sizes), RowName());

} // namespace
} // namespace peer
