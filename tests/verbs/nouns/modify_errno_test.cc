// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// ibv_modify_qp(3): each transition between states, each attribute, objects of other contexts and
// destroyed objects. The connection manager connects the queue pair of an RNIC, so a transition to
// RTS, or from RTS to SQD, requires a connection. From Error the queue pair can only return to
// RESET, or directly to INIT.
#include <gtest/gtest.h>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct modify_errnos : KwarpOnly {
	Context context, other_context;
	Pd pd, other_pd;
	Cq cq, other_cq;

	void SetUp() override
	{
		KwarpOnly::SetUp();
		if (IsSkipped())
			return;
		context = open_device(lab::a().device);
		other_context = open_device(lab::a().device);
		pd = alloc_pd(context.get());
		other_pd = alloc_pd(context.get());
		cq = create_cq(context.get(), 16);
		// so that the number of the CQ is invalid in the other context
		std::vector<Cq> before;
		for (int i = 0; i < 64; i++)
			before.push_back(create_cq(other_context.get(), 1));
		other_cq = create_cq(other_context.get(), 16);
	}
	Qp create()
	{
		ibv_qp_init_attr attr = qp_attr(cq.get());
		return create_qp(pd.get(), attr);
	}
};

constexpr ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
				   IBV_QPS_SQD,	  IBV_QPS_SQE,	IBV_QPS_ERR};

// Transitions that are allowed without a connection.
bool allowed(ibv_qp_state from, ibv_qp_state to)
{
	switch (from) {
	case IBV_QPS_RESET:
		return to == IBV_QPS_RESET || to == IBV_QPS_INIT || to == IBV_QPS_ERR;
	case IBV_QPS_INIT:
	case IBV_QPS_RTR:
		return to == IBV_QPS_RESET || to == IBV_QPS_INIT || to == IBV_QPS_RTR ||
		       to == IBV_QPS_ERR;
	default: // ERR; to SQD: librdmacm does so after the peer has ended the connection
		return to == IBV_QPS_RESET || to == IBV_QPS_INIT || to == IBV_QPS_SQD ||
		       to == IBV_QPS_ERR;
	}
}

} // namespace

TEST_F(modify_errnos, each_step_without_a_connection)
{
	for (ibv_qp_state from : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_ERR})
		for (ibv_qp_state to : states) {
			Qp qp = create();
			ASSERT_EQ(modify_state(qp.get(), from), 0) << from;
			EXPECT_EQ(modify_state(qp.get(), to), allowed(from, to) ? 0 : EINVAL)
				<< from << " to " << to;
			ibv_qp_state now = query_qp(qp.get()).qp_state;
			if (!allowed(from, to) || (from == IBV_QPS_ERR && to == IBV_QPS_SQD)) {
				EXPECT_EQ(now, from) << from << " to " << to;
			} else if (to != IBV_QPS_INIT || from != IBV_QPS_RTR) {
				EXPECT_EQ(now, to) << from << " to " << to;
			}
		}
}

TEST_F(modify_errnos, each_step_of_a_connected_one)
{
	for (ibv_qp_state to : states) {
		Pair pair;
		bool ok = to == IBV_QPS_RTS || to == IBV_QPS_SQD || to == IBV_QPS_ERR;
		EXPECT_EQ(modify_state(pair.client.qp(), to), ok ? 0 : EINVAL) << to;
		if (ok && to != IBV_QPS_RTS)
			continue;
		EXPECT_EQ(pair.client.state(), IBV_QPS_RTS) << to;
		post(pair.client.qp(),
		     write(1, {pair.client.memory().sge(0, 8)}, pair.server.remote()));
		wait_ok(pair.client.scq());
	}
}

