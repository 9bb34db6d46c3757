// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// The program's descriptor after its socket was attached (Documentation/attach.rst): the descriptor
// can no longer be used to read, write or set options, and closing it does not end the connection.
#include "side.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/net_tstamp.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rdma/eventually.h"

using namespace attach;

namespace {

struct Attached {
	Side a{lab::a()}, b{lab::b()};
	Connection c = connect();

	Attached() { attach(); }
	explicit Attached(int) {} // not attached yet
	void attach()
	{
		Attr attr = attr_with_reads(KWARP_ATTACH_NONE, KWARP_ATTACH_INITIATOR);
		ASSERT_EQ(b.attach(c.b.get(), attr), 0);
		ASSERT_EQ(a.attach(c.a.get(), attr), 0);
	}
};

// True if a call returned -1 with this errno.
testing::AssertionResult fails_with(long ret, int error)
{
	if (ret == -1 && errno == error)
		return testing::AssertionSuccess();
	return testing::AssertionFailure() << "returned " << ret << ", errno " << strerror(errno);
}

testing::AssertionResult unsupported(long ret)
{
	return fails_with(ret, EOPNOTSUPP);
}

int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

// The socket's use of memory, by enum in linux/sock_diag.h.
std::array<uint32_t, SK_MEMINFO_VARS> memory_info(int fd)
{
	std::array<uint32_t, SK_MEMINFO_VARS> info{};
	socklen_t length = sizeof(info);
	EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info.data(), &length), 0);
	return info;
}

// The sequence number of the next byte that the socket sends.
uint32_t next_to_send(int fd)
{
	uint32_t seq = 0;
	socklen_t length = sizeof(seq);
	EXPECT_EQ(set(fd, SOL_TCP, TCP_REPAIR, TCP_REPAIR_ON), 0);
	EXPECT_EQ(set(fd, SOL_TCP, TCP_REPAIR_QUEUE, TCP_SEND_QUEUE), 0);
	EXPECT_EQ(getsockopt(fd, SOL_TCP, TCP_QUEUE_SEQ, &seq, &length), 0);
	EXPECT_EQ(set(fd, SOL_TCP, TCP_REPAIR, TCP_REPAIR_OFF_NO_WP), 0);
	return seq;
}

// An ICMP error, "host unreachable", and the beginning of the packet that has caused it.
struct IcmpError {
	icmphdr icmp{};
	iphdr ip{};
	uint16_t source = 0, dest = 0;
	uint32_t seq = 0;

	IcmpError(const sockaddr_in &from, const sockaddr_in &to, uint32_t at)
	{
		icmp.type = ICMP_DEST_UNREACH;
		icmp.code = ICMP_HOST_UNREACH;
		ip.version = 4;
		ip.ihl = 5;
		ip.protocol = IPPROTO_TCP;
		ip.saddr = from.sin_addr.s_addr;
		ip.daddr = to.sin_addr.s_addr;
		source = from.sin_port;
		dest = to.sin_port;
		seq = htonl(at);
		uint32_t sum = 0;
		for (size_t i = 0; i < sizeof(*this); i += 2)
			sum += reinterpret_cast<const uint8_t *>(this)[i] << 8 |
			       reinterpret_cast<const uint8_t *>(this)[i + 1];
		icmp.checksum = htons(~(sum % 0xffff) & 0xffff);
	}
};

sockaddr_in address(int fd, int (*get)(int, sockaddr *, socklen_t *))
{
	sockaddr_in in{};
	socklen_t length = sizeof(in);
	EXPECT_EQ(get(fd, reinterpret_cast<sockaddr *>(&in), &length), 0);
	return in;
}

