// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "forms.h"

namespace peer {

StartupFrame request_with(uint8_t rev, bool s, bool c, bool m)
{
	return request(rev, m, c, false, s);
}

StartupFrame reply_with_flags(uint8_t rev, bool s, bool c, bool m)
{
	StartupFrame f = request_with(rev, s, c, m);
	f.key = bytes(reply_key);
	return f;
}

uint64_t counter(const std::string &name)
{
	return lab().device.counter(name).value();
}

Options roomy()
{
	return {.receive_size = 8192, .rw_size = 32768};
}

void Forms::SetUp()
{
	if (!lab().device.policy("permissive"))
		GTEST_SKIP() << "kwarp only";
}

Peer Forms::ask(Victim &v, const StartupFrame &request)
{
	return Peer::connect(v.address(), request, lab().peer_socket());
}

void Forms::expect_established(Victim &v, Connection &c)
{
	EXPECT_EQ(told(v, c), RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(c.happened.status, 0);
}

void Forms::expect_failed(Victim &v, Connection &c)
{
	ASSERT_TRUE(told(v, c));
	EXPECT_NE(c.happened.status, 0);
	EXPECT_TRUE(v.wait([&] { return c.happened.disconnected; }, patience));
	EXPECT_EQ(c.state(), IBV_QPS_ERR);
	EXPECT_TRUE(v.settled(c.index())) << "a posted receive never completed";
	EXPECT_EQ(v.ledger_fault(), "");
}

void Forms::expect_closed(Peer &p)
{
	End e = p.end(patience);
	EXPECT_TRUE(e.closed());
	EXPECT_FALSE(e.terminate);
}

void Forms::expect_moves(const std::string &name, uint64_t before)
{
	EXPECT_TRUE(soon([&] { return counter(name) > before; }, patience)) << name;
}

} // namespace peer
