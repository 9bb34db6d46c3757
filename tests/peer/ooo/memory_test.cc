// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory windows that are invalidated, or bound to other memory, between placement and delivery;
// and a lack of TCP memory, of one socket or of the machine.
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "session.h"

namespace ooo {
namespace {

constexpr size_t len = 1000;
constexpr int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

void must(int error, const char *what)
{
	if (error)
		throw std::system_error(error, std::generic_category(), what);
}

// A region of two halves, and a memory window that is bound to one of them.
class Window : public testing::Test {
protected:
	static constexpr size_t half = 8192;

	Session s;
	Bytes memory = Bytes(2 * half);
	ibv_mr *mr = nullptr;
	ibv_mw *mw = nullptr;
	Span first, f;

	void SetUp() override
	{
		mr = ibv_reg_mr(s.v.pd(), memory.data(), memory.size(),
				rights | IBV_ACCESS_MW_BIND);
		ASSERT_TRUE(mr);
		// a responder's send queue, binds included, starts with the peer's first FPDU
		s.send(s.write(0, 40, 1));
	}
	void TearDown() override
	{
		// a window must be deallocated before its region
		if (mw)
			ibv_dealloc_mw(mw);
		if (mr)
			ibv_dereg_mr(mr);
	}

	ibv_mw_bind_info onto(size_t at, size_t length)
	{
		return {mr, reinterpret_cast<uint64_t>(memory.data()) + at, length,
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED};
	}
	void done(ibv_wc_opcode opcode)
	{
		auto wc = s.v.completion();
		ASSERT_TRUE(wc);
		ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
		ASSERT_EQ(wc->opcode, opcode);
	}
	void bind_type_1(size_t at, size_t length)
	{
		ibv_mw_bind b{};
		b.wr_id = s.v.ledger_open(s.c().index(), true, 1000);
		b.send_flags = IBV_SEND_SIGNALED;
		b.bind_info = onto(at, length);
		must(ibv_bind_mw(s.c().qp(), mw, &b), "ibv_bind_mw");
		done(IBV_WC_BIND_MW);
	}
	void post(ibv_send_wr wr)
	{
		ibv_send_wr *bad;
		wr.wr_id = s.v.ledger_open(s.c().index(), true, 1000);
		wr.send_flags = IBV_SEND_SIGNALED;
		must(ibv_post_send(s.c().qp(), &wr, &bad), "ibv_post_send");
	}
	void bind_type_2(size_t at, uint32_t key)
	{
		ibv_send_wr wr{};
		wr.opcode = IBV_WR_BIND_MW;
		wr.bind_mw.mw = mw;
		wr.bind_mw.rkey = key;
		wr.bind_mw.bind_info = onto(at, half);
		post(wr);
		mw->rkey = key;
		done(IBV_WC_BIND_MW);
	}
	void local_inv()
	{
		ibv_send_wr wr{};
		wr.opcode = IBV_WR_LOCAL_INV;
		wr.invalidate_rkey = mw->rkey;
		post(wr);
		done(IBV_WC_LOCAL_INV);
	}
	void alloc(ibv_mw_type type)
	{
		mw = ibv_alloc_mw(s.v.pd(), type);
		if (!mw)
			throw std::system_error(errno, std::generic_category(), "ibv_alloc_mw");
	}

