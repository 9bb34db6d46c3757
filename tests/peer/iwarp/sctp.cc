// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "sctp.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <linux/sctp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>

#include "netns.h"

namespace iwarp::sctp {
namespace {

constexpr int backlog = 16;

[[noreturn]] void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

template <class Value>
void set(const Socket &s, int option, const Value &value, const char *what)
{
	if (setsockopt(s.fd(), IPPROTO_SCTP, option, &value, sizeof(value)))
		fail(what);
}

Socket make(const Address &a, const Options &o)
{
	NetnsScope scope(o.netns);
	Socket s(socket(a.family(), SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SCTP));
	if (s.fd() < 0)
		fail("SCTP socket");
	set(s, SCTP_NODELAY, 1, "SCTP_NODELAY");
	set(s, SCTP_RECVRCVINFO, 1, "SCTP_RECVRCVINFO");
	set(s, SCTP_INITMSG, sctp_initmsg{o.streams, o.streams, 0, 0}, "SCTP_INITMSG");
	if (o.adaptation)
		set(s, SCTP_ADAPTATION_LAYER, sctp_setadaptation{*o.adaptation},
		    "SCTP_ADAPTATION_LAYER");
	if (o.most)
		set(s, SCTP_MAXSEG, sctp_assoc_value{0, o.most}, "SCTP_MAXSEG");
	set(s, SCTP_EVENT, sctp_event{SCTP_FUTURE_ASSOC, SCTP_ASSOC_CHANGE, 1}, "SCTP_EVENT");
	return s;
}

sctp_rcvinfo info_of(msghdr &msg)
{
	for (cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != IPPROTO_SCTP || c->cmsg_type != SCTP_RCVINFO)
			continue;
		sctp_rcvinfo info;
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		return info;
	}
	throw std::runtime_error("received a message without SCTP_RCVINFO");
}

// Returns the new state of the association; nothing if the event is of another type.
std::optional<uint16_t> state_of(const Bytes &event)
{
	sctp_assoc_change change;
	if (event.size() < sizeof(change))
		return {};
	memcpy(&change, event.data(), sizeof(change));
	if (change.sac_type != SCTP_ASSOC_CHANGE)
		return {};
	return change.sac_state;
}

Message message(uint32_t ppid, uint16_t ssn, View body)
{
	Message m{.ppid = ppid};
	put16(m.data, ssn);
	put(m.data, body);
	return m;
}

} // namespace

Association Association::connect(const Address &to, const Options &o)
{
	Socket s = make(to, o);
	const Address own(to.family() == AF_INET ? "0.0.0.0" : "::", o.port);
	if (o.port && bind(s.fd(), own.sa(), own.len()))
		fail("SCTP bind");
	if (!::connect(s.fd(), to.sa(), to.len()))
		return Association(std::move(s));
	// A signal (SIGCHLD of another thread's system()) interrupted connect(), and the kernel
	// restarted the call: wait for the result of the first one.
	if (errno != EALREADY)
		fail("SCTP connect");
	pollfd p{s.fd(), POLLOUT, 0};
	if (poll(&p, 1, static_cast<int>(patience.count())) != 1)
		throw Timeout("timeout waiting for the association");
	int error = 0;
	socklen_t len = sizeof(error);
	if (getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &error, &len) || error) {
		errno = error;
		fail("SCTP connect");
	}
	return Association(std::move(s));
}

bool Association::try_send(const Message &m, bool more)
{
	alignas(cmsghdr) uint8_t control[CMSG_SPACE(sizeof(sctp_sndinfo))]{};
	iovec iov{const_cast<uint8_t *>(m.data.data()), m.data.size()};
	msghdr msg{};
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	sctp_sndinfo info{};
	info.snd_sid = m.stream;
	info.snd_flags = m.unordered ? SCTP_UNORDERED : 0;
	info.snd_ppid = htonl(m.ppid);
	cmsghdr *c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = IPPROTO_SCTP;
	c->cmsg_type = SCTP_SNDINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	return sendmsg(socket_.fd(), &msg, MSG_NOSIGNAL | (more ? MSG_MORE : 0)) >= 0;
}

