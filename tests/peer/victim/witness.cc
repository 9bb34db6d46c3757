// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "witness.h"

namespace victim {

using namespace iwarp;

// The completion of the first message shows the number of the connection.
Witness::Witness(Victim &v)
	: v_(v), p_(Peer::connect(v.address(), StartupFrame::request(1), lab().peer_socket()))
{
	p_.send_message({});
	const std::optional<ibv_wc> wc = completion();
	if (!wc || wc->status != IBV_WC_SUCCESS)
		throw std::runtime_error("the first message of a new connection is not delivered");
	index_ = Victim::connection_of(wc->wr_id);
	v.connection(index_).post_receive(Victim::index_of(wc->wr_id));
}

Witness::~Witness()
{
	p_.close();
	Connection &c = v_.connection(index_);
	v_.wait([&] { return c.happened.disconnected; });
	v_.settled(index_);
	v_.drop(index_);
}

// Skips flushed work requests: they belong to another connection that has ended, and their
// completions may come late.
std::optional<ibv_wc> Witness::completion()
{
	std::optional<ibv_wc> wc;
	do
		wc = v_.completion();
	while (wc && wc->status == IBV_WC_WR_FLUSH_ERR);
	return wc;
}

std::string Witness::turn()
try {
	turns_++;
	const Bytes sent = pattern(100, turns_ + 7), written = pattern(300, turns_);
	if (std::string fault = send_and_write(sent, written); !fault.empty())
		return fault;
	return read(written);
} catch (const std::exception &e) {
	return e.what();
}

std::string Witness::send_and_write(const Bytes &sent, const Bytes &written)
{
	Connection &c = v_.connection(index_);
	p_.send(write_to(*v_.spare, 0, written));
	p_.send_message(sent);
	const std::optional<ibv_wc> wc = completion();
	if (!wc || wc->status != IBV_WC_SUCCESS || Victim::connection_of(wc->wr_id) != index_)
		return "the message is not delivered";
	const unsigned slot = Victim::index_of(wc->wr_id);
	if (slot != turns_ % v_.options().receives)
		return "the message is not in the oldest receive";
	if (c.received(slot, sent.size()) != sent || v_.spare->copy(0, written.size()) != written)
		return "wrong data: the victim received other bytes than were sent or written";
	c.post_receive(slot);
	return {};
}

std::string Witness::read(const Bytes &written)
{
	p_.read({1, 2, static_cast<uint32_t>(written.size()), v_.spare->rkey(), v_.spare->base()});
	Bytes got;
	while (got.size() < written.size()) {
		std::optional<Segment> s = p_.receive();
		if (!s || s->opcode != op_read_response)
			return "the Read Request is not answered";
		put(got, s->payload);
	}
	if (got != written)
		return "wrong data: the Read Response has other bytes";
	return v_.spare->changed({{0, written.size()}});
}

} // namespace victim
