// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "raw_tcp.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

namespace ooo {
namespace {

constexpr uint8_t fin = 1, syn = 2, rst = 4, psh = 8, ack = 16;
constexpr uint8_t protocol_tcp = 6;
constexpr size_t tcp_header = 20;

[[noreturn]] void fail(const char *what)
{
	throw std::system_error(errno, std::generic_category(), what);
}

Bytes ip_of(const Address &a)
{
	if (a.family() == AF_INET) {
		auto *p = reinterpret_cast<const uint8_t *>(
			&reinterpret_cast<const sockaddr_in *>(a.sa())->sin_addr);
		return {p, p + 4};
	}
	auto *p = reinterpret_cast<const uint8_t *>(
		&reinterpret_cast<const sockaddr_in6 *>(a.sa())->sin6_addr);
	return {p, p + 16};
}

uint16_t checksum(View o)
{
	uint32_t sum = 0;
	for (size_t i = 0; i < o.size(); i++)
		sum += i % 2 ? o[i] : o[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

Bytes ip_header(const Bytes &from, const Bytes &to, size_t payload)
{
	Bytes h;
	if (from.size() == 4) {
		put16(h, 0x4500);
		put16(h, static_cast<uint16_t>(20 + payload));
		put32(h, 0x00004000); // identification; do not fragment
		put16(h, 0x4000 | protocol_tcp);
		put16(h, 0);
		put(h, from);
		put(h, to);
		uint16_t sum = checksum(h);
		h[10] = static_cast<uint8_t>(sum >> 8);
		h[11] = static_cast<uint8_t>(sum);
		return h;
	}
	put32(h, 0x60000000);
	put16(h, static_cast<uint16_t>(payload));
	put16(h, protocol_tcp << 8 | 64);
	put(h, from);
	put(h, to);
	return h;
}

} // namespace

Tun &Tun::the()
{
	static Tun t("tunA");
	return t;
}

Tun::Tun(const std::string &name) : fd_(open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK))
{
	ifreq r{};
	r.ifr_flags = IFF_TUN | IFF_NO_PI;
	name.copy(r.ifr_name, sizeof(r.ifr_name) - 1);
	if (fd_ < 0 || ioctl(fd_, TUNSETIFF, &r))
		fail("/dev/net/tun");
}

Tun::~Tun()
{
	close(fd_);
}

void Tun::send(View packet)
{
	if (write(fd_, packet.data(), packet.size()) != static_cast<ssize_t>(packet.size()))
		fail("write to tun");
}

std::optional<Bytes> Tun::receive(Millis timeout)
{
	pollfd p{fd_, POLLIN, 0};
	Bytes o(65536);
	if (::poll(&p, 1, static_cast<int>(timeout.count())) <= 0)
		return {};
	ssize_t n = read(fd_, o.data(), o.size());
	if (n < 0)
		return {};
	o.resize(static_cast<size_t>(n));
	return o;
}

RawTcp::RawTcp(Tun &tun, const Address &from, const Address &to, uint32_t isn, bool sack,
	       uint16_t window)
	: tun_(tun), from_(from), to_(to), isn_(isn), sack_(sack), window_(window)
{
	static uint16_t port = 20000;
	Bytes options{2, 4, 1460 >> 8, 1460 & 0xff, 1, 3, 3, 7};

	if (sack)
		put(options, Bytes{1, 1, 4, 2});
	from_.port(++port);
	transmit(syn, isn_, {}, options);
	wait("SYN-ACK", [&] { return open_; });
}

RawTcp::~RawTcp()
{
	if (!reset)
		transmit(rst | ack, isn_ + 1 + acked_, {});
}

void RawTcp::transmit(uint8_t flags, uint32_t seq, View bytes, View options)
{
	const Bytes from = ip_of(from_), to = ip_of(to_);
	Bytes t, pseudo = join({from, to});
	size_t len = tcp_header + options.size() + bytes.size();

	put16(t, from_.port());
	put16(t, to_.port());
	put32(t, seq);
	put32(t,
	      flags & ack ? peer_isn_ + 1 + static_cast<uint32_t>(received.size()) + finished : 0);
	put8(t, static_cast<uint8_t>((tcp_header + options.size()) / 4 << 4));
	put8(t, flags);
	put16(t, window_);
	put32(t, 0); // checksum, urgent pointer
	put(t, options);
	put(t, bytes);
	put32(pseudo, static_cast<uint32_t>(len));
	put32(pseudo, protocol_tcp);
	uint16_t sum = checksum(join({pseudo, t}));
	t[16] = static_cast<uint8_t>(sum >> 8);
	t[17] = static_cast<uint8_t>(sum);
	tun_.send(join({ip_header(from, to, t.size()), t}));
}

void RawTcp::send(uint32_t offset, View bytes)
{
	transmit(ack | psh, isn_ + 1 + offset, bytes);
}

void RawTcp::finish(uint32_t offset)
{
	transmit(ack | fin, isn_ + 1 + offset, {});
}

void RawTcp::abort(uint32_t offset)
{
	transmit(ack | rst, isn_ + 1 + offset, {});
}

void RawTcp::poll(Millis timeout)
{
	while (std::optional<Bytes> packet = tun_.receive(timeout)) {
		take(*packet);
		timeout = Millis{0};
	}
}

void RawTcp::wait(const char *what, const std::function<bool()> &condition)
{
	auto end = std::chrono::steady_clock::now() + patience;
	poll(Millis{0});
	while (!condition()) {
		if (std::chrono::steady_clock::now() > end)
			throw Timeout(std::string("timeout while waiting for ") + what);
		poll(Millis{20});
	}
}

bool RawTcp::has(uint32_t from, uint32_t to) const
{
	if (to <= acked_)
		return true;
	// without SACK this is not reported, but a write to tun delivers the segment synchronously
	if (!sack_ && from > acked_)
		return true;
	for (const Block &b : sacked_)
		if (b.from <= from && to <= b.to)
			return true;
	return false;
}

uint32_t RawTcp::gap_end(uint32_t limit) const
{
	for (const Block &b : sacked_)
		if (b.from > acked_ && b.from < limit)
			limit = b.from;
	return limit;
}

void RawTcp::take(View packet)
{
	bool v4 = packet.size() > 20 && packet[0] >> 4 == 4,
	     v6 = packet.size() > 40 && packet[0] >> 4 == 6;
	size_t header = v4 ? 4U * (packet[0] & 15) : 40;

	if (!v4 && !v6)
		return;
	if (packet[v4 ? 9 : 6] != protocol_tcp || packet.size() < header + tcp_header)
		return;
	View tcp = packet.subspan(header);
	if (get16(tcp, 0) == to_.port() && get16(tcp, 2) == from_.port())
		take_segment(tcp);
}

void RawTcp::take_segment(View tcp)
{
	const uint8_t flags = tcp[13];
	const size_t header = 4U * (tcp[12] >> 4);
	const uint32_t seq = get32(tcp, 4);

	if (flags & rst) {
		reset = true;
		return;
	}
	if (flags & syn) {
		peer_isn_ = seq;
		open_ = true;
		take_options(tcp.subspan(tcp_header, header - tcp_header));
		transmit(ack, isn_ + 1, {});
		return;
	}
	acked_ = get32(tcp, 8) - (isn_ + 1);
	edge_ = std::max(edge_, acked_ + (uint32_t{get16(tcp, 14)} << scale_));
	sacked_.clear();
	take_options(tcp.subspan(tcp_header, header - tcp_header));
	View bytes = tcp.subspan(header);
	if (bytes.empty() && !(flags & fin))
		return;
	if (seq == peer_isn_ + 1 + static_cast<uint32_t>(received.size()) && !finished) {
		put(received, bytes);
		finished = flags & fin;
	}
	transmit(ack, isn_ + 1 + acked_, {});
}

void RawTcp::take_options(View o)
{
	for (size_t at = 0; at + 1 < o.size() && o[at];) {
		if (o[at] == 1) {
			at++;
			continue;
		}
		size_t len = o[at + 1];
		if (len < 2 || at + len > o.size())
			return;
		if (o[at] == 3 && len == 3)
			scale_ = o[at + 2];
		if (o[at] == 5)
			for (size_t b = at + 2; b + 8 <= at + len; b += 8)
				sacked_.push_back({get32(o, b) - (isn_ + 1),
						   get32(o, b + 4) - (isn_ + 1)});
		at += len;
	}
}

} // namespace ooo
