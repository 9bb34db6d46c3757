// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "raw_listener.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm.h"
#include "failure.h"

namespace rdma {

RawListener::RawListener(const lab::Host &host, uint16_t port)
{
	lab::Inside inside(host);
	Address any(host.ip4, port);
	socklen_t length = sizeof(any.storage);
	const int on = 1;

	fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	check(setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), "SO_REUSEADDR");
	check(bind(fd_, any.get(), sizeof(sockaddr_in)), "bind");
	check(listen(fd_, 16), "listen");
	check(getsockname(fd_, any.get(), &length), "getsockname");
	port_ = ntohs(reinterpret_cast<sockaddr_in *>(&any.storage)->sin_port);
}

RawListener::~RawListener()
{
	close(fd_);
}

bool RawListener::slam_door(Milliseconds limit)
{
	if (!readable(fd_, limit))
		return false;
	int child = accept(fd_, nullptr, nullptr);
	return child >= 0 && !close(child);
}

bool RawListener::refuse(bool reset, Milliseconds limit)
{
	if (!readable(fd_, limit))
		return false;
	const int child = accept(fd_, nullptr, nullptr);
	char request[2000];
	const bool got = child >= 0 && readable(child, limit) &&
			 recv(child, request, sizeof(request), 0) > 0;
	const linger at_once{1, 0};
	if (reset)
		setsockopt(child, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	return child >= 0 && !close(child) && got;
}

uint16_t closed_port(const lab::Host &host)
{
	return RawListener(host).port();
}

} // namespace rdma
