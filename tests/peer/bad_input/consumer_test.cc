// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The kinds of Send, RsvdULP of DDP, reach the consumer (RFC 5041 4.3, RFC 5040 5.3).
#include <poll.h>

#include "../session/session.h"

namespace peer {
namespace {

bool event_of_cq(Victim &v, Millis limit)
{
	pollfd p{v.cq_events()->fd, POLLIN, 0};
	ibv_cq *cq;
	void *context;
	if (poll(&p, 1, static_cast<int>(limit.count())) != 1)
		return false;
	if (ibv_get_cq_event(v.cq_events(), &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

// Requests an event for solicited completions only. Drops earlier ones: flushed receives of another
// session count as solicited.
void arm(Victim &v)
{
	while (event_of_cq(v, Millis{0}))
		;
	ASSERT_EQ(ibv_req_notify_cq(v.cq(), 1), 0);
}

// A window that the peer may invalidate.
class Window {
public:
	explicit Window(Victim &v) : mw_(ibv_alloc_mw(v.pd(), IBV_MW_TYPE_2))
	{
		if (!mw_)
			throw std::runtime_error("ibv_alloc_mw");
	}
	~Window() { ibv_dealloc_mw(mw_); }
	Window(const Window &) = delete;
	Window &operator=(const Window &) = delete;
	ibv_mw *mw() const { return mw_; }

private:
	ibv_mw *mw_;
};

// Receives a Send of this kind, in segments that begin at 0 and at these offsets.
void receive_kind(uint8_t op, const std::vector<size_t> &cuts)
{
	const bool solicited = op == op_send_se || op == op_send_se_inv,
		   invalidates = op == op_send_inv || op == op_send_se_inv;
	Victim &v = Testbed::the().v;
	Region target(v.pd(), 4096,
		      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	const Window window(v);
	Session s(Terms{});
	s.message();
	const uint32_t key = s.c().bind(window.mw(), target);
	const Segment write = write_segment(key, target.base(), pattern(40));
	s.p.send(write);
	s.message();
	EXPECT_TRUE(same(target.copy(0, 40), pattern(40))) << "the window is not bound";

	arm(s.v);
	s.message();
	EXPECT_FALSE(event_of_cq(s.v, moment)) << "an event for a Send without SE";
	Segment g = s.segment(pattern(50));
	g.opcode = op;
	g.inv_stag = invalidates ? key : 0;
	s.p.send_at_once(cut_at(g, cuts));
	s.delivers(g.payload);
	EXPECT_EQ(event_of_cq(s.v, solicited ? patience : moment), solicited);
	const ibv_wc &wc = s.v.history().back();
	EXPECT_EQ(bool(wc.wc_flags & IBV_WC_WITH_INV), invalidates);
	if (!invalidates)
		return;
	EXPECT_EQ(wc.invalidated_rkey, key);
	s.offend(write);
	s.judge(terminates(ddp::tagged_stag));
}

TEST(Conformance, kind_of_send_reaches_the_consumer)
{
	for (uint8_t op : {op_send, op_send_inv, op_send_se, op_send_se_inv}) {
		for (const auto &cuts : {std::vector<size_t>{}, {20, 35}}) {
			SCOPED_TRACE(int(op));
			SCOPED_TRACE(cuts.size());
			receive_kind(op, cuts);
		}
	}
}

} // namespace
} // namespace peer
