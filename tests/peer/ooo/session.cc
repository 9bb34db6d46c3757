// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "session.h"

#include <fstream>
#include <ostream>
#include <sstream>

namespace ooo {

using iwarp::Address;
using iwarp::Millis;
using iwarp::pattern;
using iwarp::StartupFrame;
using victim::lab;

namespace {

Tun &tun()
{
	static Tun t("tunA");
	return t;
}

victim::Options options(const Terms &t)
{
	victim::Options o;
	o.receives = receives;
	o.receive_size = receive_size;
	o.rw_size = 128 * 1024;
	o.ipv6 = t.ipv6;
	o.srq = t.srq;
	return o;
}

constexpr const char *moderation = "/proc/sys/net/ipv4/tcp_moderate_rcvbuf";

} // namespace

FixedBuffers::FixedBuffers()
{
	std::ifstream(moderation) >> before_;
	std::ofstream(moderation) << 0 << std::endl;
}

FixedBuffers::~FixedBuffers()
{
	std::ofstream(moderation) << before_ << std::endl;
}

std::ostream &operator<<(std::ostream &os, const Counted &c)
{
	return os << c.placed << " placed, " << c.delivered << " delivered without a copy, " << c.replaced << " replaced";
}

Bench &Bench::the(const Terms &t)
{
	// with the device's far end attached, the port is up
	tun();
	if (t.ipv6) {
		static Bench b6(options(t));
		return b6;
	}
	if (t.srq) {
		static Bench shared(options(t));
		return shared;
	}
	static Bench b(options(t));
	return b;
}

namespace {

// A listener on [::], whose connections over IPv4 are IPv6 sockets with mapped addresses. It is the target's: on
// the event channel that the target's own one is on.
class Everywhere {
public:
	Everywhere() : address(lab().victim_ip, 0)
	{
		constexpr int backlog = 4;
		Address any("::", 0);
		Session plain;
		if (rdma_create_id(plain.c().id()->channel, &id_, nullptr, RDMA_PS_TCP) || rdma_bind_addr(id_, any.sa()) ||
		    rdma_listen(id_, backlog))
			throw std::runtime_error("no listener on [::]");
		address.port(ntohs(rdma_get_src_port(id_)));
	}
	~Everywhere() { rdma_destroy_id(id_); }
	Everywhere(const Everywhere &) = delete;
	Everywhere &operator=(const Everywhere &) = delete;

