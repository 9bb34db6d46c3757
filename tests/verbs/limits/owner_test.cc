// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// rdma_connect() and rdma_accept() get the number of a queue pair, which must belong to the caller.
#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "rdma/endpoint.h"
#include "user.h"

using namespace rdma;

namespace {

// A queue pair of the process, made without rdma_cm.
struct Idle {
	explicit Idle(const std::string &device) : own(open_device(device)), context(own.get())
	{
		make();
	}
	explicit Idle(ibv_context *c) : context(c) { make(); }
	void make()
	{
		pd = alloc_pd(context);
		cq = create_cq(context, 16);
		ibv_qp_init_attr attr = qp_attr(cq.get());
		qp = create_qp(pd.get(), attr);
	}
	uint32_t number() const { return qp->qp_num; }
	ibv_qp_state state() const { return query_qp(qp.get()).qp_state; }

	Context own;
	ibv_context *context;
	Pd pd;
	Cq cq;
	Qp qp;
};

// Uses the namespace of the thread, which a process without privileges cannot change.
CmId make_id(Channel &channel)
{
	rdma_cm_id *id;
	check(rdma_create_id(channel.get(), &id, nullptr, RDMA_PS_TCP), "rdma_create_id");
	return CmId(id);
}

struct Caller {
	Caller(const std::string &ip, uint16_t port) : id(make_id(channel))
	{
		Address to(ip, port);
		check(rdma_resolve_addr(id.get(), nullptr, to.get(), resolve_ms),
		      "rdma_resolve_addr");
		channel.expect(RDMA_CM_EVENT_ADDR_RESOLVED);
		check(rdma_resolve_route(id.get(), resolve_ms), "rdma_resolve_route");
		channel.expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	}
	// errno or 0
	int connect(uint32_t qpn)
	{
		rdma_conn_param p{};
		p.qp_num = qpn;
		return rdma_connect(id.get(), &p) ? errno : 0;
	}
	// The queue pair is accepted: the attempt gets as far as the peer, which has no listener.
	void expect_accepted(uint32_t qpn)
	{
		EXPECT_EQ(connect(qpn), 0);
		channel.expect(RDMA_CM_EVENT_REJECTED);
	}

	Channel channel;
	CmId id;
};

int accept(rdma_cm_id *id, uint32_t qpn)
{
	rdma_conn_param p{};
	p.qp_num = qpn;
	return rdma_accept(id, &p) ? errno : 0;
}

// A function that moves the process to the host's namespace for good.
std::function<void()> stay_in(const lab::Host &host)
{
	return [&host] { new lab::Inside(host); };
}

struct owner : testing::Test {
	void SetUp() override
	{
		if (!lab::both_kwarp())
			GTEST_SKIP() << "kwarp only";
	}
};

} // namespace

TEST_F(owner, connect__of_another_user_is_refused)
{
	Listener listener(lab::b());
	Idle victim(lab::a().device);
	limits::as_nobody(
		[&] {
			Caller caller(listener.ip(), listener.port());
			EXPECT_EQ(caller.connect(victim.number()), EINVAL);
			// the same error as for a number that does not exist
			EXPECT_EQ(caller.connect(1), EINVAL);
		},
		stay_in(lab::a()));
	EXPECT_EQ(victim.state(), IBV_QPS_INIT);
}

TEST_F(owner, accept__of_another_user_is_refused)
{
	Idle victim(lab::b().device);
	limits::as_nobody(
		[&] {
			Channel channel;
			CmId listener = make_id(channel);
			Address address(lab::b().ip4, 0);
			check(rdma_bind_addr(listener.get(), address.get()), "rdma_bind_addr");
			check(rdma_listen(listener.get(), 4), "rdma_listen");
			Caller caller(lab::b().ip4, ntohs(rdma_get_src_port(listener.get())));
			Idle own(caller.id->verbs);
			EXPECT_EQ(caller.connect(own.number()), 0);
			CmId asked(channel.expect(RDMA_CM_EVENT_CONNECT_REQUEST).id);
			EXPECT_EQ(accept(asked.get(), victim.number()), EINVAL);
			caller.channel.expect(RDMA_CM_EVENT_REJECTED);
		},
		stay_in(lab::b()));
	EXPECT_EQ(victim.state(), IBV_QPS_INIT);
}

// Privileges do not give access to another process's queue pair.
TEST_F(owner, connect__of_the_parent_is_refused)
{
	Listener listener(lab::b());
	Idle victim(lab::a().device);
	limits::in_child([&] {
		stay_in(lab::a())();
		Caller caller(listener.ip(), listener.port());
		EXPECT_EQ(caller.connect(victim.number()), EINVAL);
	});
	EXPECT_EQ(victim.state(), IBV_QPS_INIT);
}

// The owner is the process that made the queue pair, not the one that opened the device.
TEST_F(owner, connect__by_a_child_on_the_inherited_device)
{
	Context context = open_device(lab::a().device);
	limits::in_child([&] {
		stay_in(lab::a())();
		Idle own(context.get());
		Caller(lab::b().ip4, 1).expect_accepted(own.number());
	});
}

TEST_F(owner, connect__by_any_thread)
{
	std::optional<Idle> own;
	// made by a thread that has ended
	std::thread([&] { own.emplace(lab::a().device); }).join();
	std::thread([&] {
		lab::Inside inside(lab::a());
		Caller(lab::b().ip4, 1).expect_accepted(own->number());
	}).join();
}

// Each has a device context of its own.
TEST_F(owner, numbers__of_contexts_do_not_follow_each_other)
{
	std::optional<Idle> all[16];
	int next = 0;
	for (int i = 0; i < 16; i++) {
		all[i].emplace(lab::a().device);
		next += i && all[i]->number() == all[i - 1]->number() + 1;
	}
	EXPECT_LT(next, 2);
}
