// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "capture.h"

#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

namespace wirecheck {

using iwarp::get16;
using iwarp::get32;
using iwarp::Octets;
using iwarp::put;
using iwarp::View;

namespace {

constexpr size_t file_header = 24, packet_header = 16, ethernet = 14;
constexpr uint8_t protocol_tcp = 6, flag_syn = 0x02;

uint32_t little32(View v, size_t at)
{
	return v[at] | v[at + 1] << 8 | v[at + 2] << 16 | static_cast<uint32_t>(v[at + 3]) << 24;
}

struct Segment {
	Flow flow;
	uint32_t seq;
	bool syn;
	View payload;
};

std::optional<Segment> tcp_segment(View p)
{
	View ip, tcp;
	size_t addresses, len;
	if (p.size() < ethernet + 40)
		return {};
	ip = p.subspan(ethernet);
	if (get16(p, 12) == 0x0800 && ip[9] == protocol_tcp) {
		ip = ip.first(std::min<size_t>(ip.size(), get16(ip, 2)));
		tcp = ip.subspan((ip[0] & 15) * 4);
		addresses = 12, len = 4;
	} else if (get16(p, 12) == 0x86DD && ip[6] == protocol_tcp) {
		ip = ip.first(std::min<size_t>(ip.size(), 40U + get16(ip, 4)));
		tcp = ip.subspan(40);
		addresses = 8, len = 16;
	} else {
		return {};
	}
	Segment s;
	s.flow.from = iwarp::join({ip.subspan(addresses, len), tcp.first(2)});
	s.flow.to = iwarp::join({ip.subspan(addresses + len, len), tcp.subspan(2, 2)});
	s.seq = get32(tcp, 4);
	s.syn = tcp[13] & flag_syn;
	s.payload = tcp.subspan((tcp[12] >> 4) * 4);
	return s;
}

} // namespace

std::map<Flow, Stream> read_capture(const std::string &file)
{
	std::ifstream in(file, std::ios::binary);
	Octets data{std::istreambuf_iterator<char>(in), {}};
	if (data.size() < file_header || little32(data, 0) != 0xA1B2C3D4 || data[20] != 1)
		throw std::runtime_error(file + ": no capture of Ethernet in this machine's pcap format");
	std::map<Flow, Stream> streams;
	std::map<Flow, uint32_t> next;
	for (size_t at = file_header; at + packet_header <= data.size();) {
		size_t len = little32(data, at + 8);
		std::optional<Segment> s = tcp_segment(View(data).subspan(at + packet_header, len));
		at += packet_header + len;
		if (!s)
			continue;
		if (s->syn) {
			streams[s->flow] = {};
			next[s->flow] = s->seq + 1;
			continue;
		}
		if (s->payload.empty() || !next.contains(s->flow))
			continue;
		Stream &stream = streams[s->flow];
		int32_t ahead = static_cast<int32_t>(s->seq - next[s->flow]);
		if (ahead > 0)
			stream.complete = false;
		if (ahead)
			continue; // sent again
		stream.segments.push_back(stream.octets.size());
		put(stream.octets, s->payload);
		next[s->flow] += static_cast<uint32_t>(s->payload.size());
	}
	return streams;
}

} // namespace wirecheck
