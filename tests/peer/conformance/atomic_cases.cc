// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Atomic Requests of the peer, and the peer's Atomic Responses to the victim's requests (RFC 7306
// 5, 8). Terminates contain the DDP header only (8.1 rule 2).
#include <cstring>

#include "../session/reads.h"

namespace peer {
namespace {

constexpr int64_t target_at = 64; // of the region
constexpr uint64_t one = 1, all_bits = ~uint64_t{0};
const Terms rev_2{.rev = 2};

// The value at an offset of a region, in the byte order of this machine.
uint64_t value_at(Region &r, int64_t at)
{
	uint64_t v;
	memcpy(&v, r.data() + at, sizeof(v));
	return v;
}

Bytes in_memory(uint64_t v)
{
	Bytes b(sizeof(v));
	memcpy(b.data(), &v, sizeof(v));
	return b;
}

using AtomicEdit = std::function<void(AtomicRequest &)>;

// An operation that changes its target whatever the contents are.
struct Operation {
	const char *name;
	AtomicRequest request;
};
const Operation operations[] = {
	{"fetch_add", {.op = fetch_add, .data = 1}},
	{"cmp_swap", {.op = cmp_swap, .data = 0x4711, .mask = all_bits, .compare_mask = 0}},
};

Segment request_to(Session &s, AtomicRequest a, const Place &where)
{
	a.id = 0x12340000 + s.p.read_msn;
	a.stag = where.stag_in(s);
	a.to = where.to_in(s);
	return atomic_request_segment(s.p.read_msn++, a);
}

Act wrong_request(const AtomicRequest &a, const Place &where, const Edit &change = {})
{
	return [=](Session &s) {
		Segment g = request_to(s, a, where);
		if (change)
			change(g);
		s.offend(g);
	};
}

// Receives the Atomic Response with this MSN, and checks its header and contents.
void expect_response(Session &s, uint32_t msn, const AtomicResponse &wanted)
{
	const Segment g = s.p.next();
	EXPECT_EQ(g.header(), atomic_response_segment(msn, {}).header());
	ASSERT_EQ(g.payload.size(), AtomicResponse::len);
	const AtomicResponse got = AtomicResponse::decode(g.payload);
	EXPECT_EQ(got.id, wanted.id);
	EXPECT_EQ(got.original, wanted.original);
}

// Sends a request, and checks the response and the target's new value, a function of the old one.
Act right_request(const std::function<AtomicRequest(uint64_t old)> &make,
		  const std::function<uint64_t(uint64_t old)> &result)
{
	return [=](Session &s) {
		Region &r = *s.v.atomic;
		const uint64_t old = value_at(r, target_at);
		const Segment g = request_to(s, make(old), {.region = atomic, .at = target_at});
		s.p.send(g);
		expect_response(s, 1, {AtomicRequest::decode(g.payload).id, old});
		s.places(r, target_at, in_memory(result(old)));
	};
}

void add_right(Table &t)
{
	// RFC 7306 5.1.1: the most significant bit of each field is set in the mask.
	constexpr uint64_t fields = 0x8000000080008080, added = 0xFFFFFFFFFFFFFFFF;
	auto sum_of_fields = [](uint64_t old) {
		auto field = [old](int from, uint64_t mask) {
			return (((old >> from) + (added >> from)) & mask) << from;
		};
		return field(0, 0xFF) | field(8, 0xFF) | field(16, 0xFFFF) | field(32, 0xFFFFFFFF);
	};
	auto plus_3 = [](uint64_t old) { return old + 3; };
	Rule(t, "RFC 7306 5.1.1", lives())
		.add("fetch_add",
		     right_request([](uint64_t) { return AtomicRequest{.data = 3}; }, plus_3))
		.add("fetch_add_in_fields",
		     right_request(
			     [=](uint64_t) { return AtomicRequest{.data = added, .mask = fields}; },
			     sum_of_fields));
	// RFC 7306 5.2.1: "ignored on receive", "ignored by the receiver".
	Rule(t, "RFC 7306 5.2.1", lives())
		.add("fetch_add_ignored_fields_set",
		     right_request(
			     [](uint64_t) {
				     return AtomicRequest{.op = 0xFFFFFFF0 | fetch_add,
							  .data = 3,
							  .compare = 4711,
							  .compare_mask = 1};
			     },
			     plus_3));
	constexpr uint64_t data = 0x0123456789ABCDEF, mask = 0x00FFFF0000FF00FF;
	auto swap_if = [=](uint64_t wrong_bits, uint64_t compare_mask) {
		return [=](uint64_t old) {
			return AtomicRequest{.op = cmp_swap,
					     .data = data,
					     .mask = mask,
					     .compare = old ^ wrong_bits,
					     .compare_mask = compare_mask};
		};
	};
	auto swapped = [=](uint64_t old) { return (old & ~mask) | (data & mask); };
	auto same_as_before = [](uint64_t old) { return old; };
	Rule(t, "RFC 7306 5.1.2", lives())
		.add("cmp_swap_equal", right_request(swap_if(0, all_bits), swapped))
		.add("cmp_swap_equal_in_the_mask",
		     right_request(swap_if(one << 40, ~(one << 40)), swapped))
		.add("cmp_swap_unequal",
		     right_request(swap_if(one << 40, all_bits), same_as_before))
		.add("cmp_swap_unequal_in_the_mask",
		     right_request(swap_if(one << 40, one << 40), same_as_before));
}

// RFC 7306 5.2.1 rule 7, 5.2.2 rule 8: in the order of the requests, those of reads included.
void add_order(Table &t)
{
	Rule(t, "RFC 7306 5.2.2 rule 8, 5.4 rule 8", lives(), rev_2)
		.add("responses_in_order", [](Session &s) {
			Region &r = *s.v.atomic;
			const Place where{.region = atomic, .at = target_at};
			const uint64_t old = value_at(r, target_at);
			const std::vector<Segment> all = {
				request_to(s, {.data = 1}, where),
				Place{.region = ro}.read(s),
				request_to(s, {.data = 10}, where),
				request_to(s, {.data = 100}, where),
			};
			s.p.send_at_once(all);
			auto id = [&](size_t n) {
				return AtomicRequest::decode(all[n].payload).id;
			};
			expect_response(s, 1, {id(0), old});
			EXPECT_EQ(s.receives(op_read_response).stag, sink_stag);
			expect_response(s, 2, {id(2), old + 1});
			expect_response(s, 3, {id(3), old + 11});
			s.places(r, target_at, in_memory(old + 111));
		});
}

// RFC 7306 5.2: Atomic and Read Requests share queue 1, whose depth is IRD. The peer receives no
// Read Response before it has sent all requests, in one call.
void add_depth(Table &t)
{
	Rule(t, "RFC 7306 5.2; RFC 5041 7.1 untagged 2; RFC 6581 9.1",
	     terminates(ddp::untagged_no_buffer, ddp::untagged_msn), rev_2)
		.add("beyond_ird_reads", [](Session &s) {
			const Place all_of_rw{.len = static_cast<uint32_t>(s.v.rw->size())};
			std::vector<Segment> all;
			for (unsigned i = 0; i < depth; i++)
				all.push_back(all_of_rw.read(s));
			all.push_back(request_to(s, {.data = 1},
						 {.region = atomic, .at = target_at}));
			s.p.send_at_once(all);
			ASSERT_TRUE(eventually([&] { return s.bed.any_error(); }))
				<< "the Atomic Request beyond IRD raises no error";
		});
}

void add_wrong_target(Table &t, const Operation &o)
{
	auto add = [&](const char *rfc, const Verdict &verdict, const std::string &name,
		       const Place &where) {
		Rule(t, rfc, verdict)
			.add(std::format("{}_{}", o.name, name), wrong_request(o.request, where));
	};
	for (int off = 1; off < 8; off++)
		add("RFC 7306 5.1, 8.2", terminates(rdmap::op_stream),
		    std::format("unaligned_by_{}", off), {.region = atomic, .at = target_at + off});
	const char *rfc = "RFC 7306 8; RFC 5040 7.2, figure 9";
	const Verdict access = terminates(rdmap::prot_access);
	add(rfc, access, "no_atomic_right", {.region = rw, .at = target_at});
	add(rfc, access, "read_right_only", {.region = ro, .at = target_at});
	add(rfc, access, "write_right_only", {.region = wo, .at = target_at});
	add(rfc, access, "no_remote_right", {.region = local, .at = target_at});
	add(rfc, terminates(rdmap::prot_stream), "other_pd", {.region = alien, .at = target_at});
	const Verdict bounds = terminates(rdmap::prot_bounds);
	add(rfc, bounds, "behind_the_end", {.region = atomic, .at = region_size});
	add(rfc, bounds, "before_the_base", {.region = atomic, .at = -8});
	add(rfc, terminates(rdmap::prot_wrap), "to_wraps", {.region = atomic, .to = all_bits - 3});
	const Verdict stag = terminates(rdmap::prot_stag);
	add(rfc, stag, "wrong_key", {.region = atomic, .at = target_at, .stag_xor = 1});
	add(rfc, stag, "wrong_index", {.region = atomic, .at = target_at, .stag_xor = 0x20000000});
	add(rfc, stag, "stag_0", {.region = atomic, .at = target_at, .stag = 0});
	// Nothing is wrong but the rights of the QP.
	Rule(t, rfc, access)
		.add(std::format("{}_no_right_of_the_qp", o.name),
		     with_access(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
				 wrong_request(o.request, {.region = atomic, .at = target_at})));
}

void add_wrong_request(Table &t)
{
	const Place where{.region = atomic, .at = target_at};
	for (const Operation &o : operations) {
		add_wrong_target(t, o);
		Rule(t, "RFC 7306 5.4 rule 5: after all messages before it",
		     terminates(rdmap::op_opcode))
			.add(std::format("{}_inside_a_send", o.name), [o, where](Session &s) {
				s.begins(pattern(100));
				wrong_request(o.request, where)(s);
			});
	}
	// RFC 7306 figure 5 defines 0 and 2. No text has a code for the others.
	Rule op(t, "RFC 7306 5.2.1 rule 4", terminates(rdmap::op_opcode));
	for (uint32_t n = 1; n < 16; n++)
		if (n != cmp_swap)
			op.add(std::format("operation_{}", n),
			       wrong_request({.op = n, .data = 1, .mask = all_bits}, where));
	auto length_is = [&](size_t n) {
		return wrong_request(operations[0].request, where,
				     [n](Segment &g) { g.payload.resize(n); });
	};
	Rule(t, "RFC 7306 figure 4, no code", ends()).add("request_of_51", length_is(51));
	Rule(t, "RFC 7306 figure 4; RFC 5041 7.1 untagged 4", terminates(ddp::untagged_too_long))
		.add("request_of_53", length_is(53));
	Rule(t, "RFC 5041 7.1 untagged 5", terminates(ddp::untagged_msn), rev_2)
		.add("request_msn_off_by_1",
		     wrong_request(operations[0].request, where, [](Segment &g) { g.msn++; }));
}

// ---- the victim's requests ----

// Posts an atomic whose result goes to the local region, and returns the request that the peer
// receives.
AtomicRequest asked_atomic(Session &s, ibv_send_wr wr, size_t at = sink_at)
{
	if (s.p.send_msn == 1)
		s.message();
	wr.wr.atomic.remote_addr = source_to;
	wr.wr.atomic.rkey = source_stag;
	s.c().post(wr, *s.v.local, at, sizeof(uint64_t));
	const Segment g = s.p.next();
	Segment right = atomic_request_segment(s.p.read_msn++, {});
	EXPECT_EQ(g.header(), right.header());
	if (g.payload.size() != AtomicRequest::len)
		throw std::runtime_error("the victim sends no Atomic Request");
	const AtomicRequest a = AtomicRequest::decode(g.payload);
	EXPECT_EQ(a.stag, source_stag);
	EXPECT_EQ(a.to, source_to);
	return a;
}

AtomicRequest asked_to_add(Session &s, size_t at = sink_at)
{
	ibv_send_wr wr{};
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.compare_add = 0x1122334455667788;
	return asked_atomic(s, wr, at);
}

void answered(Session &s, uint32_t msn, uint32_t id, ibv_wc_opcode opcode, size_t at = sink_at)
{
	constexpr uint64_t original = 0xFEDCBA9876543210;
	s.p.send(atomic_response_segment(msn, {id, original}));
	s.completes(opcode);
	s.places(*s.v.local, static_cast<ptrdiff_t>(at), in_memory(original));
}

void add_asked(Table &t)
{
	Rule right(t, "RFC 7306 5.2.1, figure 5", lives());
	right.add("fetch_add", [](Session &s) {
		const AtomicRequest a = asked_to_add(s);
		EXPECT_EQ(a.op, fetch_add);
		EXPECT_EQ(a.data, 0x1122334455667788U);
		EXPECT_EQ(a.mask, 0U);
		EXPECT_EQ(a.compare, 0U);
		EXPECT_EQ(a.compare_mask, all_bits);
		answered(s, 1, a.id, IBV_WC_FETCH_ADD);
	});
	right.add("cmp_swap", [](Session &s) {
		ibv_send_wr wr{};
		wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
		wr.wr.atomic.compare_add = 0x1122334455667788;
		wr.wr.atomic.swap = 0x99AABBCCDDEEFF00;
		const AtomicRequest a = asked_atomic(s, wr);
		EXPECT_EQ(a.op, cmp_swap);
		EXPECT_EQ(a.data, 0x99AABBCCDDEEFF00U);
		EXPECT_EQ(a.mask, all_bits);
		EXPECT_EQ(a.compare, 0x1122334455667788U);
		EXPECT_EQ(a.compare_mask, all_bits);
		answered(s, 1, a.id, IBV_WC_COMP_SWAP);
	});
	right.add("two_answered_in_order", [](Session &s) {
		constexpr size_t second_at = sink_at + 100;
		const AtomicRequest first = asked_to_add(s), second = asked_to_add(s, second_at);
		answered(s, 1, first.id, IBV_WC_FETCH_ADD);
		answered(s, 2, second.id, IBV_WC_FETCH_ADD, second_at);
	});
}

// Answers a request with the change. Nothing may be placed in the consumer's memory.
Act answered_with(const Edit &change)
{
	return [=](Session &s) {
		Segment g = atomic_response_segment(1, {asked_to_add(s).id, 4711});
		change(g);
		s.offend(g);
	};
}

void add_wrong_response(Table &t)
{
	// RFC 7306 8.1 requires a Terminate. No text has a code for a wrong identifier.
	Rule id(t, "RFC 7306 5.2.2 rule 7, 8.1", terminates(rdmap::op_stream));
	for (unsigned byte = 0; byte < 4; byte++)
		id.add(std::format("id_wrong_in_byte_{}", byte),
		       answered_with([byte](Segment &g) { g.payload[byte] ^= 1; }));
	id.add("id_of_the_second_request", [](Session &s) {
		asked_to_add(s);
		s.offend(atomic_response_segment(1, {asked_to_add(s).id, 4711}));
	});
	Rule(t, "RFC 7306 figure 6, no code", ends())
		.add("response_of_11", answered_with([](Segment &g) { g.payload.resize(11); }));
	Rule(t, "RFC 7306 figure 6; RFC 5041 7.1 untagged 4", terminates(ddp::untagged_too_long))
		.add("response_of_13", answered_with([](Segment &g) { g.payload.resize(13); }));
	Rule(t, "RFC 5041 7.1 untagged 5", terminates(ddp::untagged_msn))
		.add("response_msn_0", answered_with([](Segment &g) { g.msn = 0; }))
		.add("response_msn_2", answered_with([](Segment &g) { g.msn = 2; }));
	Rule none(t, "RFC 7306 5.2.2 rule 5; RFC 5041 7.1 untagged 2",
		  terminates(ddp::untagged_no_buffer));
	none.add("unasked", offends(atomic_response_segment(1, {1, 4711})));
	none.add("answered_twice", [](Session &s) {
		const uint32_t id = asked_to_add(s).id;
		answered(s, 1, id, IBV_WC_FETCH_ADD);
		s.offend(atomic_response_segment(2, {id, 4711}));
	});
	Rule(t, "RFC 7306 5.2.2, RFC 5040 figure 9", terminates(rdmap::op_opcode))
		.add("response_to_a_read", [](Session &s) {
			const ReadRequest rr = asked(s);
			s.offend(atomic_response_segment(1, {rr.sink_stag, 4711}));
		});
	// An unexpected opcode (RDMAP) or an invalid sink STag (DDP).
	Rule(t, "RFC 5040 figure 9; RFC 5041 7.1 tagged 1",
	     terminates(rdmap::op_opcode, ddp::tagged_stag))
		.add("answered_as_a_read", [](Session &s) {
			const uint32_t id = asked_to_add(s).id;
			s.offend(read_response_segment(id, 0, pattern(8)));
		});
}

INSTANTIATE_TEST_SUITE_P(AtomicRequest, Wire,
			 rows(add_right, add_order, add_depth, add_wrong_request), RowName());
INSTANTIATE_TEST_SUITE_P(AtomicResponse, Wire, rows(add_asked, add_wrong_response), RowName());

} // namespace
} // namespace peer
