// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A connection claims its queue pair from the beginning of its set-up, which is started by rdma_cm,
// by attaching a socket, or by modify_qp with a partner. A second attempt is refused and changes
// nothing.
#include "side.h"

#include "ib_style/player.h"
#include "rdma/cm.h"
#include "rdma/raw_listener.h"

using namespace attach;
using rdma::Address;
using rdma::Channel;
using rdma::check;
using rdma::CmId;

namespace {

using ib_style::Player;

struct AttachClaim : ib_style::Rendezvous {
	// errno or 0
	int attach(Player &player, int fd)
	{
		Attr attr{};
		attr.role = KWARP_ATTACH_RESPONDER;
		return kwarpdv_attach_start(player.qp(), fd, &attr);
	}
	// The result of startup after attach().
	int attached(Player &player)
	{
		int ret;
		do {
			ret = kwarpdv_attach_wait(player.qp(), KWARP_ATTACH_WAIT_MAX_MS, nullptr);
		} while (ret == EAGAIN);
		return ret;
	}
};

// rdma_connect() to a port where a TCP listener accepts but does not speak MPA.
struct Caller {
	Caller()
	{
		lab::Inside inside(lab::a());
		id = rdma::create_id(lab::a(), channel);
		Address to(lab::b().ip4, silent.port());
		check(rdma_resolve_addr(id.get(), nullptr, to.get(), rdma::resolve_ms),
		      "rdma_resolve_addr");
		channel.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
		check(rdma_resolve_route(id.get(), rdma::resolve_ms), "rdma_resolve_route");
		channel.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	}
	int connect(Player &player)
	{
		rdma_conn_param p{};
		p.qp_num = player.qp()->qp_num;
		return rdma_connect(id.get(), &p) ? errno : 0;
	}

	rdma::RawListener silent{lab::b()};
	Channel channel;
	CmId id;
};

ib_style::Name somebody()
{
	return {4711, ib_style::gid_of(lab::b().ip4), 1};
}

int to_rtr(Player &player)
{
	return player.try_rtr(player.rtr(somebody()));
}

} // namespace

TEST_F(AttachClaim, rendezvous__before_a_socket)
{
	Player player(lab::a());
	Connection c = connect();
	player.to_init();
	player.to_rtr(somebody());
	EXPECT_EQ(attach(player, c.a.get()), EINVAL);
	// the socket still belongs to the program
	write_all(c.a.get(), "hello");
	EXPECT_EQ(read_exactly(c.b.get(), 5), "hello");
	EXPECT_EQ(player.state(), IBV_QPS_RTR);
}

TEST_F(AttachClaim, rendezvous__before_rdma_cm)
{
	Player player(lab::a());
	player.to_init();
	player.to_rtr(somebody());
	EXPECT_EQ(Caller().connect(player), EINVAL);
	EXPECT_EQ(player.state(), IBV_QPS_RTR);
}

TEST_F(AttachClaim, socket__before_all_else)
{
	Player player(lab::a());
	Connection c = connect(), d = connect();
	player.to_init();
	ASSERT_EQ(attach(player, c.a.get()), 0);
	EXPECT_EQ(attach(player, d.a.get()), EALREADY);
	EXPECT_EQ(Caller().connect(player), EINVAL);
	EXPECT_EQ(to_rtr(player), EBUSY);
	EXPECT_EQ(player.modify(IBV_QPS_RESET), EBUSY);
	c.b.close();
	EXPECT_EQ(attached(player), ECONNRESET);
	// the next socket may be attached
	EXPECT_EQ(attach(player, d.a.get()), 0);
	d.b.close();
	EXPECT_EQ(attached(player), ECONNRESET);
	EXPECT_EQ(to_rtr(player), 0);
}

TEST_F(AttachClaim, rdma_cm__before_all_else)
{
	Player player(lab::a());
	Connection c = connect();
	player.to_init();
	Caller caller;
	ASSERT_EQ(caller.connect(player), 0);
	EXPECT_EQ(Caller().connect(player), EINVAL);
	EXPECT_EQ(attach(player, c.a.get()), EINVAL);
	EXPECT_EQ(to_rtr(player), EBUSY);
	// rdma_cm tries again with revision 1
	EXPECT_TRUE(caller.silent.refuse(false));
	EXPECT_TRUE(caller.silent.refuse(false));
	EXPECT_NE(caller.channel.next(), std::nullopt);
	EXPECT_EQ(to_rtr(player), 0);
}

// The module waits for the end of the old connection, so the program need not try again.
TEST_F(AttachClaim, reset_and_init__at_once_after_an_error)
{
	Side side(lab::a());
	for (int i = 0; i < 40; i++) {
		SCOPED_TRACE(i);
		Connection c = connect();
		Attr attr{};
		attr.form = KWARP_ATTACH_NONE;
		ASSERT_EQ(side.attach(c.a.get(), attr), 0);
		if (i % 4 < 2) {
			write_all(c.b.get(), std::string(100, 'x'));
			c.b.close();
			ASSERT_TRUE(side.reaches(IBV_QPS_ERR));
		} else {
			ASSERT_EQ(rdma::modify_state(side.qp(), IBV_QPS_ERR), 0);
		}
		if (i % 2) {
			ASSERT_EQ(rdma::modify_state(side.qp(), IBV_QPS_RESET), 0);
		}
		ASSERT_EQ(rdma::modify_state(side.qp(), IBV_QPS_INIT), 0);
	}
}
