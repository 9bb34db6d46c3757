// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "side.h"

#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "rdma/cm.h"

namespace attach {
namespace {

constexpr size_t half = 32 * 1024; // of the memory: the lower half sends, the upper half receives

Fd tcp_socket(int family)
{
	Fd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (fd.get() < 0)
		throw rdma::Failure("socket", errno);
	return fd;
}

socklen_t address_length(const rdma::Address &address)
{
	return address.storage.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

Fd listener(const std::string &ip, rdma::Address &at)
{
	at = rdma::Address(ip, 0);
	Fd fd = tcp_socket(at.storage.ss_family);
	rdma::check(bind(fd.get(), at.get(), address_length(at)), "bind");
	rdma::check(listen(fd.get(), 1), "listen");
	socklen_t length = sizeof(at.storage);
	rdma::check(getsockname(fd.get(), at.get(), &length), "getsockname");
	return fd;
}

Fd connected(rdma::Address to)
{
	Fd fd = tcp_socket(to.storage.ss_family);
	rdma::check(::connect(fd.get(), to.get(), address_length(to)), "connect");
	return fd;
}

Fd accepted(const Fd &from)
{
	Fd fd(accept4(from.get(), nullptr, nullptr, SOCK_CLOEXEC));
	if (fd.get() < 0)
		throw rdma::Failure("accept", errno);
	return fd;
}

} // namespace

void Fd::close()
{
	if (fd_ >= 0)
		::close(fd_);
	fd_ = -1;
}

namespace {

// The socket that connects has an address of this family.
Connection connect(lab::Family family, const std::string &before)
{
	Connection c;
	rdma::Address at(lab::b().ip(family), 0);
	Fd listening;
	{
		lab::Inside inside(lab::b());
		listening = listener(lab::b().ip(family), at);
	}
	{
		lab::Inside inside(lab::a());
		// the port has the same offset in both families
		const auto *in = reinterpret_cast<const sockaddr_in *>(&at.storage);
		c.a = connected(rdma::Address(before + lab::b().ip(family), ntohs(in->sin_port)));
	}
	c.b = accepted(listening);
	return c;
}

} // namespace

Connection connect(lab::Family family)
{
	return connect(family, "");
}

Connection connect_mapped()
{
	return connect(lab::Family::ipv4, "::ffff:");
}

Connection connect_here()
{
	Connection c;
	rdma::Address at("127.0.0.1", 0);
	Fd listening = listener("127.0.0.1", at);
	c.a = connected(at);
	c.b = accepted(listening);
	return c;
}

void write_all(int fd, const std::string &bytes)
{
	for (size_t done = 0; done < bytes.size();) {
		ssize_t n = send(fd, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
		if (n < 0)
			throw rdma::Failure("send", errno);
		done += static_cast<size_t>(n);
	}
}

std::string read_exactly(int fd, size_t length)
{
	std::string bytes(length, '\0');
	for (size_t done = 0; done < length;) {
		if (!rdma::readable(fd, rdma::patience))
			throw rdma::Failure("no data after " + std::to_string(done) + " bytes");
		ssize_t n = recv(fd, bytes.data() + done, length - done, 0);
		if (n <= 0)
			throw rdma::Failure("recv after " + std::to_string(done) + " bytes",
					    n ? errno : 0);
		done += static_cast<size_t>(n);
	}
	return bytes;
}

namespace {

// A message of one byte with room for a descriptor.
struct Passed {
	Passed()
	{
		msg.msg_iov = &iov;
		msg.msg_iovlen = 1;
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
	}
	char byte = 0;
	alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
	iovec iov{&byte, 1};
	msghdr msg{};
};

} // namespace

void pass(int unix_socket, int fd)
{
	Passed p;
	cmsghdr *head = CMSG_FIRSTHDR(&p.msg);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	rdma::check(sendmsg(unix_socket, &p.msg, 0) == 1 ? 0 : -1, "sendmsg");
}

int passed(int unix_socket)
{
	Passed p;
	int fd;
	rdma::check(recvmsg(unix_socket, &p.msg, MSG_CMSG_CLOEXEC) == 1 ? 0 : -1, "recvmsg");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&p.msg)), sizeof(fd));
	return fd;
}

