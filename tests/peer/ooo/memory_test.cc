// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Memory windows that are closed or opened elsewhere between placement and delivery, and a socket
// or a machine that is short of memory for TCP.
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

// A region in two halves, and a window onto the first.
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
		// the responder's send queue, binds included, waits for the peer's first FPDU
		s.send(s.write(0, 40, 1));
	}
	void TearDown() override
	{
		// a window ends before its region
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

	// A Write into the window, early; then its bytes are wiped away, so that it is seen who
	// writes.
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
	// In its turn the Write finds no window.
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
	// after the invalidation nothing is placed early, either
	s.send(s.add(write_segment(mw->rkey, 4000, pattern(len, 3))));
	EXPECT_EQ(s.counted(), (Counted{0, 0, 0}));
	refused();
}

// The same STag, another place: what was delivered has to be there.
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
	EXPECT_TRUE(same(in_second(), pattern(len, 2))) << "delivered, and not there";
	EXPECT_TRUE(same(in_first(), Bytes(len))) << "written to after the window was closed";
}

// The invalidation comes before the Write in the stream, and after it in time.
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
	// the window is open as yet
	EXPECT_EQ(s.counted(), (Counted{1, 0, 0}));
	wipe();
	refused();
}

// tcp_mem of the machine; what is accounted already stays.
class TcpMemory {
public:
	TcpMemory() { set("1 1 1"); }
	~TcpMemory()
	{
		std::string all = before();
		set(all);
	}

private:
	// The sysctl belongs to the first namespace.
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

// A gap, much behind it, and behind that a Write that is placed early. Then TCP is crowded.
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
	// TCP reneges: it drops what it has told the sender it has, the last first. Single bytes
	// that are no neighbours: much overhead, and nothing to be saved.
	void renege()
	{
		ASSERT_TRUE(s.crowd(gap.to, f.from, 2, "OfoPruned")) << "TCP keeps everything";
	}
	// The Write of another payload, or of the same, is what comes now.
	void delivers(uint32_t seed)
	{
		const Bytes now = s.instead_of(f, write_to(*s.v.rw, 5000, pattern(len, seed)));
		std::copy(now.begin(), now.end(), s.stream.begin() + f.from);
		s.fill_and_deliver();
		EXPECT_TRUE(s.written(5000, len, seed))
			<< "delivered is not what TCP has acknowledged";
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

// The machine, and not this socket's buffer, is out of memory. Then other bytes come.
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

// The bytes stay, in another place: TCP has copied small segments together. They are still known.
TEST(MemoryPressure, tcp_collapses)
{
	FixedBuffers fixed;
	Crowded c;
	// neighbours, the last first: TCP does not join them when they come
	ASSERT_TRUE(c.s.crowd(c.gap.to, c.f.from - 1, 1, "TCPRcvCollapsed"))
		<< "TCP copies nothing";
	c.delivers(2);
	EXPECT_GE(c.s.counted().delivered, 1U);
}

} // namespace
} // namespace ooo
