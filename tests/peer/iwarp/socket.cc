// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "socket.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "netns.h"

namespace iwarp {
namespace {

constexpr int backlog = 64;

[[noreturn]] void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

int wait_for(int fd, short events, Millis timeout)
{
	pollfd p{fd, events, 0};
	int n = ::poll(&p, 1, static_cast<int>(timeout.count()));
	if (n < 0)
		fail("poll");
	return n;
}

void set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		fail("setsockopt");
}

int make(const Address &a, const std::string &netns)
{
	NetnsScope scope(netns);
	int fd = socket(a.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		fail("socket");
	return fd;
}

} // namespace

Address::Address(const std::string &ip, uint16_t p)
{
	auto *v4 = reinterpret_cast<sockaddr_in *>(&ss_);
	auto *v6 = reinterpret_cast<sockaddr_in6 *>(&ss_);
	if (inet_pton(AF_INET, ip.c_str(), &v4->sin_addr) == 1)
		ss_.ss_family = AF_INET;
	else if (inet_pton(AF_INET6, ip.c_str(), &v6->sin6_addr) == 1)
		ss_.ss_family = AF_INET6;
	else
		throw std::invalid_argument("not an IP address: " + ip);
	port(p);
}

socklen_t Address::len() const
{
	return family() == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

uint16_t Address::port() const
{
	return ntohs(reinterpret_cast<const sockaddr_in *>(&ss_)->sin_port); // same offset in v6
}

void Address::port(uint16_t p)
{
	reinterpret_cast<sockaddr_in *>(&ss_)->sin_port = htons(p);
}

Socket &Socket::operator=(Socket &&other) noexcept
{
	if (this != &other) {
		close();
		fd_ = other.release();
	}
	return *this;
}

int Socket::release()
{
	return std::exchange(fd_, -1);
}

Socket Socket::connect(const Address &to, const std::string &netns)
{
	Socket s(make(to, netns));
	set(s.fd_, IPPROTO_TCP, TCP_NODELAY, 1);
	if (::connect(s.fd_, to.sa(), to.len()))
		fail("connect");
	return s;
}

Socket Socket::listen(const Address &at, const std::string &netns)
{
	Socket s(make(at, netns));
	set(s.fd_, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(s.fd_, at.sa(), at.len()))
		fail("bind");
	if (::listen(s.fd_, backlog))
		fail("listen");
	return s;
}

Socket Socket::accept(Millis timeout)
{
	if (!wait_for(fd_, POLLIN, timeout))
		throw Timeout("timeout waiting for a connection");
	Socket s(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC));
	if (!s)
		fail("accept");
	set(s.fd_, IPPROTO_TCP, TCP_NODELAY, 1);
	return s;
}

Address Socket::local() const
{
	Address a;
	socklen_t len = sizeof(sockaddr_storage);
	if (getsockname(fd_, a.sa(), &len))
		fail("getsockname");
	return a;
}

bool Socket::try_send(View v)
{
	while (!v.empty()) {
		ssize_t n = ::send(fd_, v.data(), v.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN) {
			if (!wait_for(fd_, POLLOUT, patience))
				throw Timeout("the other side does not read");
			continue;
		}
		if (n < 0)
			return false;
		v = v.subspan(static_cast<size_t>(n));
	}
	return true;
}

void Socket::send(View v)
{
	if (!try_send(v))
		fail("send");
}

Event Socket::receive(Bytes &to, Millis timeout) const
{
	if (!wait_for(fd_, POLLIN, timeout))
		return Event::quiet;
	uint8_t buf[65536];
	ssize_t n = recv(fd_, buf, sizeof(buf), 0);
	if (n < 0)
		return Event::reset;
	if (n == 0)
		return Event::fin;
	put(to, View(buf, static_cast<size_t>(n)));
	return Event::data;
}

uint32_t Socket::unacknowledged() const
{
	int left = 0;
	uint32_t memory[SK_MEMINFO_VARS]{};
	socklen_t len = sizeof(memory);
	if (!ioctl(fd_, SIOCOUTQ, &left))
		return static_cast<uint32_t>(left);
	if (getsockopt(fd_, SOL_SOCKET, SO_MEMINFO, memory, &len))
		fail("neither SIOCOUTQ nor SO_MEMINFO");
	return memory[SK_MEMINFO_WMEM_QUEUED];
}

void Socket::finish()
{
	shutdown(fd_, SHUT_WR);
}

void Socket::reset()
{
	linger l{1, 0};
	setsockopt(fd_, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
	close();
}

void Socket::close()
{
	if (fd_ >= 0)
		::close(release());
}

void Socket::urgent(uint8_t byte)
{
	if (::send(fd_, &byte, 1, MSG_OOB | MSG_NOSIGNAL) < 0)
		fail("send urgent");
}

} // namespace iwarp
