// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "wire.h"

#include <fstream>
#include <sstream>

#include "../iwarp/netstat.h"

namespace ooo {
namespace {

constexpr const char *moderation = "/proc/sys/net/ipv4/tcp_moderate_rcvbuf";
constexpr const char *tcp_rmem = "/proc/sys/net/ipv4/tcp_rmem";

std::string line_of(const char *file)
{
	std::string line;
	std::getline(std::ifstream(file), line);
	return line;
}

void set_policy(const Terms &t)
{
	static Policy policy;
	policy.must("ooo", t.ooo);
	policy.must("markers", t.markers);
	policy.must("crc", t.crc);
}

} // namespace

// TCP lets a full buffer grow up to the maximum of tcp_rmem, so @full sets the maximum to the
// default size.
FixedBuffers::FixedBuffers(bool full) : moderation_(line_of(moderation)), most_(line_of(tcp_rmem))
{
	std::istringstream sizes(most_);
	std::string least, usual;
	sizes >> least >> usual;
	std::ofstream(moderation) << 0 << std::endl;
	if (full)
		std::ofstream(tcp_rmem) << least << ' ' << usual << ' ' << usual << std::endl;
}

FixedBuffers::~FixedBuffers()
{
	std::ofstream(moderation) << moderation_ << std::endl;
	std::ofstream(tcp_rmem) << most_ << std::endl;
}

std::ostream &operator<<(std::ostream &os, const Counted &c)
{
	return os << c.placed << " placed, " << c.delivered << " delivered without a copy, "
		  << c.replaced << " replaced";
}

Wire::Wire(const Address &to, const Terms &t)
	: nldev_((set_policy(t), lab().device.name())),
	  tcp_(Tun::the(), Address(t.ipv6 ? lab().peer_ip6 : lab().peer_ip, 0), to, t.isn, t.sack,
	       t.window)
{
	start(t.crc);
}

void Wire::start(bool crc)
{
	StartupFrame request = StartupFrame::request(1);
	request.c = crc;
	const Bytes frame = request.encode();
	tcp_.send(0, frame);
	base_ = static_cast<uint32_t>(frame.size());
	auto whole = [&] {
		const Bytes &r = tcp_.received;
		return r.size() >= startup_header_len && r.size() >= StartupFrame::length(r);
	};
	tcp_.wait("a reply", whole);
	read_ = StartupFrame::length(tcp_.received);
	StartupFrame reply = StartupFrame::decode(View(tcp_.received).first(read_));
	out = FpduEncoder({crc || reply.c, reply.m});
	in_ = FpduDecoder({crc || reply.c, false});
	before_ = now();
}

Span Wire::add(const Segment &s, const FpduFault &fault)
{
	Span span{end(), 0};
	put(stream, out.encode(s.encode(), fault));
	span.to = end();
	return span;
}

Span Wire::message(size_t len, uint32_t seed)
{
	return add(send_segment(send_msn++, pattern(len, seed)));
}

void Wire::send_other(uint32_t from, View bytes, size_t most)
{
	for (size_t at = 0; at < bytes.size(); at += most) {
		size_t n = std::min(most, bytes.size() - at);
		tcp_.send(base_ + from + static_cast<uint32_t>(at), bytes.subspan(at, n));
	}
	uint32_t to = from + static_cast<uint32_t>(bytes.size());
	tcp_.wait("an acknowledgment",
		  [&] { return tcp_.reset || tcp_.has(base_ + from, base_ + to); });
}

void Wire::send(uint32_t from, uint32_t to, size_t most)
{
	send_other(from, View(stream).subspan(from, to - from), most);
}

bool Wire::crowd(uint32_t from, uint32_t to, uint32_t step, const std::string &counter)
{
	const uint64_t before = iwarp::tcp_counter(counter);
	for (uint32_t at = to - step; at > from && iwarp::tcp_counter(counter) == before;
	     at -= step) {
		tcp_.send(base_ + at, View(stream).subspan(at, 1));
		// empties the tun device's queue, which acknowledgments would fill
		tcp_.poll(Millis{0});
	}
	return iwarp::tcp_counter(counter) > before;
}

void Wire::fill()
{
	tcp_.poll(Millis{0});
	while (tcp_.acknowledged() < base_ + end() && !tcp_.reset) {
		uint32_t from = tcp_.acknowledged() - base_;
		send(from, tcp_.gap_end(base_ + std::min(from + 1400, end())) - base_);
	}
}

Counted Wire::now()
{
	Counts c = nldev_.counters();
	return {c.at("ooo_placed_fpdus"), c.at("ooo_delivered_without_copy"), c.at("ooo_replaced")};
}

Counted Wire::counted()
{
	Counted n = now(), d{n.placed - before_.placed, n.delivered - before_.delivered,
			     n.replaced - before_.replaced};
	before_ = n;
	return d;
}

uint64_t Wire::counter(const std::string &name)
{
	return nldev_.counters().at(name);
}

Segment Wire::receive()
{
	for (;;) {
		if (std::optional<Fpdu> f = in_.next())
			return Segment::decode(f->ulpdu).value();
		tcp_.wait("an FPDU", [&] {
			return tcp_.received.size() > read_ || tcp_.reset || tcp_.finished;
		});
		if (tcp_.received.size() == read_)
			throw std::runtime_error("the stream ends");
		in_.feed(View(tcp_.received).subspan(read_));
		read_ = tcp_.received.size();
	}
}

std::optional<Terminate> Wire::terminate()
{
	Segment s = receive();
	if (s.tagged || s.qn != q_terminate || s.opcode != op_terminate)
		return {};
	return Terminate::decode(s.payload);
}

} // namespace ooo