	// A Write into the window is placed early. A test that calls wipe() after this detects a
	// second placement.
	void early()
	{
		s.counted();
		s.message(40, 1);
		f = s.add(write_segment(mw->rkey, 0, pattern(len, 2)));
		s.send(f);
		ASSERT_EQ(s.counted(), (Counted{1, 0, 0}));
		ASSERT_TRUE(same(in_first(), pattern(len, 2)));
	}
	void wipe() { std::fill(memory.begin(), memory.end(), 0); }
	Bytes in_first() { return {memory.begin(), memory.begin() + len}; }
	Bytes in_second() { return {memory.begin() + half, memory.begin() + half + len}; }
	// The window is not valid at delivery: the Write raises the error.
	void refused()
	{
		s.fill();
		s.delivers(40, 1);
		s.terminates(ddp::tagged_stag);
		EXPECT_TRUE(same(memory, Bytes(2 * half)))
			<< "written to after the window was closed";
		EXPECT_EQ(s.counted().delivered, 0U);
	}
	void delivered(const Counted &counts)
	{
		s.message(30, 3);
		s.fill();
		s.delivers(40, 1);
		s.delivers(30, 3);
		EXPECT_EQ(s.counted(), counts);
	}
};

TEST_F(Window, stays)
{
	alloc(IBV_MW_TYPE_1);
	bind_type_1(0, half);
	early();
	delivered({0, 1, 0});
	EXPECT_TRUE(same(in_first(), pattern(len, 2)));
}

TEST_F(Window, type_1_is_unbound)
{
	alloc(IBV_MW_TYPE_1);
	bind_type_1(0, half);
	early();
	bind_type_1(0, 0);
	wipe();
	refused();
}

TEST_F(Window, type_2_is_invalidated)
{
	alloc(IBV_MW_TYPE_2);
	bind_type_2(0, ibv_inc_rkey(mw->rkey));
	early();
	local_inv();
	wipe();
	// after the invalidation nothing is placed early
	s.send(s.add(write_segment(mw->rkey, 4000, pattern(len, 3))));
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	refused();
}

// Bound with the same STag to other memory: the delivered payload must be there.
TEST_F(Window, type_2_is_bound_elsewhere)
{
	alloc(IBV_MW_TYPE_2);
	const uint32_t key = ibv_inc_rkey(mw->rkey);
	bind_type_2(0, key);
	early();
	local_inv();
	bind_type_2(half, key);
	wipe();
	delivered({0, 0, 1});
	EXPECT_TRUE(same(in_second(), pattern(len, 2))) << "delivered, but not placed";
	EXPECT_TRUE(same(in_first(), Bytes(len))) << "written to after the window was closed";
}

// The Send with Invalidate precedes the Write in the stream, but arrives after it.
TEST_F(Window, type_2_is_invalidated_by_the_peer)
{
	alloc(IBV_MW_TYPE_2);
	bind_type_2(0, ibv_inc_rkey(mw->rkey));
	s.counted();
	Segment inv = send_segment(s.send_msn++, pattern(40, 1));
	inv.opcode = op_send_inv;
	inv.inv_stag = mw->rkey;
	s.add(inv);
	s.send(s.add(write_segment(mw->rkey, 0, pattern(len, 2))));
	// the window is still valid
	EXPECT_EQ(s.counted(), (Counted{1, 0, 0}));
	wipe();
	refused();
}

// Sets tcp_mem of the machine to its minimum. TCP keeps the memory that it has already allocated.
class TcpMemory {
public:
	TcpMemory() { set("1 1 1"); }
	~TcpMemory()
	{
		std::string all = before();
		set(all);
	}

private:
	// Runs a command in the initial network namespace, the only one with this sysctl.
	static std::string run(const std::string &command)
	{
		std::string out;
		FILE *f = popen(("nsenter --net=/proc/1/ns/net " + command).c_str(), "r");
		if (!f)
			throw std::system_error(errno, std::generic_category(), command);
		for (int c; (c = getc(f)) != EOF;)
			out.push_back(c == '\t' ? ' ' : static_cast<char>(c));
		if (pclose(f))
			throw std::runtime_error(command);
		return out.substr(0, out.find('\n'));
	}
	static const std::string &before()
	{
		static const std::string b = run("sysctl -n net.ipv4.tcp_mem");
		return b;
	}
	static void set(const std::string &to)
	{
		before();
		run("sysctl -qw 'net.ipv4.tcp_mem=" + to + "'");
	}
};

// A gap, 30000 bytes after it that are not sent yet, and after these a Write that is placed early.
struct Crowded {
	static constexpr size_t large = 30000;

	Session s;
	Span gap = s.write(0, 40, 1), f;

	Crowded()
	{
		s.write_much(20000, large, 9);
		f = s.write(5000, len, 2);
		s.send(f);
		EXPECT_EQ(s.counted(), (Counted{1, 0, 0}));
	}
	// Makes TCP renege: it drops segments that it has SACKed, the last first. The cause is
	// single bytes, which have much overhead, and cannot be merged because they are not
	// adjacent.
	void renege()
	{
		ASSERT_TRUE(s.crowd(gap.to, f.from, 2, "OfoPruned")) << "TCP does not renege";
	}
	// Sends the rest of the stream, with pattern(len, seed) as the Write's payload, and checks
	// that this payload is delivered.
	void delivers(uint32_t seed)
	{
		const Bytes now = s.instead_of(f, write_to(*s.v.rw, 5000, pattern(len, seed)));
		std::copy(now.begin(), now.end(), s.stream.begin() + f.from);
		s.fill_and_deliver();
		EXPECT_TRUE(s.written(5000, len, seed))
			<< "other bytes delivered than acknowledged";
		EXPECT_TRUE(s.much_written(20000, large, 9));
		EXPECT_TRUE(s.written(0, 40, 1));
	}
};

TEST(Renege, other_bytes)
{
	FixedBuffers fixed;
	Crowded c;
	c.renege();
	c.delivers(77);
	EXPECT_EQ(c.s.counted().replaced, 1U);
}

TEST(Renege, same_bytes)
{
	FixedBuffers fixed;
	Crowded c;
	c.renege();
	c.delivers(2);
	const Counted counts = c.s.counted();
	EXPECT_EQ(counts.replaced, 0U);
	EXPECT_GE(counts.delivered, 1U);
}

// The machine's TCP memory is exhausted, not this socket's buffer. Then other bytes arrive.
TEST(MemoryPressure, tcp_reneges)
{
	Crowded c;
	{
		TcpMemory none;
		c.renege();
	}
	c.delivers(77);
	EXPECT_GE(c.s.counted().replaced, 1U);
}

// TCP merges small segments, which moves the bytes to other memory. They are still recognized.
TEST(MemoryPressure, tcp_collapses)
{
	FixedBuffers fixed;
	Crowded c;
	// adjacent bytes, the last first: TCP does not merge them when they arrive
	ASSERT_TRUE(c.s.crowd(c.gap.to, c.f.from - 1, 1, "TCPRcvCollapsed"))
		<< "TCP merges no segments";
	c.delivers(2);
	EXPECT_GE(c.s.counted().delivered, 1U);
}

} // namespace
} // namespace ooo
