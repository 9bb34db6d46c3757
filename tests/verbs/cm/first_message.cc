// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "cm/first_message.h"

using namespace rdma;

void server_sends(Pair &pair, uint64_t id)
{
	post_recv(pair.client.qp(), id, {pair.client.memory().sge(0, 1000)});
	post(pair.server.qp(), send(id, {pair.server.memory().sge(0, 1000)}));
}

void expect_held_until_client_sends(Pair &pair)
{
	fill(pair.server.memory().span(0, 1000), 6);
	server_sends(pair, 1);
	EXPECT_TRUE(drain(pair.client.rcq(), moment).empty());
	post_recv(pair.server.qp(), 2, {pair.server.memory().sge(2000, 100)});
	post(pair.client.qp(), send(2, {pair.client.memory().sge(2000, 100)}));
	wait_ok(pair.server.rcq());
	EXPECT_EQ(wait_ok(pair.client.rcq()).byte_len, 1000u);
	EXPECT_TRUE(filled(pair.client.memory().span(0, 1000), 6));
	wait_ok(pair.server.scq());
	wait_ok(pair.client.scq());
}

void expect_server_speaks_first(Pair &pair)
{
	// only a message from the client may consume this receive
	post_recv(pair.server.qp(), 77, {pair.server.memory().sge(4000, 100)});
	fill(pair.server.memory().span(0, 1000), 7);
	server_sends(pair, 1);
	EXPECT_EQ(wait_ok(pair.client.rcq()).byte_len, 1000u);
	EXPECT_TRUE(filled(pair.client.memory().span(0, 1000), 7));
	EXPECT_TRUE(drain(pair.server.rcq()).empty());
	EXPECT_TRUE(drain(pair.client.scq(), Milliseconds(10)).empty());
	post(pair.client.qp(), send(2, {pair.client.memory().sge(2000, 100)}));
	EXPECT_EQ(wait_ok(pair.server.rcq()).wr_id, 77u);
}
