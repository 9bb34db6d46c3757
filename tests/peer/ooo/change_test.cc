// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Events between early placement and delivery: other bytes, other rights, other memory, errors, and
// the end of the connection. The bytes delivered must be those that TCP acknowledges in the end.
#include <functional>

#include "session.h"

namespace ooo {
namespace {

constexpr size_t len = 1000;

Segment rw_segment(Session &s, size_t at, uint32_t seed)
{
	return write_to(*s.v.rw, static_cast<int64_t>(at), pattern(len, seed));
}

struct Early : testing::Test {
	Session s;
	Span gap, f;

	// One FPDU is missing; the next one was placed early.
	void SetUp() override
	{
		gap = s.write(0, 40, 1);
		f = s.write(5000, len, 2);
		s.send(f);
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
		ASSERT_TRUE(s.written(5000, len, 2));
	}
	// The FPDU f with another payload.
	Bytes other() { return s.instead_of(f, rw_segment(s, 5000, 77)); }
};

// A segment with other bytes covers the gap and the whole early segment, which TCP discards.
TEST_F(Early, covered_by_other_bytes)
{
	s.send_other(gap.from, join({s.part(gap), other()}), 1460);
	EXPECT_TRUE(s.written(0, 40, 1));
	EXPECT_TRUE(s.written(5000, len, 77)) << "other bytes delivered than acknowledged";
	EXPECT_EQ(s.counted(), (Counted{0, 0, 1}));
}

// A segment with other bytes ends inside the early segment, which has two FPDUs. TCP keeps the rest
// of the early segment.
TEST_F(Early, overlapped_by_other_bytes)
{
	s.write(8000, 100, 3);
	Span b = s.write(9000, len, 4), c = s.write(12000, len, 5);
	s.send(b.from, c.to, 1460 * 2);
	// one segment for both FPDUs, which tun takes although it exceeds the MSS
	ASSERT_EQ(s.counted(), (Counted{2, 0, 0}));
	const Bytes b2 = s.instead_of(b, rw_segment(s, 9000, 78));
	const Bytes over = join({s.part({gap.from, b.from}), b2});
	s.send_other(gap.from, over, over.size());
	s.fill();
	EXPECT_TRUE(s.written(9000, len, 78)) << "other bytes delivered than acknowledged";
	EXPECT_TRUE(s.written(12000, len, 5));
}

// Sends one segment that covers the gap and the early FPDU @f, with @change of the bytes of @f.
void cover(Session &s, const Span &gap, const Span &f, const std::function<void(Bytes &)> &change)
{
	Bytes now = s.part(f);
	change(now);
	s.send_other(gap.from, join({s.part(gap), now}), 1460);
}

// The payload is damaged in the retransmission. Header and CRC field are those that were verified,
// so the payload placed early is delivered.
TEST_F(Early, covered_by_a_wrong_payload)
{
	cover(s, gap, f, [](Bytes &o) { o[o.size() / 2] ^= 1; });
	s.fill_and_deliver();
	EXPECT_TRUE(s.written(0, 40, 1));
	EXPECT_TRUE(s.written(5000, len, 2));
	EXPECT_EQ(s.counted(), (Counted{0, 1, 0}));
}

// The header is damaged in the retransmission: the CRC check fails, and the header has no effect.
TEST_F(Early, covered_by_a_wrong_header)
{
	cover(s, gap, f, [](Bytes &o) { o[12] ^= 1; });
	s.terminates(mpa::crc);
	EXPECT_TRUE(s.written(0, 40, 1));
	EXPECT_EQ(s.counted(), (Counted{0, 0, 1}));
}

// The CRC field is damaged in the retransmission.
TEST_F(Early, covered_by_a_wrong_crc)
{
	cover(s, gap, f, [](Bytes &o) { o.back() ^= 1; });
	s.terminates(mpa::crc);
	EXPECT_EQ(s.counted(), (Counted{0, 0, 1}));
}

// Bytes before the gap arrive again. TCP drops this segment, but none that was placed early.
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
	ASSERT_EQ(s.counted(), (Counted{0, 2, 0}));
	EXPECT_TRUE(s.written(5000, len, 2));
	EXPECT_TRUE(s.written(8000, len, 3));
}

// The bytes of the early FPDU arrive again. TCP drops them, and they are not placed again.
TEST_F(Early, doubled)
{
	s.send_other(f.from, View(s.stream).subspan(f.from, f.to - f.from));
	s.fill_and_deliver();
	EXPECT_TRUE(s.written(0, 40, 1));
	EXPECT_TRUE(s.written(5000, len, 2));
	EXPECT_EQ(s.counted(), (Counted{0, 1, 0}));
}

// Two Writes overlap: the bytes of the later one in the stream remain, although it arrived first.
TEST(Order, two_writes_to_one_place)
{
	Session s;
	Span a = s.write(5000, len, 1), b = s.write(5000 + len / 2, len, 2);
	s.send(b);
	EXPECT_EQ(s.counted(), (Counted{1, 0, 0}));
	s.send(a);
	ASSERT_EQ(s.counted(), (Counted{0, 0, 1}));
	EXPECT_TRUE(s.written(5000 + len / 2, len, 2)) << "the earlier Write overwrote the later";
	Bytes first = pattern(len, 1);
	first.resize(len / 2);
	EXPECT_TRUE(same(s.v.rw->copy(5000, len / 2), first));
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

struct Rights : testing::Test {
	Session s;
	Bytes memory = Bytes(8192);
	ibv_mr *mr = ibv_reg_mr(s.v.pd(), memory.data(), memory.size(), access);
	static constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	// Appends a Write into the region.
	Span write(size_t at, uint32_t seed)
	{
		const uint64_t to = reinterpret_cast<uint64_t>(memory.data()) + at;
		return s.add(write_segment(mr->rkey, to, pattern(len, seed)));
	}
	// One Write is placed early; then its bytes are cleared.
	void SetUp() override
	{
		ASSERT_TRUE(mr);
		s.write(0, 40, 1);
		s.send(write(0, 2));
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
		std::fill(memory.begin(), memory.end(), 0);
	}
};

// Before delivery the region is registered again, with the same STag.
TEST_F(Rights, registered_anew)
{
	const uint32_t stag = mr->rkey;
	ASSERT_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, s.v.pd(), nullptr, 0,
			       access | IBV_ACCESS_REMOTE_READ),
		  0);
	ASSERT_EQ(mr->rkey, stag);
	s.fill_and_deliver();
	EXPECT_TRUE(same(View(memory).first(len), pattern(len, 2))) << "delivered, but not placed";
	EXPECT_EQ(s.counted(), (Counted{0, 0, 1}));
	ibv_dereg_mr(mr);
}

