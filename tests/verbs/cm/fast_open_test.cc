// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// TCP Fast Open: the request arrives with the SYN, so the consumer may answer before the handshake
// has ended.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "cm/kwarp_only.h"
#include "iwarp/socket.h"
#include "iwarp/startup.h"
#include "loss/network.h"
#include "rdma/endpoint.h"

using namespace rdma;

namespace {

struct fast_open : KwarpOnly {};

} // namespace

TEST_F(fast_open, rejection__fin_follows)
{
	if (!lab::b().is_mpa())
		GTEST_SKIP() << "over TCP only";
	// Both sides, without cookies, for all listeners.
	const lab::Sysctl without_cookies("tcp_fastopen", std::to_string(0x607));
	Listener listener(lab::b());
	const iwarp::Address to(listener.ip(), listener.port());
	const iwarp::Bytes request = iwarp::StartupFrame::request(1).encode();
	// The last packet of the handshake arrives so long after the answer to the SYN.
	const lab::Netem late(lab::a(), "delay 500ms");
	iwarp::Socket socket = [] {
		const lab::Inside inside(lab::a());
		return iwarp::Socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	}();
	ASSERT_EQ(sendto(socket.fd(), request.data(), request.size(), MSG_FASTOPEN, to.sa(),
			 to.len()),
		  static_cast<ssize_t>(request.size()));
	Endpoint server(listener.request());
	server.reject();

	iwarp::Bytes reply;
	iwarp::Event event;
	do
		event = socket.receive(reply, patience);
	while (event == iwarp::Event::data);
	EXPECT_EQ(event, iwarp::Event::fin);
	EXPECT_EQ(reply.size(), iwarp::StartupFrame::length(reply));
}