bool closed(int fd, rdma::Milliseconds limit)
{
	char buf[4096];
	while (rdma::readable(fd, limit))
		if (recv(fd, buf, sizeof(buf), 0) <= 0)
			return true;
	return false;
}

Attr attr_with_reads(kwarp_attach_form form, kwarp_attach_role role)
{
	Attr attr{};
	attr.form = form;
	attr.role = role;
	attr.ird = 4;
	attr.ord = 4;
	return attr;
}

std::string private_data(const Result &result)
{
	return {reinterpret_cast<const char *>(result.private_data),
		result.agreed.private_data_len};
}

Side::Side(const lab::Host &host)
	: context_(rdma::open_device(host.device)), pd_(rdma::alloc_pd(context_.get())),
	  cq_(rdma::create_cq(context_.get(), 256)),
	  memory_(std::make_unique<rdma::Region>(pd_.get(), 2 * half))
{
	ibv_qp_init_attr init = rdma::qp_attr(cq_.get(), 64, 1);
	qp_ = rdma::create_qp(pd_.get(), init);
	ibv_qp_attr attr{};
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	rdma::check(ibv_modify_qp(qp(), &attr,
				  IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
					  IBV_QP_ACCESS_FLAGS),
		    "ibv_modify_qp");
}

int Side::wait(Result *result)
{
	int ret;
	do {
		ret = kwarpdv_attach_wait(qp(), KWARP_ATTACH_WAIT_MAX_MS, result);
	} while (ret == EAGAIN);
	return ret;
}

int Side::attach(int fd, const Attr &attr, Result *result)
{
	return kwarpdv_attach(qp(), fd, &attr, result);
}

bool Side::reaches(ibv_qp_state wanted) const
{
	auto end = std::chrono::steady_clock::now() + rdma::patience;
	while (state() != wanted) {
		if (std::chrono::steady_clock::now() > end)
			return false;
		std::this_thread::sleep_for(rdma::Milliseconds(2));
	}
	return true;
}

void transfer(Side &from, Side &to, size_t length, unsigned int seed)
{
	rdma::Region &source = from.memory(), &sink = to.memory();

	rdma::fill(source.span(0, length), seed);
	rdma::post_recv(to.qp(), 1, {sink.sge(half, length)});
	rdma::post(from.qp(), rdma::send(2, {source.sge(0, length)}));
	rdma::wait_ok(from.cq());
	EXPECT_EQ(rdma::wait_ok(to.cq()).byte_len, length);
	EXPECT_TRUE(rdma::filled(sink.span(half, length), seed));

	// when a Send after the Write has arrived, the Write has been placed
	rdma::fill(source.span(0, length), seed + 1);
	rdma::post_recv(to.qp(), 3, {});
	rdma::post(from.qp(), rdma::write(4, {source.sge(0, length)}, to.remote(half)));
	rdma::post(from.qp(), rdma::send(5, {}));
	rdma::wait_ok(from.cq(), 2);
	rdma::wait_ok(to.cq());
	EXPECT_TRUE(rdma::filled(sink.span(half, length), seed + 1));

	rdma::fill(sink.span(0, length), seed + 2);
	rdma::post(from.qp(), rdma::read(6, {source.sge(half, length)}, to.remote()));
	rdma::wait_ok(from.cq());
	EXPECT_TRUE(rdma::filled(source.span(half, length), seed + 2));
}

void transfers(Side &initiator, Side &responder)
{
	transfer(initiator, responder, 1, 10);
	transfer(responder, initiator, 5, 20);
	transfer(initiator, responder, 4000, 30);
	transfer(responder, initiator, 20000, 40);
}

} // namespace attach
