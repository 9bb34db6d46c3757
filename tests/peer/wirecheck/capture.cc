// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include "capture.h"

#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

namespace wirecheck {

using iwarp::Bytes;
using iwarp::get16;
using iwarp::get32;
using iwarp::put;
using iwarp::View;

namespace {

constexpr size_t file_header = 24, packet_header = 16, ethernet = 14;
constexpr uint32_t in_us = 0xA1B2C3D4, in_ns = 0xA1B23C4D; // magic number: unit of timestamps
constexpr uint8_t protocol_tcp = 6, flag_syn = 0x02;

uint32_t little32(View v, size_t at)
{
	return v[at] | v[at + 1] << 8 | v[at + 2] << 16 | static_cast<uint32_t>(v[at + 3]) << 24;
}

std::optional<TcpSegment> tcp_segment(View p)
{
	View ip, tcp;
	size_t addresses, len, total;
	if (p.size() < ethernet + 40)
		return {};
	ip = p.subspan(ethernet);
	if (get16(p, 12) == 0x0800 && ip[9] == protocol_tcp) {
		total = get16(ip, 2);
		ip = ip.first(std::min<size_t>(ip.size(), total));
		tcp = ip.subspan((ip[0] & 15) * 4);
		addresses = 12, len = 4;
	} else if (get16(p, 12) == 0x86DD && ip[6] == protocol_tcp) {
		total = 40U + get16(ip, 4);
		ip = ip.first(std::min<size_t>(ip.size(), total));
		tcp = ip.subspan(40);
		addresses = 8, len = 16;
	} else {
		return {};
	}
	TcpSegment s{};
	s.flow.from = iwarp::join({ip.subspan(addresses, len), tcp.first(2)});
	s.flow.to = iwarp::join({ip.subspan(addresses + len, len), tcp.subspan(2, 2)});
	s.seq = get32(tcp, 4);
	s.syn = tcp[13] & flag_syn;
	size_t headers = (tcp[12] >> 4) * 4U;
	s.payload = tcp.subspan(std::min(headers, tcp.size()));
	s.length = static_cast<uint32_t>(total - (ip.size() - tcp.size()) - headers);
	return s;
}

} // namespace

void for_each_segment(const std::string &file, const std::function<void(const TcpSegment &)> &take)
{
	std::ifstream in(file, std::ios::binary);
	Bytes data{std::istreambuf_iterator<char>(in), {}};
	if (data.size() < file_header ||
	    (little32(data, 0) != in_us && little32(data, 0) != in_ns) || data[20] != 1)
		throw std::runtime_error(file + ": not a little-endian pcap file of Ethernet");
	const uint64_t unit = little32(data, 0) == in_ns ? 1 : 1000;
	for (size_t at = file_header; at + packet_header <= data.size();) {
		size_t len =
			std::min<size_t>(little32(data, at + 8), data.size() - at - packet_header);
		if (std::optional<TcpSegment> s =
			    tcp_segment(View(data).subspan(at + packet_header, len))) {
			s->time = little32(data, at) * uint64_t{1'000'000'000} +
				  little32(data, at + 4) * unit;
			take(*s);
		}
		at += packet_header + len;
	}
}

std::map<Flow, Stream> read_capture(const std::string &file)
{
	std::map<Flow, Stream> streams;
	std::map<Flow, uint32_t> next;
	for_each_segment(file, [&](const TcpSegment &s) {
		if (s.syn) {
			streams[s.flow] = {};
			next[s.flow] = s.seq + 1;
			return;
		}
		if (s.payload.empty() || !next.contains(s.flow))
			return;
		Stream &stream = streams[s.flow];
		int32_t ahead = static_cast<int32_t>(s.seq - next[s.flow]);
		if (ahead > 0)
			stream.complete = false;
		if (ahead)
			return; // after a gap, or a retransmission
		stream.segments.push_back(stream.bytes.size());
		put(stream.bytes, s.payload);
		next[s.flow] += static_cast<uint32_t>(s.payload.size());
	});
	return streams;
}

} // namespace wirecheck