// One attribute at a time, with a value that would be valid in other transitions.
TEST_F(modify_errnos, each_attribute)
{
	const struct {
		int mask, wanted;
	} cases[] = {
		{IBV_QP_CUR_STATE, 0},
		{IBV_QP_EN_SQD_ASYNC_NOTIFY, 0},
		{IBV_QP_ACCESS_FLAGS, 0},
		{IBV_QP_PKEY_INDEX, 0},
		{IBV_QP_PORT, 0},
		{IBV_QP_QKEY, EOPNOTSUPP},
		{IBV_QP_PATH_MTU, 0},
		{IBV_QP_TIMEOUT, 0},
		{IBV_QP_RETRY_CNT, 0},
		{IBV_QP_RNR_RETRY, 0},
		{IBV_QP_RQ_PSN, 0},
		{IBV_QP_MAX_QP_RD_ATOMIC, 0},
		{IBV_QP_ALT_PATH, EINVAL},
		{IBV_QP_MIN_RNR_TIMER, 0},
		{IBV_QP_SQ_PSN, 0},
		{IBV_QP_MAX_DEST_RD_ATOMIC, 0},
		{IBV_QP_PATH_MIG_STATE, EOPNOTSUPP},
		{IBV_QP_CAP, EOPNOTSUPP},
		{IBV_QP_DEST_QPN, 0},
		{IBV_QP_RATE_LIMIT, EOPNOTSUPP},
	};
	for (auto [mask, wanted] : cases) {
		Qp qp = create();
		ibv_qp_attr attr{};
		attr.qp_state = attr.cur_qp_state = IBV_QPS_INIT;
		attr.port_num = attr.alt_port_num = attr.alt_ah_attr.port_num = 1;
		attr.path_mtu = IBV_MTU_1024;
		EXPECT_EQ(ibv_modify_qp(qp.get(), &attr, mask), wanted) << mask;
		EXPECT_EQ(query_qp(qp.get()).qp_state, IBV_QPS_INIT) << mask;
	}
}

// IBV_EVENT_SQ_DRAINED does not exist, so a program that asks for this event must learn that.
TEST_F(modify_errnos, event_of_a_drained_queue)
{
	Qp qp = create();
	ibv_qp_attr attr{};
	attr.en_sqd_async_notify = 1;
	EXPECT_EQ(ibv_modify_qp(qp.get(), &attr, IBV_QP_EN_SQD_ASYNC_NOTIFY), EOPNOTSUPP);
	EXPECT_EQ(query_qp(qp.get()).qp_state, IBV_QPS_INIT);
}

// Numbers belong to a context: another context's object is not found.
TEST_F(modify_errnos, create__of_another_context)
{
	auto refused = [](auto *object) { return !object && (errno == EINVAL || errno == ENOENT); };
	for (bool receives : {false, true}) {
		ibv_qp_init_attr attr = qp_attr(cq.get());
		(receives ? attr.recv_cq : attr.send_cq) = other_cq.get();
		EXPECT_TRUE(refused(ibv_create_qp(pd.get(), &attr))) << errno;
	}
	std::vector<Pd> before;
	for (int i = 0; i < 8; i++)
		before.push_back(alloc_pd(other_context.get()));
	Srq srq = create_srq(before.back().get(), 4);
	ibv_qp_init_attr attr = qp_attr(cq.get());
	attr.srq = srq.get();
	EXPECT_TRUE(refused(ibv_create_qp(pd.get(), &attr))) << errno;
	ibv_pd *foreign = before.back().get();
	ibv_pd mixed = *foreign; // its number, in our context
	mixed.context = context.get();
	attr.srq = nullptr;
	EXPECT_TRUE(refused(ibv_create_qp(&mixed, &attr))) << errno;
	ibv_srq_init_attr srq_attr{};
	srq_attr.attr = {4, 1, 0};
	EXPECT_TRUE(refused(ibv_create_srq(&mixed, &srq_attr))) << errno;
	Memory memory(4096);
	EXPECT_TRUE(refused(ibv_reg_mr(&mixed, memory.data(), 4096, IBV_ACCESS_LOCAL_WRITE)))
		<< errno;
}

// A shared receive queue has its own domain, to which its buffers belong; the queue pair's may
// differ.
TEST_F(modify_errnos, srq__of_another_domain)
{
	for (bool right : {true, false}) {
		Listener listener(lab::b());
		Endpoint client(lab::a());
		client.resolve(listener);
		client.connect();
		Event request = listener.request();
		Pd srq_pd = alloc_pd(request.id->verbs);
		Srq srq = create_srq(srq_pd.get(), 4);
		Region in_srq(srq_pd.get(), 4096);
		Config config;
		config.srq = srq.get();
		Endpoint server(request, config);
		server.accept();
		client.established();
		server.established();
		post_srq_recv(srq.get(), 5,
			      {right ? in_srq.sge(0, 64) : server.memory().sge(0, 64)});
		post(client.qp(), send(1, {client.memory().sge(0, 64)}));
		ibv_wc wc = wait(server.rcq());
		EXPECT_EQ(wc.wr_id, 5u);
		EXPECT_EQ(wc.status, right ? IBV_WC_SUCCESS : IBV_WC_LOC_PROT_ERR);
		server.destroy_qp();
	}
}

