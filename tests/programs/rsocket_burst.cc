// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// rsocket_burst ADDRESS FOLDER SENT ANSWERS [server]: the client sends so many messages of 64 bytes
// by rsockets; the server receives all, and answers with so many, while the client waits for a file
// in FOLDER instead of in rsockets. Then the client receives and compares them, and sends a last
// one.
#include <rdma/rsocket.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

constexpr std::uint16_t port = 7471;
using Message = std::array<unsigned char, 64>;

Message content(int n)
{
	Message m;
	for (std::size_t i = 0; i < m.size(); i++)
		m[i] = 31 * n + i;
	return m;
}

[[noreturn]] void fail(const char *what, int n)
{
	std::fprintf(stderr, "%s, message %d: %s\n", what, n, std::strerror(errno));
	std::exit(1);
}

void send(int s, int messages)
{
	for (int n = 0; n < messages; n++) {
		const Message m = content(n);
		if (rsend(s, m.data(), m.size(), 0) != static_cast<ssize_t>(m.size()))
			fail("send", n);
	}
}

void receive(int s, int messages)
{
	for (int n = 0; n < messages; n++) {
		Message m;
		if (rrecv(s, m.data(), m.size(), MSG_WAITALL) != static_cast<ssize_t>(m.size()))
			fail("receive", n);
		if (m != content(n)) {
			std::printf("wrong data: message %d\n", n);
			std::exit(1);
		}
	}
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 5) {
		std::fprintf(stderr, "usage: rsocket_burst ADDRESS FOLDER SENT ANSWERS [server]\n");
		return 2;
	}
	const std::filesystem::path answered = std::filesystem::path(argv[2]) / "answered";
	const int sent = std::atoi(argv[3]), answers = std::atoi(argv[4]);
	sockaddr_in at{};
	at.sin_family = AF_INET;
	at.sin_port = htons(port);
	inet_pton(AF_INET, argv[1], &at.sin_addr);
	auto *const address = reinterpret_cast<sockaddr *>(&at);
	int s = rsocket(AF_INET, SOCK_STREAM, 0);
	if (argc == 5) {
		if (rconnect(s, address, sizeof(at)))
			fail("connect", 0);
		send(s, sent);
		while (!std::filesystem::exists(answered))
			std::this_thread::yield();
		receive(s, answers);
		send(s, 1);
	} else {
		const int listener = s;
		if (rbind(listener, address, sizeof(at)) || rlisten(listener, 1))
			fail("listen", 0);
		s = raccept(listener, nullptr, nullptr);
		if (s < 0)
			fail("accept", 0);
		receive(s, sent);
		send(s, answers);
		std::ofstream(answered).put('\n');
		receive(s, 1);
	}
	rclose(s);
	std::puts("all compared");
}
