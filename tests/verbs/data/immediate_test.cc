// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Immediate data: with an RDMA Write (RFC 7306 6), and kwarp's own Send with Immediate.
#include <arpa/inet.h>

#include "cm/kwarp_only.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct immediate : KwarpOnly {};

Send with_imm(Send s, ibv_wr_opcode opcode, uint32_t imm)
{
	s.wr.opcode = opcode;
	s.wr.imm_data = htonl(imm);
	return s;
}

Send write_imm(uint64_t id, std::vector<ibv_sge> list, Remote to, uint32_t imm)
{
	return with_imm(write(id, std::move(list), to), IBV_WR_RDMA_WRITE_WITH_IMM, imm);
}

void expect_imm(const ibv_wc &wc, ibv_wc_opcode opcode, uint32_t imm, uint32_t len)
{
	EXPECT_EQ(wc.opcode, opcode);
	EXPECT_TRUE(wc.wc_flags & IBV_WC_WITH_IMM);
	EXPECT_EQ(ntohl(wc.imm_data), imm);
	EXPECT_EQ(wc.byte_len, len);
}

} // namespace

TEST_F(immediate, write__sizes)
{
	Pair pair;
	uint32_t id = 0;
	for (uint32_t size : {0u, 1u, 100u, 1429u, 20000u}) {
		fill(pair.client.memory().span(0, 20000), 3 + id);
		// a receive without memory suffices
		post_recv(pair.server.qp(), id, {});
		post(pair.client.qp(), write_imm(id, {pair.client.memory().sge(0, size)},
						 pair.server.remote(), 0x01020300 + id));
		EXPECT_EQ(wait_ok(pair.client.scq()).opcode, IBV_WC_RDMA_WRITE);
		ibv_wc wc = wait_ok(pair.server.rcq());
		EXPECT_EQ(wc.wr_id, id);
		expect_imm(wc, IBV_WC_RECV_RDMA_WITH_IMM, 0x01020300 + id, size);
		EXPECT_TRUE(filled(pair.server.memory().span(0, size), 3 + id));
		id++;
	}
}

TEST_F(immediate, write__inline)
{
	PairConfig config;
	config.client.inline_data = 64;
	Pair pair(config);
	fill(pair.client.memory().span(0, 64), 9);
	post_recv(pair.server.qp(), 1, {});
	post(pair.client.qp(),
	     write_imm(1, {pair.client.memory().sge(0, 64)}, pair.server.remote(), 77)
		     .flags(IBV_SEND_SIGNALED | IBV_SEND_INLINE));
	wait_ok(pair.client.scq());
	expect_imm(wait_ok(pair.server.rcq()), IBV_WC_RECV_RDMA_WITH_IMM, 77, 64);
	EXPECT_TRUE(filled(pair.server.memory().span(0, 64), 9));
}

TEST_F(immediate, write__among_other_messages)
{
	Pair pair;
	for (int i = 0; i < 30; i++)
		post_recv(pair.server.qp(), i, {pair.server.memory().sge(4096, 64)});
	for (uint32_t i = 0; i < 20; i++) {
		post(pair.client.qp(),
		     write(100 + i, {pair.client.memory().sge(0, 3000)}, pair.server.remote()));
		post(pair.client.qp(),
		     write_imm(i, {pair.client.memory().sge(0, 10 * i)}, pair.server.remote(), i));
		if (i % 2)
			post(pair.client.qp(), send(200 + i, {pair.client.memory().sge(0, 64)}));
	}
	wait_ok(pair.client.scq(), 50);
	std::vector<ibv_wc> all = wait_ok(pair.server.rcq(), 30);
	size_t at = 0;
	for (uint32_t i = 0; i < 20; i++) {
		expect_imm(all[at++], IBV_WC_RECV_RDMA_WITH_IMM, i, 10 * i);
		if (i % 2) {
			EXPECT_EQ(all[at].opcode, IBV_WC_RECV);
			EXPECT_FALSE(all[at++].wc_flags & IBV_WC_WITH_IMM);
		}
	}
}

TEST_F(immediate, write__solicited)
{
	Pair pair;
	post_recv(pair.server.qp(), 1, {});
	ASSERT_EQ(ibv_req_notify_cq(pair.server.rcq(), 1), 0);
	post(pair.client.qp(),
	     write_imm(1, {pair.client.memory().sge(0, 8)}, pair.server.remote(), 5)
		     .flags(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED));
	EXPECT_TRUE(readable(pair.server.comp_channel()->fd, patience));
	wait_ok(pair.server.rcq());
	ibv_cq *queue;
	void *cookie;
	ASSERT_EQ(ibv_get_cq_event(pair.server.comp_channel(), &queue, &cookie), 0);
	ibv_ack_cq_events(queue, 1);
}

TEST_F(immediate, write__no_receive)
{
	Pair pair;
	post(pair.client.qp(),
	     write_imm(1, {pair.client.memory().sge(0, 8)}, pair.server.remote(), 5));
	EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
	EXPECT_TRUE(pair.server.reaches(IBV_QPS_ERR));
}

TEST_F(immediate, send__only_where_enabled)
{
	Pair pair;
	post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 64)});
	post(pair.client.qp(),
	     with_imm(send(1, {pair.client.memory().sge(0, 64)}), IBV_WR_SEND_WITH_IMM, 5));
	EXPECT_EQ(wait(pair.client.scq()).status, IBV_WC_LOC_QP_OP_ERR);
	EXPECT_EQ(wait(pair.server.rcq()).status, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(immediate, send__sizes)
{
	lab::Policy a(lab::a(), "send_imm", 1), b(lab::b(), "send_imm", 1);
	Pair pair;
	uint32_t id = 0;
	for (uint32_t size : {0u, 1u, 1429u, 20000u}) {
		fill(pair.client.memory().span(0, 20000), 3 + id);
		post_recv(pair.server.qp(), id, {pair.server.memory().sge(0, 20000)});
		post(pair.client.qp(), with_imm(send(id, {pair.client.memory().sge(0, size)}),
						IBV_WR_SEND_WITH_IMM, 0xfefdfc00 + id));
		EXPECT_EQ(wait_ok(pair.client.scq()).opcode, IBV_WC_SEND);
		expect_imm(wait_ok(pair.server.rcq()), IBV_WC_RECV, 0xfefdfc00 + id, size);
		EXPECT_TRUE(filled(pair.server.memory().span(0, size), 3 + id));
		id++;
	}
}

// The peer has not enabled the policy: its device treats the opcode as unknown.
TEST_F(immediate, send__peer_refuses)
{
	lab::Policy a(lab::a(), "send_imm", 1);
	Pair pair;
	post_recv(pair.server.qp(), 1, {pair.server.memory().sge(0, 64)});
	post(pair.client.qp(),
	     with_imm(send(1, {pair.client.memory().sge(0, 64)}), IBV_WR_SEND_WITH_IMM, 5));
	EXPECT_EQ(wait(pair.server.rcq()).status, IBV_WC_WR_FLUSH_ERR);
	EXPECT_TRUE(pair.client.reaches(IBV_QPS_ERR));
}