// Tries everything while bytes of the peer keep arriving.
void expect_shell(int fd)
{
	char buf[64]{};
	iovec iov{buf, sizeof(buf)};
	msghdr msg{};
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	for (int flags : std::initializer_list<int>{0, MSG_PEEK, MSG_DONTWAIT, MSG_OOB, MSG_TRUNC,
						    MSG_WAITALL, MSG_ERRQUEUE}) {
		EXPECT_TRUE(unsupported(recv(fd, buf, sizeof(buf), flags))) << flags;
		EXPECT_TRUE(unsupported(recvmsg(fd, &msg, flags))) << flags;
	}
	for (int flags : std::initializer_list<int>{0, MSG_DONTWAIT, MSG_OOB, MSG_MORE, MSG_EOR,
						    MSG_ZEROCOPY}) {
		EXPECT_TRUE(unsupported(send(fd, buf, sizeof(buf), flags | MSG_NOSIGNAL))) << flags;
		EXPECT_TRUE(unsupported(sendmsg(fd, &msg, flags | MSG_NOSIGNAL))) << flags;
	}
	EXPECT_TRUE(unsupported(read(fd, buf, sizeof(buf))));
	EXPECT_TRUE(unsupported(readv(fd, &iov, 1)));
	EXPECT_TRUE(unsupported(write(fd, buf, sizeof(buf))));
	EXPECT_TRUE(unsupported(writev(fd, &iov, 1)));

	int ends[2];
	ASSERT_EQ(pipe(ends), 0);
	Fd out(ends[0]), in(ends[1]);
	EXPECT_TRUE(unsupported(splice(fd, nullptr, in.get(), nullptr, 100, SPLICE_F_NONBLOCK)));
	ASSERT_EQ(write(in.get(), buf, sizeof(buf)), static_cast<ssize_t>(sizeof(buf)));
	EXPECT_TRUE(unsupported(splice(out.get(), nullptr, fd, nullptr, sizeof(buf), 0)));
	Fd file(memfd_create("file", MFD_CLOEXEC));
	ASSERT_EQ(write(file.get(), buf, sizeof(buf)), static_cast<ssize_t>(sizeof(buf)));
	off_t from = 0;
	EXPECT_TRUE(unsupported(sendfile(fd, file.get(), &from, sizeof(buf))));

	EXPECT_TRUE(unsupported(shutdown(fd, SHUT_RDWR)));
	EXPECT_TRUE(unsupported(listen(fd, 1)));
	EXPECT_TRUE(unsupported(accept(fd, nullptr, nullptr)));
	sockaddr_in in4{};
	in4.sin_family = AF_UNSPEC;
	EXPECT_TRUE(unsupported(connect(fd, reinterpret_cast<sockaddr *>(&in4), sizeof(in4))));
	in4.sin_family = AF_INET;
	EXPECT_TRUE(unsupported(bind(fd, reinterpret_cast<sockaddr *>(&in4), sizeof(in4))));
	int value;
	EXPECT_TRUE(unsupported(ioctl(fd, SIOCINQ, &value)));
	EXPECT_TRUE(unsupported(ioctl(fd, SIOCOUTQ, &value)));
	EXPECT_TRUE(fails_with(
		reinterpret_cast<long>(mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0)), ENODEV));

	EXPECT_TRUE(unsupported(setsockopt(fd, SOL_TCP, TCP_ULP, "tls", sizeof("tls"))));
	for (int option : {TCP_NODELAY, TCP_CORK, TCP_REPAIR, TCP_MAXSEG, TCP_LINGER2,
			   TCP_WINDOW_CLAMP, TCP_QUICKACK})
		EXPECT_TRUE(unsupported(set(fd, SOL_TCP, option, 1))) << option;
	for (int option :
	     {SO_REUSEADDR, SO_RCVBUF, SO_SNDBUF, SO_RCVLOWAT, SO_KEEPALIVE, SO_OOBINLINE,
	      SO_PEEK_OFF, SO_ZEROCOPY, SO_BUSY_POLL, SO_MARK, SO_PRIORITY, SO_DETACH_FILTER})
		EXPECT_TRUE(unsupported(set(fd, SOL_SOCKET, option, 1))) << option;
	linger wait{1, 3600};
	EXPECT_TRUE(unsupported(setsockopt(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof(wait))));
	sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0);
	sock_fprog program{1, &drop};
	for (int option : {SO_ATTACH_FILTER, SO_ATTACH_REUSEPORT_CBPF})
		EXPECT_TRUE(unsupported(setsockopt(fd, SOL_SOCKET, option, &program,
						   sizeof(program))));
	EXPECT_TRUE(unsupported(set(fd, SOL_IP, IP_TOS, 0)));

	char zerocopy[64]{};
	socklen_t length = sizeof(zerocopy);
	EXPECT_TRUE(unsupported(getsockopt(fd, SOL_TCP, TCP_ZEROCOPY_RECEIVE, zerocopy, &length)));

	pollfd poll_fd{fd, POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0};
	EXPECT_EQ(poll(&poll_fd, 1, 0), 0);
}

} // namespace

