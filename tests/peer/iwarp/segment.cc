// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "segment.h"

namespace iwarp {

Bytes Segment::header() const
{
	Bytes o;
	put8(o, static_cast<uint8_t>((tagged ? 0x80 : 0) | (last ? 0x40 : 0) |
				     (ddp_reserved & 15) << 2 | (dv & 3)));
	put8(o, static_cast<uint8_t>((rv & 3) << 6 | (rdmap_reserved & 3) << 4 | (opcode & 15)));
	if (tagged) {
		put32(o, stag);
		put64(o, to);
	} else {
		put32(o, inv_stag);
		put32(o, qn);
		put32(o, msn);
		put32(o, mo);
	}
	return o;
}

std::optional<Segment> Segment::decode(View v)
{
	Segment s;
	if (v.size() < 2)
		return {};
	s.tagged = v[0] & 0x80;
	s.last = v[0] & 0x40;
	s.ddp_reserved = v[0] >> 2 & 15;
	s.dv = v[0] & 3;
	s.rv = v[1] >> 6;
	s.rdmap_reserved = v[1] >> 4 & 3;
	s.opcode = v[1] & 15;
	size_t len = s.tagged ? tagged_header_len : untagged_header_len;
	if (v.size() < len)
		return {};
	if (s.tagged) {
		s.stag = get32(v, 2);
		s.to = get64(v, 6);
	} else {
		s.inv_stag = get32(v, 2);
		s.qn = get32(v, 6);
		s.msn = get32(v, 10);
		s.mo = get32(v, 14);
	}
	s.payload.assign(v.begin() + static_cast<ptrdiff_t>(len), v.end());
	return s;
}

Bytes ReadRequest::encode() const
{
	Bytes o;
	put32(o, sink_stag);
	put64(o, sink_to);
	put32(o, size);
	put32(o, src_stag);
	put64(o, src_to);
	return o;
}

ReadRequest ReadRequest::decode(View v)
{
	return {get32(v, 0), get64(v, 4), get32(v, 12), get32(v, 16), get64(v, 20)};
}

Bytes AtomicRequest::encode() const
{
	Bytes o;
	put32(o, op);
	put32(o, id);
	put32(o, stag);
	for (uint64_t v : {to, data, mask, compare, compare_mask})
		put64(o, v);
	return o;
}

AtomicRequest AtomicRequest::decode(View v)
{
	return {get32(v, 0),  get32(v, 4),  get32(v, 8),  get64(v, 12),
		get64(v, 20), get64(v, 28), get64(v, 36), get64(v, 44)};
}

Bytes AtomicResponse::encode() const
{
	Bytes o;
	put32(o, id);
	put64(o, original);
	return o;
}

AtomicResponse AtomicResponse::decode(View v)
{
	return {get32(v, 0), get64(v, 4)};
}

Segment write_segment(uint32_t stag, uint64_t to, Bytes payload, bool last)
{
	return {.tagged = true,
		.last = last,
		.opcode = op_write,
		.stag = stag,
		.to = to,
		.payload = std::move(payload)};
}

Segment send_segment(uint32_t msn, Bytes payload, uint32_t mo, bool last)
{
	return {.last = last,
		.opcode = op_send,
		.qn = q_send,
		.msn = msn,
		.mo = mo,
		.payload = std::move(payload)};
}

Segment read_request_segment(uint32_t msn, const ReadRequest &rr)
{
	Segment s = send_segment(msn, rr.encode());
	s.opcode = op_read_request;
	s.qn = q_read;
	return s;
}

Segment atomic_request_segment(uint32_t msn, const AtomicRequest &a)
{
	Segment s = send_segment(msn, a.encode());
	s.opcode = op_atomic_request;
	s.qn = q_read;
	return s;
}

Segment atomic_response_segment(uint32_t msn, const AtomicResponse &a)
{
	Segment s = send_segment(msn, a.encode());
	s.opcode = op_atomic_response;
	s.qn = q_atomic;
	return s;
}

Segment read_response_segment(uint32_t stag, uint64_t to, Bytes payload, bool last)
{
	Segment s = write_segment(stag, to, std::move(payload), last);
	s.opcode = op_read_response;
	return s;
}

std::vector<Segment> cut_at(const Segment &message, const std::vector<size_t> &offsets)
{
	std::vector<Segment> all;
	for (size_t i = 0, from = 0; i <= offsets.size(); i++) {
		const size_t to = i < offsets.size() ? offsets[i] : message.payload.size();
		Segment &part = all.emplace_back(message);
		part.payload = slice(message.payload, from, to - from);
		part.last = message.last && i == offsets.size();
		if (part.tagged)
			part.to += from;
		else
			part.mo += static_cast<uint32_t>(from);
		from = to;
	}
	return all;
}

std::vector<Segment> cut_every(const Segment &message, size_t most)
{
	std::vector<size_t> offsets;
	for (size_t at = most; at < message.payload.size(); at += most)
		offsets.push_back(at);
	return cut_at(message, offsets);
}

} // namespace iwarp