// A buffer of another domain is detected when it is used.
TEST_F(modify_errnos, work_request__region_of_another_domain)
{
	enum { sent, written, read_into, received };
	for (int where : {sent, written, read_into, received}) {
		Pair pair;
		Endpoint &who = where == received ? pair.server : pair.client;
		Pd other = alloc_pd(who.context());
		Region foreign(other.get(), 4096);
		ibv_sge bad = foreign.sge(0, 64), good = pair.client.memory().sge(0, 64);
		post_recv(pair.server.qp(), 1,
			  {where == received ? bad : pair.server.memory().sge(0, 64)});
		switch (where) {
		case written:
			post(pair.client.qp(), write(2, {bad}, pair.server.remote()));
			break;
		case read_into:
			post(pair.client.qp(), read(2, {bad}, pair.server.remote()));
			break;
		default:
			post(pair.client.qp(), send(2, {where == sent ? bad : good}));
		}
		ibv_wc wc = wait(where == received ? pair.server.rcq() : pair.client.scq());
		EXPECT_EQ(wc.status, IBV_WC_LOC_PROT_ERR) << where;
		EXPECT_EQ(wc.wr_id, where == received ? 1u : 2u);
		EXPECT_TRUE(all_equal(foreign.span(0, 64), 0));
		EXPECT_TRUE(who.reaches(IBV_QPS_ERR));
		pair.client.destroy_qp();
		pair.server.destroy_qp();
	}
}

// Requests with the number of a destroyed object.
TEST_F(modify_errnos, destroyed)
{
	ibv_qp_attr attr{};
	ibv_qp_init_attr init;
	Qp qp = create();
	ibv_qp gone_qp = *qp;
	qp.reset();
	auto gone = [](int error) { return error == EINVAL || error == ENOENT; };
	EXPECT_TRUE(gone(ibv_query_qp(&gone_qp, &attr, IBV_QP_STATE, &init)));
	union ibv_gid gid{};
	EXPECT_NE(ibv_attach_mcast(&gone_qp, &gid, 1), 0);
	ibv_flow_attr flow{};
	flow.port = 1;
	EXPECT_EQ(ibv_create_flow(&gone_qp, &flow), nullptr);

	Srq srq = create_srq(pd.get(), 4);
	ibv_srq gone_srq = *srq;
	srq.reset();
	ibv_srq_attr srq_attr;
	EXPECT_TRUE(gone(ibv_query_srq(&gone_srq, &srq_attr)));
	ibv_qp_init_attr with = qp_attr(cq.get());
	with.srq = &gone_srq;
	EXPECT_EQ(ibv_create_qp(pd.get(), &with), nullptr);
	EXPECT_TRUE(gone(errno));

	Cq queue = create_cq(context.get(), 16);
	ibv_cq gone_cq = *queue;
	queue.reset();
	with = qp_attr(&gone_cq);
	EXPECT_EQ(ibv_create_qp(pd.get(), &with), nullptr);
	EXPECT_TRUE(gone(errno));
}

// Address handles and multicast are for datagrams.
TEST_F(modify_errnos, address_handles)
{
	ibv_ah_attr attr{};
	for (uint8_t port : {0, 1, 2}) {
		for (uint8_t global : {0, 1}) {
			attr.port_num = port;
			attr.is_global = global;
			errno = 0;
			EXPECT_EQ(ibv_create_ah(pd.get(), &attr), nullptr);
			EXPECT_TRUE(errno == EOPNOTSUPP || errno == EINVAL) << errno;
		}
	}
	ibv_wc wc{};
	ibv_grh grh{};
	EXPECT_EQ(ibv_create_ah_from_wc(pd.get(), &wc, &grh, 1), nullptr);
	Qp qp = create();
	union ibv_gid gid{};
	gid.raw[0] = 0xff;
	for (uint16_t lid : {0, 0xc000}) {
		EXPECT_EQ(ibv_attach_mcast(qp.get(), &gid, lid), EOPNOTSUPP);
		EXPECT_EQ(ibv_detach_mcast(qp.get(), &gid, lid), EOPNOTSUPP);
	}
}