TEST(AttachDescriptor, is_a_shell)
{
	Attached t;
	expect_shell(t.c.a.get());
	expect_shell(t.c.b.get());
	transfers(t.a, t.b);
	expect_shell(t.c.a.get());
}

TEST(AttachDescriptor, still_knows_its_addresses)
{
	Attached t(0);
	sockaddr_storage before{}, after{};
	socklen_t length = sizeof(before);
	ASSERT_EQ(getpeername(t.c.a.get(), reinterpret_cast<sockaddr *>(&before), &length), 0);
	t.attach();
	length = sizeof(after);
	ASSERT_EQ(getpeername(t.c.a.get(), reinterpret_cast<sockaddr *>(&after), &length), 0);
	EXPECT_EQ(memcmp(&before, &after, sizeof(before)), 0);
	length = sizeof(after);
	EXPECT_EQ(getsockname(t.c.a.get(), reinterpret_cast<sockaddr *>(&after), &length), 0);
	tcp_info info{};
	length = sizeof(info);
	ASSERT_EQ(getsockopt(t.c.a.get(), SOL_TCP, TCP_INFO, &info, &length), 0);
	EXPECT_EQ(info.tcpi_state, TCP_ESTABLISHED);
}

// Unread bytes make the other end's socket readable, but not this one.
TEST(AttachDescriptor, is_never_ready)
{
	Attached t(0);
	Fd watch(epoll_create1(EPOLL_CLOEXEC));
	epoll_event event{};
	event.events = EPOLLIN | EPOLLRDHUP;
	ASSERT_EQ(epoll_ctl(watch.get(), EPOLL_CTL_ADD, t.c.a.get(), &event), 0);
	t.attach();
	transfers(t.a, t.b);
	EXPECT_EQ(epoll_wait(watch.get(), &event, 1, 0), 0);
	t.b.destroy_qp();
	EXPECT_TRUE(t.a.reaches(IBV_QPS_ERR));
	EXPECT_EQ(epoll_wait(watch.get(), &event, 1, 0), 0);
	ASSERT_EQ(epoll_ctl(watch.get(), EPOLL_CTL_DEL, t.c.a.get(), nullptr), 0);
	// close the descriptor while an epoll instance watches it
	ASSERT_EQ(epoll_ctl(watch.get(), EPOLL_CTL_ADD, t.c.a.get(), &event), 0);
	t.c.a.close();
}

TEST(AttachDescriptor, copies_are_shells_too)
{
	Attached t(0);
	Fd copy(dup(t.c.a.get()));
	int pair[2];
	ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	Fd one(pair[0]), other(pair[1]);
	t.attach();
	expect_shell(copy.get());
	pass(one.get(), t.c.a.get());
	Fd first(passed(other.get()));
	expect_shell(first.get());
	pass(one.get(), copy.get());
	Fd again(passed(other.get()));
	t.c.a.close();
	copy.close();
	expect_shell(again.get());
	first.close();
	again.close();
	transfers(t.a, t.b);
}

