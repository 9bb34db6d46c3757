// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Sockets that cannot be attached; the attempt must not change them.
#include "side.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

using namespace attach;

namespace {

constexpr int protocol_mptcp = 262;

int refused(int fd, Attr attr = {})
{
	Side side(lab::a());
	attr.form = KWARP_ATTACH_NONE;
	int ret = side.start(fd, attr);
	EXPECT_EQ(side.state(), IBV_QPS_INIT);
	return ret;
}

// Streaming mode continues.
void expect_alive(const Connection &c)
{
	write_all(c.a.get(), "ping");
	EXPECT_EQ(read_exactly(c.b.get(), 4), "ping");
	write_all(c.b.get(), "pong");
	EXPECT_EQ(read_exactly(c.a.get(), 4), "pong");
}

} // namespace

TEST(AttachRefuses, no_descriptor)
{
	EXPECT_EQ(refused(-1), EBADF);
	EXPECT_EQ(refused(1000), EBADF);
	Side side(lab::a());
	Connection c = connect();
	int number = c.a.get();
	c.a.close();
	Attr attr{};
	attr.form = KWARP_ATTACH_NONE;
	EXPECT_EQ(side.start(number, attr), EBADF);
}

TEST(AttachRefuses, path_descriptor)
{
	Fd fd(open("/", O_PATH | O_CLOEXEC));
	EXPECT_EQ(refused(fd.get()), EBADF);
}

TEST(AttachRefuses, no_socket)
{
	EXPECT_EQ(refused(Fd(open("/dev/null", O_RDWR | O_CLOEXEC)).get()), ENOTSOCK);
	EXPECT_EQ(refused(Fd(eventfd(0, 0)).get()), ENOTSOCK);
	EXPECT_EQ(refused(Fd(epoll_create1(0)).get()), ENOTSOCK);
}

