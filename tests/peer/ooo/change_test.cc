// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// What happens between placement and delivery: other octets, other rights, other memory, errors, and the
// end of the connection. What is delivered is what TCP acknowledges in the end.
#include "session.h"

namespace ooo {
namespace {

using iwarp::pattern;

constexpr size_t len = 1000;

// The stream's octets from an FPDU on, with another payload in that FPDU.
Octets other_payload(const Session &s, const Span &f, const Segment &seg)
{
	iwarp::FpduEncoder e(s.out.mode(), f.from);
	return e.encode(seg.encode());
}

Segment write_segment(Session &s, size_t at, uint32_t seed)
{
	return iwarp::write_segment(s.v.rw->rkey(), s.v.rw->base() + at, pattern(len, seed));
}

struct Early : testing::Test {
	Session s;
	Span gap, f;

	// One FPDU is missing, the next was placed.
	void SetUp() override
	{
		gap = s.write(0, 40, 1);
		f = s.write(5000, len, 2);
		s.send(f);
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
		ASSERT_TRUE(s.written(5000, len, 2));
	}
	// The other contents with which the sender goes on.
	Octets other() { return other_payload(s, f, write_segment(s, 5000, 77)); }
};

// A segment that covers the gap and all of the early one: TCP throws that away.
TEST_F(Early, covered_by_other_octets)
{
	Octets all(s.stream.begin() + gap.from, s.stream.begin() + gap.to);
	iwarp::put(all, other());
	s.send_other(gap.from, all, 1460);
	EXPECT_TRUE(s.written(0, 40, 1));
	EXPECT_TRUE(s.written(5000, len, 77)) << "delivered is not what TCP has acknowledged";
	EXPECT_EQ(s.counted(), (Counted{0, 0, 1}));
}

// It ends inside of the early segment, which TCP keeps, behind it: here both FPDUs are in one.
TEST_F(Early, overlapped_by_other_octets)
{
	s.write(8000, 100, 3);
	Span b = s.write(9000, len, 4), c = s.write(12000, len, 5);
	s.send(b.from, c.to, 1460 * 2);
	// too long for one segment of the wire, but not for a tun device
	ASSERT_EQ(s.counted(), (Counted{2, 0, 0}));
	const Octets b2 = other_payload(s, b, write_segment(s, 9000, 78));
	Octets over(s.stream.begin() + gap.from, s.stream.begin() + b.from);
	iwarp::put(over, b2);
	s.send_other(gap.from, over, over.size());
	s.fill();
	EXPECT_TRUE(s.written(9000, len, 78)) << "delivered is not what TCP has acknowledged";
	EXPECT_TRUE(s.written(12000, len, 5));
}

// Octets from before the gap once more: a drop that takes nothing away.
TEST(Doubled, before_the_gap)
{
	Session s;
	Span first = s.write(1000, 40, 5);
	s.send(first);
	s.write(0, 40, 1);
	Span f = s.write(5000, len, 2);
	s.send(f);
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	s.send(first);
	s.send(s.write(8000, len, 3));
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	s.fill();
	EXPECT_EQ(s.counted(), (Counted{0, 2, 0}));
	EXPECT_TRUE(s.written(5000, len, 2) && s.written(8000, len, 3));
}

// The same octets again are dropped; what was placed may be placed again, and is right in any case.
TEST_F(Early, doubled)
{
	s.send_other(f.from, View(s.stream).subspan(f.from, f.to - f.from));
	s.message(30, 3);
	s.fill();
	s.delivers(30, 3);
	EXPECT_TRUE(s.written(0, 40, 1) && s.written(5000, len, 2));
}

// TCP reneges: it drops what it has told the sender it has, the last first. Then other octets come.
TEST(Renege, other_octets)
{
	FixedBuffers fixed;
	Session s;
	Span gap = s.write(0, 40, 1);
	constexpr size_t large = 30000;
	s.write(20000, large, 9);
	Span f = s.write(5000, len, 2);
	s.send(f);
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	// single octets that are no neighbours: much overhead, and nothing to be saved
	ASSERT_TRUE(s.crowd(gap.to, f.from, 2, "OfoPruned")) << "TCP keeps everything";
	const Octets f2 = other_payload(s, f, write_segment(s, 5000, 77));
	std::copy(f2.begin(), f2.end(), s.stream.begin() + f.from);
	s.message(30, 3);
	s.fill();
	s.delivers(30, 3);
	EXPECT_TRUE(s.written(5000, len, 77)) << "delivered is not what TCP has acknowledged";
	EXPECT_TRUE(s.written(20000, large, 9) && s.written(0, 40, 1));
	EXPECT_GE(s.counted().replaced, 1U);
}

// Two Writes to one place: the later one's octets stay, though they came first.
TEST(Order, two_writes_to_one_place)
{
	Session s;
	Span a = s.write(5000, len, 1), b = s.write(5000 + len / 2, len, 2);
	s.send(b);
	EXPECT_EQ(s.counted(), (Counted{1, 0, 0}));
	s.send(a);
	EXPECT_EQ(s.counted(), (Counted{0, 0, 1}));
	EXPECT_TRUE(s.written(5000 + len / 2, len, 2)) << "an earlier Write has the last word";
	Octets first = pattern(len, 1);
	first.resize(len / 2);
	EXPECT_EQ(s.v.rw->copy(5000, len / 2), first);
}

TEST(Order, both_early)
{
	Session s;
	s.write(0, 40, 9);
	Span a = s.write(5000, len, 1), b = s.write(5000, len, 2);
	s.send(b);
	s.send(a);
	EXPECT_EQ(s.counted(), (Counted{2, 0, 1}));
	s.fill();
	EXPECT_TRUE(s.written(5000, len, 2));
	EXPECT_EQ(s.counted(), (Counted{0, 1, 0}));
}

// The region is another one when the turn comes, under the same STag.
TEST(Rights, registered_anew)
{
	Session s;
	ibv_pd *pd = s.v.pd();
	Octets first(8192), second(8192);
	ibv_mr *mr = ibv_reg_mr(pd, first.data(), first.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	ASSERT_TRUE(mr);
	const uint32_t stag = mr->rkey;
	const uint64_t to = reinterpret_cast<uint64_t>(first.data());
	s.write(0, 40, 1);
	Span f = s.add(iwarp::write_segment(stag, to, pattern(len, 2)));
	s.send(f);
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	std::fill(first.begin(), first.end(), 0);
	ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, pd, nullptr, 0,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ), 0);
	ASSERT_EQ(mr->rkey, stag);
	s.message(30, 3);
	s.fill();
	s.delivers(30, 3);
	EXPECT_EQ(Octets(first.begin(), first.begin() + len), pattern(len, 2)) << "delivered, and not there";
	EXPECT_EQ(s.counted(), (Counted{0, 0, 1}));
	ibv_dereg_mr(mr);
}

// Deregistered in between: nothing more is written, and in its turn it is the error that it is.
TEST(Rights, taken_away)
{
	Session s;
	Octets memory(8192);
	ibv_mr *mr = ibv_reg_mr(s.v.pd(), memory.data(), memory.size(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	ASSERT_TRUE(mr);
	s.write(0, 40, 1);
	Span f = s.add(iwarp::write_segment(mr->rkey, reinterpret_cast<uint64_t>(memory.data()), pattern(len, 2)));
	Span g = s.add(iwarp::write_segment(mr->rkey, reinterpret_cast<uint64_t>(memory.data()) + 4000, pattern(len, 3)));
	s.send(f);
	ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
	ibv_dereg_mr(mr);
	std::fill(memory.begin(), memory.end(), 0);
	s.send(g);
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	s.nothing_delivered();
	s.fill();
	auto t = s.terminate();
	ASSERT_TRUE(t);
	EXPECT_EQ(t->code, iwarp::ddp::tagged_stag);
	EXPECT_EQ(memory, Octets(8192)) << "written to after deregistration";
}

// An error waits for its turn: what comes before it is delivered, and it may never have its turn.
void held(const iwarp::FpduFault &fault, iwarp::Code code)
{
	Session s;
	s.message(40, 1);
	Span bad = s.add(write_segment(s, 5000, 2), fault), behind = s.write(8000, len, 3);
	uint64_t terminates = s.counter("tx_terminate");
	s.send(bad.from, behind.to);
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	EXPECT_EQ(s.counter("tx_terminate"), terminates);
	EXPECT_FALSE(s.written(5000, len, 2) || s.written(8000, len, 3));
	s.send(0, bad.from);
	s.delivers(40, 1);
	auto t = s.terminate();
	ASSERT_TRUE(t);
	EXPECT_EQ(t->code, code);
	EXPECT_FALSE(s.written(5000, len, 2) || s.written(8000, len, 3));
}

TEST(Error, crc) { held({.crc_xor = 1}, iwarp::mpa::crc); }

TEST(Error, marker)
{
	held({.marker = [](iwarp::Marker m) { return iwarp::Marker{0, static_cast<uint16_t>(m.fpdu_ptr ^ 4)}; }},
	     iwarp::mpa::marker);
}

TEST(Error, stag)
{
	Session s;
	s.message(40, 1);
	Span bad = s.add(iwarp::write_segment(s.v.rw->rkey() ^ 1, s.v.rw->base(), pattern(len, 2)));
	s.send(bad);
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	s.send(0, bad.from);
	s.delivers(40, 1);
	auto t = s.terminate();
	ASSERT_TRUE(t);
	EXPECT_EQ(t->code, iwarp::ddp::tagged_stag);
}

// What was wrong is sent again, right, and covers it.
TEST(Error, made_good)
{
	Session s;
	Span gap = s.message(40, 1), f = s.add(write_segment(s, 5000, 2), {.crc_xor = 1});
	s.send(f);
	Octets all(s.stream.begin() + gap.from, s.stream.begin() + gap.to);
	iwarp::put(all, other_payload(s, f, write_segment(s, 5000, 2)));
	s.send_other(gap.from, all, 1460);
	s.delivers(40, 1);
	EXPECT_TRUE(s.written(5000, len, 2));
}

// The connection ends with early FPDUs in the ledger and a gap before them.
TEST(End, with_a_gap)
{
	for (int i = 0; i < 20; i++) {
		Session s;
		s.message(40, 1);
		Span f = s.message(len, 2);
		s.send(f);
		EXPECT_EQ(s.counted(), (Counted{1, 0, 0}));
	}
}

// A queue pair in error: its receives have been given back and belong to the program again.
TEST(End, queue_pair_in_error)
{
	Session s;
	s.message(40, 1);
	s.message(len, 2);
	Span third = s.message(len, 3);
	ibv_qp_attr attr{};
	attr.qp_state = IBV_QPS_ERR;
	ASSERT_EQ(ibv_modify_qp(s.c().qp(), &attr, IBV_QP_STATE), 0);
	for (unsigned i = 0; i < receives; i++) {
		auto wc = s.v.completion();
		ASSERT_TRUE(wc);
		EXPECT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR);
	}
	try {
		s.send(third);
	} catch (const std::exception &) {
		// there may be nobody to acknowledge it
	}
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	EXPECT_FALSE(s.slot_has(2, 0, pattern(len, 3)));
}

} // namespace
} // namespace ooo