void Association::send(const Message &m)
{
	if (!try_send(m))
		fail("SCTP send");
}

bool Association::try_control(uint16_t code, View private_data)
{
	Bytes body;
	put16(body, code);
	put(body, private_data);
	return try_send(message(ppid_control, ssn++, body));
}

void Association::control(uint16_t code, View private_data)
{
	if (!try_control(code, private_data))
		fail("SCTP send");
}

bool Association::try_segment(View segment, bool more)
{
	return try_send(message(ppid_segment, ssn++, segment), more);
}

void Association::segment(View segment)
{
	if (!try_segment(segment))
		fail("SCTP send");
}

std::optional<Message> Association::arrival(Millis timeout)
{
	pollfd p{socket_.fd(), POLLIN, 0};
	if (poll(&p, 1, static_cast<int>(timeout.count())) == 0)
		throw Timeout("timeout waiting for an SCTP message");
	Bytes data(70000);
	alignas(cmsghdr) uint8_t control[256];
	iovec iov{data.data(), data.size()};
	msghdr msg{};
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	const ssize_t n = recvmsg(socket_.fd(), &msg, 0);
	if (n <= 0) {
		if (n < 0 && errno != ECONNRESET && errno != ENOTCONN && errno != EPIPE)
			fail("SCTP receive");
		return {};
	}
	data.resize(static_cast<size_t>(n));
	if (msg.msg_flags & MSG_NOTIFICATION) {
		const auto state = state_of(data);
		// A restart also means that the other side has lost the state of the association.
		lost_ |= state == SCTP_COMM_LOST || state == SCTP_RESTART;
		// The last event of an association. recvmsg() does not report the end after our own
		// SHUTDOWN, nor an ABORT that a send has reported.
		if (state == SCTP_SHUTDOWN_COMP || state == SCTP_COMM_LOST)
			return {};
		return arrival(timeout);
	}
	if (n < 2 || !(msg.msg_flags & MSG_EOR))
		throw std::runtime_error("received a message without DDP-SSN, or a part of one");
	const sctp_rcvinfo info = info_of(msg);
	return Message{ntohl(info.rcv_ppid), bool(info.rcv_flags & SCTP_UNORDERED), info.rcv_sid,
		       std::move(data)};
}

std::optional<Message> Association::receive(Millis timeout)
{
	while (!early_.contains(expect_)) {
		auto m = arrival(timeout);
		if (!m) {
			if (!early_.empty() && !lost_)
				throw std::runtime_error("a DDP-SSN is missing");
			return {};
		}
		const uint16_t ahead = m->ssn() - expect_;
		if (ahead >= 4096 || early_.contains(m->ssn()))
			throw std::runtime_error("a DDP-SSN is repeated or too far ahead");
		early_.emplace(m->ssn(), std::move(*m));
	}
	auto found = early_.extract(expect_++);
	return std::move(found.mapped());
}

void Association::shut()
{
	// Ignore errors: the association may have ended already.
	shutdown(socket_.fd(), SHUT_WR);
}

bool Association::ends(Millis timeout)
{
	try {
		while (arrival(timeout)) {
		}
		return true;
	} catch (const Timeout &) {
		return false;
	}
}

Listener::Listener(const Address &at, const Options &o) : socket_(make(at, o))
{
	if (bind(socket_.fd(), at.sa(), at.len()) || listen(socket_.fd(), backlog))
		fail("SCTP listen");
}

Association Listener::accept(Millis timeout)
{
	pollfd p{socket_.fd(), POLLIN, 0};
	if (poll(&p, 1, static_cast<int>(timeout.count())) == 0)
		throw Timeout("timeout waiting for a connection");
	Socket s(accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
	if (!s)
		fail("SCTP accept");
	return Association(std::move(s));
}

} // namespace iwarp::sctp
