// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "forms.h"

namespace bad_input {

using namespace iwarp;
using victim::Connection;
using victim::lab;
using victim::Victim;

namespace {

constexpr size_t piece = 1400; // payload of a segment

StartupFrame frame(std::string_view key, uint8_t rev, bool s, bool c, bool m)
{
	StartupFrame f;
	f.key = octets(key);
	f.rev = rev;
	f.s = s;
	f.c = c;
	f.m = m;
	return f;
}

// All segments of the next message.
Octets message(Peer &p, uint8_t opcode, uint8_t version)
{
	Octets all;
	for (;;) {
		std::optional<Segment> s = p.receive();
		if (!s)
			throw std::runtime_error("message does not come");
		EXPECT_EQ(s->opcode, opcode);
		EXPECT_EQ(s->dv, version);
		EXPECT_EQ(s->rv, version);
		put(all, s->payload);
		if (s->last)
			return all;
	}
}

void send_message(Peer &p, const Octets &data, uint8_t version)
{
	for (size_t at = 0; at < data.size(); at += piece) {
		size_t len = std::min(piece, data.size() - at);
		auto from = data.begin() + static_cast<ptrdiff_t>(at);
		Octets part(from, from + static_cast<ptrdiff_t>(len));
		bool last = at + len == data.size();
		p.send(in_version(version, send_segment(p.send_msn, part, static_cast<uint32_t>(at), last)));
	}
	p.send_msn++;
}

void expect_success(Victim &v)
{
	std::optional<ibv_wc> wc = v.completion();
	ASSERT_TRUE(wc);
	EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
}

void peer_acts(Victim &v, Connection &c, Peer &p, uint8_t version, size_t n)
{
	Octets data = pattern(n, 7);
	send_message(p, data, version);
	std::optional<ibv_wc> wc = v.completion();
	ASSERT_TRUE(wc);
	ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
	EXPECT_EQ(wc->byte_len, n);
	unsigned slot = Victim::index_of(wc->wr_id);
	EXPECT_EQ(c.received(slot, n), data);
	c.post_receive(slot);

	data = pattern(n, 8);
	p.send(in_version(version, write_segment(v.rw->rkey(), v.rw->base() + 5, data)));
	ReadRequest rr{99, 1000, static_cast<uint32_t>(n), v.rw->rkey(), v.rw->base() + 5};
	p.send(in_version(version, read_request_segment(p.read_msn++, rr)));
	EXPECT_EQ(message(p, op_read_response, version), data);
}

void victim_acts(Victim &v, Connection &c, Peer &p, uint8_t version, size_t n)
{
	Octets data = v.rw->copy(5, n);
	c.post_send(*v.rw, 5, n);
	EXPECT_EQ(message(p, op_send, version), data);
	expect_success(v);
	c.post_write(*v.rw, 5, n, 0x1234, 4096);
	EXPECT_EQ(message(p, op_write, version), data);
	expect_success(v);

	c.post_read(*v.rw, 20000, n, 0x1234, 4096);
	ReadRequest rr = ReadRequest::decode(message(p, op_read_request, version));
	EXPECT_EQ(rr.size, n);
	data = pattern(n, 9);
	p.send(in_version(version, read_response_segment(rr.sink_stag, rr.sink_to, data)));
	expect_success(v);
	EXPECT_EQ(v.rw->copy(20000, n), data);
}

} // namespace

StartupFrame rtr_frame(bool c, std::string_view key, size_t private_data)
{
	StartupFrame f = frame(key, 1, false, c, false);
	f.private_data = pattern(private_data);
	return f;
}

StartupFrame request_with(uint8_t rev, bool s, bool c, bool m)
{
	return frame(request_key, rev, s, c, m);
}

StartupFrame reply_with_flags(uint8_t rev, bool s, bool c, bool m)
{
	return frame(reply_key, rev, s, c, m);
}

Segment in_version(uint8_t version, Segment s)
{
	s.dv = s.rv = version;
	return s;
}

void expect_data_both_ways(Victim &v, Connection &c, Peer &p, uint8_t version)
{
	for (size_t n : {1, 500, 1400, 5000}) {
		SCOPED_TRACE(n);
		peer_acts(v, c, p, version, n);
		victim_acts(v, c, p, version, n);
	}
}

void expect_victim_speaks_first(Victim &v, Connection &c, Peer &p)
{
	c.post_send(*v.rw, 0, 3000);
	EXPECT_EQ(message(p, op_send, 1), v.rw->copy(0, 3000));
	expect_success(v);
}

std::optional<rdma_cm_event_type> told(Victim &v, Connection &c, Millis limit)
{
	v.wait([&] { return c.happened.connect.has_value(); }, limit);
	return c.happened.connect;
}

uint64_t counter(const std::string &name)
{
	return lab().device.counter(name).value();
}

victim::Options roomy()
{
	return {.receive_size = 8192, .rw_size = 32768};
}

Forms::Forms()
	: timeout_(lab().device, "startup_timeout_ms", "5000"),
	  listener_(Socket::listen(Address(lab().peer_ip, 0), lab().peer_socket()))
{
}

void Forms::SetUp()
{
	if (!lab().device.policy("permissive"))
		GTEST_SKIP() << "kwarp only";
}

Address Forms::target() const
{
	return Address(lab().peer_ip, listener_.local().port());
}

Peer Forms::asked()
{
	Peer p(listener_.accept(Millis{15000}));
	p.receive_request();
	EXPECT_EQ(p.request.key, octets(request_key));
	return p;
}

Peer Forms::ask(Victim &v, const StartupFrame &request)
{
	return Peer::connect(v.address(), request, lab().peer_socket());
}

void Forms::expect_established(Victim &v, Connection &c)
{
	ASSERT_TRUE(told(v, c));
	EXPECT_EQ(*c.happened.connect, RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_EQ(c.happened.status, 0);
}

void Forms::expect_failed(Victim &v, Connection &c)
{
	ASSERT_TRUE(told(v, c));
	EXPECT_NE(c.happened.status, 0);
	EXPECT_TRUE(v.wait([&] { return c.happened.disconnected; }, Millis{15000}));
	EXPECT_EQ(c.state(), IBV_QPS_ERR);
	EXPECT_TRUE(v.settled(c.index())) << "a posted receive never completed";
	EXPECT_EQ(v.ledger_fault(), "");
}

void Forms::expect_closed(Peer &p)
{
	End e = p.end(Millis{15000});
	EXPECT_TRUE(e.closed());
	EXPECT_FALSE(e.terminate);
}

void Forms::expect_moves(const std::string &name, uint64_t before)
{
	EXPECT_TRUE(soon([&] { return counter(name) > before; }, patience)) << name;
}

} // namespace bad_input
