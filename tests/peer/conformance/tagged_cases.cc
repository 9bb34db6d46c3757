// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// STag, tagged offset, bounds and rights: RDMA Write and RDMA Read Request.
#include "../session/session.h"
#include "../session/traffic.h"

namespace peer {
namespace {

using Pick = std::unique_ptr<Region> Victim::*;

constexpr uint32_t sink_stag = 0x12345600;
constexpr uint64_t sink_to = 0x1000;

// What a segment names: STag, offset, and number of bytes.
struct Target {
	std::string name;
	std::function<uint32_t(Session &)> stag;
	std::function<uint64_t(Session &)> to;
	uint32_t len;
	Verdict write; // RFC 5041 7.2, tagged
	Verdict read;  // RFC 5040 figure 9, protection
};

Target at(std::string name, Pick region, int64_t offset, uint32_t len, Verdict w, Verdict r,
	  uint32_t stag_xor = 0)
{
	return {std::move(name),
		[=](Session &s) { return (s.v.*region)->rkey() ^ stag_xor; },
		[=](Session &s) { return (s.v.*region)->base() + static_cast<uint64_t>(offset); },
		len,
		std::move(w),
		std::move(r)};
}

Target absolute(std::string name, uint64_t to, uint32_t len, Verdict w, Verdict r)
{
	return {std::move(name),
		[](Session &s) { return s.v.rw->rkey(); },
		[=](Session &) { return to; },
		len,
		std::move(w),
		std::move(r)};
}

const Pick rw = &Victim::rw, ro = &Victim::ro, wo = &Victim::wo, local = &Victim::local,
	   alien = &Victim::alien;

// DDP has no code for a missing right. Check 2 of RFC 5041 7.1 fails, which is the STag's; RFC 5040
// figure 9 has one, but figure 10 leaves it to Read Requests and invalidation.
Verdict no_write()
{
	return terminates(ddp::tagged_stag);
}
Verdict no_read()
{
	return terminates(rdmap::prot_access);
}
Verdict bad_stag_w()
{
	return terminates(ddp::tagged_stag);
}
Verdict bad_stag_r()
{
	return terminates(rdmap::prot_stag);
}
Verdict bounds_w()
{
	return terminates(ddp::tagged_bounds);
}
Verdict bounds_r()
{
	return terminates(rdmap::prot_bounds);
}
// A sum that wraps is out of bounds, too; the RFCs do not say which is to be named.
Verdict wrap_w()
{
	return terminates(ddp::tagged_wrap, ddp::tagged_bounds);
}
Verdict wrap_r()
{
	return terminates(rdmap::prot_wrap, rdmap::prot_bounds);
}

std::vector<Target> targets()
{
	std::vector<Target> t{
		at("wrong_index", rw, 0, 40, bad_stag_w(), bad_stag_r(), 0x40000000),
		at("other_pd", alien, 0, 40, terminates(ddp::tagged_stream),
		   terminates(rdmap::prot_stream)),
		at("local_region", local, 0, 40, no_write(), no_read()),
		at("read_only_region", ro, 0, 40, no_write(), lives()),
		at("write_only_region", wo, 0, 40, lives(), no_read()),
		absolute("to_0", 0, 40, bounds_w(), bounds_r()),
		absolute("to_top_bit", uint64_t{1} << 63, 40, bounds_w(), bounds_r()),
		absolute("last_byte_of_the_space", ~uint64_t{0}, 1, wrap_w(), wrap_r()),
		absolute("wraps_by_one", ~uint64_t{0}, 2, wrap_w(), wrap_r()),
		absolute("wraps_in_the_middle", 0 - uint64_t{500}, 1000, wrap_w(), wrap_r()),
	};
	for (int bit = 0; bit < 8; bit++)
		t.push_back(at("key_bit_" + std::to_string(bit), rw, 0, 40, bad_stag_w(),
			       bad_stag_r(), 1U << bit));
	for (uint32_t stag : {0U, 1U, 0xFFU, 0x80000000U, 0xFFFFFFFFU}) {
		Target q = at("stag_" + hex(stag), rw, 0, 40, bad_stag_w(), bad_stag_r());
		q.stag = [stag](Session &) { return stag; };
		t.push_back(q);
	}
	const auto size = static_cast<int64_t>(region_size);
	struct Edge {
		const char *name;
		int64_t at;
		uint32_t len;
		bool inside;
	};
	for (const Edge &e : {Edge{"first_byte", 0, 1, true},
			      {"last_byte", size - 1, 1, true},
			      {"whole_region", 0, region_size, true},
			      {"up_to_the_end", size - 100, 100, true},
			      {"byte_before", -1, 1, false},
			      {"across_the_base", -1, 2, false},
			      {"up_to_the_base", -40, 40, false},
			      {"page_before", -4096, 40, false},
			      {"byte_at_the_end", size, 1, false},
			      {"across_the_end", size - 1, 2, false},
			      {"byte_behind_the_end", size + 1, 1, false},
			      {"page_behind", size + 4096, 40, false},
			      {"one_byte_too_many", 0, region_size + 1, false},
			      {"4g_too_high", int64_t{1} << 32, 40, false},
			      {"4g_too_low", -(int64_t{1} << 32), 40, false}}) {
		// A region of each right, for each operation.
		Target w = at(e.name, wo, e.at, e.len, e.inside ? lives() : bounds_w(), lives());
		Target r = at(e.name, ro, e.at, e.len, lives(), e.inside ? lives() : bounds_r());
		w.name += "_write_only";
		r.name += "_read_only";
		// Outside there are two faults.
		w.read = e.inside ? no_read() : terminates(rdmap::prot_access, rdmap::prot_bounds);
		r.write = e.inside ? no_write() : terminates(ddp::tagged_stag, ddp::tagged_bounds);
		t.push_back(w);
		t.push_back(r);
	}
	return t;
}

void write(Session &s, const Target &t)
{
	Segment g = write_segment(t.stag(s), t.to(s), pattern(t.len, 6));
	if (t.write.fate != Fate::lives)
		return s.offend(g);
	s.p.send(g);
	s.places(*s.v.wo, static_cast<ptrdiff_t>(g.to - s.v.wo->base()), g.payload);
}

// All segments of the answer.
void expect_answer(Session &s, const Bytes &want)
{
	const Segment a = receive_message(s.p, op_read_response);
	EXPECT_EQ(a.stag, sink_stag);
	EXPECT_EQ(a.to, sink_to);
	EXPECT_TRUE(same(a.payload, want));
}

void read(Session &s, const Target &t)
{
	ReadRequest rr{sink_stag, sink_to, t.len, t.stag(s), t.to(s)};
	s.offend(read_request_segment(s.p.read_msn++, rr));
	if (t.read.fate == Fate::lives)
		expect_answer(s,
			      s.v.ro->copy(static_cast<size_t>(rr.src_to - s.v.ro->base()), t.len));
}

void add_targets(std::vector<Case> &w, std::vector<Case> &r)
{
	for (const Target &t : targets()) {
		w.push_back({t.name, "RFC 5041 7.1 tagged, 7.2", t.write,
			     [t](Session &s) { write(s, t); }});
		r.push_back({t.name, "RFC 5040 7.2 request 4, figure 9", t.read,
			     [t](Session &s) { read(s, t); }});
	}
}

// Whatever they name: nothing is placed, so nothing is looked at.
void add_zero_length(std::vector<Case> &w, std::vector<Case> &r)
{
	for (const Target &t : targets()) {
		w.push_back({"zero_length_" + t.name, "RFC 5041 5.2: MUST NOT be checked", lives(),
			     [t](Session &s) { s.p.send(write_segment(t.stag(s), t.to(s), {})); }});
		r.push_back({"zero_length_" + t.name, "RFC 5040 5.2.1, 7.2 request 4", lives(),
			     [t](Session &s) {
				     s.p.read({sink_stag, sink_to, 0, t.stag(s), t.to(s)});
				     expect_answer(s, {});
			     }});
	}
}

// Rights of the QP, not of the region.
void add_qp_rights(std::vector<Case> &w, std::vector<Case> &r)
{
	auto without = [](int access, std::function<void(Session &)> act) {
		return [=](Session &s) {
			s.message();
			s.c().allow(access);
			act(s);
		};
	};
	const Target t = at("", rw, 0, 40, no_write(), no_read());
	w.push_back({"qp_without_remote_write", "RFC 5041 7.1 tagged 2", no_write(),
		     without(IBV_ACCESS_REMOTE_READ, [t](Session &s) { write(s, t); })});
	r.push_back({"qp_without_remote_read", "RFC 5040 figure 9", no_read(),
		     without(IBV_ACCESS_REMOTE_WRITE, [t](Session &s) { read(s, t); })});
	w.push_back({"deregistered", "RFC 5041 7.1 tagged 1", bad_stag_w(), [](Session &s) {
			     auto gone = std::make_unique<Region>(s.v.pd(), 4096,
								  IBV_ACCESS_LOCAL_WRITE |
									  IBV_ACCESS_REMOTE_WRITE);
			     Segment g = write_segment(gone->rkey(), gone->base(), pattern(40));
			     gone.reset();
			     s.offend(g);
		     }});
	r.push_back({"deregistered", "RFC 5040 7.2 request 4a", bad_stag_r(), [](Session &s) {
			     auto gone = std::make_unique<Region>(s.v.pd(), 4096,
								  IBV_ACCESS_REMOTE_READ);
			     ReadRequest rr{sink_stag, sink_to, 40, gone->rkey(), gone->base()};
			     gone.reset();
			     s.offend(read_request_segment(1, rr));
		     }});
}

// A message of two segments, the second of which is wrong: the first stays placed.
void add_second(std::vector<Case> &w)
{
	auto then = [](std::function<Segment(Session &)> wrong) {
		return [=](Session &s) {
			s.p.send(write_segment(s.v.rw->rkey(), s.v.rw->end() - 100, pattern(100),
					       false));
			s.places(*s.v.rw, static_cast<ptrdiff_t>(rw_size - 100), pattern(100));
			s.offend(wrong(s));
		};
	};
	w.push_back({"second_segment_runs_out", "RFC 5041 7.1 tagged 4", bounds_w(),
		     then([](Session &s) {
			     return write_segment(s.v.rw->rkey(), s.v.rw->end(), pattern(1));
		     })});
	w.push_back({"second_segment_has_a_wrong_key", "RFC 5041 7.1 tagged 1", bad_stag_w(),
		     then([](Session &s) {
			     return write_segment(s.v.rw->rkey() ^ 1, s.v.rw->base(), pattern(1));
		     })});
	w.push_back({"second_segment_wraps", "RFC 5041 7.1 tagged 5", wrap_w(),
		     then([](Session &s) {
			     return write_segment(s.v.rw->rkey(), ~uint64_t{0}, pattern(10));
		     })});
	// The sink needs not verify that segments of a tagged message join (RFC 5041 5.2).
	w.push_back({"second_segment_overlaps", "RFC 5041 5.2: each is placed where it says",
		     lives(), [](Session &s) {
			     s.p.send(write_to(*s.v.rw, 0, pattern(100, 1), false));
			     s.p.send(write_to(*s.v.rw, 50, pattern(100, 2)));
			     Bytes sum = pattern(50, 1);
			     Bytes first = pattern(100, 1);
			     std::copy(first.begin(), first.begin() + 50, sum.begin());
			     put(sum, pattern(100, 2));
			     s.places(*s.v.rw, 0, sum);
		     }});
	w.push_back({"between_two_segments_of_a_send",
		     "RFC 5041 5.3 lets placement be in any order", lives(), [](Session &s) {
			     uint32_t msn = s.p.send_msn++;
			     s.p.send(send_segment(msn, pattern(40), 0, false));
			     s.writes(*s.v.rw, 0, pattern(40));
			     s.p.send(send_segment(msn, pattern(40, 2), 40));
			     s.delivers(join({pattern(40), pattern(40, 2)}));
		     }});
}

void add_sizes(std::vector<Case> &r)
{
	for (uint32_t len :
	     {region_size + 2, size_t{0x7FFFFFFF}, size_t{0x80000000}, size_t{0xFFFFFFFF}})
		r.push_back({"size_" + hex(len), "RFC 5040 7.2 request 4d", bounds_r(),
			     [len](Session &s) {
				     s.offend(read_request_segment(1, {sink_stag, sink_to, len,
								       s.v.ro->rkey(),
								       s.v.ro->base()}));
			     }});
	for (uint32_t len : {1U, 3U, 4U, 1433U, 1434U, 1435U, 8191U})
		r.push_back({"answer_of_" + std::to_string(len), "RFC 5040 5.2.2", lives(),
			     [len](Session &s) {
				     s.p.read({sink_stag, sink_to, len, s.v.ro->rkey(),
					       s.v.ro->base() + 1});
				     expect_answer(s, s.v.ro->copy(1, len));
			     }});
}

std::vector<Case> cases(bool reads)
{
	std::vector<Case> w, r;
	add_targets(w, r);
	add_zero_length(w, r);
	add_qp_rights(w, r);
	add_second(w);
	add_sizes(r);
	return reads ? r : w;
}

INSTANTIATE_TEST_SUITE_P(Write, Wire, testing::ValuesIn(cases(false)), RowName());
INSTANTIATE_TEST_SUITE_P(ReadRequest, Wire, testing::ValuesIn(cases(true)), RowName());

} // namespace
} // namespace peer