// After deregistration nothing is placed early; in order, the Write raises the error.
TEST_F(Rights, taken_away)
{
	Span g = write(4000, 3);
	ibv_dereg_mr(mr);
	s.send(g);
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	s.nothing_delivered();
	s.fill();
	s.terminates(ddp::tagged_stag);
	EXPECT_TRUE(same(memory, Bytes(8192))) << "written to after deregistration";
}

// An early FPDU with an error: the error is raised only after all FPDUs before it were delivered.
struct Wrong {
	FpduFault fault{};
	uint32_t stag_xor = 0;
};

void held(const Wrong &what, Code code)
{
	const char *const wrong = "wrong data: placed in spite of an error";
	Session s;
	s.message(40, 1);
	Segment segment = rw_segment(s, 5000, 2);
	segment.stag ^= what.stag_xor;
	Span bad = s.add(segment, what.fault), behind = s.write(8000, len, 3);
	uint64_t terminates = s.counter("tx_terminate");
	s.send(bad.from, behind.to);
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	EXPECT_EQ(s.counter("tx_terminate"), terminates);
	EXPECT_FALSE(s.written(5000, len, 2) || s.written(8000, len, 3)) << wrong;
	s.send(0, bad.from);
	s.delivers(40, 1);
	s.terminates(code);
	EXPECT_FALSE(s.written(5000, len, 2) || s.written(8000, len, 3)) << wrong;
}

TEST(Error, crc)
{
	held({{.crc_xor = 1}}, mpa::crc);
}

TEST(Error, marker)
{
	held({{.marker =
		       [](Marker m) { return Marker{0, static_cast<uint16_t>(m.fpdu_ptr ^ 4)}; }}},
	     mpa::marker);
}

TEST(Error, stag)
{
	held(Wrong{.stag_xor = 1}, ddp::tagged_stag);
}

// A correct retransmission covers an early FPDU that had an error.
TEST(Error, made_good)
{
	Session s;
	Span gap = s.message(40, 1), f = s.add(rw_segment(s, 5000, 2), {.crc_xor = 1});
	s.send(f);
	s.send_other(gap.from, join({s.part(gap), s.instead_of(f, rw_segment(s, 5000, 2))}), 1460);
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

// With the QP in the error state all receives are flushed, and their memory belongs to the program.
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
		// the connection may have ended, so that no acknowledgment arrives
	}
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	EXPECT_FALSE(s.slot_has(2, 0, pattern(len, 3)))
		<< "wrong data: placed in a receive that was flushed";
}

} // namespace
} // namespace ooo
