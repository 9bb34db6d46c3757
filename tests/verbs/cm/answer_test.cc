// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A request that a program answers a second time, by commands that librdmacm would not send. The
// initiator, the peer of tests/peer, sends no FPDU, so that the connection is accepted and not yet
// established.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm/kernel_id.h"
#include "cm/kwarp_only.h"
#include "iwarp/peer.h"
#include "rdma/endpoint.h"
#include "rdma/failure.h"

using namespace rdma;

namespace {

struct answered_twice : KwarpOnly {
	std::unique_ptr<Listener> listener;
	std::unique_ptr<Endpoint> server;
	std::optional<iwarp::Peer> peer;

	void SetUp() override
	{
		KwarpOnly::SetUp();
		if (IsSkipped())
			return;
		listener = std::make_unique<Listener>(lab::b());
		peer.emplace(iwarp::Peer::reach({listener->ip(), listener->port()},
						{"/run/netns/" + lab::a().netns,
						 !lab::b().is_mpa()}));
		peer->send_request(iwarp::StartupFrame::request(2, iwarp::Enhanced{4, 4, true, true,
										   true, true}));
		server = std::make_unique<Endpoint>(listener->request());
		post_recv(server->qp(), 1, {server->memory().sge(0, 64)});
		server->accept();
	}

	// The connection has ended without an event, and the QP is free before its id is.
	void ended()
	{
		EXPECT_TRUE(peer->end().closed());
		EXPECT_EQ(wait(server->rcq()).status, IBV_WC_WR_FLUSH_ERR);
		EXPECT_TRUE(server->reaches(IBV_QPS_ERR));
		EXPECT_FALSE(server->channel().next(Milliseconds(50)).has_value());
		server->destroy_qp();
	}
};

} // namespace

TEST_F(answered_twice, accept_reject)
{
	server->reject();
	ended();
}

TEST_F(answered_twice, accept_accept)
{
	KernelId id(server->id()->channel->fd);
	EXPECT_EQ(id.accept(server->qp()->qp_num), EINVAL);
	ended();
}

TEST_F(answered_twice, accept_accept__another_qp)
{
	Endpoint other(lab::b());
	other.resolve(*listener);
	KernelId id(server->id()->channel->fd);
	EXPECT_EQ(id.accept(other.qp()->qp_num), EINVAL);
	ended();
	// The other QP is as good as new.
	other.connect();
	Endpoint second(listener->request());
	second.accept();
	other.established();
}

// The second answer cannot involve the connection of another process.
TEST_F(answered_twice, accept_accept__connected_qp_of_another_process)
{
	int to_us[2], to_them[2];
	check(pipe(to_us), "pipe");
	check(pipe(to_them), "pipe");
	const pid_t child = fork();
	if (!child) {
		Pair pair;
		uint32_t qpn = pair.server.qp()->qp_num;
		char go;
		_exit(write(to_us[1], &qpn, sizeof(qpn)) < 0 || read(to_them[0], &go, 1) < 0 ||
		      pair.server.state() != IBV_QPS_RTS);
	}
	uint32_t qpn;
	ASSERT_EQ(read(to_us[0], &qpn, sizeof(qpn)), ssize_t{sizeof(qpn)});
	EXPECT_EQ(KernelId(server->id()->channel->fd).accept(qpn), EINVAL);
	ended();
	EXPECT_EQ(write(to_them[1], "", 1), 1);
	int status = -1;
	waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
	for (int fd : {to_us[0], to_us[1], to_them[0], to_them[1]})
		close(fd);
}