TEST(AttachDescriptor, may_be_closed)
{
	Attached t;
	t.c.a.close();
	t.c.b.close();
	transfers(t.a, t.b);
	EXPECT_EQ(rdma::modify_state(t.a.qp(), IBV_QPS_SQD), 0);
	EXPECT_TRUE(t.b.reaches(IBV_QPS_ERR));
}

TEST(AttachDescriptor, may_be_closed_during_startup)
{
	Side a(lab::a()), b(lab::b());
	Connection c = connect();
	Attr attr = attr_with_reads(KWARP_ATTACH_START_KEY, KWARP_ATTACH_RESPONDER);
	ASSERT_EQ(a.start(c.a.get(), attr), 0);
	c.a.close();
	attr.role = KWARP_ATTACH_INITIATOR;
	ASSERT_EQ(b.start(c.b.get(), attr), 0);
	c.b.close();
	ASSERT_EQ(a.wait(), 0);
	ASSERT_EQ(b.wait(), 0);
	transfers(b, a);
}

// The connection ends with the QP, even if the descriptor is still open.
TEST(AttachDescriptor, does_not_keep_the_connection)
{
	Attached t;
	t.a.destroy_qp();
	EXPECT_TRUE(t.b.reaches(IBV_QPS_ERR));
	expect_shell(t.c.a.get());
	t.b.destroy_qp();
	expect_shell(t.c.b.get());
}

// Socket options that the program set before have no effect.
TEST(AttachDescriptor, earlier_settings_do_no_harm)
{
	Attached t(0);
	for (int fd : {t.c.a.get(), t.c.b.get()}) {
		linger wait{1, 3600};
		ASSERT_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &wait, sizeof(wait)), 0);
		ASSERT_EQ(set(fd, SOL_SOCKET, SO_RCVBUF, 1), 0);
		ASSERT_EQ(set(fd, SOL_SOCKET, SO_SNDBUF, 1), 0);
		ASSERT_EQ(set(fd, SOL_SOCKET, SO_RCVLOWAT, 1000), 0);
		ASSERT_EQ(set(fd, SOL_TCP, TCP_CORK, 1), 0);
		ASSERT_EQ(set(fd, SOL_TCP, TCP_NOTSENT_LOWAT, 1), 0);
		ASSERT_EQ(set(fd, SOL_SOCKET, SO_PEEK_OFF, 3), 0);
		ASSERT_EQ(set(fd, SOL_SOCKET, SO_TIMESTAMPING,
			      SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_TX_SOFTWARE |
				      SOF_TIMESTAMPING_SOFTWARE),
			  0);
		ASSERT_EQ(fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC), 0);
	}
	t.attach();
	transfers(t.a, t.b);
	// what nobody reads, timestamps for example, would close the receive window in the end
	for (int fd : {t.c.a.get(), t.c.b.get()})
		EXPECT_TRUE(rdma::eventually([&] {
			return memory_info(fd)[SK_MEMINFO_RMEM_ALLOC] == 0;
		}));
	// SO_LINGER would take an hour
	t.a.destroy_qp();
	t.b.destroy_qp();
	t.c.a.close();
	t.c.b.close();
}

// The program has asked for reports of ICMP errors. TCP reports them as errors of the socket.
TEST(AttachDescriptor, icmp_errors_do_no_harm)
{
	Attached t(0);
	int fd = t.c.a.get();
	ASSERT_EQ(set(fd, SOL_IP, IP_RECVERR, 1), 0);
	const sockaddr_in a = address(fd, getsockname);
	const IcmpError error(a, address(fd, getpeername), next_to_send(fd));
	t.attach();
	{
		lab::Inside inside(lab::b());
		Fd raw(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
		ASSERT_EQ(sendto(raw.get(), &error, sizeof(error), 0,
				 reinterpret_cast<const sockaddr *>(&a), sizeof(a)),
			  static_cast<ssize_t>(sizeof(error)));
	}
	transfers(t.a, t.b);
}
