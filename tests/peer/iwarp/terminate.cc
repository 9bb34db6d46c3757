// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "terminate.h"

#include <iomanip>
#include <ostream>

namespace iwarp {

std::ostream &operator<<(std::ostream &os, const Code &c)
{
	return os << "layer " << +c.layer << " etype " << +c.etype << " code 0x" << std::hex
		  << +c.code << std::dec;
}

Bytes Terminate::encode() const
{
	Bytes o;
	put8(o, static_cast<uint8_t>((code.layer & 15) << 4 | (code.etype & 15)));
	put8(o, code.code);
	put16(o, static_cast<uint16_t>((m ? 0x8000 : 0) | (d ? 0x4000 : 0) | (r ? 0x2000 : 0) |
				       (reserved & 0x1FFF)));
	if (m || d)
		put16(o, segment_len);
	put(o, ddp_header);
	put(o, rdmap_header);
	return o;
}

std::optional<Terminate> Terminate::decode(View v)
{
	Terminate t;
	if (v.size() < 4)
		return {};
	uint16_t control = get16(v, 2);
	t.code = {static_cast<uint8_t>(v[0] >> 4), static_cast<uint8_t>(v[0] & 15), v[1]};
	t.m = control & 0x8000;
	t.d = control & 0x4000;
	t.r = control & 0x2000;
	t.reserved = control & 0x1FFF;
	v = v.subspan(4);
	if (t.m || t.d) {
		if (v.size() < 2)
			return {};
		t.segment_len = get16(v);
		v = v.subspan(2);
	}
	if (t.d) {
		size_t len = !v.empty() && v[0] & 0x80 ? tagged_header_len : untagged_header_len;
		if (v.size() < len)
			return {};
		t.ddp_header.assign(v.begin(), v.begin() + static_cast<ptrdiff_t>(len));
		v = v.subspan(len);
	}
	if (t.r) {
		if (v.size() < ReadRequest::len)
			return {};
		t.rdmap_header.assign(v.begin(), v.begin() + ReadRequest::len);
	}
	return t;
}

Terminate quoting_read(const Code &code, uint32_t msn)
{
	const Segment read = read_request_segment(msn, {});
	return {.code = code,
		.m = true,
		.d = true,
		.r = true,
		.segment_len = static_cast<uint16_t>(read.encode().size()),
		.ddp_header = read.header(),
		.rdmap_header = read.payload};
}

Segment terminate_segment(Bytes payload)
{
	Segment s = send_segment(1, std::move(payload));
	s.opcode = op_terminate;
	s.qn = q_terminate;
	return s;
}

Segment terminate_segment(const Code &code)
{
	return terminate_segment(Terminate{.code = code}.encode());
}

} // namespace iwarp
