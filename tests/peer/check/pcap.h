// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Builds a pcap file packet by packet: one TCP connection from 10.0.0.1:40000, the client, to
// 10.0.0.2:7174.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <unistd.h>

#include "../iwarp/bytes.h"

namespace pcap {

inline constexpr uint8_t syn = 0x02, ack = 0x10;

inline void put_little32(iwarp::Bytes &o, uint32_t v)
{
	for (int shift = 0; shift < 32; shift += 8)
		iwarp::put8(o, static_cast<uint8_t>(v >> shift));
}

class Capture {
public:
	Capture()
	{
		for (uint32_t word : {0xA1B23C4DU, 0x00040002U, 0U, 0U, 65535U, 1U})
			put_little32(bytes_, word);
	}

	// Adds a TCP segment. Timestamps are 1, 2, 3 ... nanoseconds. snap: the largest number of
	// bytes kept of the packet
	void segment(bool from_client, uint8_t flags, uint32_t seq, iwarp::View payload = {},
		     size_t snap = SIZE_MAX)
	{
		using namespace iwarp;
		Bytes p(12, 0);
		put16(p, 0x0800);
		put16(p, 0x4500);
		put16(p, static_cast<uint16_t>(40 + payload.size()));
		put32(p, 0);
		put32(p, 0x40060000);
		for (bool source : {from_client, !from_client})
			put32(p, source ? 0x0A000001 : 0x0A000002);
		for (bool source : {from_client, !from_client})
			put16(p, source ? 40000 : 7174);
		put32(p, seq);
		put32(p, 0);
		put16(p, static_cast<uint16_t>(0x5000 | flags));
		put16(p, 1000);
		put32(p, 0);
		put(p, payload);
		put_little32(bytes_, 0);
		put_little32(bytes_, ++time_);
		size_t kept = std::min(snap, p.size());
		put_little32(bytes_, static_cast<uint32_t>(kept));
		put_little32(bytes_, static_cast<uint32_t>(p.size()));
		put(bytes_, View(p).first(kept));
	}

	// Writes the file and returns its path. The destructor removes the file.
	const std::string &file()
	{
		std::ofstream(name_, std::ios::binary)
			.write(reinterpret_cast<const char *>(bytes_.data()),
			       static_cast<std::streamsize>(bytes_.size()));
		return name_;
	}
	~Capture() { std::remove(name_.c_str()); }

private:
	std::string name_ = testing::TempDir() + "capture_check." + std::to_string(getpid());
	iwarp::Bytes bytes_;
	uint32_t time_ = 0;
};

} // namespace pcap
