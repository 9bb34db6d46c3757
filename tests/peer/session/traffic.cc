// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "traffic.h"

#include "../victim/witness.h"

namespace peer {
namespace {

constexpr size_t most = 1400, most_of_write = 60000; // payload of a segment

void peer_acts(Victim &v, Connection &c, Peer &p, uint8_t version, size_t n)
{
	const Bytes sent = pattern(n, 60), written = pattern(n, 61);
	p.send(cut_every(in_version(version, send_segment(p.send_msn++, sent)), most));
	expect_received(v, c, sent);

	const uint64_t to = v.rw->base() + 5;
	p.send(cut_every(in_version(version, write_segment(v.rw->rkey(), to, written)),
			 most_of_write));
	const ReadRequest rr{99, 1000, static_cast<uint32_t>(n), v.rw->rkey(), to};
	p.send(in_version(version, read_request_segment(p.read_msn++, rr)));
	const Segment answer = receive_message(p, op_read_response, version);
	EXPECT_EQ(answer.stag, rr.sink_stag);
	EXPECT_EQ(answer.to, rr.sink_to);
	EXPECT_TRUE(same(answer.payload, written));
	EXPECT_TRUE(same(v.rw->copy(5, n), written));
}

void victim_acts(Victim &v, Connection &c, Peer &p, uint8_t version, size_t n)
{
	expect_victim_sends(v, c, p, n, version);
	c.post_write(*v.rw, 7, n, 0xABCD, 0x10000);
	const Segment write = receive_message(p, op_write, version);
	EXPECT_EQ(write.stag, 0xABCDU);
	EXPECT_EQ(write.to, 0x10000U);
	EXPECT_TRUE(same(write.payload, v.rw->copy(7, n)));
	expect_success(v);

	const size_t sink = v.rw->size() / 2;
	const Bytes data = pattern(n, 62);
	c.post_read(*v.rw, sink, n, 0xEE, 0x20000);
	const ReadRequest rr = expect_read(p, 0xEE, 0x20000, n, version);
	p.send(cut_every(in_version(version, read_response_segment(rr.sink_stag, rr.sink_to, data)),
			 most));
	EXPECT_EQ(expect_success(v).opcode, IBV_WC_RDMA_READ);
	EXPECT_TRUE(same(v.rw->copy(sink, n), data));
}

} // namespace

Segment in_version(uint8_t version, Segment s)
{
	s.dv = s.rv = version;
	return s;
}

Segment receive_message(Peer &p, uint8_t opcode, uint8_t version)
{
	const uint32_t msn = p.last_msn + 1;
	std::optional<Segment> all;
	for (size_t at = 0;;) {
		std::optional<Segment> s = p.receive();
		if (!s)
			throw std::runtime_error("message does not come");
		EXPECT_EQ(s->opcode, opcode);
		EXPECT_EQ(s->dv, version);
		EXPECT_EQ(s->rv, version);
		EXPECT_EQ(s->ddp_reserved, 0);
		EXPECT_EQ(s->rdmap_reserved, 0);
		EXPECT_EQ(s->inv_stag, 0U);
		if (!all) {
			all = *s;
			all->payload.clear();
		}
		if (s->tagged) {
			EXPECT_EQ(s->stag, all->stag);
			EXPECT_EQ(s->to, all->to + at);
		} else {
			EXPECT_EQ(s->qn, opcode == op_read_request ? q_read : q_send);
			EXPECT_EQ(s->msn, s->qn == q_send ? msn : all->msn);
			EXPECT_EQ(s->mo, at);
		}
		put(all->payload, s->payload);
		at = all->payload.size();
		if (s->last)
			return *all;
	}
}

ibv_wc expect_success(Victim &v)
{
	std::optional<ibv_wc> wc = v.completion();
	if (!wc)
		throw std::runtime_error("a completion does not come");
	if (wc->status != IBV_WC_SUCCESS)
		throw std::runtime_error(std::string("a work request fails: ") +
					 ibv_wc_status_str(wc->status));
	return *wc;
}

void expect_received(Victim &v, Connection &c, const Bytes &message)
{
	const ibv_wc wc = expect_success(v);
	EXPECT_EQ(wc.byte_len, message.size());
	const unsigned slot = Victim::index_of(wc.wr_id);
	EXPECT_TRUE(same(c.received(slot, message.size()), message));
	c.post_receive(slot);
}

ReadRequest expect_read(Peer &p, uint32_t stag, uint64_t to, size_t len, uint8_t version)
{
	const Segment s = receive_message(p, op_read_request, version);
	if (s.payload.size() != ReadRequest::len)
		throw std::runtime_error("a Read Request of another length");
	const ReadRequest rr = ReadRequest::decode(s.payload);
	EXPECT_EQ(rr.size, len);
	EXPECT_EQ(rr.src_stag, stag);
	EXPECT_EQ(rr.src_to, to);
	return rr;
}

void expect_victim_sends(Victim &v, Connection &c, Peer &p, size_t len, uint8_t version)
{
	c.post_send(*v.rw, 0, len);
	EXPECT_TRUE(same(receive_message(p, op_send, version).payload, v.rw->copy(0, len)));
	expect_success(v);
}

void expect_data_both_ways(Victim &v, Connection &c, Peer &p, uint8_t version,
			   const std::vector<size_t> &sizes)
{
	for (size_t n : sizes) {
		SCOPED_TRACE(n);
		peer_acts(v, c, p, version, n);
		victim_acts(v, c, p, version, n);
	}
}

void expect_healthy(Victim &v)
{
	EXPECT_EQ(Witness(v).turn(), "") << "a healthy connection afterwards";
}

void expect_silent_end(Socket &s, Millis timeout)
{
	Bytes got;
	Event e;
	while ((e = s.receive(got, timeout)) == Event::data)
		;
	EXPECT_TRUE(e == Event::fin || e == Event::reset) << "still open";
	EXPECT_TRUE(got.empty()) << "the victim sends something";
}

void expect_silent_end(Peer &p)
{
	const End e = p.end();
	EXPECT_TRUE(e.closed()) << "still open";
	EXPECT_TRUE(e.before.empty() && !e.terminate) << "the victim sends something";
}

} // namespace peer