TEST(AttachRefuses, other_families)
{
	int pair[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	Fd one(pair[0]), other(pair[1]);
	EXPECT_EQ(refused(one.get()), EAFNOSUPPORT);
	Fd netlink(socket(AF_NETLINK, SOCK_RAW, 0));
	EXPECT_EQ(refused(netlink.get()), EAFNOSUPPORT);
}

TEST(AttachRefuses, no_stream)
{
	Fd udp(socket(AF_INET, SOCK_DGRAM, 0)), udp6(socket(AF_INET6, SOCK_DGRAM, 0));
	EXPECT_EQ(refused(udp.get()), ESOCKTNOSUPPORT);
	EXPECT_EQ(refused(udp6.get()), ESOCKTNOSUPPORT);
	Fd raw(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	EXPECT_EQ(refused(raw.get()), ESOCKTNOSUPPORT);
}

TEST(AttachRefuses, mptcp)
{
	Fd fd(socket(AF_INET, SOCK_STREAM, protocol_mptcp));
	if (fd.get() < 0)
		GTEST_SKIP() << "the kernel has no MPTCP: " << strerror(errno);
	EXPECT_EQ(refused(fd.get()), EPROTOTYPE);
}

TEST(AttachRefuses, unconnected)
{
	Fd fd(socket(AF_INET, SOCK_STREAM, 0));
	EXPECT_EQ(refused(fd.get()), ENOTCONN);
	ASSERT_EQ(listen(fd.get(), 1), 0);
	EXPECT_EQ(refused(fd.get()), ENOTCONN);
}

TEST(AttachRefuses, half_closed)
{
	Connection c = connect();
	ASSERT_EQ(shutdown(c.a.get(), SHUT_RD), 0);
	EXPECT_EQ(refused(c.a.get()), ENOTCONN);
	ASSERT_EQ(shutdown(c.b.get(), SHUT_WR), 0);
	EXPECT_EQ(refused(c.b.get()), ENOTCONN);
	Connection d = connect();
	ASSERT_EQ(shutdown(d.b.get(), SHUT_WR), 0);
	ASSERT_TRUE(closed(d.a.get()));
	EXPECT_EQ(refused(d.a.get()), ENOTCONN);
}

TEST(AttachRefuses, tls)
{
	Connection c = connect();
	if (setsockopt(c.a.get(), SOL_TCP, TCP_ULP, "tls", sizeof("tls")))
		GTEST_SKIP() << "the kernel has no TLS: " << strerror(errno);
	EXPECT_EQ(refused(c.a.get()), EOPNOTSUPP);
	expect_alive(c);
}

TEST(AttachRefuses, repair)
{
	Connection c = connect();
	int on = 1, off = -1;
	ASSERT_EQ(setsockopt(c.a.get(), SOL_TCP, TCP_REPAIR, &on, sizeof(on)), 0);
	EXPECT_EQ(refused(c.a.get()), EOPNOTSUPP);
	ASSERT_EQ(setsockopt(c.a.get(), SOL_TCP, TCP_REPAIR, &off, sizeof(off)), 0);
	expect_alive(c);
}

TEST(AttachRefuses, what_is_attached_already)
{
	Connection c = connect();
	Side side(lab::a());
	Attr attr{};
	attr.form = KWARP_ATTACH_NONE;
	ASSERT_EQ(side.attach(c.a.get(), attr), 0);
	EXPECT_EQ(refused(c.a.get()), EBUSY);
	Fd copy(dup(c.a.get()));
	EXPECT_EQ(refused(copy.get()), EBUSY);
	// nor after the connection has ended
	side.destroy_qp();
	EXPECT_EQ(refused(c.a.get()), EBUSY);
}

// A call that sleeps in the socket would wake up in the middle of the FPDUs.
TEST(AttachRefuses, a_socket_that_a_thread_reads_from)
{
	Connection c = connect();
	std::string got;
	std::thread reader([&] {
		char buf[4];
		ssize_t n = recv(c.a.get(), buf, sizeof(buf), MSG_WAITALL);
		got.assign(buf, n > 0 ? static_cast<size_t>(n) : 0);
	});
	// If all bytes that arrived are gone from the socket, the other thread has read them; its
	// call holds the socket lock until it sleeps.
	write_all(c.b.get(), "12");
	int unacknowledged, unread;
	auto end = std::chrono::steady_clock::now() + rdma::patience;
	do {
		ASSERT_EQ(ioctl(c.b.get(), SIOCOUTQ, &unacknowledged), 0);
		ASSERT_EQ(ioctl(c.a.get(), SIOCINQ, &unread), 0);
	} while ((unacknowledged || unread) && std::chrono::steady_clock::now() < end);
	EXPECT_EQ(unacknowledged + unread, 0);
	int ret = refused(c.a.get());
	write_all(c.b.get(), "34");
	reader.join();
	EXPECT_EQ(ret, EBUSY);
	EXPECT_EQ(got, "1234");
	expect_alive(c);
}

TEST(AttachRefuses, wrong_parameters)
{
	Connection c = connect();
	Side side(lab::a());
	char data[513]{};
	struct Change {
		const char *what;
		void (*make)(Attr &, char *);
	};
	const Change changes[] = {
		{"form", [](Attr &a, char *) { a.form = static_cast<kwarp_attach_form>(3); }},
		{"role", [](Attr &a, char *) { a.role = static_cast<kwarp_attach_role>(2); }},
		{"crc", [](Attr &a, char *) { a.crc = static_cast<kwarp_attach_choice>(3); }},
		{"markers",
		 [](Attr &a, char *) { a.markers = static_cast<kwarp_attach_choice>(3); }},
		{"p2p", [](Attr &a, char *) { a.p2p = static_cast<kwarp_attach_choice>(3); }},
		{"revision", [](Attr &a, char *) { a.mpa_rev = 3; }},
		{"flags", [](Attr &a, char *) { a.flags = 2; }},
		{"timeout", [](Attr &a, char *) { a.timeout_ms = 600001; }},
		{"version with revision", [](Attr &a, char *) { a.flags = KWARP_ATTACH_IETF; }},
		{"message", [](Attr &a, char *d) { a.message = d, a.message_len = 4097; }},
		{"private data",
		 [](Attr &a, char *d) { a.private_data = d, a.private_data_len = 513; }},
		{"private data, revision 2",
		 [](Attr &a, char *d) {
			 a.private_data = d, a.private_data_len = 509, a.mpa_rev = 2;
		 }},
		{"private data with a key",
		 [](Attr &a, char *d) {
			 a.form = KWARP_ATTACH_START_KEY, a.private_data = d,
			 a.private_data_len = 1;
		 }},
		{"private data without startup frames",
		 [](Attr &a, char *d) {
			 a.form = KWARP_ATTACH_NONE, a.private_data = d, a.private_data_len = 1;
		 }},
		{"revision with a key",
		 [](Attr &a, char *) { a.form = KWARP_ATTACH_START_KEY, a.mpa_rev = 1; }},
		{"no markers without startup frames",
		 [](Attr &a, char *) { a.form = KWARP_ATTACH_NONE, a.markers = KWARP_ATTACH_OFF; }},
		{"no CRC without startup frames",
		 [](Attr &a, char *) { a.form = KWARP_ATTACH_NONE, a.crc = KWARP_ATTACH_OFF; }},
	};
	for (const Change &change : changes) {
		Attr attr{};
		change.make(attr, data);
		EXPECT_EQ(side.start(c.a.get(), attr), EINVAL) << change.what;
	}
	expect_alive(c);
}

// Only an administrator can prefer to go without CRCs: RFC 5044 4.4.
TEST(AttachRefuses, to_prefer_no_crc_against_the_policy)
{
	for (const char *policy : {"preferred", "required"}) {
		lab::Policy crc(lab::a(), "crc", policy);
		Connection c = connect();
		Side side(lab::a());
		for (auto form : {KWARP_ATTACH_REQ_REP, KWARP_ATTACH_START_KEY}) {
			Attr attr{};
			attr.form = form;
			attr.crc = KWARP_ATTACH_OFF;
			EXPECT_EQ(side.start(c.a.get(), attr), EPERM) << policy << " " << form;
		}
		expect_alive(c);
	}
}

TEST(AttachRefuses, a_qp_that_is_not_ready)
{
	Connection c = connect(), d = connect();
	Side side(lab::a());
	Attr attr{};
	attr.form = KWARP_ATTACH_NONE;
	EXPECT_EQ(kwarpdv_attach_wait(side.qp(), 0, nullptr), ENOENT);
	EXPECT_EQ(side.start(-1, attr), EBADF);
	EXPECT_EQ(kwarpdv_attach_wait(side.qp(), 0, nullptr), ENOENT) << "nothing has started";
	ASSERT_EQ(rdma::modify_state(side.qp(), IBV_QPS_ERR), 0);
	EXPECT_EQ(side.start(c.a.get(), attr), EINVAL);
	ASSERT_EQ(rdma::modify_state(side.qp(), IBV_QPS_RESET), 0);
	EXPECT_EQ(side.start(c.a.get(), attr), EINVAL);
	expect_alive(c);
	ASSERT_EQ(rdma::modify_state(side.qp(), IBV_QPS_INIT), 0);
	ASSERT_EQ(side.attach(c.a.get(), attr), 0);
	EXPECT_EQ(side.start(d.a.get(), attr), EINVAL);
	expect_alive(d);
}

TEST(AttachRefuses, a_second_socket_while_the_first_starts)
{
	Connection c = connect(), d = connect();
	Side side(lab::a());
	Attr attr{};
	attr.role = KWARP_ATTACH_RESPONDER;
	ASSERT_EQ(side.start(c.a.get(), attr), 0);
	EXPECT_EQ(side.start(d.a.get(), attr), EALREADY);
	expect_alive(d);
}
