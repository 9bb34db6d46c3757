// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// tcp_lat PORT SIZE TURNS [ADDRESS]: measures latency over TCP without RDMA: both ends send
// messages of SIZE bytes in turn, and poll, as perftest does. Without ADDRESS it is the server; the
// client prints half of the median of a round trip, in microseconds.
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <iostream>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace {

// done RESULT of a system call: throws if it failed.
long done(long result, const char *what)
{
	if (result < 0)
		throw std::system_error(errno, std::generic_category(), what);
	return result;
}

class Connection {
public:
	// An empty address is the server.
	Connection(unsigned short port, const std::string &address)
	{
		sockaddr_in at{};
		at.sin_family = AF_INET;
		at.sin_port = htons(port);
		const int s = static_cast<int>(done(socket(AF_INET, SOCK_STREAM, 0), "socket"));
		auto *name = reinterpret_cast<sockaddr *>(&at);
		const int on = 1;
		if (address.empty()) {
			done(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)),
			     "SO_REUSEADDR");
			done(bind(s, name, sizeof(at)), "bind");
			done(listen(s, 1), "listen");
			fd_ = static_cast<int>(done(accept(s, nullptr, nullptr), "accept"));
			close(s);
		} else {
			if (inet_pton(AF_INET, address.c_str(), &at.sin_addr) != 1)
				throw std::invalid_argument("no IPv4 address: " + address);
			done(connect(s, name, sizeof(at)), "connect");
			fd_ = s;
		}
		done(setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), "TCP_NODELAY");
	}
	~Connection() { close(fd_); }
	Connection(const Connection &) = delete;
	Connection &operator=(const Connection &) = delete;

	void send_all(const std::vector<char> &message) const
	{
		for (size_t sent = 0; sent < message.size();)
			sent += moved(send(fd_, message.data() + sent, message.size() - sent,
					   MSG_DONTWAIT | MSG_NOSIGNAL),
				      "send");
	}

	void receive_all(std::vector<char> &message) const
	{
		for (size_t got = 0; got < message.size();) {
			const ssize_t n =
				recv(fd_, message.data() + got, message.size() - got, MSG_DONTWAIT);
			if (n == 0)
				throw std::runtime_error("the peer has closed the connection");
			got += moved(n, "recv");
		}
	}

private:
	static size_t moved(ssize_t n, const char *what)
	{
		if (n < 0 && errno == EAGAIN)
			return 0;
		return static_cast<size_t>(done(n, what));
	}

	int fd_ = -1;
};

double half_round_trip(const Connection &peer, size_t size, unsigned turns)
{
	using clock = std::chrono::steady_clock;
	std::vector<char> message(size, 'x');
	std::vector<double> times;
	for (unsigned i = 0; i < turns; i++) {
		const auto began = clock::now();
		peer.send_all(message);
		peer.receive_all(message);
		const std::chrono::duration<double, std::micro> took = clock::now() - began;
		times.push_back(took.count() / 2);
	}
	std::ranges::nth_element(times, times.begin() + turns / 2);
	return times[turns / 2];
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 4 && argc != 5) {
		std::cerr << "usage: tcp_lat PORT SIZE TURNS [ADDRESS]\n";
		return 2;
	}
	try {
		const size_t size = std::stoul(argv[2]);
		const auto turns = static_cast<unsigned>(std::stoul(argv[3]));
		if (!size || !turns)
			throw std::invalid_argument("SIZE and TURNS must be above 0");
		const Connection peer(static_cast<unsigned short>(std::stoul(argv[1])),
				      argc > 4 ? argv[4] : "");
		if (argc > 4) {
			std::cout << half_round_trip(peer, size, turns) << '\n';
			return 0;
		}
		std::vector<char> message(size);
		for (unsigned i = 0; i < turns; i++) {
			peer.receive_all(message);
			peer.send_all(message);
		}
	} catch (const std::exception &e) {
		std::cerr << "tcp_lat: " << e.what() << "\n";
		return 1;
	}
}