	Address address;

private:
	rdma_cm_id *id_ = nullptr;
};

Address target(const Terms &t)
{
	Bench &b = Bench::the(t);
	if (!t.mapped)
		return b.v.address();
	static Everywhere everywhere;
	return everywhere.address;
}

} // namespace

Session::Session(const Terms &t)
	: to_(target(t)), v(Bench::the(t).v), index_((set_policy(t), v.connections())), nldev_(lab().device.name()),
	  tcp_(tun(), Address(t.ipv6 ? lab().peer_ip6 : lab().peer_ip, 0), to_, t.isn, t.sack)
{
	start(t.crc);
}

Session::~Session()
{
	if (v.connections() > index_)
		v.drop(index_);
	v.rw->restore();
}

void Session::set_policy(const Terms &t)
{
	auto must = [](const char *knob, bool on) {
		if (!lab().device.policy(knob, on ? "1" : "0"))
			throw std::runtime_error(std::string("the device refuses ") + knob);
	};
	must("ooo", t.ooo);
	must("markers", t.markers);
	must("crc", t.crc);
}

void Session::start(bool crc)
{
	StartupFrame request = StartupFrame::request(1);
	request.c = crc;
	const Octets frame = request.encode();
	tcp_.send(0, frame);
	base_ = static_cast<uint32_t>(frame.size());
	auto whole = [&] {
		const Octets &r = tcp_.received;
		return r.size() >= iwarp::startup_header_len && r.size() >= StartupFrame::length(r);
	};
	tcp_.wait("a reply", whole);
	read_ = StartupFrame::length(tcp_.received);
	StartupFrame reply = StartupFrame::decode(View(tcp_.received).first(read_));
	out = iwarp::FpduEncoder({crc || reply.c, reply.m});
	in_ = iwarp::FpduDecoder({crc || reply.c, false});
	before_ = now();
}

Span Session::add(const Segment &s, const iwarp::FpduFault &fault)
{
	Span span{end(), 0};
	iwarp::put(stream, out.encode(s.encode(), fault));
	span.to = end();
	return span;
}

Span Session::write(size_t at, size_t len, uint32_t seed)
{
	return add(iwarp::write_segment(v.rw->rkey(), v.rw->base() + at, pattern(len, seed)));
}

Span Session::message(size_t len, uint32_t seed)
{
	return add(iwarp::send_segment(send_msn++, pattern(len, seed)));
}

void Session::send_other(uint32_t from, View octets, size_t most)
{
	for (size_t at = 0; at < octets.size(); at += most) {
		size_t n = std::min(most, octets.size() - at);
		tcp_.send(base_ + from + static_cast<uint32_t>(at), octets.subspan(at, n));
	}
	uint32_t to = from + static_cast<uint32_t>(octets.size());
	tcp_.wait("an acknowledgment", [&] { return tcp_.reset || tcp_.has(base_ + from, base_ + to); });
}

void Session::send(uint32_t from, uint32_t to, size_t most)
{
	send_other(from, View(stream).subspan(from, to - from), most);
}

void Session::fill()
{
	tcp_.poll(Millis{0});
	while (tcp_.acknowledged() < base_ + end() && !tcp_.reset) {
		uint32_t from = tcp_.acknowledged() - base_;
		send(from, tcp_.gap_end(base_ + std::min(from + 1400, end())) - base_);
	}
}

Counted Session::now()
{
	conformance::Counts c = nldev_.counters();
	return {c.at("ooo_placed_fpdus"), c.at("ooo_delivered_without_copy"), c.at("ooo_replaced")};
}

Counted Session::counted()
{
	Counted n = now(), d{n.placed - before_.placed, n.delivered - before_.delivered, n.replaced - before_.replaced};
	before_ = n;
	return d;
}

uint64_t Session::tcp_counter(const std::string &wanted)
{
	std::ifstream in("/proc/net/netstat");
	std::string names, values, name, value;
	while (std::getline(in, names) && std::getline(in, values)) {
		std::istringstream n(names), v(values);
		while (n >> name && v >> value)
			if (name == wanted)
				return std::stoull(value);
	}
	throw std::runtime_error("no " + wanted);
}

uint64_t Session::counter(const std::string &name)
{
	return nldev_.counters().at(name);
}

bool Session::written(size_t at, size_t len, uint32_t seed)
{
	return v.rw->copy(at, len) == pattern(len, seed);
}

void Session::delivers(size_t len, uint32_t seed)
{
	std::optional<ibv_wc> wc = v.completion(std::chrono::seconds(20));
	ASSERT_TRUE(wc) << "a message does not arrive";
	EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc->byte_len, len);
	EXPECT_EQ(victim::Victim::connection_of(wc->wr_id), index_);
	EXPECT_EQ(victim::Victim::index_of(wc->wr_id), delivered_) << "not the oldest receive";
	EXPECT_TRUE(slot_has(delivered_++, 0, pattern(len, seed)));
}

bool Session::slot_has(unsigned slot, size_t at, View octets)
{
	const Octets there = c().recv.copy(static_cast<size_t>(c().slot(slot).at) + at, octets.size());
	return std::equal(there.begin(), there.end(), octets.begin());
}

void Session::nothing_delivered()
{
	EXPECT_FALSE(v.completion(Millis{0}));
}

Segment Session::receive()
{
	for (;;) {
		if (std::optional<iwarp::Fpdu> f = in_.next())
			return Segment::decode(f->ulpdu).value();
		tcp_.wait("an FPDU", [&] { return tcp_.received.size() > read_ || tcp_.reset || tcp_.finished; });
		if (tcp_.received.size() == read_)
			throw std::runtime_error("the stream ends");
		in_.feed(View(tcp_.received).subspan(read_));
		read_ = tcp_.received.size();
	}
}

std::optional<iwarp::Terminate> Session::terminate()
{
	Segment s = receive();
	if (s.tagged || s.qn != iwarp::q_terminate || s.opcode != iwarp::op_terminate)
		return {};
	return iwarp::Terminate::decode(s.payload);
}

} // namespace ooo
