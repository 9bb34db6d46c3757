// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// A program that misuses its descriptor in every way while it attaches the socket. Only its own
// connection may fail: the suite checks the kernel log, objects and the references to the module.
#include "side.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

using namespace attach;

namespace {

void time_out_soon(int fd)
{
	timeval soon{0, 5000};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon));
}

using Misuse = std::function<void(int fd)>;

const std::vector<Misuse> misuses = {
	[](int fd) {
		char buf[100];
		recv(fd, buf, sizeof(buf), 0);
	},
	[](int fd) {
		char buf[100]{};
		send(fd, buf, sizeof(buf), MSG_NOSIGNAL);
	},
	[](int fd) {
		int value = 1;
		for (int option :
		     {TCP_NODELAY, TCP_CORK, TCP_QUICKACK, TCP_WINDOW_CLAMP, TCP_LINGER2})
			setsockopt(fd, SOL_TCP, option, &value, sizeof(value));
		setsockopt(fd, SOL_TCP, TCP_CONGESTION, "reno", 4);
		linger wait{1, 100};
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof(wait));
		value = AF_INET;
		setsockopt(fd, SOL_IPV6, IPV6_ADDRFORM, &value, sizeof(value));
	},
	[](int fd) {
		int value;
		ioctl(fd, SIOCINQ, &value);
		tcp_info info;
		socklen_t length = sizeof(info);
		getsockopt(fd, SOL_TCP, TCP_INFO, &info, &length);
		pollfd poll_fd{fd, POLLIN | POLLOUT, 0};
		poll(&poll_fd, 1, 1);
	},
	[](int fd) { close(accept(fd, nullptr, nullptr)); },
	[](int fd) { close(dup(fd)); },
	[](int fd) {
		int ends[2];
		if (pipe(ends))
			return;
		splice(fd, nullptr, ends[1], nullptr, 100, SPLICE_F_NONBLOCK);
		close(ends[0]);
		close(ends[1]);
	},
	[](int fd) {
		Fd watch(epoll_create1(0));
		epoll_event event{};
		event.events = EPOLLIN;
		epoll_ctl(watch.get(), EPOLL_CTL_ADD, fd, &event);
		epoll_wait(watch.get(), &event, 1, 1);
	},
};

// Two threads misuse the descriptor from before the attach until after the end. Returns whether the
// socket was attached meanwhile: the driver may refuse as long as a call holds the socket, but not
// when all calls have ended.
bool misuse(const Misuse &one, const Misuse &other, lab::Family family, bool rude)
{
	Side side(lab::a());
	Connection c = connect(family);
	int fd = c.a.get();
	time_out_soon(fd);
	std::atomic<bool> over = false;
	std::atomic<int> started = 0;
	auto loop = [&](const Misuse &what) {
		started++;
		while (!over)
			what(fd);
	};
	std::thread first(loop, one), second(loop, other);
	while (started < 2)
		std::this_thread::yield();

	Attr attr{};
	attr.form = KWARP_ATTACH_NONE;
	int ret;
	const auto end = std::chrono::steady_clock::now() +
			 machine::patience(std::chrono::milliseconds(200));
	do {
		ret = side.start(fd, attr);
	} while (ret == EBUSY && std::chrono::steady_clock::now() < end);
	const bool meanwhile = !ret;
	if (ret == EBUSY) {
		over = true;
		first.join();
		second.join();
		ret = side.start(fd, attr);
	}
	EXPECT_EQ(ret, 0) << strerror(ret);
	if (!ret) {
		side.wait();
		char garbage[2000]{}; // more than the pending calls can read
		send(c.b.get(), garbage, sizeof(garbage), MSG_NOSIGNAL);
		if (rude)
			side.destroy_qp();
		else
			EXPECT_TRUE(side.reaches(IBV_QPS_ERR));
	}
	if (!over) {
		over = true;
		first.join();
		second.join();
	}
	// an attached socket returns no data any more
	if (!ret) {
		char buf[10];
		EXPECT_EQ(recv(fd, buf, sizeof(buf), MSG_DONTWAIT), -1);
	}
	return meanwhile;
}

} // namespace

TEST(AttachHostile, misuse_while_it_is_attached)
{
	int rounds = 0, meanwhile = 0;
	for (size_t one = 0; one < misuses.size(); one++)
		for (size_t other = one; other < misuses.size(); other++)
			for (lab::Family family : {lab::Family::ipv4, lab::Family::ipv6}) {
				SCOPED_TRACE(std::to_string(one) + " and " + std::to_string(other));
				rounds++;
				meanwhile += misuse(misuses[one], misuses[other], family,
						    (one + other) & 1);
			}
	std::cout << "# attached during the calls: " << meanwhile << " of " << rounds << "\n";
	EXPECT_GT(meanwhile, 0);
}

// Two QPs are attached to the same socket: exactly one attempt succeeds. While both try, each finds
// another user of the socket, the other one; when both have given up, there is none.
TEST(AttachHostile, two_attach_one_socket)
{
	int undecided = 0;
	for (int round = 0; round < 20; round++) {
		Side one(lab::a()), other(lab::a());
		Connection c = connect();
		Attr attr{};
		attr.form = KWARP_ATTACH_NONE;
		int ra = -1, rb = -1;
		std::atomic<int> ready = 0;
		auto race = [&](Side &side, int &ret) {
			ready++;
			while (ready < 2)
				;
			ret = side.start(c.a.get(), attr);
		};
		std::thread first([&] { race(one, ra); }), second([&] { race(other, rb); });
		first.join();
		second.join();
		if (ra == EBUSY && rb == EBUSY) {
			undecided++;
			ra = one.start(c.a.get(), attr);
		}
		EXPECT_TRUE((ra == 0 && rb == EBUSY) || (ra == EBUSY && rb == 0))
			<< ra << " " << rb;
	}
	EXPECT_LT(undecided, 20);
}

// Two sockets are attached to one QP: exactly one attempt succeeds.
TEST(AttachHostile, two_sockets_for_one_qp)
{
	for (int round = 0; round < 20; round++) {
		Side side(lab::a());
		Connection c = connect(), d = connect();
		Attr attr{};
		attr.form = round & 1 ? KWARP_ATTACH_NONE : KWARP_ATTACH_START_KEY;
		int ra = -1, rb = -1;
		std::atomic<int> ready = 0;
		auto race = [&](int fd, int &ret) {
			ready++;
			while (ready < 2)
				;
			ret = side.start(fd, attr);
		};
		std::thread first([&] { race(c.a.get(), ra); }),
			second([&] { race(d.a.get(), rb); });
		first.join();
		second.join();
		EXPECT_EQ((ra == 0) + (rb == 0), 1) << ra << " " << rb;
	}
}
